/* idle.c — submit against park: no job waits while the one who could run it sleeps.
 *
 * A worker's loop is the engine's (worker/run_loop.c): take the search token, look, announce, heavy
 * fence, look again, sleep, leave. Where work waits is one counter here. A worker that got a
 * job ends, as if it ran for ever; a lost wake-up is a worker that sleeps at the end.
 */
#include "sleep/idle.c"

#include "doubles/futex.h"
#include "doubles/tally.h"
#include "os/membarrier.h"

static odi_idle idle;
static odi_atomic(uint32_t) waiting; /* jobs */

static void publish(void)
{
    odi_fence_light(S1);
    if (!odi_idle_nobody(&idle))
        odi_idle_signal(&idle);
}

static void submit(void) { odi_add_release(&waiting, 1, none); publish(); }
static bool has_work(void) { return odi_load_relaxed(&waiting) > 0; }

static bool take_job(void)
{
    uint32_t jobs = odi_load_relaxed(&waiting);

    while (jobs > 0)
        if (odi_cas_acquire(&waiting, &jobs, jobs - 1, none))
            return true;
    return false;
}

/* From the announcement on: sleeps unless there is work. Returns whether it searches now. */
static bool sleep_announced(uint32_t epoch)
{
    odi_fence_heavy(S1);
    if (!has_work())
        odi_idle_wait(&idle, epoch, ODI_FOREVER, (int)model_thread());
    return odi_idle_leave(&idle);
}

static void work(bool searching)
{
    for (;;) {
        bool got = take_job();
        if (!got) {
            if (!searching)
                searching = odi_idle_try_search(&idle);
            got = take_job();
        }
        if (got) {
            if (searching) {
                odi_idle_found(&idle);
                if (has_work())
                    publish();
            }
            ran[model_thread()]++;
            return;
        }
        searching = sleep_announced(odi_idle_announce(&idle, searching));
    }
}

static void worker(void) { work(false); }
static void searcher(void) { work(true); }

static void prepare(void)
{
    odi_idle_init(&idle, UINT32_MAX); /* the epoch rolls over with the first signal */
    model_hint(&idle.state, sizeof idle.state); /* rechecked by a CAS, or a fence */
    model_hint(&idle.asleep, sizeof idle.asleep);
    model_hint(&waiting, sizeof waiting);       /* rechecked by take_job's CAS */
}

static void verify_one(void)
{
    model_check(total() == 1);
    model_check(odi_load_relaxed(&waiting) == 0);
}

static void verify_two(void)
{
    model_check(total() == 2);
    model_check(odi_load_relaxed(&waiting) == 0);
}

/* One submitter, one worker. */
MODEL_SCENARIO(idle_submit_park, prepare, verify_one, submit, worker)
MODEL_REACHES(idle_submit_park, model_slept(1))

/* A job waits, a worker searches and finds it or the next one: the job that relies on the
 * search that is under way is not forgotten when the search ends (S2). */
static void prepare_search(void)
{
    prepare();
    odi_store_relaxed(&waiting, 1);
    model_check(odi_idle_try_search(&idle));
}
MODEL_SCENARIO(idle_search_ends, prepare_search, verify_two, submit, searcher, worker)
MODEL_REACHES(idle_search_ends, model_slept(1), model_slept(2))

/* A submitter that counts first spares the fence (odi_idle_signal_counted): who gives the token
 * back for a job looks at the count, which is ahead of the work. */
static odi_atomic(uint32_t) tickets, taken;

static void submit_counted(void)
{
    odi_add_seqcst(&tickets, 1, S2);
    odi_add_release(&waiting, 1, none);
    odi_fence_light(S1);
    if (!odi_idle_nobody(&idle))
        odi_idle_signal_counted(&idle);
}

static bool seems_to_have_work(void)
{
    uint32_t before = odi_load_relaxed(&taken);

    return odi_load_relaxed(&tickets) > before;
}

static void work_counted(bool searching)
{
    for (;;) {
        if (!searching)
            searching = odi_idle_try_search(&idle);
        if (take_job()) {
            odi_add_relaxed(&taken, 1);
            if (searching) {
                odi_idle_found(&idle);
                if (seems_to_have_work())
                    publish();
            }
            ran[model_thread()]++;
            return;
        }
        searching = sleep_announced(odi_idle_announce(&idle, searching));
    }
}

static void searcher_counted(void) { work_counted(true); }
static void worker_counted(void) { work_counted(false); }

static void prepare_counted(void)
{
    prepare_search();
    odi_store_relaxed(&tickets, 1);
    model_hint(&tickets, sizeof tickets);
    model_hint(&taken, sizeof taken);
}
MODEL_SCENARIO(idle_counted, prepare_counted, verify_two, submit_counted, searcher_counted, worker_counted)
MODEL_REACHES(idle_counted, model_slept(1), model_slept(2))

/* A search that begins meanwhile, and a worker that is half asleep: the
 * submitter's CAS may be what meets the token. */
static uint32_t announced_epoch;

static void prepare_announced(void)
{
    prepare();
    announced_epoch = odi_idle_announce(&idle, false);
}
static void prepare_half_asleep(void)
{
    prepare_announced();
    odi_store_relaxed(&waiting, 1);
}
static void half_asleep(void) { work(sleep_announced(announced_epoch)); }
static void beginner(void) { work(odi_idle_try_search(&idle)); }
MODEL_SCENARIO(idle_search_begins, prepare_half_asleep, verify_two, submit, beginner, half_asleep)
MODEL_REACHES(idle_search_begins, model_slept(1), model_slept(2))

/* One job, a worker that looks for it and one that is going to sleep: one may sleep on. */
MODEL_SCENARIO_SLEEPY(idle_two_workers, 1u << 1 | 1u << 2, prepare_announced, verify_one, submit,
                      worker, half_asleep)
MODEL_REACHES(idle_two_workers, ran[1] == 1, model_slept(1), model_slept(2))

/* What a signaller wrote is readable by whom it woke (S3). */
static int message;
static bool was_called;

static void signaller(void) { message = 1; (void)odi_idle_signal(&idle); }

static void woken(void)
{
    uint32_t epoch = odi_idle_announce(&idle, false);
    odi_fence_heavy(S1);
    odi_idle_wait(&idle, epoch, ODI_FOREVER, (int)model_thread());
    was_called = odi_idle_leave(&idle);
    if (was_called)
        model_check(message == 1);
}
MODEL_SCENARIO_SLEEPY(idle_signal_carries, 1u << 1, prepare, NULL, signaller, woken)
MODEL_REACHES(idle_signal_carries, was_called, model_slept(1))

/* The end of a pool: everybody wakes. */
static odi_atomic(bool) stopping;

static void stop(void)
{
    odi_store_relaxed(&stopping, true);
    odi_fence_seqcst(S4);
    odi_idle_wake_all(&idle);
}

static void worker_until_stop(void)
{
    while (!odi_load_relaxed(&stopping)) {
        uint32_t epoch = odi_idle_announce(&idle, false);
        odi_fence_heavy(S1);
        if (!odi_load_relaxed(&stopping))
            odi_idle_wait(&idle, epoch, ODI_FOREVER, (int)model_thread());
        (void)odi_idle_leave(&idle);
    }
}
MODEL_SCENARIO(idle_stop, prepare, NULL, stop, worker_until_stop, worker_until_stop)
MODEL_REACHES(idle_stop, model_slept(1), model_slept(1) && model_slept(2))

/* Too large otherwise. */
MODEL_WOKEN_ONLY(idle_two_workers, ~0u)
