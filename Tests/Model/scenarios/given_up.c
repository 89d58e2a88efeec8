/* given_up.c — a search is given up without a job (worker/bench.c over sleep/idle.c and queue/injector.c as they
 * are): who submits and has relied on it has his job found by who gives it up, though it was only counted by then.
 */
#define ODI_INJECTOR_BLOCK 1
#define ODI_INJECTOR_DIRECTORY 2

#include "doubles/lock.h"

#include "queue/injector.c"

#include "sleep/idle.c"

#include "worker/bench.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/keep.h"
#include "doubles/never.h"
#include "doubles/pages.h"
#include "model/scenario.h"

NEVER(odi_assignment_give)
NEVER(odi_assignment_put)
NEVER(odi_assignment_settle)
NEVER(odi_deque_push)
NEVER(odi_deque_take)
NEVER(odi_team_counts_changed)
NEVER(odi_team_has_work)
NEVER(odi_team_limit)
NEVER(odi_team_list_workers)
NEVER(odi_team_publish_slow)
NEVER(odi_team_seat)
NEVER(odi_team_unseat)
NEVER(odi_team_watch_timers)
NEVER(odi_worker_end_run)

static odi_site site;
static odi_worker worker;
static bool relied, seen;

static void prepare(void)
{
    odi_idle_init(&site.idle, 0);
    model_check(odi_injector_init(&site.injectors[0], 0, ODI_ANY_NODE));
    worker.site = &site;
    worker.searching = odi_idle_try_search(&site.idle);
}

static void submit(void)
{
    model_check(odi_site_push(&site, 0, (odi_entry){1, 1}));
    relied = odi_idle_signal_counted(&site.idle) == ODI_SIGNAL_COVERED;
}

static void give_up(void)
{
    model_check(odi_worker_stop_searching(&worker));
    seen = odi_injector_has_claimable(&site.injectors[0]);
}

static void verify(void) { model_check(!relied || seen); }
MODEL_SCENARIO(search_is_given_up, prepare, verify, submit, give_up)
MODEL_REACHES(search_is_given_up, relied, seen)
