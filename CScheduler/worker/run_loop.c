/* run_loop.c — the loop of a worker's thread: run local jobs, search elsewhere, spin briefly, sleep.
 *
 *     WORKING     find_local -> run
 *     SEARCHING   holds the site's token, or searches once without it, and after a stolen fork
 *                 spins for another
 *     ANNOUNCED   counted as a sleeper; checks every source once more
 *     ASLEEP      on the site's epoch; ended by publish, a change of the team's size, stop, or
 *                 the next due timer (due.h)
 *     BENCHED     parked as surplus; ended by start_one or the spare's deadline
 *
 * Every successful search ends in found(), which returns the token. The next worker is therefore woken while
 * more work exists.
 */
#include "worker/worker.h"

#include "observe/trace.h"
#include "os/clock.h"
#include "os/overflow.h"
#include "os/thread.h"
#include "worker/assignment.h"
#include "worker/bench.h"
#include "worker/due.h"
#include "worker/find.h"
#include "worker/recruit.h"
#include "worker/run.h"
#include "worker/work.h"

/* A spin costs about as much as a sleep and a wake-up. After a spin that found nothing, the worker sleeps next
 * time without a spin. Each further such spin about doubles the number of these sleeps, up to
 * MOST_SLEEPS_AT_ONCE. A spin that finds work resets the number to 0. */
enum { SPIN_NS = 10000, MOST_SLEEPS_AT_ONCE = 31 };
enum { PAUSES_PER_LOOK = 12, LOOKS_PER_CLOCK = 4 };

/* The time is noted once per this many jobs found. */
enum { NOTE_TIME_EVERY = 64 };

static uint32_t attention(odi_worker *worker)
{
    return odi_load_relaxed(&worker->team->attention); /* relaxed: rechecked every round */
}

static void set_up(odi_worker *worker)
{
    odi_worker_self = worker;
    for (int band = 0; band < ODI_BANDS; band++)
        odi_deque_adopt(&worker->deques[band]);
    odi_lock_sleeper = &worker->sleeps_for_lock;
    odi_overflow_begin();
    odi_reader_join();
    if (worker->forks.slots != NULL)
        od_forks_self = &worker->forks.owner;
    worker->forks.thread = pthread_self();
    odi_store_relaxed(&worker->thread_id, odi_thread_id()); /* relaxed: a hint for reports */
    worker->cpu_clock = odi_thread_cpu_clock();
    worker->woken = false;
    if (odi_traces())
        odi_trace(ODI_TRACE_START, ODI_TRACE_NO_BAND, NULL, worker->begins_benched);
    odi_assignment_settle(worker);
}

/* The worker has found a job. If it held the search token, it returns the token, and wakes a sleeper if more
 * work exists. Threads that published work while the token was held may have woken no worker, and rely on this
 * check (S2). */
static void found(odi_worker *worker)
{
    if (worker->woken) {
        worker->woken = false;
        odi_count(&worker->counters.useful_wakes, 1);
    }
    if (worker->searching) {
        worker->searching = false;
        odi_idle_found(&worker->site->idle);
        if (odi_team_seems_to_have_work(worker->team))
            odi_team_publish(worker->team, worker->site);
    }
    odi_team_watch_timers(worker->team, NULL); /* this worker may have been the leader, or about to lead */
}

static bool look_everywhere(odi_worker *worker, odi_entry *job)
{
    return odi_worker_find_local(worker, job) || odi_worker_find_elsewhere(worker, job);
}

/* A worker that slept beside a chain of jobs would be woken for each job, and always too late. The condition
 * ends with the chain. */
static bool is_beside_chain(const odi_worker *worker)
{
    /* relaxed: rechecked later; it changes with the limits, and no decision depends on the exact moment */
    return worker->searching && odi_load_relaxed(&worker->team->may_spin) &&
           odi_clock_now() < worker->beside_chain_ns + SPIN_NS;
}

/* Spins. The holder of the token checks all sources. Other workers check forks only, and stop when their site
 * has jobs. */
static bool spin(odi_worker *worker, odi_entry *job)
{
    bool searches = worker->searching;

    /* A thread that the last job woke may wait for this CPU. */
    if (odi_woke_a_sleeper) {
        odi_woke_a_sleeper = false;
        odi_thread_yield();
    }
    int64_t until = odi_clock_now() + SPIN_NS;

    for (bool again = true; odi_spins_on(again);) {
        if (searches) /* relaxed: a hint for a thread that is about to spin on the same CPU */
            odi_store_relaxed(&worker->site->searcher_cpu, od_thread_cpu());
        for (int look = 0; look < LOOKS_PER_CLOCK; look++) {
            for (int i = 0; i < PAUSES_PER_LOOK; i++)
                odi_spin_pause();
            if (searches ? look_everywhere(worker, job) : odi_worker_steal_fork(worker, job))
                return true;
        }
        again = odi_clock_now() < until && !(attention(worker) & (ODI_SURPLUS | ODI_STOPPING)) &&
                (searches || odi_load_relaxed(&worker->site->bands) == 0); /* relaxed: a hint */
    }
    return false;
}

/* Spins if this is likely to pay, and adapts. For jobs one searcher is enough: more searchers take cache
 * lines from the submitter. Loops and fork trees need many workers at once, often in succession. */
static bool wait_awake(odi_worker *worker, odi_entry *job)
{
    /* relaxed: rechecked later; it changes with the limits, and no decision depends on the exact moment */
    if (!odi_load_relaxed(&worker->team->may_spin))
        return false;
    if (!worker->searching) { /* one failed spin ends it: no adaptation is needed */
        bool comes = worker->stolen != NULL && spin(worker, job);

        if (!comes)
            worker->stolen = NULL;
        return comes;
    }
    if (worker->sleeps_at_once > 0 && !is_beside_chain(worker)) {
        worker->sleeps_at_once--;
        return false;
    }
    bool pays = spin(worker, job);
    uint32_t more = 2 * worker->spins_in_vain + 1;

    worker->spins_in_vain = pays ? 0 : more < MOST_SLEEPS_AT_ONCE ? more : MOST_SLEEPS_AT_ONCE;
    worker->sleeps_at_once = worker->spins_in_vain;
    return pays;
}

/* Clears the hint of bands whose injectors are empty. The following check finds jobs pushed in between and
 * sets the hint again. */
static void clear_band_hints(odi_site *site)
{
    uint32_t empty = 0;

    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        if (odi_injector_size(&site->injectors[band]) == 0)
            empty |= 1u << band;
    }
    /* relaxed, both: the heavy fence of S1 follows */
    if (odi_load_relaxed(&site->bands) & empty)
        odi_and_relaxed(&site->bands, ~empty);
}

static void restore_band_hints(odi_site *site)
{
    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        if (odi_injector_size(&site->injectors[band]) > 0)
            odi_or_relaxed(&site->bands, 1u << band); /* relaxed: a hint, restored late */
    }
}

static void shrink_deques(odi_worker *worker)
{
    for (int band = 0; band < ODI_BANDS; band++)
        odi_deque_shrink(&worker->deques[band]);
}

/* Notes the time, so that a report can bound how long the next jobs have run. */
static void note_time(odi_worker *worker)
{
    /* relaxed, both: hints for reports */
    odi_store_relaxed(&worker->noted_jobs, odi_worker_activity(worker));
    odi_store_relaxed(&worker->noted_ns, odi_clock_coarse());
}

/* Sleeps until there may be work. */
static void park(odi_worker *worker)
{
    odi_idle *idle = &worker->site->idle;

    /* Before the sleep, not after it: a woken worker must start its job quickly. */
    worker->team->refresh(worker->team);
    shrink_deques(worker);
    uint32_t epoch = odi_idle_announce(idle, worker->searching);
    clear_band_hints(worker->site);
    odi_worker_want_forks(worker);
    odi_fence_heavy(S1); /* also F2 */
    restore_band_hints(worker->site);

    bool work = odi_team_has_jobs(worker->team) || odi_worker_could_steal_fork(worker);
    /* relaxed: the heavy fence precedes it; a thread that sets these flags then wakes all sleepers */
    if (!work && !(attention(worker) & (ODI_SURPLUS | ODI_STOPPING)) &&
        !odi_load_relaxed(&worker->moves)) { /* relaxed: as above */
        odi_count(&worker->counters.parks, 1);
        if (odi_traces())
            odi_trace(ODI_TRACE_PARK, ODI_TRACE_NO_BAND, NULL, 0);
        odi_worker_sleep(worker, epoch);
        if (odi_traces())
            odi_trace(ODI_TRACE_WAKE, ODI_TRACE_NO_BAND, NULL, 0);
        note_time(worker); /* the next job did not run during this sleep */
        if (worker->woken)
            odi_count(&worker->counters.spurious_wakes, 1);
        worker->woken = true;
    }
    worker->searching = odi_idle_leave(idle);
    /* There may be more than one job, and the publishers of the others may have relied on the returned token.
     * The worker searches again, so that found() wakes the next worker. */
    if (work && !worker->searching)
        worker->searching = odi_idle_try_search(idle);
}

/* Searches until work is found (true) or the worker's state must be checked (false). In a forked child it
 * returns false. */
static bool search(odi_worker *worker, odi_entry *job)
{
    bool stops = (attention(worker) & ODI_STOPPING) != 0;

    if (!odi_worker_end_run(worker))
        return false;
    /* Not while the team stops: a worker that leaves with the token would leave its duty undone. */
    if (!worker->searching && !stops)
        worker->searching = odi_idle_try_search(&worker->site->idle);
    odi_worker_fire_due(worker);
    if (!odi_worker_end_run(worker)) /* a timer's call may have waited and begun a run */
        return false;
    if (look_everywhere(worker, job) || wait_awake(worker, job)) {
        note_time(worker);
        return true;
    }
    if (!(attention(worker) & (ODI_SURPLUS | ODI_STOPPING)) && !is_beside_chain(worker))
        park(worker);
    return false;
}

/* Returns the token without having found work. Returns true if work was published while the token was taken
 * (S2). */
static bool give_up_search(odi_worker *worker)
{
    return odi_worker_stop_searching(worker) && odi_team_has_work(worker->team);
}

void odi_worker_discard_own(odi_worker *worker)
{
    odi_entry job;

    for (int band = 0; band < ODI_BANDS; band++) {
        while (odi_deque_take(&worker->deques[band], &job))
            odi_run_discard(worker->team, job);
    }
}

/* Ends a worker of a stopping team. In a forked child, where the thread is not a worker, the thread ends. */
static void retire(odi_worker *worker, bool from_bench)
{
    if (odi_worker_self == NULL || !odi_worker_end_run(worker)) {
        odi_overflow_end();
        return;
    }
    (void)give_up_search(worker);
    odi_worker_discard_own(worker);
    if (odi_traces())
        odi_trace(ODI_TRACE_LEAVE, ODI_TRACE_NO_BAND, NULL, 0);
    odi_worker_self = NULL;
    od_forks_self = NULL;
    odi_reader_leave();
    odi_overflow_end();
    odi_lock_sleeper = NULL;
    odi_team_depart(worker, from_bench);
}

void odi_worker_main(void *raw)
{
    odi_worker *worker = raw;
    odi_entry job;
    bool scopes = true;
    uint32_t rounds = 0;

    set_up(worker);
    if (worker->begins_benched) {
        worker->begins_benched = false;
        scopes = odi_team_sit(worker) != ODI_BENCH_LEAVES;
        note_time(worker);
    }
    while (scopes) {
        uint32_t now = attention(worker);

        if (ODI_UNLIKELY(now & (ODI_SURPLUS | ODI_STOPPING | ODI_CANCELLING))) {
            if (now & ODI_CANCELLING)
                break;
            if (now & ODI_SURPLUS && !(now & ODI_STOPPING)) {
                odi_bench_result result = odi_team_bench(worker);

                note_time(worker); /* as after a sleep */
                scopes = result != ODI_BENCH_LEAVES;
                if (result != ODI_BENCH_GOES_ON)
                    continue; /* otherwise it has jobs that it could not hand over */
            }
        }
        if (ODI_UNLIKELY(odi_load_relaxed(&worker->moves))) /* relaxed: a hint, rechecked under the lock */
            odi_team_move(worker);
        if (ODI_UNLIKELY(odi_timer_queue_is_used(&worker->team->timers))) {
            odi_worker_pass_time(worker);
            if (ODI_UNLIKELY(odi_worker_self == NULL))
                break;
        }
        if (ODI_UNLIKELY(rounds++ % NOTE_TIME_EVERY == 0))
            note_time(worker);
        if (odi_worker_find_local(worker, &job) || search(worker, &job)) {
            if (ODI_UNLIKELY(worker->searching || worker->woken))
                found(worker);
            odi_worker_run(worker, job, ODI_RECORD_CANCELLED | ODI_RECORD_DIVERTED);
        } else if (ODI_LIKELY(odi_worker_self != NULL) && now & ODI_STOPPING && !give_up_search(worker))
            break;
        if (ODI_UNLIKELY(odi_worker_self == NULL))
            break;
    }
    retire(worker, !scopes);
}
