/* thief.c — the engine's own thief (worker/find.c) at a worker whose deque grows: what it
 * brings home, and keeps of it, is each job once.
 */
#define ODI_DEQUE_MINIMUM 2
#define ODI_STEAL_BATCH 2

#include "queue/deque.c"

#include "sleep/idle.c"

#include "worker/find.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/keep.h"
#include "doubles/no_forks.h"
#include "doubles/ledger.h"
#include "doubles/never.h"
#include "doubles/no_overrides.h"
#include "doubles/pages.h"

NEVER(odi_thread_yield) /* nobody overrides a band here */

static odi_site site;
static odi_team team;
static odi_worker owner_of_all, thief_itself;
static const int order[1][ODI_MOST_SITES];
static const uint8_t classes[1][ODI_MOST_SITES];
static unsigned pushed;

size_t odi_injector_claim(odi_injector *injector, odi_entry *entries, size_t most) { return 0; }
void odi_team_publish_slow(odi_team *whose, odi_site *where) {}

static void make_worker(odi_worker *worker, int slot)
{
    worker->team = &team;
    worker->site = &site;
    worker->slot = slot;
    worker->random = odi_rng_seed((uint64_t)slot);
    for (int band = 0; band < ODI_BANDS; band++)
        odi_deque_init(&worker->deques[band], INT64_MAX - 2, ODI_ANY_NODE);
}

static void push(void)
{
    model_check(odi_worker_push(&owner_of_all, 0, ledger_entry(pushed)));
    pushed++;
}

/* The first ring exists already, and an entry waits in it. */
static void prepare(void)
{
    odi_table *table = model_calloc(1, sizeof *table + 2 * sizeof(odi_worker *));

    odi_idle_init(&site.idle, 0);
    team.sites = &site;
    team.site_count = 1;
    team.site_order = order;
    team.site_classes = classes;
    make_worker(&owner_of_all, 0);
    make_worker(&thief_itself, 1);
    table->workers[0] = &owner_of_all;
    table->workers[1] = &thief_itself;
    table->first[1] = 2;
    odi_store_relaxed(&team.table, table);
    model_hint(&owner_of_all.bands, sizeof owner_of_all.bands);
    push();
}

static void take_all(odi_worker *worker)
{
    odi_entry entry;

    while (odi_deque_take(&worker->deques[0], &entry))
        ledger_note(entry);
}

static void growth_owner(void) { push(); push(); }

static void thief(void)
{
    odi_entry job;

    if (odi_worker_find_elsewhere(&thief_itself, &job)) {
        ledger_note(job);
        take_all(&thief_itself);
    }
}

static void verify(void) { take_all(&owner_of_all); ledger_settle(pushed); }

MODEL_SCENARIO(thief_against_growth, prepare, verify, growth_owner, thief)
MODEL_REACHES(thief_against_growth, ledger[1].count == 2, ledger_has(1, 1))
MODEL_SPINS(thief_against_growth, MODEL_SPINS_LEAVE)

/* ---- the job that waits submits the next one ---- */

static void chain_owner(void)
{
    odi_entry entry;

    if (odi_deque_take(&owner_of_all.deques[0], &entry)) {
        ledger_note(entry);
        push();
        take_all(&owner_of_all);
    }
}

static void prepare_chain(void) { clock_stands_at = 1; prepare(); }

MODEL_SCENARIO(thief_beside_a_chain, prepare_chain, verify, chain_owner, thief)
MODEL_REACHES(thief_beside_a_chain, thief_itself.beside_chain_ns == 1 && model_met(1, "pause_until") > 0, ledger_has(1, 0), ledger_has(1, 1))
MODEL_SPINS(thief_beside_a_chain, MODEL_SPINS_BOTH)
