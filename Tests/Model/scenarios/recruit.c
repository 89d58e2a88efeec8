/* recruit.c — who submits while nobody sleeps has a worker started, or relies on the search that is under way
 * (worker/recruit.c and worker/run_loop.c as they are): the job does not lie where nobody looks.
 *
 * A worker that has a job ends here, as if it ran for ever.
 */
#define SMALL_POOL_PUSH odi_cas_seqcst_acquire /* a ticket: who searches looks at these */

#include "doubles/small_pool.h"

static odi_worker *worker_itself;

static void body(void *context) {}
static odi_entry job(unsigned n) { return odi_job_plain(body, (void *)(uintptr_t)n, 0); }

/* There is room for a second worker. */
static void prepare(void)
{
    make_pool(2);
    pool.team.target = 2;
    odi_store_relaxed(&pool.team.attention, ODI_CAN_START);
    worker_itself = make_present();
}
static void submit(void) { odi_pool_submit(&pool, 0, job(1)); }
static void verify_started(void) { model_check(odi_load_relaxed(&threads_started) == 1); }

/* The search begins, finds a job that waits already, and ends (S2). */
static void prepare_waiting(void)
{
    prepare();
    (void)odi_site_push(&site, 0, job(0));
}
static void search_and_find(void)
{
    odi_entry first;

    odi_worker_self = worker_itself;
    model_check(search(worker_itself, &first) && number_of(first) == 0);
    if (worker_itself->searching)
        found(worker_itself);
}
MODEL_SCENARIO(recruit_against_a_search, prepare_waiting, verify_started, submit, search_and_find)
MODEL_REACHES(recruit_against_a_search, started[0].by == 0, model_met(1, "odi_idle_found") > 0)

/* A worker takes the hint off a band that looks empty and goes to sleep: the hint is there again for what waits (S1). */
static void prepare_hint(void)
{
    prepare();
    odi_store_relaxed(&pool.team.attention, 0);
    odi_store_relaxed(&site.bands, 1);
}
static void park_once(void)
{
    odi_worker_self = worker_itself;
    park(worker_itself);
}
static void verify_hint(void)
{
    model_check(odi_injector_size(&site.injectors[0]) == 0 || odi_load_relaxed(&site.bands) == 1);
}
MODEL_SCENARIO(recruit_finds_the_hint, prepare_hint, verify_hint, submit, park_once)
MODEL_REACHES(recruit_finds_the_hint, model_slept(1), model_met(0, "odi_site_mark") > 2)
