#include "lane/queue.h"

#include "base/invariant.h"
#include "os/futex.h"
#include "os/thread.h"
#include "worker/run.h"
#include "worker/worker.h"

/* How many jobs a serial lane's drainer takes at once, and how many it runs before it goes
 * back in line behind the pool's other work. */
enum { BATCH = 16, JOBS_PER_TURN = 64 };

_Thread_local od_stay *odi_stays;

/* ---- state: lock held ---- */

bool odi_lane_is_clear(const od_queue *queue)
{
    return queue->lane.count == 0 && queue->early.count == 0;
}

void odi_lane_set_diverted(od_queue *queue, bool diverted)
{
    odi_store_relaxed(&queue->diverted, diverted); /* relaxed: rechecked under the lock */
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue) {
        if (diverted)
            odi_or_seqcst(&record->flags, ODI_RECORD_DIVERTED, L2);
        else
            odi_and_seqcst(&record->flags, ~(uint32_t)ODI_RECORD_DIVERTED, L2);
    }
}

void odi_lane_open_if_clear(od_queue *queue)
{
    /* relaxed: written under the lock */
    if (odi_load_relaxed(&queue->diverted) && queue->width == OD_UNLIMITED &&
        queue->suspensions == 0 && odi_lane_is_clear(queue))
        odi_lane_set_diverted(queue, false);
}

/* How many may run at once: for an unlimited queue that works off its lane, one per worker. */
static int32_t places(const od_queue *queue)
{
    return queue->width != OD_UNLIMITED ? queue->width : (int32_t)queue->pool->crew.capacity;
}

int odi_lane_places(od_queue *queue)
{
    uint64_t waiting = queue->lane.count + queue->early.count;
    int32_t free_places = places(queue) - queue->running;

    if (queue->suspensions > 0 || free_places <= 0 || waiting == 0)
        return 0;
    int drainers = waiting < (uint64_t)free_places ? (int)waiting : free_places;
    if (queue->width == OD_UNLIMITED) { /* more drainers than workers gain nothing */
        int workers = od_pool_workers(queue->pool);

        if (queue->running + drainers > workers)
            drainers = workers - queue->running;
    }
    if (drainers <= 0)
        return 0;
    queue->running += drainers;
    return drainers;
}

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

void odi_lane_take_turn(od_queue *queue)
{
    odi_turn mine;
    odi_entry entry = odi_job_plain(turn, &mine, ODI_TAG_INTERNAL);

    odi_store_relaxed(&mine.granted, 0); /* relaxed: not shared yet */
    odi_lock_acquire(&queue->watch.lock);
    while (!odi_fifo_push(&queue->lane, entry)) { /* ends when memory is to be had */
        odi_lock_release(&queue->watch.lock);
        odi_thread_yield();
        odi_lock_acquire(&queue->watch.lock);
    }
    int drainers = odi_lane_places(queue);
    odi_lock_release(&queue->watch.lock);
    odi_lane_start(queue, drainers);

    od_blocking_begin();
    while (odi_load_acquire(&mine.granted, Q1) == 0)
        odi_futex_wait(&mine.granted, 0, ODI_FOREVER); /* ended by: grant */
    od_blocking_end();
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
    return odi_fifo_pop(&queue->early, entry) || odi_fifo_pop(&queue->lane, entry);
}

/* What a drainer that holds a place does next. Lock held. Returns the number of jobs; 0: it
 * has no place any more, because there is nothing to do, too many run, or a sync caller
 * (*granted) has it now. */
static size_t take(od_queue *queue, odi_entry *jobs, odi_entry *granted)
{
    size_t most = queue->width == 1 ? BATCH : 1, count = 0;

    granted->code = 0;
    if (queue->suspensions > 0 || queue->running > places(queue) || !pop(queue, &jobs[0])) {
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
        if (!odi_fifo_pop(&queue->lane, &jobs[count]))
            break;
        if (is_turn(jobs[count]) && odi_fifo_unpop(&queue->lane, jobs[count]))
            break;
    }
    return count;
}

/* Gives back jobs that were taken and not run, in their order. Returns how many could not be
 * given back for want of memory: they are the first ones. */
static size_t give_back(od_queue *queue, const odi_entry *jobs, size_t count)
{
    odi_lock_acquire(&queue->watch.lock);
    while (count > 0 && odi_fifo_unpop(&queue->lane, jobs[count - 1]))
        count--;
    odi_lock_release(&queue->watch.lock);
    return count;
}

static void run_one(odi_entry job)
{
    odi_worker *worker = odi_worker_self;

    if (worker != NULL)
        odi_worker_run(worker, job, ODI_RECORD_CANCELLED);
    else
        (void)odi_run_outside(job);
}

static void run_batch(od_queue *queue, odi_entry *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && odi_load_relaxed(&queue->interrupt)) /* relaxed: Q2, a hint */
            count = i + give_back(queue, jobs + i, count - i);
        if (i < count)
            run_one(jobs[i]);
    }
}

/* A drainer: it holds a place of the lane from odi_lane_places until take says otherwise. */
static void drain(void *raw)
{
    od_queue *queue = raw;
    od_stay stay = {queue, odi_stays, true};
    odi_entry jobs[BATCH], granted;
    size_t done = 0, count;
    bool over;

    odi_stays = &stay;
    do {
        odi_lock_acquire(&queue->watch.lock);
        count = take(queue, jobs, &granted);
        over = queue->released;
        odi_lock_release(&queue->watch.lock);
        run_batch(queue, jobs, count);
        done += count;
        /* On a worker others get their turn; elsewhere nobody else would come. */
    } while (count > 0 && (done < JOBS_PER_TURN || odi_worker_self == NULL));
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

/* ---- entering ---- */

bool odi_lane_push(od_queue *queue, odi_entry labelled)
{
    odi_lock_acquire(&queue->watch.lock);
    if (!odi_load_relaxed(&queue->diverted)) { /* relaxed: written under the lock */
        odi_lock_release(&queue->watch.lock);
        return false;
    }
    bool kept = odi_fifo_push(&queue->lane, labelled);
    int drainers = odi_lane_places(queue);
    odi_lock_release(&queue->watch.lock);
    odi_lane_start(queue, drainers);

    if (!kept) { /* memory is short: it runs here, when its turn comes */
        od_stay stay;

        od_queue_sync_begin(queue, &stay);
        (void)odi_run_outside(labelled);
        od_queue_sync_end(&stay);
    }
    return true;
}

void odi_lane_divert(odi_record *record, odi_entry job)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: outstanding keeps it */
    odi_entry labelled;

    if (!odi_record_label(record, job, &labelled)) {
        (void)odi_run_outside_of(record, job);
        return;
    }
    odi_lock_acquire(&queue->watch.lock);
    bool diverted = odi_load_relaxed(&queue->diverted); /* relaxed: written under the lock */
    bool kept = diverted && odi_fifo_push(&queue->early, labelled);
    int drainers = odi_lane_places(queue);
    odi_lock_release(&queue->watch.lock);

    odi_lane_start(queue, drainers);
    if (!diverted)
        odi_pool_submit(queue->pool, record->band, labelled);
    else if (!kept)
        (void)odi_run_outside(labelled);
}

/* ---- cancelling ---- */

static bool is_cancelled(odi_entry entry)
{
    odi_record *record = is_turn(entry) ? NULL : odi_record_of_job(entry);

    /* relaxed: the caller has cancelled it itself */
    return record != NULL && odi_load_relaxed(&record->flags) & ODI_RECORD_CANCELLED;
}

/* Turns `fifo` round once and moves what is cancelled to `dropped`. Lock held. What memory
 * cannot be had for stays where it is: it is discarded when its turn comes. */
static void sift(odi_fifo *fifo, odi_fifo *dropped)
{
    odi_entry entry;

    for (uint64_t left = fifo->count; left > 0; left--) {
        (void)odi_fifo_pop(fifo, &entry);
        if (is_cancelled(entry) && odi_fifo_push(dropped, entry))
            continue;
        if (!odi_fifo_push(fifo, entry)) {
            (void)odi_fifo_unpop(fifo, entry);
            return;
        }
    }
}

void odi_lane_purge(od_queue *queue)
{
    odi_fifo dropped = {0};
    odi_entry entry;

    odi_lock_acquire(&queue->watch.lock);
    sift(&queue->early, &dropped);
    sift(&queue->lane, &dropped);
    odi_store_relaxed(&queue->interrupt, true); /* relaxed: Q2, a hint */
    odi_lane_open_if_clear(queue);
    odi_lock_release(&queue->watch.lock);

    while (odi_fifo_pop(&dropped, &entry))
        (void)odi_run_outside(entry); /* cancelled: it is discarded, which may run deinits */
    odi_fifo_free(&dropped);
}
