/* drain.c — who serves a line: drainers. (Sync callers whose turn has come: callers.c.) */
#include "gate/current.h"
#include "gate/earmark.h"
#include "gate/limit.h"
#include "gate/pass.h"
#include "gate/settle.h"
#include "gate/submit.h"
#include "gate/target.h"
#include "include/od_loop.h"
#include "worker/find.h"
#include "worker/run.h"
#include "worker/worker.h"

/* How many jobs a drainer runs before it goes back in line behind the pool's other work, if
 * there is any. Where other bands may have work it is one, so that the bound on passing a
 * band over counts the line's jobs too. */
enum { JOBS_PER_SLICE = 64 };

enum { LINGER_LOOKS = 8, PAUSES_PER_LOOK = 32, WORTH_TAKING = 512 };

/* A wait that brought fewer is not repeated the next so many times: they come one at a time. */
enum { WORTH_LINGERING = 4, NOT_LINGERING = 64 };

/* The next for a drainer: first of what those wait for who earmark their places. Lock held. */
static bool take_next(od_queue *queue, odi_entry *entry)
{
    if (ODI_UNLIKELY(queue->gate.earmarks > 0) && odi_earmark_pop(queue, entry))
        return true;
    return odi_queue_take(queue, entry, false);
}

/* What a drainer that holds a place does next. */
typedef struct {
    odi_taken taken;           /* none: the place is given up or passed on */
    bool barrier;              /* the job, or the sync caller, runs alone */
    odi_entry granted;         /* a sync caller who has the place now */
    odi_settlement settlement; /* what giving the place up leads to */
} step;

/* Lock held. The place is given up because there is nothing to do or too many run. `drainer`:
 * NULL where it takes one job. */
static step take(od_queue *queue, const od_scope *drainer)
{
    step next = {0};
    odi_entry entry;

    if (!take_next(queue, &entry)) {
        odi_gate_leave(&queue->gate);
        next.settlement = odi_queue_settle(queue);
        return next;
    }
    next.barrier = queue->gate.exclusive;
    if (odi_is_wait_node(entry))
        next.granted = entry;
    else {
        next.taken.first = entry;
        if (drainer != NULL)
            odi_queue_fill_batch(queue, &next.taken, drainer);
    }
    return next;
}

/* Whether the calling thread is a worker of the queue's pool. */
static bool on_worker(const od_queue *queue)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && worker->team == &queue->pool->team;
}

/* The same, between two jobs. */
static bool on_free_worker(const od_queue *queue)
{
    return on_worker(queue) && !(odi_worker_activity(odi_worker_self) & 1);
}

static void run_one(od_queue *queue, odi_entry job)
{
    if (odi_discarding || (on_worker(queue) && odi_queue_is_past_deadline(queue)))
        odi_run_discard(&queue->pool->team, job); /* a stop that was too early to count it */
    else if (on_free_worker(queue))
        odi_worker_run(odi_worker_self, job, ODI_RECORD_CANCELLED);
    else
        (void)odi_run_outside(&queue->pool->team, job);
}

/* What drainers of queues on this one have run on this thread: it counts for the drainer that
 * runs them, whose slice would be as many jobs per job otherwise. */
static _Thread_local size_t run_beyond;

/* Whether work elsewhere waits for this worker, between two jobs of a line. Who does not give the line back after so
 * many jobs (`most`) does not give it back for that. */
static bool is_wanted_far(const od_queue *queue, size_t most)
{
    return most != SIZE_MAX && on_free_worker(queue) && odi_worker_is_wanted_far(odi_worker_self, queue->band);
}

/* Runs what a drainer has taken, or what there is time for. Returns how many jobs that were. */
static size_t run_taken(od_queue *queue, const odi_taken *taken, size_t most)
{
    odi_entry job;
    size_t count = 1;

    run_beyond = 0;
    run_one(queue, taken->first);
    if (taken->batch != NULL) {
        for (; !is_wanted_far(queue, most) && odi_drain_batch_claim(taken->batch, &queue->watch.lock, &job); count++)
            run_one(queue, job);
    }
    return count + run_beyond;
}

/* Whether this worker, which runs a drainer, has anything else to do. A hint. */
static bool others_wait(od_queue *queue)
{
    odi_worker *worker = odi_worker_self;
    uint32_t band = queue->band;

    /* relaxed, both: hints. What is overdue is fired between two jobs of the worker, none of which is a
     * line's. */
    return odi_load_relaxed(&worker->team->attention) & (ODI_SURPLUS | ODI_STOPPING) ||
           odi_load_relaxed(&worker->team->timers.overdue) ||
           odi_worker_other_bands(worker, band) || odi_deque_size(&worker->deques[band]) > 0 ||
           odi_injector_size(&worker->site->injectors[band]) > 0;
}

/* The line is empty for now. A submitter that is in the middle of many jobs would meet an idle
 * line with each of them, and start a drainer each time; and taking them one by one costs
 * both sides a cache line's way. Where this worker has nothing else to do it lingers.
 * Ended by: the count of looks. Returns whether it was worth it. */
static bool linger(od_queue *queue)
{
    odi_worker *worker = odi_worker_self;
    uint32_t before = odi_load_relaxed(&queue->inbox.waiting); /* relaxed, all: hints */

    if (before >= WORTH_TAKING || !odi_load_relaxed(&worker->team->may_spin) ||
        others_wait(queue))
        return true;
    for (int looks = 0; odi_spins_on(looks < LINGER_LOOKS); looks++) {
        for (int i = 0; i < PAUSES_PER_LOOK; i++)
            odi_spin_pause();
        uint32_t now = odi_load_relaxed(&queue->inbox.waiting); /* relaxed: a hint */
        if (now >= WORTH_TAKING || (now > 0 && now == before))
            return now >= WORTH_LINGERING;
        before = now;
    }
    return before >= WORTH_LINGERING;
}

/* How many jobs this drainer may run before it goes back in line. */
static size_t jobs_per_slice(od_queue *queue, uint32_t band)
{
    odi_worker *worker = odi_worker_self;

    /* Who waits asks after each job whether its wait is over: what comes then is a stranger's. */
    if (ODI_UNLIKELY(odi_apart != NULL) && on_worker(queue) && !odi_queue_is_past_deadline(queue))
        return 1;
    /* Elsewhere nobody else would come; and after a stop nobody would take it back. */
    if (!on_free_worker(queue) || odi_queue_is_past_deadline(queue))
        return SIZE_MAX;
    return odi_worker_other_bands(worker, band) ? 1 : JOBS_PER_SLICE;
}

/* Nothing follows from a drainer that has begun: no other one may. Lock held. */
static bool is_full(const od_queue *queue)
{
    return queue->gate.held >= odi_gate_permits(&queue->gate) && queue->gate.earmarks == 0 &&
           !odi_limit_is_awaited(queue) && queue->raised == 0 && queue->drainers_waiting == 0;
}

/* A drainer at work: it holds a place of the line from odi_queue_settle until take says otherwise. The band
 * is the one that its pass lay in. */
typedef struct {
    od_queue *queue, *target; /* whose place is held around this */
    odi_pass pass;
    od_scope scope;
    step next;
    size_t done, most;         /* jobs of its slice */
    uint64_t ticks;            /* what the last take of a wide line took; UINT64_MAX: unknown */
    bool up;                   /* its pass has found that it is waited for */
    bool follow;               /* others may wait for the next pass */
    bool wide, seems_empty, held_up, over;
} drainer;

static bool has_job(const drainer *it)
{
    return it->next.taken.first.code != 0;
}

/* The lock is held; for the targets' locks see odi_target_lock. */
static void take_under_targets(drainer *it, bool begins)
{
    od_queue *queue = it->queue;

    it->held_up = (ODI_UNLIKELY(it->target != NULL) && !odi_target_lock(queue)) || odi_wait_is_over(queue);
    if (ODI_LIKELY(!it->held_up))
        it->next = take(queue, it->most > 1 && it->target == NULL ? &it->scope : NULL);
    else
        it->next = (step){0};
    if (ODI_UNLIKELY(it->target != NULL))
        odi_target_unlock(queue);
    if ((begins || (ODI_UNLIKELY(it->follow) && queue->drainers_waiting > 0)) && !is_full(queue) &&
        (it->held_up || has_job(it) || it->next.granted.code != 0))
        it->next.settlement = odi_queue_settle(queue); /* another one may come */
    it->follow = false;
    it->over = queue->released;
    it->seems_empty = queue->gate.width == 1 && queue->line.count + queue->early.count == 0;
    if (it->seems_empty && queue->spin_backoff > 0) {
        queue->spin_backoff--;
        it->seems_empty = false;
    }
}

/* Takes what is next. False: nobody waits for the pass with which it came. */
static bool look(drainer *it)
{
    od_queue *queue = it->queue;
    bool begins = false;
    int lingers = -1; /* what that wait says of the next ones; below 0: there was none */

    it->most = jobs_per_slice(queue, it->pass.band);
    /* relaxed, plain: hints; this drainer has just emptied the line */
    if (it->done > 0 && it->most == JOBS_PER_SLICE && it->seems_empty && it->target == NULL)
        lingers = linger(queue) ? 0 : NOT_LINGERING;
    odi_lock_acquire(&queue->watch.lock);
    if (lingers >= 0)
        queue->spin_backoff = (uint8_t)lingers;
    odi_queue_put_down(queue, &it->next.taken);
    if (it->wide && it->ticks != UINT64_MAX)
        odi_queue_measure(queue, it->ticks);
    it->wide = queue->gate.width != 1;
    if (!it->up)
        it->up = odi_queue_begin_drainer(queue, it->pass, &begins, it->most != SIZE_MAX ? &it->next.settlement : NULL);
    if (it->up)
        take_under_targets(it, begins);
    else
        it->over = queue->released;
    odi_lock_release(&queue->watch.lock);
    return it->up;
}

static void run_what_it_took(drainer *it)
{
    od_queue *queue = it->queue;

    it->scope.exclusive = it->next.barrier;
    if (it->held_up || has_job(it))
        odi_queue_carry_out(queue, it->next.settlement);
    if (!has_job(it))
        return;
    uint64_t began = it->wide ? od_loop_ticks() : 0;
    it->done += run_taken(queue, &it->next.taken, it->most);
    it->ticks = began != 0 ? od_loop_ticks() - began : UINT64_MAX;
    if (ODI_UNLIKELY(it->next.barrier))
        odi_queue_end_barrier(queue);
}

static void serve_line(od_queue *queue, odi_pass pass)
{
    od_queue *target = odi_target_gate(queue);
    drainer it = {.queue = queue, .target = target, .pass = pass,
                  .scope = {.queue = queue, .outer = odi_scopes, .beyond = target, .holds_place = true, .drains = true},
                  .ticks = UINT64_MAX, .follow = pass.of_node || target != NULL};

    odi_scopes = &it.scope;
    while (look(&it)) {
        run_what_it_took(&it);
        if (!has_job(&it) || (ODI_UNLIKELY(target != NULL) && odi_target_wants_back(queue)))
            break;
        if (is_wanted_far(queue, it.most) ||
            (it.done >= it.most && (it.most != JOBS_PER_SLICE || others_wait(queue))))
            break;
        it.done = it.done < it.most ? it.done : 0;
    }
    odi_scopes = it.scope.outer;
    run_beyond = target != NULL ? it.done : 0;

    if (it.next.granted.code != 0) {
        odi_queue_carry_out(queue, it.next.settlement); /* while the caller's place is held */
        odi_wait_node_grant(odi_wait_node_of(it.next.granted)); /* the place passes to it */
    } else if (it.held_up || has_job(&it)) {
        odi_queue_requeue_drainer(queue, &it.next.taken); /* its slice is over, or it is held up */
    } else {
        odi_queue_carry_out(queue, it.next.settlement);
        if (it.over)
            odi_queue_reap(queue);
    }
}

void odi_queue_drain(void *pass)
{
    uintptr_t word = (uintptr_t)pass;

    serve_line(odi_queue_of_pass(pass), (odi_pass){(uint32_t)(word & ODI_PASS_BAND), (word & ODI_PASS_OF_NODE) != 0});
}
