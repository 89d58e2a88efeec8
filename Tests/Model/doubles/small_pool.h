/* small_pool.h — a whole pool of the engine's own files, small enough to be explored: the day of
 * a worker, the team, runs, submission and stop as they are. In their place stand the injector
 * (one word of waiting jobs), where a worker looks (its deque, then that word), locks that are
 * never fought for, and a machine without CPUs. Only band 0 is used.
 */
#define ODI_DEQUE_MINIMUM 2
#define ODI_STEAL_BATCH 2

#include "doubles/lock.h"
#include "doubles/machine.h"

/* Without nodes, one event less in each of many looks. */
#define odi_injector_size odi_injector_size_itself
#include "queue/injector.h"
#undef odi_injector_size

static inline uint64_t odi_injector_size(odi_injector *injector)
{
    uint64_t head = odi_load_relaxed(&injector->head), tail = odi_load_relaxed(&injector->tail);

    return tail > head ? tail - head : 0;
}

#include "queue/deque.c"

#include "queue/fifo.c"

#include "sleep/idle.c"

#include "job/free_list.c"

#include "job/record.c"

#include "job/label.c"

#include "job/count.c"

#include "worker/team.c"

#include "worker/recruit.c"

#include "worker/work.c"

#include "worker/site.c"

#include "worker/bench.c"

#include "doubles/no_overrides.h"

#include "worker/assignment.c"

#include "worker/self.c"

#include "worker/run.c"

#include "pool/submit.c"

#include "pool/stop.c"

#include "worker/run_loop.c"

#include "worker/blocking.c"

#include "doubles/no_timers.h"
#include "doubles/clock.h"
#include "doubles/futex_now.h"
#include "doubles/keep.h"
#include "doubles/no_forks.h"
#include "doubles/pages.h"
#include "doubles/thread.h"
#include "doubles/thread_self.h"

static od_pool pool;
static odi_site site;
static const int order[1][ODI_MOST_SITES];
static const uint8_t classes[1][ODI_MOST_SITES];

void (*odi_cancel_above)(od_pool *pool);
bool (*odi_owed_above)(od_pool *pool);

/* ---- where work from outside waits: a bit for each job ---- */

enum { JOBS = 4 };

#define WAITING (site.injectors[0].tail) /* whose size is not zero then */
#define CLOSED (UINT64_C(1) << 63)

/* The engine's ticket, which counts a job, is seq_cst (S2), and what it stands for is written after it: one bit is both
 * here, as late as what is written unless the scenario says otherwise. */
#ifndef SMALL_POOL_PUSH
#define SMALL_POOL_PUSH odi_cas_release
#endif

/* The scenario's. */
static odi_entry job(unsigned n);

static unsigned number_of(odi_entry entry) { return (unsigned)entry.context; }
bool odi_injector_init(odi_injector *injector, uint64_t start, int node) { return true; }
void odi_injector_free(odi_injector *injector) {}
void odi_injector_forked(odi_injector *injector) {}

bool odi_injector_push(odi_injector *injector, odi_entry entry)
{
    uint64_t bits = odi_load_relaxed(&WAITING);

    model_check(injector == &site.injectors[0]);
    while (!(bits & CLOSED)) {
        if (SMALL_POOL_PUSH(&WAITING, &bits, bits | UINT64_C(1) << number_of(entry), none))
            return true;
    }
    return false;
}

void odi_injector_close(odi_injector *injector) { (void)odi_or_relaxed(&injector->tail, CLOSED); }

bool odi_injector_is_used_up(odi_injector *injector)
{
    return odi_load_relaxed(&injector->tail) == CLOSED;
}

bool odi_injector_push_node(odi_injector *injector, odi_entry entry, odi_entry_node *node)
{
    return odi_injector_push(injector, entry);
}

size_t odi_injector_claim(odi_injector *injector, odi_entry *entries, size_t most)
{
    if (injector != &site.injectors[0] || most == 0)
        return 0;
    uint64_t bits = odi_load_relaxed(&WAITING);
    while ((bits & ~CLOSED) != 0) {
        uint64_t lowest = bits & (~bits + 1);

        if (odi_cas_acquire(&WAITING, &bits, bits & ~lowest, none)) {
            entries[0] = job((unsigned)__builtin_ctzll(lowest));
            return 1;
        }
    }
    return 0;
}

bool odi_injector_has_claimable(odi_injector *injector)
{
    return injector == &site.injectors[0] && (odi_load_relaxed(&WAITING) & ~CLOSED) != 0;
}

/* ---- the rest of the engine ---- */

/* What the worker has, then what waits outside; there is nobody to steal from. */
bool odi_worker_find_local(odi_worker *worker, odi_entry *found_here)
{
    return odi_deque_take(&worker->deques[0], found_here) ||
           odi_injector_claim(&site.injectors[0], found_here, 1) > 0;
}

bool odi_worker_find_elsewhere(odi_worker *worker, odi_entry *found_there) { return false; }
void odi_group_drained(odi_group *group) {}
void odi_group_know(odi_group *group, odi_record *record) { (void)group, (void)record; }
void odi_pool_wake_monitor(od_pool *whose) {}
static void refresh(odi_team *team) {}
static void arm_monitor(odi_team *team) {}

/* What every scenario of the pool begins with: `capacity` slots, none of them taken. */
static void make_pool(int capacity)
{
    odi_team *team = &pool.team;

    team->sites = &site;
    team->site_count = 1;
    team->site_order = order;
    team->site_classes = classes;
    team->capacity = capacity;
    team->target = 1;
    team->first_index = INT64_MAX - 1;
    team->refresh = refresh;
    team->arm_monitor = arm_monitor;
    team->worker_main = odi_worker_main;
    team->pool = &pool;
    model_check(odi_team_init(team));
    odi_store_relaxed(&team->attention, 0);
    odi_store_relaxed(&pool.stop_deadline, ODI_FOREVER);
    model_hint(&WAITING, sizeof WAITING); /* rechecked by the CAS of who takes a job */
    model_hint(&site.idle.state, sizeof site.idle.state);
    model_hint(&site.idle.asleep, sizeof site.idle.asleep);
    model_hint(&site.bands, sizeof site.bands);
    model_hint(&team->attention, sizeof team->attention);
}

/* A worker that is there. */
static odi_worker *make_present(void)
{
    odi_worker *worker = odi_team_make_worker(&pool.team, 0);

    worker->present = true;
    pool.team.active = pool.team.present = 1;
    model_check(odi_team_list_workers(&pool.team));
    model_hint(&worker->bands, sizeof worker->bands);
    return worker;
}
