#include "gate/peek.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gate/report.h"
#include "os/clock.h"
#include "worker/run.h"

/* Chunks and records of one list that are read. A list that changes under the reader may have a circle. */
enum { MOST_CHUNKS = 4096, MOST_RECORDS = 4096, CHUNK_OBJECTS = ODI_ARENA_CHUNK_BYTES - ODI_CACHE_LINE };

static bool copy(odi_peek *peek, void *to, const void *from, size_t bytes)
{
    return odi_image_read(peek->process, to, from, bytes) == 0;
}

/* Copies a text that ends at the next zero or with the row. Text that cannot be read is "?". */
static void copy_text(odi_peek *peek, char *to, size_t room, const void *from)
{
    if (!copy(peek, to, from, room)) {
        (void)snprintf(to, room, "?");
        peek->skipped++;
    }
    to[room - 1] = '\0';
}

static const void *label_at(uintptr_t queue)
{
    return (const void *)(queue + offsetof(od_queue, label));
}

/* ---- workers ---- */

/* A static text may be shorter than the row, at the end of its page. */
static void copy_static(odi_peek *peek, char *to, size_t room, const char *from)
{
    size_t used = 0;

    for (; used + 1 < room && copy(peek, to + used, from + used, 1) && to[used] != '\0'; used++)
        ;
    to[used] = '\0';
}

static void note_run(odi_peek *peek, uintptr_t queue)
{
    odi_worker *worker = &peek->worker;
    bool in_job = odi_load_relaxed(&worker->jobs) & 1; /* relaxed, both: of a copy */
    uint64_t word = odi_load_relaxed(&worker->run), held = odi_run_held(word);

    if (peek->run_count == ODI_PEEK_RUNS || held == 0)
        return;
    peek->runs[peek->run_count].queue = in_job ? queue : 0;
    peek->runs[peek->run_count].tag = odi_run_tag(word);
    peek->runs[peek->run_count++].finished = (uint32_t)(held - in_job);
}

static void add_worker(odi_peek *peek, uint32_t pool)
{
    odi_worker *worker = &peek->worker;
    odi_page_snapshot *snapshot = &peek->snapshot;
    od_worker_report report = {0};
    uint64_t activity = odi_worker_activity(worker);
    /* relaxed, all: of a copy */
    uintptr_t queue = (uintptr_t)odi_load_relaxed(&worker->queue_running), at = (uintptr_t)odi_load_relaxed(&worker->waits_at);
    const char *waits_for = odi_load_relaxed(&worker->waits_for);
    od_top_worker *row = &snapshot->workers[snapshot->worker_count];

    note_run(peek, queue);
    if (snapshot->worker_count == ODI_PAGE_WORKERS) {
        peek->skipped++;
        return;
    }
    snapshot->worker_count++;
    /* relaxed, both: of a copy */
    *row = (od_top_worker){.pool = pool, .index = (uint32_t)worker->slot, .thread_id = odi_load_relaxed(&worker->thread_id),
                           .executed = odi_load_relaxed(&worker->jobs) >> 1};
    for (int band = 0; band < ODI_BANDS; band++)
        row->waiting += odi_deque_size(&worker->deques[band]);
    if (worker->benched) {
        row->doing = OD_WORKER_SPARE;
        snapshot->pools[pool].spares++;
        return;
    }
    if (!(activity & 1))
        return;
    row->doing = odi_load_relaxed(&worker->says_blocking) ? OD_WORKER_BLOCKS : OD_WORKER_RUNS; /* relaxed, both: of a copy */
    odi_report_times(worker, activity, &report);
    row->running_ns = (uint64_t)report.running_ns;
    row->at_most_ns = (uint64_t)report.running_at_most_ns;
    row->queue_id = queue;
    if (queue != 0)
        copy_text(peek, row->queue, sizeof row->queue, label_at(queue));
    if (row->doing != OD_WORKER_BLOCKS)
        return;
    row->waiting_ns = (uint64_t)(odi_clock_coarse() - odi_load_relaxed(&worker->waits_ns)); /* relaxed: of a copy */
    if (waits_for == NULL)
        return;
    copy_static(peek, row->waits_for, sizeof row->waits_for, waits_for);
    row->waits_at_id = at;
    if (at != 0)
        copy_text(peek, row->waits_at, sizeof row->waits_at, label_at(at));
}

static void add_workers(odi_peek *peek, uint32_t pool)
{
    int capacity = peek->pool.team.capacity;
    const odi_atomic(odi_worker *) *slots = peek->pool.team.slots;

    for (int slot = 0; slot < capacity && slot < ODI_MOST_WORKERS + ODI_MOST_SPARES; slot++) {
        odi_worker *worker;

        if (!copy(peek, &worker, &slots[slot], sizeof worker)) {
            peek->skipped++;
            return;
        }
        if (worker == NULL)
            continue;
        if (!copy(peek, &peek->worker, worker, sizeof peek->worker))
            peek->skipped++;
        else if (peek->worker.present)
            add_worker(peek, pool);
    }
    for (int number = 0; number < peek->pool.team.site_count && number < ODI_MOST_SITES; number++) {
        if (!copy(peek, &peek->site, &peek->pool.team.sites[number], offsetof(odi_site, node)))
            continue;
        for (int band = 0; band < ODI_BANDS; band++)
            peek->snapshot.pools[pool].waiting += odi_injector_size(&peek->site.injectors[band]);
    }
}

/* ---- queues ---- */

/* Adds up the counts of the queue's records, as od_queue_pending and od_queue_running do with the lock. */
static void count_jobs(odi_peek *peek, uintptr_t id, od_top_queue *row)
{
    const odi_record *next = peek->queue.records;

    for (int seen = 0; next != NULL && seen < MOST_RECORDS; seen++) {
        odi_record *record = &peek->record;

        if (!copy(peek, record, next, sizeof *record)) {
            peek->skipped++;
            return;
        }
        /* relaxed, both: of a copy */
        if ((uintptr_t)odi_load_relaxed(&record->queue) != id)
            break; /* it was removed in between */
        uint64_t outstanding = odi_counts_outstanding(odi_load_relaxed(&record->counts)), finished = 0;

        for (unsigned run = 0; run < peek->run_count; run++)
            finished += peek->runs[run].tag == record->tag ? peek->runs[run].finished : 0;
        row->pending += outstanding > finished ? outstanding - finished : 0;
        row->running += outstanding > 0 ? record->outside : 0;
        next = record->next_of_queue;
    }
    for (unsigned run = 0; run < peek->run_count; run++)
        row->running += peek->runs[run].queue == id;
}

/* The pool's number, or that of no pool. */
static uint32_t number_of(const uintptr_t *pools, uint32_t count, const od_pool *pool)
{
    uint32_t number = 0;

    while (number < count && pools[number] != (uintptr_t)pool)
        number++;
    return number;
}

/* Inserts the row into those with the most pending jobs. */
static void insert(odi_page_snapshot *snapshot, const od_top_queue *row)
{
    uint32_t at = snapshot->queue_count;

    if (at == ODI_PAGE_QUEUES && snapshot->queues[at - 1].pending >= row->pending)
        return;
    if (at < ODI_PAGE_QUEUES)
        snapshot->queue_count++;
    else
        at--;
    for (; at > 0 && snapshot->queues[at - 1].pending < row->pending; at--)
        snapshot->queues[at] = snapshot->queues[at - 1];
    snapshot->queues[at] = *row;
}

static void add_queue(odi_peek *peek, uintptr_t id, uint32_t pool)
{
    od_queue *queue = &peek->queue;
    const odi_gate *gate = &queue->gate;
    od_top_queue row = {.pool = pool, .id = id, .band = queue->band, .active = !gate->inactive,
                        .suspended = gate->suspensions > gate->inactive,
                        .width = gate->width != ODI_GATE_UNLIMITED ? gate->width : OD_UNLIMITED};

    count_jobs(peek, id, &row);
    if (row.pending == 0 && !row.suspended && row.active)
        return;
    memcpy(row.label, queue->label, sizeof row.label);
    row.label[sizeof row.label - 1] = '\0';
    peek->snapshot.all_queues++;
    peek->snapshot.pools[pool].queues++;
    insert(&peek->snapshot, &row);
}

static void add_queues(odi_peek *peek, const uintptr_t *pools)
{
    odi_arena arena;
    const odi_arena_chunk *chunk = NULL;

    if (copy(peek, &arena, peek->block.queues, sizeof arena))
        chunk = arena.chunks;
    for (int seen = 0; chunk != NULL && seen < MOST_CHUNKS; seen++) {
        uintptr_t first = (uintptr_t)chunk + ODI_CACHE_LINE;

        for (size_t offset = 0; offset + sizeof peek->queue <= CHUNK_OBJECTS; offset += sizeof peek->queue) {
            if (!copy(peek, &peek->queue, (const void *)(first + offset), sizeof peek->queue)) {
                peek->skipped++;
                continue;
            }
            uint32_t pool = number_of(pools, peek->snapshot.pool_count, peek->queue.pool);

            if (pool < peek->snapshot.pool_count && (!peek->queue.released || peek->queue.records != NULL))
                add_queue(peek, first + offset, pool);
        }
        if (!copy(peek, &chunk, chunk, sizeof chunk))
            return;
    }
}

/* ---- pools ---- */

static void add_pool(odi_peek *peek)
{
    odi_team *team = &peek->pool.team;
    odi_page_snapshot *snapshot = &peek->snapshot;
    uint32_t number = snapshot->pool_count++;
    od_top_pool *row = &snapshot->pools[number];

    *row = (od_top_pool){.workers = (uint32_t)team->target, .active = (uint32_t)team->active,
                         .most_spares = (uint32_t)odi_load_relaxed(&team->most_spares)}; /* relaxed: of a copy */
    memcpy(row->name, team->name, sizeof team->name);
    row->name[sizeof team->name - 1] = '\0';
    add_workers(peek, number);
}

bool odi_peek_fill(odi_peek *peek)
{
    odi_page_snapshot *snapshot = &peek->snapshot;
    uintptr_t pools[ODI_PAGE_POOLS] = {0};
    const od_pool *next;

    memset(snapshot, 0, sizeof *snapshot);
    peek->skipped = peek->run_count = 0;
    if (!copy(peek, &next, peek->block.pools, sizeof next))
        return false;
    while (next != NULL && snapshot->pool_count < ODI_PAGE_POOLS) {
        if (!copy(peek, &peek->pool, next, sizeof peek->pool)) {
            peek->skipped++;
            break;
        }
        pools[snapshot->pool_count] = (uintptr_t)next;
        next = peek->pool.next_pool;
        add_pool(peek);
    }
    add_queues(peek, pools);
    snapshot->taken_ns = (uint64_t)odi_clock_now();
    return true;
}

/* ---- beginning ---- */

/* A reader of another layout would read nonsense. */
static uint32_t layout(void)
{
    static const size_t facts[] = {
        sizeof(od_pool), offsetof(od_pool, next_pool), offsetof(odi_team, slots), offsetof(odi_team, name), sizeof(odi_site),
        sizeof(odi_worker), offsetof(odi_worker, queue_running), offsetof(odi_worker, watched_ns), offsetof(odi_worker, deques),
        sizeof(od_queue), offsetof(od_queue, gate), offsetof(od_queue, label), sizeof(odi_record), offsetof(odi_record, counts),
        sizeof(odi_arena), sizeof(odi_gate), sizeof(odi_deque),
    };
    uint32_t hash = 0;

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        hash = hash * 16777619u ^ (uint32_t)facts[i];
    return hash;
}

__attribute__((constructor)) static void fill_block(void)
{
    odi_image_own = (odi_image_block){ODI_IMAGE_MAGIC, ODI_PEEK_VERSION, layout(), odi_pools_list, &odi_queues};
}

static bool has_pools(int process, const odi_image_block *block)
{
    const void *first = NULL;

    return odi_image_read(process, &first, block->pools, sizeof first) == 0 && first != NULL;
}

static const char *problem_of(int error)
{
    switch (error) {
    case ESRCH:
        return "no process has this number (%d). Name a process that runs.";
    case ENOENT:
        return "the process has no scheduler (%d). Name a program that uses Overdrive.";
    default:
        return "the kernel forbids to read the process (%d). Start it with OVERDRIVE_TOP=1, or run the command as root.";
    }
}

void odi_peek_begin_here(odi_peek *peek)
{
    peek->process = getpid();
    peek->block = odi_image_own;
}

bool odi_peek_begin(odi_peek *peek, int process, char *message, size_t capacity)
{
    int error = odi_image_find(process, has_pools, &peek->block);

    peek->process = process;
    if (error == 0 && (peek->block.version != ODI_PEEK_VERSION || peek->block.layout != layout())) {
        (void)snprintf(message, capacity, "the program has another version of Overdrive (%d). Use the command of its own version.", process);
        return false;
    }
    if (error == 0 && !has_pools(process, &peek->block))
        error = ENOENT;
    if (error == 0)
        return true;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(message, capacity, problem_of(error), process);
#pragma GCC diagnostic pop
    return false;
}
