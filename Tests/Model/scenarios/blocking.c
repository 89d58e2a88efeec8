/* blocking.c — a worker hands its place over while somebody submits (worker/blocking.c and
 * worker/team.c as they are): the job that it waits for finds a worker, whichever comes first,
 * the submission or the blocking (S4).
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

static odi_entry job(unsigned n)
{
    return odi_job_plain(body, (void *)(uintptr_t)n, 0);
}

static void prepare(void)
{
    make_pool(2);
    pool.team.spare_cap = 1;
    waiting_worker = make_present();
}

/* The worker is in a job that waits for job 0. It goes on with that job afterwards. */
static void wait_for_it(void)
{
    odi_worker_self = waiting_worker;
    od_blocking_begin();
    while (odi_load_acquire(&done, none) == 0)
        odi_futex_wait(&done, 0, ODI_FOREVER);
    od_blocking_end();
}

static void submitter(void)
{
    odi_pool_submit(&pool, 0, job(0));
}

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
MODEL_SCENARIO(blocking_against_submit, prepare, verify, wait_for_it, submitter, comes)

/* A worker is one too many at first: the number of workers grows instead. */
static void more_workers(void)
{
    (void)odi_team_set_target(&pool.team, 2, NULL);
    odi_team_publish_waiting(&pool.team);
    while (odi_load_acquire(&done, none) == 0)
        odi_futex_wait(&done, 0, ODI_FOREVER);
}
MODEL_SCENARIO(more_workers_against_submit, prepare, verify, more_workers, submitter, comes)
