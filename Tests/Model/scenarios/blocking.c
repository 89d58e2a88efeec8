/* blocking.c — a worker hands its place over while somebody submits (worker/blocking.c and
 * worker/team.c as they are): the job that it waits for finds a worker, whichever comes first,
 * the submission or the blocking, or where each misses the other, the monitor's next look. And where there is no
 * thread for a worker the monitor tries again.
 */
#include "doubles/small_pool.h"
#include "doubles/tally.h"

static odi_worker *waiting_worker;
static odi_atomic(uint32_t) done;

static void body(void *context)
{
    ran[model_thread()]++;
    odi_store_release(&done, 1, none);
    odi_futex_wake(&done, 1);
}

static odi_entry job(unsigned n) { return odi_job_plain(body, (void *)(uintptr_t)n, 0); }

static void prepare(void)
{
    make_pool(2);
    pool.team.spare_cap = 1;
    waiting_worker = make_present();
}

static void submitter(void) { odi_pool_submit(&pool, 0, job(0)); }

static void verify(void)
{
    model_check(total() == 1);
    model_check(odi_load_relaxed(&WAITING) == 0);
    model_check(pool.team.blocked == 0);
}

/* The worker that is started in its place, up to its first job. (That it may look too early,
 * and sleep, is park.c's.) */
static void comes(void)
{
    odi_entry found_here;

    while (!odi_load_acquire(&started[0].ready, none))
        model_unborn();
    odi_worker_self = started[0].argument;
    model_assume(odi_worker_find_local(odi_worker_self, &found_here));
    odi_worker_run(odi_worker_self, found_here, 0);
}

static odi_atomic(uint32_t) blocks, has_submitted;

/* The worker is in a job that waits for job 0. It goes on with that job afterwards. */
static void waits_for_it(void)
{
    odi_worker_self = waiting_worker;
    od_blocking_begin();
    odi_store_release(&blocks, 1, none);
    while (odi_load_acquire(&done, none) == 0)
        odi_futex_wait(&done, 0, ODI_FOREVER);
    od_blocking_end();
}

static void submits(void) { submitter(); odi_store_release(&has_submitted, 1, none); }

/* The monitor, which is on (pool/monitor.c): its first look after both. That who finds nobody has it on, or arms it,
 * is monitor.c's. */
static void watching(void)
{
    while (odi_load_acquire(&blocks, none) == 0 || odi_load_acquire(&has_submitted, none) == 0)
        odi_spin_pause();
    if (odi_team_has_work(&pool.team))
        odi_team_publish(&pool.team, &site);
}
MODEL_SCENARIO(blocking_against_submit, prepare, verify, waits_for_it, submits, comes, watching)
MODEL_REACHES(blocking_against_submit, started[0].by == 0, started[0].by == 1, started[0].by == 3, model_slept(0))

/* What waits already is looked for by who blocks: no monitor is on. */
static void prepare_submitted(void) { prepare(); submitter(); }
MODEL_SCENARIO(blocking_after_submit, prepare_submitted, verify, waits_for_it, comes)
MODEL_REACHES(blocking_after_submit, model_slept(0))

/* A worker is one too many at first: the number of workers grows instead. */
static void more_workers(void)
{
    (void)odi_team_set_target(&pool.team, 2, NULL);
    odi_team_publish_waiting(&pool.team);
    while (odi_load_acquire(&done, none) == 0)
        odi_futex_wait(&done, 0, ODI_FOREVER);
}
MODEL_SCENARIO(more_workers_against_submit, prepare, verify, more_workers, submitter, comes)
MODEL_REACHES(more_workers_against_submit, started[0].by == 0, model_slept(0))

/* A worker was wanted for a timer (worker/due.c), and none is to be had: who has submitted meanwhile relied on its
 * search. One of the two arms the monitor, which tries again. */
static unsigned armed[MODEL_ROWS];

static void arm(odi_team *team) { armed[model_thread()]++; }

static void prepare_nobody(void)
{
    make_pool(1);
    threads_to_be_had = 0;
    pool.team.arm_monitor = arm;
    odi_store_relaxed(&pool.team.attention, ODI_CAN_START | ODI_MONITOR_OFF);
}

static void starts_in_vain(void)
{
    model_check(!odi_team_start_one(&pool.team, &site));
}

static void verify_armed(void)
{
    model_check(model_sum(armed) > 0);
}
MODEL_SCENARIO(start_failure_against_submit, prepare_nobody, verify_armed, starts_in_vain, submitter)
MODEL_REACHES(start_failure_against_submit, armed[0] > 0, armed[1] > 0)
