/* nodes.h — the machine that a placement test runs on, threads on its nodes, and all workers
 * of a pool held at once.
 *
 * The machine is described by whoever built it: NUMA_NODES ("4,4": CPUs of each node) and
 * NUMA_DISTANCES ("10,20;20,10"). Without them the kernel is asked, so that the program also
 * runs on a real machine; with one node most tests have nothing to say and are skipped.
 */
#ifndef NUMA_NODES_H
#define NUMA_NODES_H

#include <pthread.h>

#include "Support/node_of.h"
#include "Support/pools.h"
#include "Support/watchdog.h"
#include "os/affinity.h"
#include "os/numa.h"
#include "os/thread.h"
#include "worker/worker.h"

enum { MOST_NODES = 8, MOST_CPUS = 128 };

typedef struct {
    int nodes, cpus, compute_nodes, home_nodes[MOST_NODES]; /* the nodes that have CPUs */
    int cpus_of[MOST_NODES];
    int distance[MOST_NODES][MOST_NODES];
} built_machine;

static built_machine built;

static inline void read_numbers(const char *text, char end, int *numbers)
{
    for (int i = 0; i < MOST_NODES && text != NULL; i++) {
        numbers[i] = atoi(text);
        text = strpbrk(text, ",;");
        if (text == NULL || *text++ == end)
            break;
    }
}

static inline void ask_the_kernel(void)
{
    odi_cpu_mask cpus;

    built.nodes = numa_available() >= 0 ? numa_max_node() + 1 : 1;
    for (int node = 0; node < built.nodes; node++) {
        built.cpus_of[node] = cpus_on_node(node, &cpus) ? odi_cpu_mask_count(&cpus) : 0;
        for (int to = 0; to < built.nodes; to++)
            built.distance[node][to] = numa_distance(node, to);
    }
}

static inline void read_description(void)
{
    const char *nodes = getenv("NUMA_NODES"), *rows = getenv("NUMA_DISTANCES");

    if (nodes == NULL || rows == NULL)
        ask_the_kernel();
    else {
        read_numbers(nodes, ';', built.cpus_of);
        for (built.nodes = 1; (nodes = strchr(nodes, ',')) != NULL; nodes++)
            built.nodes++;
        for (int node = 0; node < built.nodes && rows != NULL; node++) {
            read_numbers(rows, ';', built.distance[node]);
            rows = strchr(rows, ';');
            rows += rows != NULL;
        }
    }
    for (int node = 0; node < built.nodes; node++) {
        built.cpus += built.cpus_of[node];
        if (built.cpus_of[node] > 0)
            built.home_nodes[built.compute_nodes++] = node;
    }
}

/* ---- threads on a node ---- */

/* Keeps the calling thread on the CPUs of a node. */
static inline bool stay_on(int node)
{
    odi_cpu_mask cpus;

    return cpus_on_node(node, &cpus) && odi_affinity_set(&cpus) == 0;
}

typedef struct {
    pthread_t thread;
    int node;
    void (*body)(void *);
    void *argument;
    bool stayed;
} visitor;

static inline void *visitor_main(void *raw)
{
    visitor *it = raw;

    it->stayed = stay_on(it->node);
    it->body(it->argument);
    return NULL;
}

static inline void visit_begin(visitor *it, int node, void (*body)(void *), void *argument)
{
    *it = (visitor){.node = node, .body = body, .argument = argument};
    assert_int_equal(pthread_create(&it->thread, NULL, visitor_main, it), 0);
}

static inline void visit_end(visitor *it)
{
    assert_int_equal(pthread_join(it->thread, NULL), 0);
    assert_true(it->stayed);
}

/* Calls body(argument) on a fresh thread that stays on `node`, and waits for its end. */
static inline void visit(int node, void (*body)(void *), void *argument)
{
    visitor it;

    visit_begin(&it, node, body, argument);
    visit_end(&it);
}

/* ---- workers ---- */

static inline odi_worker *worker_at(od_pool *pool, int slot)
{
    return odi_load_acquire(&pool->team.slots[slot], W3);
}

/* The node (the kernel's number) that a worker is at home on. */
static inline int home_of(odi_worker *worker) { return worker->site->node; }

static inline int site_of_node(od_pool *pool, int node)
{
    for (int site = 0; site < pool->team.site_count; site++) {
        if (pool->team.sites[site].node == node)
            return site;
    }
    return -1;
}

static inline int sleepers(od_pool *pool)
{
    uint32_t count = 0;

    for (int site = 0; site < pool->team.site_count; site++)
        count += odi_idle_sleepers(&pool->team.sites[site].idle);
    return (int)count;
}

/* Every worker of a pool in a job of its own at once, each behind its own door. */
typedef struct hold {
    od_pool *pool;
    int count; /* workers */
    void (*inside)(struct hold *, odi_worker *); /* called by each on its worker; or NULL */
    void *argument;
    atomic_int arrived, inside_done;
    odi_worker *workers[MOST_CPUS]; /* by order of arrival */
    atomic_bool open[MOST_CPUS];
} hold;

static inline void hold_job(void *raw)
{
    hold *it = raw;
    int place = atomic_fetch_add(&it->arrived, 1);

    it->workers[place] = odi_worker_self;
    while (atomic_load(&it->arrived) < it->count)
        odi_clock_sleep(MILLISECONDS(1));
    if (it->inside != NULL)
        it->inside(it, odi_worker_self);
    atomic_fetch_add(&it->inside_done, 1);
    while (!atomic_load(&it->open[place]))
        odi_clock_sleep(MILLISECONDS(1));
}

/* Returns when all of them are held and `inside` is done. */
static inline void hold_all(hold *it, od_pool *pool, void (*inside)(hold *, odi_worker *), void *argument)
{
    *it = (hold){.pool = pool, .count = od_pool_workers(pool), .inside = inside,
                 .argument = argument};
    for (int i = 0; i < it->count; i++)
        od_pool_submit(pool, OD_BAND_DEFAULT, hold_job, it);
    assert_comes_true(atomic_load(&it->inside_done) == it->count);
}

static inline void hold_release(hold *it, int place) { atomic_store(&it->open[place], true); }

static inline void hold_release_all(hold *it)
{
    for (int place = 0; place < it->count; place++)
        hold_release(it, place);
}

/* A place of a worker that is at home on `node`, or -1. */
static inline int hold_place_on(hold *it, int node)
{
    for (int place = 0; place < it->count; place++) {
        if (home_of(it->workers[place]) == node)
            return place;
    }
    return -1;
}

/* ---- pools ---- */

/* One worker for each CPU and no spares, so that held workers stay alone. */
static inline od_pool *pool_placed(od_placement placement, int workers)
{
    od_pool_options options = options_for(workers);

    options.placement = placement;
    options.spare_workers = 0;
    return pool_with(options, (odi_pool_world){0});
}

#endif
