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

/* How long after the deadline workers between two jobs get to leave. */
#define GRACE_NS (20 * ODI_MILLISECOND)
#define LOOK_NS (1 * ODI_MILLISECOND)

static void announce(odi_team *team, uint32_t attention)
{
    odi_or_seqcst(&team->attention, attention, S4);
    odi_fence_heavy(S4); /* from here on submitters see it, or we see what they pushed */
    for (int site = 0; site < team->site_count; site++)
        odi_idle_wake_all(&team->sites[site].idle);

    odi_lock_acquire(&team->lock);
    for (odi_worker *worker = team->bench; worker != NULL; worker = worker->next_benched) {
        odi_store_release(&worker->bench_word, 2, W5); /* leave: it is still on the bench */
        odi_futex_wake(&worker->bench_word, 1);
    }
    odi_lock_release(&team->lock);
}

/* Workers that have not left, without the monitor. Lock held. */
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

/* Of several stops under way the earliest deadline holds: who comes with one while another sleeps
 * until a later one, or for ever, is not kept longer than it has asked for. */
static void bring_forward(od_pool *pool, int64_t deadline)
{
    /* relaxed, both: whoever sees the count sees the deadline (W6) */
    int64_t before = odi_load_relaxed(&pool->stop_deadline);

    while (deadline < before) {
        if (odi_cas_relaxed(&pool->stop_deadline, &before, deadline)) {
            odi_add_acqrel(&pool->team.departures, 1, W6);
            odi_futex_wake(&pool->team.departures, 1 << 30);
            return;
        }
    }
}

/* Whether all workers that are left are inside a job. Lock held. */
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
            odi_futex_wait(&team->departures, seen, odi_clock_after(LOOK_NS)); /* ended by: who leaves */
    }
}

/* True: there was something. The same below. */
static bool discard(odi_team *team, const odi_entry *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        odi_run_discard(team, jobs[i]);
    return count > 0;
}

/* Of an injector that is closed: who comes discards his own. How the wait ends: by who has a place in it already, two
 * stores on, or who has claimed it. */
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

/* Stuck workers do not take part: stealing is anyone's. */
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

/* What the calling thread discards; one stop's deinitialiser may stop another pool. */
typedef struct discarded {
    const od_pool *pool;
    struct discarded *outer;
    odi_fifo late; /* what was discarded has submitted them */
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

/* This thread begins no job of the pool from here on: a queue that is cancelled may give the pool a
 * drainer that comes to jobs of one that is not cancelled yet, and such a job may wait for one that is
 * stuck. What was not accepted is the caller's alone: what others have submitted is the stop's. */
ODI_COLD void odi_pool_discard(od_pool *pool, odi_entry job)
{
    discarded mine, *here = discarding(pool);

    if (here != NULL && odi_fifo_push(&here->late, job, NULL))
        return;
    begin_to_discard(pool, &mine);
    odi_run_discard(&pool->team, job);
    end_to_discard(pool, &mine);
}

/* What comes too late for the last worker, or finds no thread, its submitter discards. The announcement's heavy fence
 * stands before it (S4). */
static void close_injectors(odi_team *team)
{
    for (int site = 0; site < team->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++)
            odi_injector_close(&team->sites[site].injectors[band]);
    }
}

/* Cancels what the queues hold, and discards all that waits. What deinitialisers and notifications submit meanwhile
 * is not admitted, or finds the injectors closed: it is discarded too. */
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

/* One load per worker tells both how many jobs it has done and whether it is in one. */
static void write_report(od_pool *pool, od_stop_report *report)
{
    odi_team *team = &pool->team;
    odi_worker *worker;

    *report = (od_stop_report){0};
    odi_lock_acquire(&team->lock); /* nobody gives up what it has in hand meanwhile */
    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        uint64_t jobs = odi_load_acquire(&worker->jobs, W2);
        report->ran += jobs >> 1;
        if (jobs & 1) {
            if (report->stuck < OD_STUCK_NAMED)
                report->stuck_queues[report->stuck] =
                    odi_load_relaxed(&worker->queue_running); /* relaxed: a name, W2 */
            report->stuck++;
        }
    }
    report->ran += odi_load_relaxed(&team->ran_outside); /* relaxed: counters */
    report->cancelled = odi_load_relaxed(&team->cancelled);
    odi_lock_release(&team->lock);
}

/* True: nobody has come meanwhile, and nobody will: what is submitted from here on is discarded. What came while
 * the last worker left is another worker's; and one that has come and gone since `seen` may have put something behind
 * a drainer that somebody had called meanwhile. */
static bool close_if_empty(od_pool *pool, uint32_t seen)
{
    odi_team *team = &pool->team;

    if (odi_team_has_jobs(team))
        (void)odi_team_start_one(team, &team->sites[0]);
    odi_lock_acquire(&team->lock); /* workers are recruited under it */
    /* relaxed: counted under the lock */
    bool empty = workers_present(pool) == 0 && odi_load_relaxed(&team->departures) == seen;
    if (empty)
        odi_or_seqcst(&team->attention, ODI_CANCELLING, S4);
    odi_lock_release(&team->lock);
    return empty;
}

/* Who submits may lose his CPU where others' jobs lie behind his step, and no worker finds them: between taking a
 * ticket of an injector and writing the job there, and between calling a queue's drainer and giving it to the pool. */
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

/* Sleeps until every worker has left, and nothing is held back. False: the deadline came first. Ended by:
 * odi_team_depart, bring_forward, or the deadline; who holds something back brings a worker by his next steps. */
static bool await_departures(od_pool *pool, uint32_t *seen)
{
    for (;;) {
        *seen = odi_load_acquire(&pool->team.departures, W6);
        /* relaxed: whoever sees the count sees the deadline */
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

/* Everybody knows that the pool stops. True: every worker has left, all that was accepted has run, and no
 * worker comes any more. False: the deadline came first. */
static bool await_the_last(od_pool *pool)
{
    uint32_t seen;

    while (await_departures(pool, &seen)) {
        if (close_if_empty(pool, seen))
            return true;
    } /* what came meanwhile has started workers */
    return false;
}

static void stop(od_pool *pool)
{
    odi_timer_queue_close(&pool->team.timers); /* what is not due yet was never submitted */
    announce(&pool->team, ODI_STOPPING);
    odi_timer_thread_wake(pool);
    bool in_time = await_the_last(pool);
    announce(&pool->team, ODI_CANCELLING);
    odi_pool_wake_monitor(pool);

    /* The last has left, or the deadline is over: workers between two jobs leave, and so does the monitor. It runs no
     * user code; but it may be in want of a CPU, or in the kernel. Whoever has a deadline does not wait for that beyond
     * it: od_pool_free does. */
    int64_t grace = odi_clock_after(GRACE_NS);
    int64_t deadline = odi_load_relaxed(&pool->stop_deadline); /* relaxed: the monitor leaves anyway */
    odi_pool_await_leaving(pool, grace, in_time && deadline > grace ? deadline : grace);
    give_up(pool); /* what has not started never does */
}

/* RUNNING -> STOPPING: by the caller of od_pool_stop that does it; STOPPING -> STOPPED: when its
 * report is written. Others sleep on the word. No lock is held, because discarding runs
 * deinitialisers and notifications. */
enum { RUNNING, STOPPING, STOPPED = ODI_STOP_OVER };

od_status od_pool_stop(od_pool *pool, int64_t deadline_ns, od_stop_report *report)
{
    uint32_t running = RUNNING;
    od_status status = OD_STOPPED;
    int64_t deadline = odi_clock_after(deadline_ns);

    if (od_pool_is_worker(pool) || odi_timer_thread_is_here(pool))
        return OD_INSIDE;
    od_blocking_begin(); /* another pool's worker hands its place over */
    if (odi_cas_acqrel(&pool->stop_state, &running, STOPPING, P2)) {
        odi_store_relaxed(&pool->stopping_thread, odi_thread_id()); /* relaxed: our own */
        bring_forward(pool, deadline);
        stop(pool);
        write_report(pool, &pool->last_report);
        odi_store_release(&pool->stop_state, STOPPED, P2);
        odi_futex_wake(&pool->stop_state, 1 << 30);
        status = OD_OK;
    }
    while (odi_load_acquire(&pool->stop_state, P2) == STOPPING) {
        /* relaxed: only the stopping thread itself finds its own number */
        if (odi_load_relaxed(&pool->stopping_thread) == odi_thread_id()) {
            od_blocking_end();
            return OD_INSIDE;
        }
        bring_forward(pool, deadline);
        odi_futex_wait(&pool->stop_state, STOPPING, ODI_FOREVER); /* ended by: the stopper */
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
