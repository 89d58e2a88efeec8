/* table.c — the team's table changes while a thief walks it (worker/team.c, worker/find.c,
 * reclaim/reclaim.c): who it finds there can be stolen from, and the old table goes when the
 * last thief has left it (W1).
 */
#define ODI_DEQUE_MINIMUM 2
#define ODI_STEAL_BATCH 2

#include "doubles/lock.h"
#include "doubles/machine.h"

#include "reclaim/reclaim.c"

#include "queue/deque.c"

#include "sleep/idle.c"

#define start_failed team_start_failed /* reclaim.c has a word of that name */
#include "worker/team.c"

#include "worker/recruit.c"

#include "worker/work.c"

#include "worker/site.c"

#include "worker/bench.c"

#include "doubles/no_overrides.h"

#include "worker/assignment.c"
#undef start_failed

#include "worker/find.c"

#include "pool/metrics.c"

#include "doubles/clock.h"
#include "doubles/no_timers.h"
#include "doubles/futex.h"
#include "doubles/no_forks.h"
#include "doubles/grace.h"
#include "doubles/ledger.h"
#include "doubles/never.h"
#include "doubles/pages.h"
#include "doubles/thread.h"

NEVER(odi_thread_yield) /* nobody overrides a band here */

_Thread_local odi_worker *odi_worker_self;

static od_pool pool;
static odi_site site;
static odi_worker *thief_itself, *victim;
static const int order[1][ODI_MOST_SITES];
static const uint8_t classes[1][ODI_MOST_SITES];
static unsigned pushed;

/* ---- nothing waits outside ---- */

bool odi_injector_init(odi_injector *injector, uint64_t start, int node) { return true; }
size_t odi_injector_claim(odi_injector *injector, odi_entry *entries, size_t most) { return 0; }
bool odi_injector_has_claimable(odi_injector *injector) { return false; }
bool odi_injector_push(odi_injector *injector, odi_entry entry) { return false; }
void odi_injector_free(odi_injector *injector) {}
void odi_injector_forked(odi_injector *injector) {}

bool odi_run_outside(odi_team *team, odi_entry job)
{
    model_check(false);
    return false;
}

bool odi_worker_end_run(odi_worker *worker) { return true; }

/* The new worker's day: it submits something to itself. */
void odi_worker_main(void *raw)
{
    model_check(odi_worker_push(raw, 0, ledger_entry(0)));
    pushed++;
}

/* ---- threads ---- */

static void prepare(void)
{
    odi_team *team = &pool.team;

    team->sites = &site;
    team->site_count = 1;
    team->site_order = order;
    team->site_classes = classes;
    team->capacity = team->target = 2;
    team->worker_main = odi_worker_main;
    team->first_index = INT64_MAX - 2;
    model_check(odi_team_init(team));
    odi_store_relaxed(&team->attention, ODI_CAN_START);
    thief_itself = odi_team_make_worker(team, 0);
    thief_itself->present = true;
    team->active = team->present = 1;
    model_free(odi_load_relaxed(&team->table)); /* as if it always had been so */
    odi_store_relaxed(&team->table, (odi_table *)NULL);
    model_check(odi_team_list_workers(team));
    model_hint(&team->attention, sizeof team->attention); /* bits that are changed one by one */
    grace_readers = 1u << 1;
}

static void start_worker(void) { model_check(odi_team_start_one(&pool.team, &site)); }

static void thief(void)
{
    odi_entry job;

    odi_reader_join();
    if (odi_worker_find_elsewhere(thief_itself, &job))
        ledger_note(job);
}

static bool sees_work;

static void looker(void)
{
    odi_reader_join();
    sees_work = odi_team_seems_to_have_work(&pool.team); /* whatever it sees, it may look at */
}

static void verify(void)
{
    odi_entry job;

    victim = odi_load_relaxed(&pool.team.slots[1]);
    model_check(victim != NULL && odi_load_relaxed(&pool.team.table)->first[1] == 2);
    while (odi_deque_take(&victim->deques[0], &job))
        ledger_note(job);
    ledger_settle(pushed);
    model_check(pushed == 1);
    model_check(odi_load_relaxed(&retired_list) == NULL);
}

/* A worker is started; its thread, the reclaimer of the old table, and a thief. */
MODEL_SCENARIO(table_grows, prepare, verify, start_worker, thief, model_started_thread,
               model_second_started_thread)
MODEL_REACHES(table_grows, ledger[1].count == 1)
MODEL_SPINS(table_grows, MODEL_SPINS_LEAVE)

/* The same before a thread that only looks whether there is work. */
MODEL_SCENARIO(table_grows_before_a_look, prepare, verify, start_worker, looker,
               model_started_thread, model_second_started_thread)
MODEL_REACHES(table_grows_before_a_look, sees_work)

/* Who reads the slots themselves sees the worker that is in them (W1). */
static od_metrics metrics;

static void reader_of_slots(void)
{
    odi_reader_join();
    odi_read_begin(); /* only so that the double has no thread without sections */
    odi_read_end();
    od_pool_metrics(&pool, &metrics);
    model_check(metrics.executed == 0);
}
static void make_second(void)
{
    odi_lock_acquire(&pool.team.lock);
    model_check(take_slot(&pool.team, 0) != NULL);
    odi_lock_release(&pool.team.lock);
}
MODEL_SCENARIO(table_slots, prepare, NULL, make_second, reader_of_slots)
MODEL_REACHES(table_slots, model_met(1, "odi_worker_executed") == 2)

/* A worker leaves, with an entry left behind: whoever still has the old table may take it. */
static void prepare_two(void)
{
    prepare();
    victim = odi_team_make_worker(&pool.team, 1);
    victim->present = true;
    pool.team.active = pool.team.present = 2;
    model_free(odi_load_relaxed(&pool.team.table));
    odi_store_relaxed(&pool.team.table, (odi_table *)NULL);
    model_check(odi_team_list_workers(&pool.team));
    model_check(odi_worker_push(victim, 0, ledger_entry(pushed)));
    pushed++;
}
static void depart(void) { odi_team_depart(victim, false); }
static void verify_departed(void)
{
    odi_entry job;

    model_check(odi_load_relaxed(&pool.team.table)->first[1] == 1);
    while (odi_deque_take(&victim->deques[0], &job))
        ledger_note(job);
    ledger_settle(pushed);
    model_check(odi_load_relaxed(&retired_list) == NULL);
}
MODEL_SCENARIO(table_shrinks, prepare_two, verify_departed, depart, thief, model_started_thread)
MODEL_REACHES(table_shrinks, ledger[1].count == 1)
MODEL_SPINS(table_shrinks, MODEL_SPINS_LEAVE)
