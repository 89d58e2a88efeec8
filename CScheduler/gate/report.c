/* report.c — reports for people: what a pool's workers do, and what waits in its queues. */
#include "gate/report.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "gate/queue.h"
#include "observe/dump_signal.h"
#include "os/clock.h"
#include "worker/worker.h"

/* Copies the label. The lock is needed because the memory may serve another queue by now. */
static void copy_label(od_queue *queue, char *label)
{
    odi_lock_acquire(&queue->watch.lock);
    memcpy(label, queue->label, OD_LABEL_BYTES);
    odi_lock_release(&queue->watch.lock);
}

/* Fills in how long the worker's job has run. The lower bound starts when a report or the monitor first saw
 * the job. The upper bound starts at the last noted time or end of a wait before the job. Both are equal if
 * only this job has run since. Under the team's lock, or of a copy. */
void odi_report_times(odi_worker *worker, uint64_t activity, od_worker_report *report)
{
    int64_t now = odi_clock_coarse();
    /* relaxed, both: hints, written by the owner in this order */
    int64_t noted_ns = odi_load_relaxed(&worker->noted_ns);
    bool is_first = odi_load_relaxed(&worker->noted_jobs) + 1 == activity;
    int64_t back_ns = odi_load_relaxed(&worker->back_ns);

    if (back_ns > noted_ns && odi_load_relaxed(&worker->back_jobs) < activity) /* relaxed: as above */
        noted_ns = back_ns;

    if (worker->reported_jobs != activity || worker->reported_ns == 0) {
        worker->reported_jobs = activity;
        worker->reported_ns = now;
    }
    int64_t met = worker->reported_ns;
    if (worker->watched_jobs == activity && worker->watched_ns != 0 && worker->watched_ns < met)
        met = worker->watched_ns;
    int64_t most = noted_ns != 0 && noted_ns < met ? noted_ns : met;
    report->running_ns = now - (is_first ? most : met);
    report->running_at_most_ns = now - most;
}

/* Fills in the wait that the worker's job has announced. */
static void tell_wait(odi_worker *worker, od_worker_report *report)
{
    /* relaxed, all: hints for reports. The memory stays a queue's. */
    od_queue *at = odi_load_relaxed(&worker->waits_at);

    report->waits_for = odi_load_relaxed(&worker->waits_for);
    report->waiting_ns = odi_clock_coarse() - odi_load_relaxed(&worker->waits_ns);
    if (report->waits_for != NULL && at != NULL) {
        report->waits_at_id = (uintptr_t)at;
        copy_label(at, report->waits_at);
    }
}

static void look_at(odi_worker *worker, od_worker_report *report)
{
    uint64_t activity = odi_worker_activity(worker);
    od_queue *queue = odi_load_relaxed(&worker->queue_running); /* relaxed: a hint for reports */

    report->thread_id = odi_load_relaxed(&worker->thread_id); /* relaxed: a hint for reports */
    report->node = worker->site->node;
    report->executed = odi_worker_executed(worker);
    for (int band = 0; band < ODI_BANDS; band++)
        report->waiting += odi_deque_size(&worker->deques[band]);
    if (worker->benched) {
        report->doing = OD_WORKER_SPARE;
    } else if (activity & 1) {
        /* relaxed: a hint */
        report->doing = odi_load_relaxed(&worker->says_blocking) ? OD_WORKER_BLOCKS
                                                                 : OD_WORKER_RUNS;
        odi_report_times(worker, activity, report);
        if (report->doing == OD_WORKER_BLOCKS)
            tell_wait(worker, report);
        report->queue_id = (uintptr_t)queue;
        if (queue != NULL)
            copy_label(queue, report->queue);
    }
}

int od_pool_report_workers(od_pool *pool, od_worker_report *reports, int room)
{
    odi_team *team = &pool->team;
    odi_worker *worker;
    int count = 0;

    odi_lock_acquire(&team->lock);
    for (int slot = 0; count < room && (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        if (!worker->present)
            continue;
        reports[count] = (od_worker_report){.index = worker->slot};
        look_at(worker, &reports[count++]);
    }
    odi_lock_release(&team->lock);
    return count;
}

uint64_t od_pool_waiting(od_pool *pool)
{
    odi_team *team = &pool->team;
    uint64_t waiting = 0;

    for (int site = 0; site < team->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++)
            waiting += odi_injector_size(&team->sites[site].injectors[band]);
    }
    return waiting;
}

typedef struct {
    od_pool *pool;
    od_queue_report *reports;
    int room, count;
} gathering;

static bool report_queue(od_queue *queue, od_pool *pool, bool at_rest_too, od_queue_report *report)
{
    odi_lock_acquire(&queue->watch.lock);
    bool is_of = queue->pool == pool && (!queue->released || queue->records != NULL);
    od_band band = (od_band)queue->band; /* under the lock, because the memory may become another queue */
    odi_lock_release(&queue->watch.lock);
    if (!is_of)
        return false;
    uint64_t pending = od_queue_pending(queue);
    bool suspended = od_queue_is_suspended(queue), active = od_queue_is_active(queue);
    if (pending == 0 && !suspended && active && !at_rest_too)
        return false;
    if (report != NULL) {
        *report = (od_queue_report){.id = (uintptr_t)queue, .pending = pending,
                                    .running = od_queue_running(queue), .width = od_queue_width(queue),
                                    .suspended = suspended, .active = active};
        copy_label(queue, report->label);
        report->band = band;
    }
    return true;
}

static void gather(void *object, void *raw)
{
    gathering *all = raw;

    all->count += report_queue(object, all->pool, false, all->count < all->room ? &all->reports[all->count] : NULL);
}

bool od_pool_report_queue(od_pool *pool, uintptr_t id, od_queue_report *report)
{
    return report_queue((od_queue *)id, pool, true, report);
}

int od_pool_report_queues(od_pool *pool, od_queue_report *reports, int room)
{
    gathering all = {pool, reports, room, 0};

    odi_arena_visit(&odi_queues, gather, &all);
    return all.count;
}

void od_warnings_to(void (*take)(const char *sentence))
{
    odi_warn_to(take);
}

bool od_dump_signal_to(void (*dump)(void))
{
    return odi_dump_signal_to(dump);
}

/* ---- the description of a stuck pool ---- */

enum { WAITS_NAMED = 4 };

/* Appends the description of one worker's wait. */
static int describe(odi_worker *worker, char *text, size_t size)
{
    od_worker_report it = {0};

    look_at(worker, &it);
    bool named = it.queue[0] != 0, says = it.waits_for != NULL, at = it.waits_at_id != 0;
    return snprintf(text, size, "a closure%s%s%s %s%s%s%s%s", named ? " of \"" : "", it.queue, named ? "\"" : "",
                    says ? "waits " : "blocks", says ? it.waits_for : "", at ? " \"" : "", it.waits_at,
                    at ? "\"" : "");
}

static void describe_waits(od_pool *pool, char *text, size_t size)
{
    odi_team *team = &pool->team;
    size_t length = 0;
    int waits = 0;

    odi_lock_acquire(&team->lock);
    for (int slot = 0; slot < team->capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&team->slots[slot]); /* relaxed: locked */

        if (worker == NULL || !worker->present || !(odi_worker_activity(worker) & 1))
            continue;
        if (waits++ >= WAITS_NAMED || length + 2 >= size)
            continue;
        memcpy(text + length, waits == 1 ? ": " : "; ", 3);
        length += 2;
        length += (size_t)describe(worker, text + length, size - length);
    }
    odi_lock_release(&team->lock);
    if (waits > WAITS_NAMED && length < size)
        (void)snprintf(text + length, size - length, "; and %d more", waits - WAITS_NAMED);
}

__attribute__((constructor)) static void register_above(void)
{
    odi_describe_waits_above = describe_waits;
}
