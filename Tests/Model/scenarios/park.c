/* park.c — submit against park, through the worker's own search (worker/run_loop.c) and the
 * engine's own publication (worker/team.h): idle.c has them in miniature.
 *
 * Where work waits is one counter. A worker that got a job ends, as if it ran for ever; a lost
 * wake-up is a worker that sleeps at the end.
 */
#include "sleep/idle.c"

#include "worker/run_loop.c"

#include "worker/self.c"

#include "doubles/clock.h"
#include "doubles/no_forks.h"
#include "doubles/run_loop.h"
#include "doubles/tally.h"

NEVER(odi_thread_yield)

static odi_site site;
static odi_team team;
static odi_worker workers[2];
static odi_atomic(uint32_t) waiting; /* jobs */

/* ---- where work waits ---- */

static bool has_work(void) { return odi_load_relaxed(&waiting) > 0; }
bool odi_team_has_jobs(odi_team *whose) { return has_work(); }
bool odi_team_seems_to_have_work(odi_team *whose) { return has_work(); }

bool odi_worker_find_local(odi_worker *worker, odi_entry *job)
{
    uint32_t jobs = odi_load_relaxed(&waiting);

    *job = (odi_entry){1, 0};
    while (jobs > 0)
        if (odi_cas_acquire(&waiting, &jobs, jobs - 1, none))
            return true;
    return false;
}

bool odi_worker_find_elsewhere(odi_worker *worker, odi_entry *job) { return false; }

/* ---- threads ---- */

static void prepare(void)
{
    odi_idle_init(&site.idle, UINT32_MAX); /* the epoch rolls over with the first signal */
    team.sites = &site;
    team.site_count = 1;
    team.refresh = refresh;
    for (int slot = 0; slot < 2; slot++) {
        workers[slot].team = &team;
        workers[slot].site = &site;
        workers[slot].slot = slot;
    }
    model_hint(&site.idle.state, sizeof site.idle.state); /* rechecked by a CAS, or a fence */
    model_hint(&site.idle.asleep, sizeof site.idle.asleep);
    model_hint(&waiting, sizeof waiting); /* rechecked by the CAS of who takes a job */
}

static void submit(void)
{
    odi_add_release(&waiting, 1, none);
    odi_team_publish(&team, &site);
}

static void work(odi_worker *worker)
{
    odi_entry job;

    while (!odi_worker_find_local(worker, &job) && !search(worker, &job)) {
    }
    if (worker->searching || worker->woken)
        found(worker);
    ran[model_thread()]++;
}

static void first(void) { work(&workers[0]); }
static void second(void) { work(&workers[1]); }
static void verify_one(void) { model_check(total() == 1); }
static void verify_two(void) { model_check(total() == 2); }

MODEL_SCENARIO(park_against_submit, prepare, verify_one, submit, first)
MODEL_REACHES(park_against_submit, model_slept(1))

/* A job waits and its worker searches; a second worker comes, and a second job. */
static void prepare_search(void)
{
    prepare();
    odi_store_relaxed(&waiting, 1);
    workers[0].searching = odi_idle_try_search(&site.idle);
    model_check(workers[0].searching);
}
MODEL_SCENARIO(park_beside_a_search, prepare_search, verify_two, submit, first, second)
MODEL_REACHES(park_beside_a_search, model_slept(1), model_slept(2))

/* A worker goes to sleep with the token, on which two submissions have relied, while the other
 * one is asleep since before: of the two jobs that it sees on its way, that one gets one. */
static uint32_t asleep_since;

static void prepare_covered(void)
{
    prepare();
    asleep_since = odi_idle_announce(&site.idle, false);
    workers[0].searching = odi_idle_try_search(&site.idle);
    odi_store_relaxed(&waiting, 2);
    model_check(odi_idle_signal(&site.idle) == ODI_SIGNAL_COVERED);
}
static void park_first(void) { park(&workers[0]); work(&workers[0]); }
static void asleep(void)
{
    odi_idle_wait(&site.idle, asleep_since, ODI_FOREVER, workers[1].slot);
    workers[1].searching = odi_idle_leave(&site.idle);
    work(&workers[1]);
}
MODEL_SCENARIO(park_sees_two, prepare_covered, verify_two, park_first, asleep)
MODEL_REACHES(park_sees_two, model_slept(1))
