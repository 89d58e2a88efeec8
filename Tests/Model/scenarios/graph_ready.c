/* graph_ready.c — the ready nodes of a graph's run, transcribed from Sources/Overdrive/Graph/GraphReadyList.swift and
 * GraphRun.swift: each ready node is taken once, by a thread that sees the writes of its dependencies, and no node stays
 * behind without a job.
 *
 * transcribes: Sources/Overdrive/Graph/GraphReadyList.swift:add 9052a9df
 * transcribes: Sources/Overdrive/Graph/GraphReadyList.swift:take 12aa50c0
 * transcribes: Sources/Overdrive/Graph/GraphRun.swift:runReady ac25bdb4
 * transcribes: Sources/Overdrive/Graph/GraphRun.swift:submitIfNeeded a9a7ea46
 */
#include "base/atomic.h"

#include "model/scenario.h"

enum { NODES = 3 };

static odi_atomic(uint64_t) ready;
static odi_atomic(int32_t) next_ready[NODES];
static odi_atomic(uint32_t) is_job_waiting;
static odi_atomic(uint32_t) submitted;
static int inputs[NODES]; /* plain: what the dependencies of a node have written */
static unsigned taken[NODES][MODEL_ROWS];

static int first_of(uint64_t word) { return (int)(word & 0xffffffff) - 1; }
static uint64_t after(uint64_t word, int first) { return ((word >> 32) + 1) << 32 | (uint64_t)(first + 1); }

static void submit_if_needed(void)
{
    if (odi_load_seqcst(&is_job_waiting, none) || odi_or_seqcst(&is_job_waiting, 1, none))
        return;
    odi_add_relaxed(&submitted, 1);
}

static void add(int node)
{
    uint64_t found = odi_load_relaxed(&ready);

    inputs[node] = node + 1;
    do {
        odi_store_relaxed(&next_ready[node], first_of(found));
    } while (!odi_cas_seqcst_acquire(&ready, &found, after(found, node), none));
    submit_if_needed();
}

static int take(void)
{
    uint64_t found = odi_load_seqcst(&ready, none);

    while (first_of(found) >= 0) {
        int node = first_of(found);

        if (odi_cas_acqrel_acquire(&ready, &found, after(found, odi_load_relaxed(&next_ready[node])), none)) {
            model_check(inputs[node] == node + 1);
            return node;
        }
    }
    return -1;
}

/* GraphRun.follow, of nodes that release no others. */
static void drive(int node)
{
    while (node >= 0) {
        taken[node][model_thread()]++;
        node = take();
    }
}

static void run_ready(void)
{
    int node;

    odi_and_seqcst(&is_job_waiting, 0, none);
    node = take();
    if (node < 0)
        return;
    if (first_of(odi_load_seqcst(&ready, none)) >= 0)
        submit_if_needed();
    drive(node);
}

/* Jobs that no thread of the scenario has run. */
static void each_once_by(int nodes)
{
    for (uint32_t job = odi_load_relaxed(&submitted); job > 0; job--)
        run_ready();
    for (int node = 0; node < nodes; node++)
        model_check(model_sum(taken[node]) == 1); /* 0: lost, 2: taken twice */
}

/* ---- a thread adds a node while the waiting job begins ---- */

static void a_job_waits(void) { odi_store_relaxed(&is_job_waiting, 1); }
static void add_0(void) { add(0); }
static void each_of_one(void) { each_once_by(1); }

MODEL_SCENARIO(graph_node_meets_job, a_job_waits, each_of_one, add_0, run_ready)
MODEL_REACHES(graph_node_meets_job, taken[0][1] == 1, taken[0][1] == 0)

/* ---- a node is taken and added again while another thread takes it ---- */

static void two_are_ready(void)
{
    add(0);
    add(1);
}

static void take_and_add_again(void)
{
    int first = take(), second = take();

    if (second >= 0)
        taken[second][model_thread()]++;
    if (first >= 0)
        add(first);
}

static void take_one(void)
{
    int node = take();

    if (node >= 0)
        taken[node][model_thread()]++;
}

static void each_of_two(void) { each_once_by(2); }

MODEL_SCENARIO(graph_node_is_added_again, two_are_ready, each_of_two, take_and_add_again, take_one)
MODEL_REACHES(graph_node_is_added_again, taken[0][1] == 1, taken[1][1] == 1)
