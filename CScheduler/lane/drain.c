/* drain.c — who serves a lane: drainers, and sync callers whose turn has come. */
#include "lane/queue.h"

#include "os/clock.h"
#include "os/futex.h"
#include "worker/run.h"
#include "worker/worker.h"

/* How many jobs a serial lane's drainer takes at once, and how many it runs before it goes
 * back in line behind the pool's other work. Where other bands may have work it is one, so
 * that the bound on passing a band over counts the lane's jobs too. */
enum { BATCH = 16, JOBS_PER_TURN = 64 };

_Thread_local od_stay *odi_stays;

/* ---- turns of sync callers ---- */

static void turn(void *unused)
{
    (void)unused; /* never called: it marks a lane's entry as a sync caller */
}

static bool is_turn(odi_entry entry)
{
    return odi_job_tag(entry) == ODI_TAG_INTERNAL;
}

/* The caller's place in the lane passes to the sync caller, who was asleep or about to be. */
static void grant(odi_entry entry)
{
    odi_turn *waiting = (odi_turn *)(uintptr_t)entry.context;

    odi_store_release(&waiting->granted, 1, Q1);
    /* `waiting` may be gone by now; the futex call uses its address alone. */
    odi_futex_wake(&waiting->granted, 1);
}

/* The turn that waits right below the drainer that is about to run on this thread. */
static _Thread_local odi_turn *right_below;

/* What runs here runs on top of a job that waits, and ends before that can go on: it may wait
 * for what that job holds. So it is for when no other worker can be had, and never for when
 * the others are only slow to come. */
ODI_COLD static void serve(odi_turn *waiting)
{
    odi_worker *worker = odi_worker_self;
    odi_entry job;

    if (worker == NULL || !odi_crew_has_work(worker->crew) ||
        odi_crew_hand_over(worker->crew, worker->site) || !odi_worker_find_local(worker, &job))
        return;
    right_below = odi_job_tag(job) == ODI_TAG_INTERNAL ? waiting : NULL;
    (void)odi_run_outside(worker->crew, job);
    right_below = NULL;
}

void odi_serve_own_deque(void)
{
    serve(NULL);
}

/* Lock held. Takes a sync caller's turn out of the lane. False: its thread is away, and it
 * enters the lane again when it comes back. A place granted to it meanwhile would be held for
 * as long as the job on top of it lasts, which may wait for that very place. On top of `below`
 * there is only the drainer that asks. */
static bool call(odi_entry entry, const odi_turn *below)
{
    odi_turn *waiting = (odi_turn *)(uintptr_t)entry.context;
    bool away = waiting->where == ODI_TURN_AWAY && waiting != below;

    waiting->where = away ? ODI_TURN_PASSED : ODI_TURN_CALLED;
    return !away;
}

ODI_COLD void odi_lane_list(od_queue *queue, odi_turn *listed, odi_entry entry)
{
    odi_store_relaxed(&listed->granted, 0); /* relaxed: the lock carries it */
    listed->where = ODI_TURN_WAITS;
    listed->entry = entry;
    listed->next = NULL;
    if (queue->first_turn == NULL)
        queue->first_turn = listed;
    else
        queue->last_turn->next = listed;
    queue->last_turn = listed;
}

/* Lock held. A job is in the drainer's hands from here on: its submitter need not wait. */
static bool take_listed(od_queue *queue, odi_entry *entry)
{
    odi_turn *listed = queue->first_turn;

    if (listed == NULL)
        return false;
    queue->first_turn = listed->next;
    *entry = listed->entry;
    if (!is_turn(*entry)) {
        odi_store_release(&listed->granted, 1, Q1);
        odi_futex_wake(&listed->granted, 1); /* `listed` may be gone; see grant */
    }
    return true;
}

/* Lock held; releases it. */
static void enter(od_queue *queue, odi_turn *waiting)
{
    odi_entry entry = odi_job_plain(turn, waiting, ODI_TAG_INTERNAL);

    waiting->where = ODI_TURN_WAITS;
    if (!odi_fifo_push(&queue->lane, entry))
        odi_lane_list(queue, waiting, entry);
    int drainers = odi_lane_places(queue);
    odi_lock_release(&queue->watch.lock);
    odi_lane_start(queue, drainers);
}

/* No turn is granted while its thread runs something else on top of it. */
ODI_COLD static void serve_meanwhile(od_queue *queue, odi_turn *waiting)
{
    odi_lock_acquire(&queue->watch.lock);
    bool goes = waiting->where == ODI_TURN_WAITS;
    waiting->where = goes ? ODI_TURN_AWAY : waiting->where;
    odi_lock_release(&queue->watch.lock);
    if (!goes)
        return; /* granted, or about to be */
    serve(waiting);
    odi_lock_acquire(&queue->watch.lock);
    if (waiting->where == ODI_TURN_PASSED) {
        enter(queue, waiting);
        return;
    }
    if (waiting->where == ODI_TURN_AWAY)
        waiting->where = ODI_TURN_WAITS;
    odi_lock_release(&queue->watch.lock);
}

void odi_lane_await(od_queue *queue, odi_turn *waiting, int64_t slice_ns)
{
    od_blocking_begin();
    while (odi_load_acquire(&waiting->granted, Q1) == 0) { /* ended by: grant, take_listed */
        if (odi_futex_wait(&waiting->granted, 0, odi_clock_after(slice_ns)) ==
            ODI_FUTEX_TIMED_OUT)
            serve_meanwhile(queue, waiting);
    }
    od_blocking_end();
}

void odi_lane_take_turn(od_queue *queue)
{
    odi_turn mine;

    odi_store_relaxed(&mine.granted, 0); /* relaxed: not shared yet */
    odi_lock_acquire(&queue->watch.lock);
    enter(queue, &mine);
    odi_lane_await(queue, &mine, ODI_WAIT_SLICE_NS);
}

void odi_lane_end_turn(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->running--;
    odi_lane_open_if_clear(queue);
    int drainers = odi_lane_places(queue);
    bool over = queue->released;
    odi_lock_release(&queue->watch.lock);
    odi_lane_start(queue, drainers);
    if (over)
        odi_queue_reap(queue);
}

/* ---- draining ---- */

/* The next of the lane, leaving out the turns of threads that are away. Lock held. */
static bool pop(od_queue *queue, odi_entry *entry, const odi_turn *below)
{
    while (odi_fifo_pop(&queue->early, entry) || odi_fifo_pop(&queue->lane, entry) ||
           take_listed(queue, entry)) {
        if (!is_turn(*entry) || call(*entry, below))
            return true;
    }
    return false;
}

/* What a drainer that holds a place does next, `most` jobs of it. Lock held. Returns the
 * number of jobs; 0: it has no place any more, because there is nothing to do, too many run,
 * or a sync caller (*granted) has it now. */
static size_t take(od_queue *queue, odi_entry *jobs, size_t most, const odi_turn *below,
                   odi_entry *granted)
{
    odi_entry next;
    size_t count;

    granted->code = 0;
    if (queue->suspensions > 0 || queue->running > odi_lane_width(queue) ||
        !pop(queue, &jobs[0], below)) {
        queue->running--;
        odi_lane_open_if_clear(queue);
        return 0;
    }
    if (is_turn(jobs[0])) {
        *granted = jobs[0];
        return 0;
    }
    /* relaxed: set under the lock; from here on only what comes after it interrupts */
    odi_store_relaxed(&queue->interrupt, false);
    for (count = 1; count < most && queue->early.count == 0; count++) {
        if (!odi_fifo_peek(&queue->lane, &next) || is_turn(next))
            break;
        (void)odi_fifo_pop(&queue->lane, &jobs[count]);
    }
    return count;
}

/* Gives back jobs that were taken and not run, in their order. What was cancelled meanwhile
 * stays in hand, to be discarded, and so does what memory is too short for. Returns how many
 * stay; they are the first ones. */
static size_t give_back(od_queue *queue, odi_entry *jobs, size_t count)
{
    size_t stay = 0, back = 0;
    odi_entry lot[BATCH];

    odi_lock_acquire(&queue->watch.lock);
    for (size_t i = 0; i < count; i++) {
        if (odi_lane_is_cancelled(jobs[i]))
            jobs[stay++] = jobs[i];
        else
            lot[back++] = jobs[i];
    }
    while (back > 0 && odi_fifo_unpop(&queue->lane, lot[back - 1]))
        back--;
    odi_lock_release(&queue->watch.lock);
    for (size_t i = 0; i < back; i++)
        jobs[stay++] = lot[i];
    return stay;
}

/* Whether the calling thread is a worker of the queue's pool, between two jobs. */
static bool on_free_worker(const od_queue *queue)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && worker->crew == &queue->pool->crew &&
           !(odi_worker_activity(worker) & 1);
}

/* relaxed: a hint, the stop's cancel counts what it finds */
static bool past_deadline(const od_queue *queue)
{
    return odi_load_relaxed(&queue->pool->crew.attention) & ODI_CANCELLING;
}

static void run_one(od_queue *queue, odi_entry job)
{
    if (odi_discarding || (on_free_worker(queue) && past_deadline(queue)))
        odi_run_discard(&queue->pool->crew, job); /* a stop that was too early to count it */
    else if (on_free_worker(queue))
        odi_worker_run(odi_worker_self, job, ODI_RECORD_CANCELLED);
    else
        (void)odi_run_outside(&queue->pool->crew, job);
}

static void run_batch(od_queue *queue, odi_entry *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && odi_load_relaxed(&queue->interrupt)) { /* relaxed: Q2, a hint */
            count = i + give_back(queue, jobs + i, count - i);
            if (i == count)
                return;
        }
        run_one(queue, jobs[i]);
    }
}

/* How many jobs this drainer may run before it goes back in line. */
static size_t jobs_per_turn(od_queue *queue)
{
    odi_worker *worker = odi_worker_self;

    /* Elsewhere nobody else would come; and after a stop nobody would take it back. */
    if (!on_free_worker(queue) || past_deadline(queue))
        return SIZE_MAX;
    return odi_worker_other_bands(worker, queue->band) ? 1 : JOBS_PER_TURN;
}

/* A drainer: it holds a place of the lane from odi_lane_places until take says otherwise. */
static void drain(void *raw)
{
    od_queue *queue = raw;
    od_stay stay = {queue, odi_stays, true};
    odi_entry jobs[BATCH], granted;
    size_t done = 0, count, most;
    const odi_turn *below = right_below;
    bool over;

    right_below = NULL;
    odi_stays = &stay;
    do {
        most = jobs_per_turn(queue);
        odi_lock_acquire(&queue->watch.lock);
        count = take(queue, jobs, queue->width != 1 ? 1 : most < BATCH ? most : BATCH, below,
                     &granted);
        over = queue->released;
        odi_lock_release(&queue->watch.lock);
        run_batch(queue, jobs, count);
        done += count;
    } while (count > 0 && done < most);
    odi_stays = stay.outer;

    if (granted.code != 0)
        grant(granted);
    else if (count > 0)
        odi_lane_start(queue, 1);
    else if (over)
        odi_queue_reap(queue);
}

void odi_lane_start(od_queue *queue, int drainers)
{
    for (; drainers > 0; drainers--)
        odi_pool_submit(queue->pool, queue->band,
                        odi_job_plain(drain, queue, ODI_TAG_INTERNAL));
}
