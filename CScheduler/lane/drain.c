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

ODI_COLD void odi_serve_own_deque(void)
{
    odi_worker *worker = odi_worker_self;
    odi_entry job;

    /* relaxed: a hint; while workers can be started they do this */
    if (worker != NULL && odi_load_relaxed(&worker->crew->attention) & ODI_CAN_START &&
        odi_worker_find_local(worker, &job))
        (void)odi_run_outside(worker->crew, job);
}

ODI_COLD void odi_lane_list(od_queue *queue, odi_turn *listed, odi_entry entry)
{
    odi_store_relaxed(&listed->granted, 0); /* relaxed: the lock carries it */
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

void odi_lane_await(odi_turn *waiting, int64_t slice_ns)
{
    od_blocking_begin();
    while (odi_load_acquire(&waiting->granted, Q1) == 0) { /* ended by: grant, take_listed */
        if (odi_futex_wait(&waiting->granted, 0, odi_clock_after(slice_ns)) ==
            ODI_FUTEX_TIMED_OUT)
            odi_serve_own_deque();
    }
    od_blocking_end();
}

void odi_lane_take_turn(od_queue *queue)
{
    odi_turn mine;
    odi_entry entry = odi_job_plain(turn, &mine, ODI_TAG_INTERNAL);

    odi_store_relaxed(&mine.granted, 0); /* relaxed: not shared yet */
    odi_lock_acquire(&queue->watch.lock);
    if (!odi_fifo_push(&queue->lane, entry))
        odi_lane_list(queue, &mine, entry);
    int drainers = odi_lane_places(queue);
    odi_lock_release(&queue->watch.lock);
    odi_lane_start(queue, drainers);
    odi_lane_await(&mine, ODI_WAIT_SLICE_NS);
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

static bool pop(od_queue *queue, odi_entry *entry)
{
    return odi_fifo_pop(&queue->early, entry) || odi_fifo_pop(&queue->lane, entry) ||
           take_listed(queue, entry);
}

/* What a drainer that holds a place does next, `most` jobs of it. Lock held. Returns the
 * number of jobs; 0: it has no place any more, because there is nothing to do, too many run,
 * or a sync caller (*granted) has it now. */
static size_t take(od_queue *queue, odi_entry *jobs, size_t most, odi_entry *granted)
{
    odi_entry next;
    size_t count;

    granted->code = 0;
    if (queue->suspensions > 0 || queue->running > odi_lane_width(queue) ||
        !pop(queue, &jobs[0])) {
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

    /* relaxed, owner's word */
    return worker != NULL && worker->crew == &queue->pool->crew &&
           !(odi_load_relaxed(&worker->jobs) & 1);
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
    bool over;

    odi_stays = &stay;
    do {
        most = jobs_per_turn(queue);
        odi_lock_acquire(&queue->watch.lock);
        count = take(queue, jobs, queue->width != 1 ? 1 : most < BATCH ? most : BATCH, &granted);
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
