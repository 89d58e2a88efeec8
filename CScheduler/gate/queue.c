#include "gate/queue.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "gate/cycle.h"
#include "gate/limit.h"
#include "gate/target.h"
#include "gate/wait.h"
#include "job/arena.h"
#include "job/group.h"
#include "worker/worker.h"

static odi_arena queues = ODI_ARENA_FOR(od_queue);

#define NONE ((uintptr_t)1) /* in `current` */

/* ---- records ---- */

/* The chain: those in use in front, behind them those that a cancel has closed, of which there
 * may be thousands. Lock held, both. */
static void put_in_front(od_queue *queue, odi_record *record)
{
    record->next_of_queue = queue->records;
    record->link_of_queue = &queue->records;
    if (record->next_of_queue != NULL)
        record->next_of_queue->link_of_queue = &record->next_of_queue;
    queue->records = record;
}

static void take_off(odi_record *record)
{
    *record->link_of_queue = record->next_of_queue;
    if (record->next_of_queue != NULL)
        record->next_of_queue->link_of_queue = record->link_of_queue;
    record->link_of_queue = NULL;
}

/* Takes a record of the chain off it if it is orphaned and empty, or empty and the queue is
 * over. Lock held. False: it has begun a new generation, or is not yet to go; whoever drains it comes
 * again. */
static bool take_off_if_dead(od_queue *queue, odi_record *record, bool over)
{
    uint64_t counts;

    /* relaxed: a new generation begins with other flags under this very lock */
    if (!(over || odi_load_relaxed(&record->flags) & ODI_RECORD_ORPHANED))
        return false;
    /* relaxed: whoever drains a watched record comes here again. There may be thousands. */
    counts = odi_load_relaxed(&record->counts);
    if (counts & ODI_COUNTS_WATCHED && odi_counts_outstanding(counts) > 0)
        return false;
    /* The watch comes before the look, so that the last job calls when this look is early. */
    counts = odi_or_seqcst(&record->counts, ODI_COUNTS_WATCHED, L1);
    if (odi_counts_outstanding(counts) > 0)
        return false;
    if (queue->before == record)
        queue->before = record->next_of_queue;
    take_off(record);
    odi_store_relaxed(&record->queue, NULL); /* relaxed: asked under the lock, or after a count */
    return true;
}

/* Takes a record off and frees it if it is orphaned and empty. It may be in another generation by
 * now, or be taken off already: then its queue is another one. */
static void reap_one_of(od_queue *queue, odi_record *record)
{
    odi_lock_acquire(&queue->watch.lock);
    /* relaxed: written under this lock when it is ours. L5: its group has done with it. */
    bool dead = odi_load_relaxed(&record->queue) == queue &&
                odi_load_acquire(&record->group, L5) == NULL &&
                take_off_if_dead(queue, record, false);
    odi_lock_release(&queue->watch.lock);
    if (dead)
        odi_record_free(record);
}

static void reap_one(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: see record.c */

    if (queue != NULL)
        reap_one_of(queue, record);
}

static void drained(void *raw, odi_record *record)
{
    od_queue *queue = raw;

    odi_set set = odi_queue_set(queue);

    odi_watch_changed(&set);
    if (odi_load_relaxed(&queue->inbox.diverted)) /* relaxed: a hint; a barrier's wait looks itself */
        odi_queue_before_drained(queue);
    reap_one_of(queue, record);
    odi_queue_reap(queue);
}

/* Lock held: a stop's last cancel, which takes it, comes later, or the stop is seen. */
static bool is_past_deadline(const od_queue *queue)
{
    return odi_load_relaxed(&queue->pool->team.attention) & ODI_CANCELLING; /* relaxed: the lock */
}

/* Lock held. */
static bool renew(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: its submitter keeps it */
    /* relaxed: written under the lock, or before its group went */
    uint32_t flags = odi_load_relaxed(&record->flags);
    bool diverted = odi_load_relaxed(&queue->inbox.diverted);

    if (!(flags & ODI_RECORD_CANCELLED) || flags & ODI_RECORD_ORPHANED ||
        queue->before != NULL || /* what a barrier waits for gets no further jobs */
        is_past_deadline(queue) ||
        !odi_record_renew(record, diverted ? ODI_RECORD_DIVERTED : 0))
        return false;
    take_off(record);
    put_in_front(queue, record);
    return true;
}

static bool renew_of_group(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: its submitter keeps it */

    odi_lock_acquire(&queue->watch.lock);
    bool renewed = renew(record);
    odi_lock_release(&queue->watch.lock);
    return renewed;
}

/* Whoever looks holds the lock, and finds the record known and not empty when this is over. */
ODI_COLD static void know(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: the count keeps it */

    odi_lock_acquire(&queue->watch.lock);
    (void)odi_or_seqcst(&record->counts, ODI_COUNTS_KNOWN_TO_QUEUE, L1);
    odi_lock_release(&queue->watch.lock);
}

const odi_record_owner odi_queue_owner = {odi_queue_divert, drained, reap_one,
                                          renew_of_group, know};

odi_set odi_queue_set(od_queue *queue)
{
    return (odi_set){&queue->watch, &queue->records, odi_record_next_of_queue,
                     ODI_COUNTS_KNOWN_TO_QUEUE, NULL};
}

/* A new record of the queue; `reserve` is odi_record_new's, here and below. Lock held. */
static odi_record *make_record(od_queue *queue, odi_group *group, uint32_t key, bool *reserve)
{
    if (is_past_deadline(queue))
        return NULL;
    if (!queue->gate.closed && odi_gate_opens(&queue->gate)) {
        odi_lock_acquire(&queue->inbox.lock);
        odi_store_relaxed(&queue->inbox.diverted, false); /* relaxed: nobody pushes before he has a record */
        odi_lock_release(&queue->inbox.lock);
    }
    odi_record *record =
        odi_record_new(&queue->pool->team, queue, group, key, &odi_queue_owner, reserve);

    if (record == NULL)
        return NULL;
    put_in_front(queue, record);
    if (odi_load_relaxed(&queue->inbox.diverted)) /* relaxed: written under the lock */
        odi_or_seqcst(&record->flags, ODI_RECORD_DIVERTED, L2);
    return record;
}

odi_record *odi_queue_make_record(void *raw, odi_group *group, uint32_t key)
{
    od_queue *queue = raw;

    odi_lock_acquire(&queue->watch.lock);
    odi_record *record = make_record(queue, group, key, NULL);
    odi_lock_release(&queue->watch.lock);
    return record;
}

/* The record without a group; made when it is first needed, and after a cancel. It is linked
 * and named under one lock, so that a cancel closes both or neither. */
ODI_COLD static odi_record *make_current(od_queue *queue, uint32_t key, bool *reserve)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_atomic(uintptr_t) *current = odi_queue_current(queue, key);
    uintptr_t word = odi_load_relaxed(current); /* relaxed: locked */
    odi_record *newest = (odi_record *)(word & ~NONE);
    odi_record *record = (word & NONE) ? NULL : newest;
    if (record == NULL && newest != NULL)
        record = odi_record_serve_again(newest, renew);
    if (record == NULL && (record = make_record(queue, NULL, key, reserve)) != NULL && newest != NULL)
        odi_record_succeed(record, newest);
    if (record != NULL)
        odi_store_release(current, (uintptr_t)record, L5);
    odi_lock_release(&queue->watch.lock);
    return record;
}

void odi_queue_close_current(od_queue *queue)
{
    for (uint32_t each = 0; each < ODI_KEYS; each++)
        (void)odi_or_acqrel(&queue->current[each], NONE, L5);
}

/* It has had no job yet, in this process. relaxed, all: nobody else knows the queue, or one thread exists */
static void begin_empty(od_queue *queue)
{
    for (uint32_t each = 0; each < ODI_KEYS; each++)
        odi_store_relaxed(&queue->current[each], NONE);
    queue->records = queue->before = NULL;
    queue->line = queue->early = queue->inbox.fifo = (odi_fifo){0}; /* a parent's memory stays */
    odi_store_relaxed(&queue->inbox.waiting, 0);
    queue->inbox.reserved_for = NULL;
    queue->inbox.reserved = 0;
    odi_store_relaxed(&queue->inbox.wants, true);
    odi_queue_drop_batches(queue);
    odi_queue_forget_drainers(queue);
    queue->child_passes = 0;
}

/* NULL: the pool is not open, or memory is short. A pool that has admitted a job does so until its stop, or a
 * fork, after both of which a queue's records are made anew: only then is it looked at. */
ODI_HOT_INLINE odi_record *find_record(od_queue *queue, odi_group *group, uint32_t key, bool *reserve)
{
    if (group != NULL) {
        odi_record *last = odi_load_acquire(&group->last, L5);

        /* relaxed: a record that changes hands was stale or closed before; asked again */
        if (ODI_LIKELY(last != NULL && odi_record_is(last, queue, group) &&
                       odi_record_key(last) == key &&
                       !(odi_load_relaxed(&last->flags) & ODI_RECORD_STALE)))
            return last;
        return odi_pool_is_open(queue->pool)
                   ? odi_group_record(group, queue, key, odi_queue_make_record)
                   : NULL;
    }
    uintptr_t current = odi_load_acquire(odi_queue_current(queue, key), L5);
    if (ODI_LIKELY(!(current & NONE)))
        return (odi_record *)current;
    return odi_pool_is_open(queue->pool) ? make_current(queue, key, reserve) : NULL;
}

odi_record *odi_queue_find_record(od_queue *queue, odi_group *group, uint32_t key)
{
    return find_record(queue, group, key, NULL);
}

/* ---- submitting ---- */

ODI_COLD odi_record *odi_queue_admit(od_queue *queue, odi_group *group, uint32_t key, od_status *status)
{
    odi_record *record = NULL;

    do { /* twice only where it stops meanwhile */
        *status = odi_pool_admit(queue->pool);
        if (*status == OD_OK)
            record = find_record(queue, group, key, NULL);
    } while (*status == OD_OK && record == NULL && !odi_pool_is_open(queue->pool));
    return record;
}

/* There was no record for the job. */
ODI_COLD static od_status submit_without_record(od_queue *queue, odi_group *group, uint32_t key,
                                                odi_entry job)
{
    od_status status;

    if (odi_queue_admit(queue, group, key, &status) != NULL)
        return odi_queue_submit(queue, group, key, job);
    return odi_pool_refuse(queue->pool, status == OD_OK ? OD_NO_MEMORY : status, job);
}

/* Into the line by a count that its inbox has reserved. False: the job is to be counted. Without a drainer it goes
 * another way. */
ODI_HOT_INLINE bool submit_to_line(od_queue *queue, odi_record *record, uint32_t key, odi_entry job)
{
    bool urgent = key < queue->band; /* asked first: the job may be the queue's last */

    /* relaxed, both: hints, the inbox's lock decides */
    if (key & ODI_KEY_BARRIER || !(odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED) ||
        odi_load_relaxed(&queue->inbox.wants) || !odi_queue_submit_to_line(queue, record, job))
        return false;
    if (ODI_UNLIKELY(urgent))
        odi_queue_raise_all(queue, key);
    return true;
}

/* The record has counted the job, and nothing can keep it. */
ODI_COLD static od_status withdraw(odi_record *record, odi_entry job)
{
    return odi_record_withdraw(record, job) ? OD_NO_MEMORY : OD_OK;
}

/* Puts a job that its record has counted where it waits. False: as odi_queue_push. */
ODI_HOT_INLINE bool place(od_queue *queue, odi_record *record, uint32_t key, odi_entry labelled,
                          odi_entry_node *node)
{
    /* relaxed: L2's fence stands before it */
    if (ODI_UNLIKELY(odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED)) {
        /* asked first: the job may be the queue's last */
        bool urgent = (key & ODI_KEY_BAND) < queue->band;
        bool pushed = odi_queue_push(queue, labelled, node);

        if (ODI_UNLIKELY(pushed && urgent))
            odi_queue_raise_all(queue, key & ODI_KEY_BAND);
        return pushed;
    }
    if (ODI_LIKELY(odi_pool_submit(queue->pool, key & ODI_KEY_BAND, labelled)))
        return true;
    if (node != NULL)
        odi_pool_submit_node(queue->pool, key & ODI_KEY_BAND, labelled, node);
    return node != NULL;
}

ODI_HOT_INLINE od_status submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    odi_worker *worker = odi_worker_self;
    odi_record *record;
    odi_entry labelled;

    for (;;) {
        record = find_record(queue, group, key, NULL);
        if (ODI_UNLIKELY(record == NULL))
            return submit_without_record(queue, group, key, job);
        if (worker != NULL && odi_worker_use_reserved(worker, record))
            break;
        if (group == NULL && submit_to_line(queue, record, key, job))
            return OD_OK;
        if (ODI_LIKELY(odi_record_count(record, queue, group, 1)))
            break;
    }
    if (ODI_UNLIKELY(!odi_record_label(record, job, &labelled)))
        return withdraw(record, job);
    if (ODI_LIKELY(place(queue, record, key, labelled, NULL)))
        return OD_OK;
    (void)odi_record_unlabel(&labelled);
    return withdraw(record, labelled);
}

od_status odi_queue_submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    return submit(queue, group, key, job);
}

/* Called by a worker of the pool, or after its stop. */
void odi_queue_submit_node(od_queue *queue, uint32_t key, odi_entry job, odi_entry_node *node, bool *reserve)
{
    odi_record *record;
    odi_entry labelled;

    do {
        for (int looks = 0; ODI_UNLIKELY((record = find_record(queue, NULL, key, reserve)) == NULL); looks++) {
            if (odi_pool_admit(queue->pool) != OD_OK) {
                odi_pool_discard(queue->pool, job);
                return;
            }
            if (looks > 0 && !*reserve) {
                odi_run_discard(&queue->pool->team, job);
                return;
            }
        }
        if (submit_to_line(queue, record, key, job))
            return;
    } while (ODI_UNLIKELY(!odi_record_count(record, queue, NULL, 1)));
    (void)odi_record_label(record, job, &labelled); /* an owned job takes every tag */
    if (ODI_UNLIKELY(!place(queue, record, key, labelled, node))) {
        (void)odi_record_unlabel(&labelled);
        (void)withdraw(record, labelled);
    }
}

/* The users' door: a queue with a limit looks first. */
ODI_HOT_INLINE od_status enter(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    if (ODI_UNLIKELY(queue->pending_limit > 0))
        return odi_limit_submit(queue, group, key, job);
    return submit(queue, group, key, job);
}

od_status odi_queue_enter(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    return enter(queue, group, key, job);
}

static uint32_t band_of(const od_queue *queue, int32_t band)
{
    uint32_t own = queue->band;

    return band >= 0 && (uint32_t)band < own ? (uint32_t)band : own;
}

/* What the flags make of the band. Sees to it that a barrier finds a line. */
ODI_COLD uint32_t odi_queue_key(od_queue *queue, int32_t band, uint32_t flags)
{
    uint32_t key = band_of(queue, band);

    if (flags & OD_ENFORCE_BAND && (uint32_t)band < ODI_BANDS)
        key = (uint32_t)band;
    if (flags & OD_BARRIER) {
        odi_queue_keep_line(queue);
        key |= ODI_KEY_BARRIER;
    }
    return key;
}

od_status od_queue_async(od_queue *queue, od_group *group, int32_t band, void (*function)(void *),
                         void *context)
{
    return enter(queue, group, band_of(queue, band), odi_job_plain(function, context, 0));
}

od_status od_queue_async_with(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                              void (*function)(void *), void *context)
{
    return enter(queue, group, odi_queue_key(queue, band, flags), odi_job_plain(function, context, 0));
}

void od_queue_async_task(od_queue *queue, int32_t band, void *task)
{
    od_pool *pool = queue->pool; /* here and below: asked first, the job may be the queue's last */

    odi_pool_expect(pool, od_queue_async(queue, NULL, band, od_task_run, task));
}

void od_queue_async_due_task(od_queue *queue, int32_t band, void *task)
{
    od_pool *pool = queue->pool;

    odi_pool_expect(pool, submit(queue, NULL, band_of(queue, band), odi_job_plain(od_task_run, task, 0)));
}

void od_queue_async_executor_job(od_queue *queue, int32_t band, void *job)
{
    od_pool *pool = queue->pool;

    odi_pool_expect(pool, submit(queue, NULL, band_of(queue, band), odi_job_plain(od_executor_run, job, 0)));
}

#ifdef ODI_SWIFT_CLOSURES
/* The doors for Swift closures: a closure parameter is two words, and `__owned` gives us its
 * context's reference. See Sources/OverdriveCore/Queue/ClosureDoor.swift for the other side. */
__attribute__((swiftcall)) void od_queue_async_closure(void *code, void *captures,
                                                       od_queue *queue, od_group *group,
                                                       int32_t band)
{
    od_pool *pool = queue->pool;

    odi_pool_expect(pool, enter(queue, group, band_of(queue, band), odi_job_closure(code, captures, 0)));
}

__attribute__((swiftcall)) void od_queue_async_closure_with(void *code, void *captures,
                                                            od_queue *queue, od_group *group,
                                                            int32_t band, uint32_t flags)
{
    od_pool *pool = queue->pool;

    odi_pool_expect(pool, enter(queue, group, odi_queue_key(queue, band, flags),
                                odi_job_closure(code, captures, 0)));
}
#endif

/* ---- life ---- */

od_queue *od_queue_create(od_pool *pool, od_band band, int32_t width, const char *label)
{
    od_queue_options options = {.band = band, .width = width, .label = label};

    return od_queue_create_with(pool, &options);
}

bool odi_queue_has_more(od_queue *queue)
{
    odi_queue_more *more = queue->more == NULL ? malloc(sizeof *more) : NULL;

    if (more != NULL) {
        *more = (odi_queue_more){0};
        queue->more = more;
    }
    return queue->more != NULL;
}

void odi_queue_free(void **part)
{
    void *freed = *part;

    *part = NULL;
    odi_fence_compiler();
    free(freed);
}

od_queue *od_queue_create_with(od_pool *pool, const od_queue_options *options)
{
    int32_t width = options->width;
    const char *label = options->label != NULL ? options->label : "";
    bool limited = options->pending_limit > 0; /* its jobs are counted in the line */
    /* One that has had no job yet is closed too: a first barrier need not look outside. */
    bool diverted = width != OD_UNLIMITED || options->inactive || limited ||
                    options->target != NULL || !options->shared;

    if ((uint32_t)options->band >= ODI_BANDS)
        odi_trap("od_queue_create: there is no band %d; choose one of od_band",
                 (int)options->band);
    if (width < 0)
        odi_trap("od_queue_create: the width is %d; choose 1 or more, or OD_UNLIMITED", width);
    od_queue *queue = odi_arena_take(&queues);

    if (queue == NULL)
        return NULL;
    if (options->target != NULL && !odi_target_prepare(options->target)) {
        odi_arena_give(&queues, queue);
        return NULL;
    }
    odi_lock_acquire(&queue->watch.lock); /* who looks at its last generation holds this */
    if ((limited || options->target != NULL) && !odi_queue_has_more(queue)) {
        odi_lock_release(&queue->watch.lock);
        odi_arena_give(&queues, queue);
        return NULL;
    }
    queue->pool = pool;
    queue->band = (uint8_t)options->band;
    snprintf(queue->label, sizeof queue->label, "%s", label);
    odi_store_relaxed(&queue->context, NULL); /* relaxed: not shared */
    begin_empty(queue);
    queue->gate = (odi_gate){
        .width = width != OD_UNLIMITED ? width : ODI_GATE_UNLIMITED,
        .most = (int32_t)pool->team.capacity,
        .suspensions = options->inactive,
        .inactive = options->inactive,
        .complete = diverted, /* nothing is given to the pool directly */
        .closed = limited,
    };
    queue->released = false;
    odi_store_relaxed(&queue->inbox.diverted, diverted); /* relaxed: not shared */
    queue->takes = 0;
    queue->reach = 0;
    queue->pending_limit = options->pending_limit;
    queue->overflow = (uint8_t)options->overflow;
    queue->shared = options->shared;
    odi_store_relaxed(&queue->target, (od_queue *)NULL); /* relaxed: not shared */
    queue->children = 0;
    if (options->target != NULL)
        odi_target_adopt(queue, options->target);
    odi_lock_release(&queue->watch.lock);
    return queue;
}

/* Whether nothing is left that could touch a released queue. Lock held. */
static bool is_over(od_queue *queue)
{
    if (!queue->released || queue->gate.held > 0 || queue->children > 0 ||
        odi_queue_has_passes(queue) || !odi_queue_is_clear(queue) ||
        queue->watch.notifications != NULL) /* who owes these comes here again */
        return false;
    odi_set set = odi_queue_set(queue);

    return odi_set_is_empty(&set, true);
}

/* Takes the records of a queue that is over off the chain. Lock held. */
static odi_record *take_dead(od_queue *queue)
{
    odi_record *dead = NULL, *next;

    for (odi_record *record = queue->records; record != NULL; record = next) {
        next = record->next_of_queue;
        if (take_off_if_dead(queue, record, true)) {
            record->next_of_queue = dead;
            dead = record;
        }
    }
    return dead;
}

void odi_queue_reap(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool over = is_over(queue);
    odi_record *dead = over ? take_dead(queue) : NULL;
    over = over && queue->records == NULL;
    if (over) {
        queue->released = false; /* whoever comes late finds nothing to do */
        odi_fifo_free(&queue->line);
        odi_fifo_free(&queue->early);
        odi_fifo_free(&queue->inbox.fifo);
        odi_queue_free((void **)&queue->batches);
        odi_queue_free((void **)&queue->more);
    }
    odi_lock_release(&queue->watch.lock);

    while (dead != NULL) {
        odi_record *next = dead->next_of_queue;
        odi_group *group = odi_load_acquire(&dead->group, L5);

        if (group != NULL) {
            odi_group_forget(group, dead);
            /* A count that came too late may have had it watched for the group meanwhile. */
            odi_group_drained(group);
        }
        odi_record_free(dead);
        dead = next;
    }
    if (over) {
        od_queue *target = odi_target_gate(queue);

        odi_arena_give(&queues, queue);
        if (target != NULL)
            odi_target_forget(target);
    }
}

void od_queue_release(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->released = true;
    queue->gate.inactive = false;
    queue->gate.suspensions = 0;
    odi_queue_settle_and_release(queue);
    odi_queue_reap(queue);
}

static void forget_what_waits(void *object)
{
    od_queue *queue = object;

    queue->watch.lock = (odi_lock){0};
    queue->watch.notifications = NULL; /* the parent makes them */
    queue->watch.waiters = NULL;       /* and wakes these */
    odi_store_relaxed(&queue->watch.interested, 0); /* relaxed: one thread exists */
    queue->inbox.lock = (odi_lock){0};
    begin_empty(queue);
    if (queue->more != NULL)
        *queue->more = (odi_queue_more){.refused = queue->more->refused};
    odi_gate_forked(&queue->gate);
}

static void hold_again(const od_scope *scope)
{
    for (; scope != NULL; scope = scope->outer) {
        od_queue *each = scope->queue;

        do {
            each->gate.held += scope->holds_place;
            each = odi_target_gate(each);
        } while (each != NULL && each != scope->beyond);
        scope->queue->gate.exclusive |= scope->exclusive;
    }
}

/* The places that the surviving thread holds, in a sync or a drainer, are still held. It earmarks none of
 * them: who earmarks waits, and does not fork. */
static void forked(void)
{
    odi_arena_forked(&queues, forget_what_waits);
    odi_cycles_forked();
    odi_targets_forked();
    hold_again(odi_scopes);
    for (const odi_set_apart *below = odi_apart; below != NULL; below = below->outer)
        hold_again(below->scopes);
}

/* ---- stop, and reports ---- */

void odi_queues_visit(void (*visit)(void *queue, void *context), void *context)
{
    odi_arena_visit(&queues, visit, context);
}

static void cancel_if_of(void *object, void *pool)
{
    od_queue *queue = object;

    odi_lock_acquire(&queue->watch.lock);
    if (queue->pool == pool && queue->records != NULL)
        (void)odi_queue_cancel(queue);
    else
        odi_lock_release(&queue->watch.lock);
}

/* A drainer is on its way, and not in a target's line. Nobody has called one for a queue that was given back. */
static bool is_owed(od_queue *queue)
{
    od_queue *target = odi_target_gate(queue);
    bool owed = queue->gate.coming > 0;

    if (owed && target != NULL) {
        odi_lock_acquire(&target->watch.lock);
        owed = target->child_passes == 0 && !queue->more->pass_is_ahead;
        odi_lock_release(&target->watch.lock);
    }
    return owed;
}

typedef struct {
    const od_pool *pool;
    bool found;
} debt;

static void find_debt(void *object, void *raw)
{
    od_queue *queue = object;
    debt *it = raw;

    odi_lock_acquire(&queue->watch.lock);
    it->found = it->found || (queue->pool == it->pool && is_owed(queue));
    odi_lock_release(&queue->watch.lock);
}

static bool is_any_owed(od_pool *pool)
{
    debt it = {pool, false};

    odi_arena_visit(&queues, find_debt, &it);
    return it.found;
}

/* A queue that is given back meanwhile has no records, and its memory is a queue's for ever. */
static void cancel_all_of(od_pool *pool)
{
    odi_arena_visit(&queues, cancel_if_of, pool);
}

__attribute__((constructor)) static void register_for_fork(void)
{
    odi_fork_above = forked;
    odi_cancel_above = cancel_all_of;
    odi_owed_above = is_any_owed;
}
