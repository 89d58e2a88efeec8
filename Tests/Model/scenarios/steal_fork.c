/* steal_fork.c — an idle worker and forks (worker/steal_fork.c over worker/forks.c), on its way to sleep
 * (worker/run_loop.c): whoever forks while it goes to sleep is found by it, or wakes it, and what it
 * takes runs once.
 *
 * The owner is worker 0, in a job of its own that does not join before the end: as if its branch
 * lasted for ever. A lost wake-up is a fork thief that sleeps at the end. The clock leaps, so that no
 * request is waited for longer than once.
 */
#include "sleep/idle.c"

#include "worker/run_loop.c"

#include "worker/forks.c"

#include "worker/steal_fork.c"

#include "worker/join.c"

#include "worker/stacks.c"

#include "os/clock.h"

#include "doubles/fork_stacks.h"
#include "doubles/run_loop.h"

enum { BRANCHES = 2, WORKERS = 3, TURNS = 3 };

static odi_site site;
static odi_team team;
static odi_worker workers[WORKERS];
static od_fork_slot *branch[BRANCHES];
static int number[BRANCHES] = {0, 1};
static unsigned ran[BRANCHES][MODEL_ROWS];

/* ---- the rest of the engine ---- */

static _Thread_local int64_t moment;

int64_t odi_clock_now(void) { return moment += ODI_SECOND; }
int64_t odi_clock_coarse(void) { return moment; }
int64_t odi_clock_after(int64_t delay_ns) { return moment + delay_ns; }
bool odi_team_has_jobs(odi_team *whose) { return false; }
bool odi_team_seems_to_have_work(odi_team *whose) { return odi_team_wants_fork_thieves(whose); }
bool odi_worker_find_local(odi_worker *worker, odi_entry *job) { return false; }

bool odi_worker_find_elsewhere(odi_worker *worker, odi_entry *job)
{
    return odi_worker_steal_fork(worker, job);
}

bool odi_externals_leave_room(odi_team *whose) { return true; }

NEVER(odi_team_nearest_site)
NEVER(odi_external_leave)
NEVER(odi_blocking_begin)
NEVER(od_blocking_end)
NEVER(odi_pages_free)

/* ---- threads ---- */

static void body(void *raw) { ran[*(int *)raw][model_thread()]++; }

static void prepare(void)
{
    odi_table *table = model_calloc(1, sizeof *table + WORKERS * sizeof table->workers[0]);

    odi_idle_init(&site.idle, UINT32_MAX); /* the epoch rolls over with the first signal */
    team.sites = &site;
    team.site_count = 1;
    team.refresh = refresh;
    odi_store_relaxed(&team.active_seen, 2);
    odi_store_relaxed(&team.limit_seen, WORKERS);
    for (int slot = 0; slot < WORKERS; slot++) {
        odi_forks *forks = &workers[slot].forks;

        workers[slot].team = &team;
        workers[slot].site = &site;
        workers[slot].slot = slot;
        workers[slot].random = odi_rng_seed((uint64_t)slot);
        table->workers[slot] = &workers[slot];
        model_check(odi_forks_make(forks, &team, &workers[slot], SLOTS_MINIMUM));
        model_hint(&forks->word, sizeof forks->word);   /* rechecked by a CAS */
        model_hint(&forks->asker, sizeof forks->asker); /* rechecked by a swap */
        model_hint(&forks->owner.limit, sizeof forks->owner.limit); /* CAS, or F2 */
    }
    table->first[1] = 2; /* the owner and one fork thief */
    odi_store_relaxed(&team.table, table);
    model_hint(&site.idle.state, sizeof site.idle.state); /* rechecked by a CAS, or a fence */
    model_hint(&site.idle.asleep, sizeof site.idle.asleep);
    model_hint(&team.forks_used, sizeof team.forks_used); /* S1's fences */
}

static void own(void)
{
    odi_worker_self = &workers[0];
    od_forks_self = &workers[0].forks.owner;
}

static void fork_branch(int which) { branch[which] = od_fork(body, &number[which]); }

/* Until there is a fork. While its owner is about to show it, it is seen and not to be had. */
static void hunt_once(odi_worker *worker)
{
    odi_entry job;
    bool has_one = false;

    odi_worker_self = worker;
    od_forks_self = &worker->forks.owner;
    for (int turn = 0; turn < TURNS && !has_one; turn++)
        has_one = search(worker, &job);
    model_assume(has_one);
    if (worker->searching || worker->woken)
        found(worker);
    odi_job_call(job);
}

static void hunter(void) { hunt_once(&workers[1]); }

static void verify_ran(int which, unsigned times) { model_check(model_sum(ran[which]) == times); }

/* ---- the team's first fork of all ---- */

static void first_fork(void)
{
    own();
    fork_branch(0);
}
static void verify_first(void) { verify_ran(0, 1); }
MODEL_SCENARIO(steal_fork_against_first_fork, prepare, verify_first, first_fork, hunter)
MODEL_REACHES(steal_fork_against_first_fork, model_slept(1))

/* ---- a fork while a root is out: private, unless its owner was asked ---- */

static void prepare_root(void)
{
    prepare();
    own();
    fork_branch(0);
    model_check(odi_forks_steal(&workers[0].forks) == branch[0]); /* somebody has it */
    odi_worker_self = NULL;
}
static void next_fork(void)
{
    own();
    fork_branch(1);
}
static void verify_next(void) { verify_ran(1, 1); }
MODEL_SCENARIO(steal_fork_against_next_fork, prepare_root, verify_next, next_fork, hunter)
MODEL_REACHES(steal_fork_against_next_fork, model_slept(1))

/* ---- the fork thief is asleep since before ---- */

static uint32_t asleep_since;

static void prepare_sleeper(void)
{
    prepare_root();
    asleep_since = odi_idle_announce(&site.idle, false);
    odi_worker_want_forks(&workers[1]);
}
static void sleeper(void)
{
    odi_idle_wait(&site.idle, asleep_since, ODI_FOREVER, workers[1].slot);
    workers[1].searching = odi_idle_leave(&site.idle);
    hunter();
}
MODEL_SCENARIO(steal_fork_wakes_a_sleeper, prepare_sleeper, verify_next, next_fork, sleeper)
MODEL_REACHES(steal_fork_wakes_a_sleeper, model_slept(1))
