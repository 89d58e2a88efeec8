#include "gate/limit.h"

#include "gate/target.h"
#include "job/group.h"

/* What waits to begin, without the passes of queues on this one: these have limits of their own. Held;
 * under it none adds whom the limit holds for. */
static uint64_t waiting(const od_queue *queue)
{
    uint64_t entries = (uint64_t)queue->line.count + queue->early.count + queue->back +
                       odi_load_relaxed(&queue->inbox.waiting); /* relaxed: see limit.h */

    return entries > queue->child_passes ? entries - queue->child_passes : 0;
}

static bool is_full(const od_queue *queue)
{
    return odi_limit_is_awaited(queue) || waiting(queue) >= queue->pending_limit;
}

/* ---- submitters who wait ---- */

ODI_COLD void odi_limit_admit(od_queue *queue, uint32_t most)
{
    /* Below 0 where a cancel has taken jobs whose submitters wait. */
    int64_t others = (int64_t)waiting(queue) - queue->more->submitting;

    if (others > (int64_t)most)
        return;
    for (; odi_limit_is_awaited(queue) && others < (int64_t)queue->pending_limit; others++) {
        queue->more->submitting--;
        odi_wait_node_grant(odi_wait_list_take(&queue->more->submitters));
    }
}

/* ---- submitting ---- */

typedef enum {
    FITS,   /* into the line */
    WAITS,  /* in the line, and its submitter until that is shorter */
    RUNS,   /* by its submitter, in its turn */
    NESTED, /* by its submitter, who runs one of the queue's jobs: at once */
    REFUSED
} verdict;

/* Whether who submits runs a job of the queue, or holds a place of a target that the queue's jobs
 * may need to begin. */
typedef enum { OUTSIDE, ON_TARGET, INSIDE } where;

static where place_of_submitter(od_queue *queue)
{
    if (od_queue_is_current(queue))
        return INSIDE;
    return odi_target_is_held(queue) ? ON_TARGET : OUTSIDE;
}

/* Jobs that each submit the next one on a full queue would else need an endless stack. */
enum { DEEPEST = 32 };
static _Thread_local int nested;

/* Held. */
static verdict judge(const od_queue *queue, od_overflow overflow, where submitter, bool barrier)
{
    if (!is_full(queue))
        return FITS;
    if (overflow == OD_OVERFLOW_REFUSED)
        return REFUSED;
    /* A barrier cannot be alone inside of another job, nor be waited for there. */
    if (submitter == INSIDE)
        return barrier || nested == DEEPEST ? FITS : NESTED;
    if (submitter == ON_TARGET)
        return FITS; /* in its order, and held by suspensions, which running it here would not be */
    return overflow == OD_OVERFLOW_RUNS ? RUNS : WAITS;
}

static void run_in_order(od_queue *queue, bool barrier, odi_entry labelled)
{
    od_scope scope;

    if (barrier)
        od_queue_sync_barrier_begin(queue, &scope);
    else
        od_queue_sync_begin(queue, &scope);
    (void)odi_run_outside(&queue->pool->team, labelled); /* or discards it */
    od_queue_sync_end(&scope);
}

/* Takes the count of a job back that is refused, and its label off. False: a cancel has counted it, and it is gone. */
static bool take_back(odi_record *record, odi_entry labelled)
{
    (void)odi_record_unlabel(&labelled);
    return odi_record_withdraw(record, labelled);
}

/* Counts the job and decides. False: the record was closed before. *status: memory is short. */
static bool try_once(od_queue *queue, odi_group *group, odi_record *record, odi_entry labelled,
                     od_overflow overflow, verdict *decided, od_status *status)
{
    bool barrier = (odi_record_key(record) & ODI_KEY_BARRIER) != 0;
    uint32_t band = odi_record_band(record);
    bool urgent = band < queue->band; /* asked before the push, after which both may be over */
    where submitter = place_of_submitter(queue);
    odi_settlement settlement;
    odi_wait_node mine;

    if (!odi_record_count(record, queue, group, 1))
        return false;
    odi_lock_acquire(&queue->watch.lock);
    *decided = judge(queue, overflow, submitter, barrier);
    if (*decided == REFUSED || odi_entry_is_cancelled(labelled)) {
        odi_lock_release(&queue->watch.lock);
        if (*decided != REFUSED)
            (void)odi_run_outside(&queue->pool->team, labelled); /* a cancel has counted it */
        else if (!take_back(record, labelled))
            *decided = FITS;
        return true;
    }
    bool pushes = *decided == FITS || *decided == WAITS;
    if (pushes && !odi_inbox_add(&queue->inbox, labelled, NULL)) {
        odi_lock_release(&queue->watch.lock);
        if (take_back(record, labelled)) {
            *decided = REFUSED;
            *status = OD_NO_MEMORY;
        }
        return true;
    }
    if (*decided == WAITS) {
        mine = (odi_wait_node){0};
        odi_wait_list_append(&queue->more->submitters, &mine);
        queue->more->submitting++;
    }
    queue->gate.barriers += barrier && pushes;
    settlement = odi_queue_settle(queue);
    odi_lock_release(&queue->watch.lock);

    odi_queue_carry_out(queue, settlement);
    if (ODI_UNLIKELY(pushes && urgent))
        odi_queue_raise_all(queue, band);
    if (*decided == WAITS)
        odi_queue_await_grant(queue, &mine, "for room in");
    else if (*decided == RUNS)
        run_in_order(queue, barrier, labelled);
    else if (*decided == NESTED) {
        nested++;
        (void)odi_run_outside(&queue->pool->team, labelled);
        nested--;
    }
    return true;
}

/* False: it was refused, and is still the caller's: for want of memory, or for want of room with OD_OK. */
static bool submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job,
                   od_overflow overflow, od_status *status)
{
    verdict decided = REFUSED;
    odi_entry labelled;
    bool done = false;

    while (!done) {
        odi_record *record = odi_queue_find_record(queue, group, key);

        if (record == NULL) /* the limit holds for those too that begin the pool */
            record = odi_queue_admit(queue, group, key, status);
        if (*status == OD_OK && (record == NULL || !odi_record_label(record, job, &labelled)))
            *status = OD_NO_MEMORY;
        if (*status != OD_OK)
            return odi_pool_refuse(queue->pool, *status, job) == OD_STOPPED;
        done = try_once(queue, group, record, labelled, overflow, &decided, status);
        if (!done)
            (void)odi_record_unlabel(&labelled);
    }
    return decided != REFUSED;
}

od_status odi_limit_submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    od_status status = OD_OK;

    if (submit(queue, group, key, job, (od_overflow)queue->overflow, &status) || status != OD_OK)
        return status;
    odi_lock_acquire(&queue->watch.lock);
    queue->more->refused++;
    odi_lock_release(&queue->watch.lock);
    odi_job_discard(job);
    return OD_OK;
}

static bool try(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    od_pool *pool = queue->pool; /* asked first: the job may be the queue's last */
    od_status status = OD_OK;

    bool taken = true;

    if (queue->pending_limit > 0)
        taken = submit(queue, group, key, job, OD_OVERFLOW_REFUSED, &status);
    else
        status = odi_queue_submit(queue, group, key, job);
    odi_pool_expect(pool, status);
    return taken;
}

bool od_queue_try_async(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                        void (*function)(void *), void *context)
{
    return try(queue, group, odi_queue_key(queue, band, flags),
               odi_job_plain(function, context, 0));
}

bool od_queue_try_async_executor_job(od_queue *queue, int32_t band, void *job)
{
    return od_queue_try_async(queue, NULL, band, 0, od_executor_run, job);
}

#ifdef ODI_SWIFT_CLOSURES
/* A closure that is refused is released. */
__attribute__((swiftcall)) uint32_t od_queue_try_async_closure(void *code, void *captures,
                                                               od_queue *queue, od_group *group,
                                                               int32_t band, uint32_t flags)
{
    odi_entry job = odi_job_closure(code, captures, 0);
    bool taken = try(queue, group, odi_queue_key(queue, band, flags), job);

    if (!taken)
        odi_job_discard(job);
    return taken;
}
#endif

/* ---- asking ---- */

uint32_t od_queue_pending_limit(od_queue *queue)
{
    return queue->pending_limit;
}

od_overflow od_queue_overflow(od_queue *queue)
{
    return (od_overflow)queue->overflow;
}

uint64_t od_queue_refused(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    uint64_t refused = queue->more != NULL ? queue->more->refused : 0;
    odi_lock_release(&queue->watch.lock);
    return refused;
}
