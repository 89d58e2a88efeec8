/* stop.c — stops a pool: announces the stop, waits for the workers until the deadline, discards the remaining
 * jobs, and writes the report. Submissions that come too late use its discard function. */
#include "base/cache_line.h"
#include "os/clock.h"
#include "os/thread.h"
#include "pool/pool.h"
#include "pool/timer_thread.h"
#include "queue/fifo.h"
#include "worker/recruit.h"
#include "worker/run.h"
#include "worker/work.h"
#include "worker/worker.h"

/* Time after the deadline for workers between two jobs to leave. */
#define GRACE_NS (20 * ODI_MILLISECOND)
#define LOOK_NS (1 * ODI_MILLISECOND)

static void announce(odi_team *team, uint32_t attention)
{
    odi_or_seqcst(&team->attention, attention, S4);
    odi_fence_heavy(S4); /* from here on submitters see the flag, or this thread sees their jobs */
    for (int site = 0; site < team->site_count; site++)
        odi_idle_wake_all(&team->sites[site].idle);

    odi_lock_acquire(&team->lock);
    for (odi_worker *worker = team->bench; worker != NULL; worker = worker->next_benched) {
        odi_store_release(&worker->bench_word, 2, W5); /* leave; the worker is still listed as parked */
        odi_futex_wake(&worker->bench_word, 1);
    }
    odi_lock_release(&team->lock);
}

/* Returns the number of threads that have not ended, without the monitor. Lock held. */
static int workers_present(od_pool *pool)
{
    return pool->team.present - pool->monitor_present;
}

static bool all_have_left(od_pool *pool)
{
    odi_lock_acquire(&pool->team.lock);
    bool gone = workers_present(pool) == 0;
    odi_lock_release(&pool->team.lock);
    return gone;
}

/* Sets an earlier deadline. The earliest deadline of concurrent stops applies to all, so no stop waits longer
 * than it asked for. */
static void bring_forward(od_pool *pool, int64_t deadline)
{
    /* relaxed, both: a reader of the count sees the deadline (W6) */
    int64_t before = odi_load_relaxed(&pool->stop_deadline);

    while (deadline < before) {
        if (odi_cas_relaxed(&pool->stop_deadline, &before, deadline)) {
            odi_add_acqrel(&pool->team.departures, 1, W6);
            odi_futex_wake(&pool->team.departures, 1 << 30);
            return;
        }
    }
}

/* Whether every remaining worker is inside a job. Lock held. */
static bool only_stuck_left(odi_team *team)
{
    odi_worker *worker;
    bool only = true;

    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;)
        only &= !worker->present || odi_worker_activity(worker) & 1;
    return only;
}

void odi_pool_await_leaving(od_pool *pool, int64_t workers_until, int64_t monitor_until)
{
    odi_team *team = &pool->team;

    for (bool leave = true; leave;) {
        uint32_t seen = odi_load_relaxed(&team->departures); /* relaxed: counted under the lock */
        int64_t now = odi_clock_now();

        odi_lock_acquire(&team->lock);
        leave = (now < monitor_until && pool->monitor_present) || (now < workers_until && !only_stuck_left(team));
        odi_lock_release(&team->lock);
        if (leave)
            odi_futex_wait(&team->departures, seen, odi_clock_after(LOOK_NS)); /* ended by a thread that leaves */
    }
}

/* Discards jobs. Returns true if there were any, as the functions below. */
static bool discard(odi_team *team, const odi_entry *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        odi_run_discard(team, jobs[i]);
    return count > 0;
}

/* Discards the jobs of a closed injector; later submitters discard their own. The wait for a submitter with a
 * ticket ends two stores later; the wait for a claimer ends when its jobs are done. */
static bool discard_injector(odi_team *team, odi_injector *injector)
{
    odi_entry batch[ODI_STEAL_BATCH];
    bool found = false;

    for (int round = 0; !odi_injector_is_used_up(injector); round++) {
        odi_read_begin();
        size_t count = odi_injector_claim(injector, batch, ODI_STEAL_BATCH);
        odi_read_end();
        found |= discard(team, batch, count);
        if (count == 0)
            odi_thread_give_way(round);
    }
    return found;
}

static bool discard_deque(odi_team *team, odi_deque *deque)
{
    odi_entry batch[ODI_STEAL_BATCH];
    bool found = false;

    while (odi_deque_size(deque) > 0) {
        odi_read_begin();
        size_t count = odi_deque_steal(deque, batch, ODI_STEAL_BATCH);
        odi_read_end();
        found |= discard(team, batch, count);
    }
    return found;
}

/* Discards all waiting jobs. Stuck workers need not take part, because any thread may steal. */
static bool discard_waiting(odi_team *team)
{
    odi_worker *worker;
    bool found = false;

    odi_reader_join();
    for (int site = 0; site < team->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++)
            found |= discard_injector(team, &team->sites[site].injectors[band]);
    }
    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        for (int band = 0; band < ODI_BANDS; band++)
            found |= discard_deque(team, &worker->deques[band]);
    }
    odi_reader_leave();
    return found;
}

/* Jobs that the calling thread discards for a pool. A deinitialiser in one stop may stop another pool. */
typedef struct discarded {
    const od_pool *pool;
    struct discarded *outer;
    odi_fifo late; /* jobs that discarded jobs have submitted */
} discarded;

static _Thread_local discarded *discarded_here;

static discarded *discarding(const od_pool *pool)
{
    discarded *each = discarded_here;

    while (each != NULL && each->pool != pool)
        each = each->outer;
    return each;
}

static void begin_to_discard(od_pool *pool, discarded *here)
{
    *here = (discarded){pool, discarded_here, {0}};
    discarded_here = here;
}

static bool discard_late(odi_team *team, discarded *here)
{
    odi_entry job;

    return odi_fifo_pop(&here->late, &job) && discard(team, &job, 1);
}

static void end_to_discard(od_pool *pool, discarded *here)
{
    while (discard_late(&pool->team, here)) {
    }
    odi_fifo_free(&here->late);
    discarded_here = here->outer;
}

/* Discards a job without running any job of the pool on this thread. A cancelled queue may submit a drain
 * request that reaches jobs of a queue not cancelled yet. Those jobs may wait for a stuck job. This thread
 * discards only jobs that were not accepted; the stop discards accepted jobs. */
ODI_COLD void odi_pool_discard(od_pool *pool, odi_entry job)
{
    discarded mine, *here = discarding(pool);

    if (here != NULL && odi_fifo_push(&here->late, job, NULL))
        return;
    begin_to_discard(pool, &mine);
    odi_run_discard(&pool->team, job);
    end_to_discard(pool, &mine);
}

/* Closes the injectors, so that later submitters discard their own jobs. The announcement's heavy fence
 * precedes it (S4). */
static void close_injectors(odi_team *team)
{
    for (int site = 0; site < team->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++)
            odi_injector_close(&team->sites[site].injectors[band]);
    }
}

/* Cancels the queues' jobs and discards all waiting jobs. Jobs that deinitialisers and notifications submit
 * here are refused or find the injectors closed; they are discarded too. */
static void give_up(od_pool *pool)
{
    discarded here;

    begin_to_discard(pool, &here);
    close_injectors(&pool->team);
    if (odi_cancel_above != NULL)
        odi_cancel_above(pool);
    while (discard_waiting(&pool->team) || discard_late(&pool->team, &here)) {
    }
    end_to_discard(pool, &here);
}

/* Writes the report. One load per worker gives both its number of jobs and whether it is in a job. */
static void write_report(od_pool *pool, od_stop_report *report)
{
    odi_team *team = &pool->team;
    odi_worker *worker;

    *report = (od_stop_report){0};
    odi_lock_acquire(&team->lock); /* no worker may change its own counts here */
    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        uint64_t jobs = odi_load_acquire(&worker->jobs, W2);
        report->ran += jobs >> 1;
        if (jobs & 1) {
            if (report->stuck < OD_STUCK_NAMED)
                report->stuck_queues[report->stuck] =
                    odi_load_relaxed(&worker->queue_running); /* relaxed: W2 carries this hint */
            report->stuck++;
        }
    }
    void *late = odi_load_relaxed(&pool->timer_call); /* relaxed: locked */
    if (late != NULL) {
        if (report->stuck < OD_STUCK_NAMED)
            report->stuck_queues[report->stuck] = late;
        report->stuck++;
    }
    report->ran += odi_load_relaxed(&team->ran_outside); /* relaxed: counters */
    report->cancelled = odi_load_relaxed(&team->cancelled);
    odi_lock_release(&team->lock);
}

/* Closes the pool if no thread has come back; later submissions are discarded. Returns true if it is closed.
 * Otherwise a worker is started for remaining jobs. A worker that came and left since `seen` may have added
 * jobs behind a called drainer, so this also returns false. */
static bool close_if_empty(od_pool *pool, uint32_t seen)
{
    odi_team *team = &pool->team;

    if (odi_team_has_jobs(team))
        (void)odi_team_start_one(team, &team->sites[0]);
    odi_lock_acquire(&team->lock); /* workers are added under this lock */
    /* relaxed: counted under the lock */
    bool empty = workers_present(pool) == 0 && odi_load_relaxed(&team->departures) == seen;
    if (empty)
        odi_or_seqcst(&team->attention, ODI_CANCELLING, S4);
    odi_lock_release(&team->lock);
    return empty;
}

/* Whether a preempted submitter holds back other jobs where no worker finds them. This happens between taking
 * an injector ticket and writing the job, and between calling a queue's drainer and giving it to the pool. */
static bool is_held_back(od_pool *pool)
{
    odi_team *team = &pool->team;
    bool held = odi_owed_above != NULL && odi_owed_above(pool);

    for (int site = 0; site < team->site_count && !held; site++) {
        for (int band = 0; band < ODI_BANDS; band++)
            held |= odi_injector_size(&team->sites[site].injectors[band]) > 0;
    }
    return held && !odi_team_has_jobs(team);
}

/* Sleeps until every worker has left and no submitter holds jobs back. Returns false at the deadline. Ended
 * by odi_team_depart, bring_forward, or the deadline; a preempted submitter later wakes a worker. */
static bool await_departures(od_pool *pool, uint32_t *seen)
{
    for (;;) {
        *seen = odi_load_acquire(&pool->team.departures, W6);
        /* relaxed: a reader of the count sees the deadline (W6) */
        int64_t deadline = odi_load_relaxed(&pool->stop_deadline);
        bool gone = all_have_left(pool);

        if (gone && !is_held_back(pool))
            return true;
        if (deadline <= odi_clock_now())
            return false;
        int64_t look = odi_clock_after(LOOK_NS);
        odi_futex_wait(&pool->team.departures, *seen, gone && look < deadline ? look : deadline);
    }
}

/* Waits after all threads know of the stop. Returns true if every worker has left and every accepted job has
 * run, so that no worker comes back. Returns false at the deadline. */
static bool await_the_last(od_pool *pool)
{
    uint32_t seen;

    while (await_departures(pool, &seen)) {
        if (close_if_empty(pool, seen))
            return true;
    } /* jobs submitted in between have started workers */
    return false;
}

static void stop(od_pool *pool)
{
    odi_timer_queue_close(&pool->team.timers); /* timers that are not due were never submitted */
    announce(&pool->team, ODI_STOPPING);
    odi_timer_thread_wake(pool);
    bool in_time = await_the_last(pool);
    announce(&pool->team, ODI_CANCELLING);
    odi_pool_wake_monitor(pool);

    /* Workers between two jobs leave, and so does the monitor. The monitor runs no user code, but may lack a
     * CPU or be in the kernel. A stop with a deadline does not wait for it beyond the deadline; od_pool_free
     * does. */
    int64_t grace = odi_clock_after(GRACE_NS);
    int64_t deadline = odi_load_relaxed(&pool->stop_deadline); /* relaxed: the monitor leaves anyway */
    odi_pool_await_leaving(pool, grace, in_time && deadline > grace ? deadline : grace);
    give_up(pool); /* jobs that have not started never will */
}

/* RUNNING -> STOPPING by the caller of od_pool_stop that performs the stop; STOPPING -> STOPPED when its
 * report is written. Other callers sleep on the word. No lock is held, because discarding runs deinitialisers
 * and notifications. */
enum { RUNNING, STOPPING, STOPPED = ODI_STOP_OVER };

od_status od_pool_stop(od_pool *pool, int64_t deadline_ns, od_stop_report *report)
{
    uint32_t running = RUNNING;
    od_status status = OD_STOPPED;
    int64_t deadline = odi_clock_after(deadline_ns);

    if (od_pool_is_worker(pool) || odi_timer_thread_is_here(pool))
        return OD_INSIDE;
    od_blocking_begin(); /* a spare may replace a worker of another pool */
    if (odi_cas_acqrel(&pool->stop_state, &running, STOPPING, P2)) {
        odi_store_relaxed(&pool->stopping_thread, odi_thread_id()); /* relaxed: only this thread compares it */
        bring_forward(pool, deadline);
        stop(pool);
        write_report(pool, &pool->last_report);
        odi_store_release(&pool->stop_state, STOPPED, P2);
        odi_futex_wake(&pool->stop_state, 1 << 30);
        status = OD_OK;
    }
    while (odi_load_acquire(&pool->stop_state, P2) == STOPPING) {
        /* relaxed: only the stopping thread finds its own id */
        if (odi_load_relaxed(&pool->stopping_thread) == odi_thread_id()) {
            od_blocking_end();
            return OD_INSIDE;
        }
        bring_forward(pool, deadline);
        odi_futex_wait(&pool->stop_state, STOPPING, ODI_FOREVER); /* ended by the stopping thread */
    }
    od_blocking_end();
    if (report != NULL)
        *report = pool->last_report;
    return status;
}

bool od_pool_is_stopped(od_pool *pool)
{
    return odi_load_acquire(&pool->stop_state, P2) == STOPPED;
}
