/* top.c — fills the snapshots of the page that `overdrive top` reads (observe/page.h), and reads other processes' pages.
 * Only the page's thread fills. */
#include "include/od_top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/peek.h"
#include "include/od_report.h"
#include "observe/page.h"
#include "os/clock.h"
#include "os/shared.h"
#include "pool/pool.h"

/* ---- filling ---- */

enum { MOST_QUEUES = 1024 };

/* A queue that had pending jobs in the last snapshot, and since when. */
typedef struct {
    uintptr_t id;
    int64_t since_ns;
} busy;

/* The page's thread alone uses these. */
static od_worker_report worker_reports[ODI_PAGE_WORKERS];
static od_queue_report queue_reports[MOST_QUEUES];
static busy busy_before[MOST_QUEUES], busy_now[MOST_QUEUES];
static size_t busy_before_count, busy_now_count;
static od_top_queue rows[MOST_QUEUES];
static size_t row_count;

static int by_id(const void *a, const void *b)
{
    uintptr_t one = ((const busy *)a)->id, other = ((const busy *)b)->id;

    return (one > other) - (one < other);
}

/* The most pending first. */
static int by_pending(const void *a, const void *b)
{
    uint64_t one = ((const od_top_queue *)a)->pending, other = ((const od_top_queue *)b)->pending;

    return (one < other) - (one > other);
}

static void add_workers(od_pool *pool, uint32_t number, odi_page_snapshot *snapshot)
{
    int room = (int)(ODI_PAGE_WORKERS - snapshot->worker_count);
    int count = od_pool_report_workers(pool, worker_reports, room);

    for (int i = 0; i < count; i++) {
        const od_worker_report *from = &worker_reports[i];
        od_top_worker *to = &snapshot->workers[snapshot->worker_count++];

        *to = (od_top_worker){.pool = number, .index = (uint32_t)from->index, .thread_id = from->thread_id,
                              .doing = from->doing, .running_ns = (uint64_t)from->running_ns,
                              .waiting_ns = (uint64_t)from->waiting_ns, .executed = from->executed,
                              .waiting = from->waiting, .at_most_ns = (uint64_t)from->running_at_most_ns,
                              .queue_id = from->queue_id, .waits_at_id = from->waits_at_id, .node = from->node};
        memcpy(to->queue, from->queue, sizeof to->queue);
        memcpy(to->waits_at, from->waits_at, sizeof to->waits_at);
        if (from->waits_for != NULL)
            snprintf(to->waits_for, sizeof to->waits_for, "%s", from->waits_for);
        snapshot->pools[number].spares += from->doing == OD_WORKER_SPARE;
    }
}

static int64_t busy_since(uintptr_t id, int64_t now)
{
    busy wanted = {.id = id}, *found = NULL;

    if (busy_before_count > 0)
        found = bsearch(&wanted, busy_before, busy_before_count, sizeof *busy_before, by_id);
    return found != NULL ? found->since_ns : now;
}

static void add_queues(od_pool *pool, uint32_t number, odi_page_snapshot *snapshot)
{
    int64_t now = odi_clock_coarse();
    int count = od_pool_report_queues(pool, queue_reports, MOST_QUEUES - (int)row_count);

    snapshot->all_queues += (uint32_t)count;
    snapshot->pools[number].queues = (uint32_t)count;
    for (int i = 0; i < count && row_count < MOST_QUEUES; i++) {
        const od_queue_report *from = &queue_reports[i];
        od_top_queue *to = &rows[row_count++];
        int64_t since = busy_since(from->id, now);

        *to = (od_top_queue){.pool = number, .width = from->width, .suspended = from->suspended, .active = from->active,
                             .pending = from->pending, .running = from->running, .id = from->id, .band = from->band};
        memcpy(to->label, from->label, sizeof to->label);
        if (from->pending > 0) {
            to->busy_ns = (uint64_t)(now - since);
            busy_now[busy_now_count++] = (busy){from->id, since};
        }
    }
}

static void add_pool(od_pool *pool, void *raw)
{
    odi_page_snapshot *snapshot = raw;
    od_metrics metrics;

    if (snapshot->pool_count == ODI_PAGE_POOLS)
        return;
    uint32_t number = snapshot->pool_count++;
    od_top_pool *to = &snapshot->pools[number];
    int64_t late = odi_clock_now() - odi_timer_queue_earliest(&pool->team.timers);

    od_pool_metrics(pool, &metrics);
    *to = (od_top_pool){.executed = metrics.executed, .parks = metrics.parks, .waiting = od_pool_waiting(pool),
                        .timers = odi_timer_queue_count(&pool->team.timers), .late_ns = late > 0 ? (uint64_t)late : 0,
                        .workers = (uint32_t)metrics.workers, .active = (uint32_t)metrics.active,
                        .most_spares = (uint32_t)metrics.most_spares};
    for (int distance = 0; distance < 3; distance++) {
        to->stolen += metrics.stolen[distance];
        to->steals += metrics.steals[distance];
    }
    snprintf(to->name, sizeof to->name, "%s", pool->team.name);
    add_workers(pool, number, snapshot);
    add_queues(pool, number, snapshot);
}

static void fill(odi_page_snapshot *snapshot)
{
    row_count = busy_now_count = 0;
    odi_pools_visit(add_pool, snapshot);
    qsort(rows, row_count, sizeof *rows, by_pending);
    qsort(busy_now, busy_now_count, sizeof *busy_now, by_id);
    memcpy(busy_before, busy_now, busy_now_count * sizeof *busy_now);
    busy_before_count = busy_now_count;
    snapshot->queue_count = row_count < ODI_PAGE_QUEUES ? (uint32_t)row_count : ODI_PAGE_QUEUES;
    memcpy(snapshot->queues, rows, snapshot->queue_count * sizeof *rows);
}

__attribute__((constructor)) static void register_above(void)
{
    odi_page_fill_above = fill;
}

bool od_top_publish(char *message, size_t capacity)
{
    return odi_page_publish(message, capacity);
}

bool od_top_end(void)
{
    return odi_page_end();
}

/* ---- reading ---- */

struct od_top {
    const odi_page *page;
    odi_peek *peek; /* if there is no page */
    int process;
    uint64_t started;
    odi_page_snapshot snapshot;
};

/* Waits for a snapshot at most so long, in steps of a millisecond. */
enum { FIRST_SNAPSHOT_MS = 2000 };

/* An older snapshot is of a process that is stopped, publishes no longer, or runs another program. */
static const int64_t OLDEST_SNAPSHOT_NS = 30 * ODI_SECOND;

static const char *problem_of(int error)
{
    switch (error) {
    case ESRCH:
        return "no process has this number (%d). Name a process that runs.";
    case ENOENT:
        return "the process publishes no page (%d). Start it with OVERDRIVE_TOP=1.";
    case EACCES:
    case EPERM:
        return "the process belongs to another user (%d). Run the command as that user.";
    default:
        return "cannot read the page of the process (%d). Raise the limits of memory and files.";
    }
}

static bool refuse(char *message, size_t capacity, const char *format, int number)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(message, capacity, format, number);
#pragma GCC diagnostic pop
    return false;
}

static bool is_sound(const odi_page *page, int process, char *message, size_t capacity)
{
    if (page->magic != ODI_PAGE_MAGIC || page->started != odi_shared_started(process))
        return refuse(message, capacity, problem_of(ENOENT), process);
    if (page->version != ODI_PAGE_VERSION || page->bytes != sizeof *page)
        return refuse(message, capacity, "the page has another version (%d). Use the command of the program's own version.",
                      (int)page->version);
    return true;
}

od_top *od_top_open(int process, char *message, size_t capacity)
{
    int error = 0;
    const odi_page *page = odi_shared_open(process, ODI_PAGE_NAME, sizeof *page, &error);

    if (page == NULL) {
        (void)refuse(message, capacity, problem_of(error), process);
        return NULL;
    }
    bool sound = is_sound(page, process, message, capacity);
    od_top *top = sound ? calloc(1, sizeof *top) : NULL;
    if (top == NULL) {
        if (sound)
            (void)refuse(message, capacity, problem_of(ENOMEM), process);
        odi_shared_close(page, sizeof *page);
        return NULL;
    }
    top->page = page;
    top->process = process;
    top->started = page->started;
    return top;
}

static od_top *peek(int process, char *message, size_t capacity)
{
    od_top *top = calloc(1, sizeof *top);

    if (top == NULL || (top->peek = calloc(1, sizeof *top->peek)) == NULL) {
        (void)refuse(message, capacity, problem_of(ENOMEM), process);
    } else if (odi_peek_begin(top->peek, process, message, capacity)) {
        top->process = process;
        top->started = odi_shared_started(process);
        return top;
    }
    if (top != NULL)
        free(top->peek);
    free(top);
    return NULL;
}

od_top *od_top_peek(int process, char *message, size_t capacity)
{
    int error = 0;
    const odi_page *page = odi_shared_open(process, ODI_PAGE_NAME, sizeof *page, &error);

    if (page == NULL)
        return error == EACCES || error == ESRCH ? od_top_open(process, message, capacity) : peek(process, message, capacity);
    odi_shared_close(page, sizeof *page);
    return od_top_open(process, message, capacity);
}

static uint32_t at_most(uint32_t count, uint32_t most)
{
    return count < most ? count : most;
}

/* Whatever the other process has written, no read goes beyond its row. */
static void make_sound(odi_page_snapshot *it)
{
    it->pool_count = at_most(it->pool_count, ODI_PAGE_POOLS);
    it->worker_count = at_most(it->worker_count, ODI_PAGE_WORKERS);
    it->queue_count = at_most(it->queue_count, ODI_PAGE_QUEUES);
    for (uint32_t i = 0; i < it->pool_count; i++)
        it->pools[i].name[sizeof it->pools[i].name - 1] = '\0';
    for (uint32_t i = 0; i < it->queue_count; i++)
        it->queues[i].label[sizeof it->queues[i].label - 1] = '\0';
    for (uint32_t i = 0; i < it->worker_count; i++) {
        od_top_worker *worker = &it->workers[i];

        worker->queue[sizeof worker->queue - 1] = '\0';
        worker->waits_for[sizeof worker->waits_for - 1] = '\0';
        worker->waits_at[sizeof worker->waits_at - 1] = '\0';
    }
}

static bool show(od_top *top, od_top_view *view)
{
    odi_page_snapshot *it = &top->snapshot;

    make_sound(it);
    *view = (od_top_view){it->taken_ns, it->pool_count, it->worker_count, it->queue_count, it->all_queues,
                          it->pools,    it->workers,    it->queues};
    return true;
}

bool od_top_read(od_top *top, od_top_view *view, char *message, size_t capacity)
{
    odi_page_snapshot *it = &top->snapshot;
    int tries = 0;

    if (top->started != odi_shared_started(top->process) || (top->peek != NULL && !odi_peek_fill(top->peek)))
        return refuse(message, capacity, "the process has ended (%d). Name a process that runs.", top->process);
    if (top->peek != NULL) {
        *it = top->peek->snapshot;
        return show(top, view);
    }
    while (!odi_page_words_read(&top->page->sequence, top->page->words, (uint64_t *)it, ODI_PAGE_WORDS)) {
        if (tries++ == FIRST_SNAPSHOT_MS)
            return refuse(message, capacity, "the process writes no snapshots (%d). Continue it if it is stopped.", top->process);
        odi_clock_sleep(ODI_MILLISECOND);
    }
    if (odi_clock_now() - (int64_t)it->taken_ns > OLDEST_SNAPSHOT_NS)
        return refuse(message, capacity, "the process writes no snapshots (%d). Continue it if it is stopped.", top->process);
    return show(top, view);
}

void od_top_close(od_top *top)
{
    if (top->page != NULL)
        odi_shared_close(top->page, sizeof *top->page);
    free(top->peek);
    free(top);
}
