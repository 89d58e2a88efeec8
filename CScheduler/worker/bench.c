/* bench.c — parks surplus workers as spares, moves workers between sites, and ends their threads. The run
 * loop calls it on the worker's own thread. */
#include "worker/bench.h"

#include <limits.h>

#include "observe/trace.h"
#include "os/clock.h"
#include "os/futex.h"
#include "worker/assignment.h"
#include "worker/due.h"
#include "worker/recruit.h"
#include "worker/run.h"
#include "worker/work.h"

/* Moves the jobs of a leaving worker to the site's injectors. If an allocation fails, the remaining jobs and
 * the worker stay: returns false. */
static bool hand_over_jobs(odi_worker *worker)
{
    odi_entry job;

    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        while (odi_deque_take(&worker->deques[band], &job)) {
            if (!odi_site_push(worker->site, band, job)) {
                (void)odi_worker_push(worker, band, job); /* its slot in the deque is still free */
                return false;
            }
        }
    }
    worker->batch_left = 0;
    return true;
}

bool odi_worker_stop_searching(odi_worker *worker)
{
    if (!worker->searching)
        return false;
    worker->searching = false;
    odi_idle_found(&worker->site->idle);
    odi_fence_heavy(S1); /* jobs that a submitter's ticket has counted can be claimed after this */
    return true;
}

void odi_team_move(odi_worker *worker)
{
    odi_team *team = worker->team;
    int site = worker->site_index;

    (void)odi_worker_stop_searching(worker);
    odi_lock_acquire(&team->lock);
    bool moves = odi_load_relaxed(&worker->moves); /* relaxed: written under the lock */
    if (moves)
        odi_assignment_put(worker);
    if (worker->site_index != site)
        odi_team_list_workers(team);
    odi_lock_release(&team->lock);
    if (moves)
        odi_assignment_settle(worker);
    /* Other workers may now take the work that woke this one. */
    if (odi_team_has_work(team))
        odi_team_publish(team, worker->site);
}

/* Parks the worker if it is still surplus and the team does not stop. */
static bool take_a_seat(odi_team *team, odi_worker *worker)
{
    odi_lock_acquire(&team->lock);
    /* relaxed: stop walks the list under the lock after it has set the flag */
    bool surplus = team->active > odi_team_limit(team) && !(odi_load_relaxed(&team->attention) & ODI_STOPPING);
    if (surplus) {
        team->active--;
        odi_team_seat(worker);
        odi_assignment_give(team);
        odi_team_counts_changed(team);
    }
    odi_lock_release(&team->lock);
    return surplus;
}

/* Whether a spare whose time has passed may end: another spare is parked too, or spares are disabled. Lock
 * held. */
static bool may_leave(const odi_worker *worker)
{
    const odi_team *team = worker->team;

    return team->bench != worker || worker->next_benched != NULL || team->spare_cap == 0;
}

/* Sleeps until the worker is called back, the team stops, or the deadline passes. */
static void await_call(odi_worker *worker, int64_t deadline)
{
    odi_futex_result result = ODI_FUTEX_WOKEN;

    /* Ended by odi_team_start_one, by a stop, or by the deadline. */
    while (odi_load_acquire(&worker->bench_word, W5) == 0 && result != ODI_FUTEX_TIMED_OUT)
        result = odi_futex_wait(&worker->bench_word, 0, deadline);
}

odi_bench_result odi_team_sit(odi_worker *worker)
{
    odi_team *team = worker->team;
    bool over = false, called_back = false;

    if (odi_traces())
        odi_trace(ODI_TRACE_BENCH, ODI_TRACE_NO_BAND, NULL, 0);
    for (int64_t until = odi_clock_after(team->bench_ns); !over; until = ODI_FOREVER) {
        await_call(worker, until);
        odi_lock_acquire(&team->lock);
        called_back = !worker->benched;
        /* relaxed: a stop that reports the parked workers does so under the lock */
        over = called_back || odi_load_relaxed(&worker->bench_word) != 0 || may_leave(worker);
        if (over && !called_back)
            odi_team_unseat(worker);
        odi_lock_release(&team->lock);
    }
    if (odi_traces())
        odi_trace(ODI_TRACE_RETURN, ODI_TRACE_NO_BAND, NULL, 0);
    return called_back ? ODI_BENCH_RETURNS : ODI_BENCH_LEAVES;
}

odi_bench_result odi_team_bench(odi_worker *worker)
{
    odi_team *team = worker->team;

    if (!odi_worker_end_run(worker))
        return ODI_BENCH_LEAVES;
    if (!hand_over_jobs(worker))
        return ODI_BENCH_GOES_ON;
    /* Before it parks: afterwards the thread that calls it back writes `searching`. */
    (void)odi_worker_stop_searching(worker);
    if (!take_a_seat(team, worker))
        return ODI_BENCH_GOES_ON;
    /* Another worker may now take the work that woke this one. */
    if (odi_team_has_work(team))
        odi_team_publish(team, worker->site);
    odi_team_watch_timers(team, worker->site); /* this worker may have been the leader */
    return odi_team_sit(worker);
}

/* Lets another worker run. Publishers found the team full until now, and the remaining jobs may need the job
 * of a blocked worker. */
static void release_active(odi_team *team, odi_site *site)
{
    odi_lock_acquire(&team->lock);
    team->active--;
    odi_team_counts_changed(team);
    odi_lock_release(&team->lock);
    odi_fence_heavy(S4);
    if (odi_team_has_work(team))
        odi_team_publish(team, site);
}

void odi_team_depart(odi_worker *worker, bool from_bench)
{
    odi_team *team = worker->team;

    if (!from_bench)
        release_active(team, worker->site);
    odi_lock_acquire(&team->lock);
    worker->present = worker->pinned = false;
    (void)odi_team_list_workers(team); /* a worker without a thread in the table does no harm */
    team->present--;
    odi_add_relaxed(&team->departures, 1); /* relaxed: written and read under the lock */
    odi_futex_wake(&team->departures, INT_MAX);
    odi_lock_release_last(&team->lock); /* the team may be freed from here on */
}
