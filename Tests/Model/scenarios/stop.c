/* stop.c — a pool stops while somebody submits (pool/stop.c, pool/submit.c, worker/crew.c,
 * worker/day.c, worker/run.c as they are; where a worker looks is short): every accepted job runs exactly once, or is counted
 * by the stop that came too late for it; and everybody leaves (S4, P2, W2).
 *
 * The injector is one word of waiting jobs. There is one worker, one deque of it is in use.
 * A deadline is either never or now.
 */
#define ODI_DEQUE_MINIMUM 2
#define ODI_STEAL_BATCH 2

#include "doubles/lock.h"
#include "doubles/machine.h"

#include "queue/deque.c"

#include "sleep/idle.c"

#include "job/record.c"

#include "worker/crew.c"

#include "worker/run.c"

#define discard_own submit_discard_own
#include "pool/submit.c"
#undef discard_own

#include "pool/stop.c"

#include "worker/day.c"

#include "worker/blocking.c"

#include "doubles/clock.h"
#include "doubles/futex_now.h"
#include "doubles/keep.h"
#include "doubles/no_forks.h"
#include "doubles/pages.h"
#include "doubles/thread.h"
#include "doubles/thread_self.h"

static od_pool pool;
static odi_site site;
static odi_worker *worker_itself;
static const int order[1][ODI_MOST_SITES];
static const uint8_t classes[1][ODI_MOST_SITES];

void (*odi_cancel_above)(od_pool *pool, bool past_deadline);

/* ---- where work from outside waits: a bit for each job ---- */

enum { JOBS = 4 };

#define WAITING (site.injectors[0].tail) /* whose size is not zero then */

static odi_entry job(unsigned n);

static unsigned number_of(odi_entry entry)
{
    return (unsigned)entry.context;
}

bool odi_injector_init(odi_injector *injector, uint64_t start, int node)
{
    (void)injector;
    (void)start;
    (void)node;
    return true;
}

void odi_injector_free(odi_injector *injector)
{
    (void)injector;
}

bool odi_injector_push(odi_injector *injector, odi_entry entry)
{
    model_check(injector == &site.injectors[0]);
    (void)odi_or_release(&WAITING, UINT64_C(1) << number_of(entry), none);
    return true;
}

size_t odi_injector_claim(odi_injector *injector, odi_entry *entries, size_t most)
{
    if (injector != &site.injectors[0] || most == 0)
        return 0;
    uint64_t bits = odi_load_relaxed(&WAITING);
    while (bits != 0) {
        uint64_t lowest = bits & (~bits + 1);

        if (odi_cas_acquire(&WAITING, &bits, bits & ~lowest, none)) {
            entries[0] = job((unsigned)__builtin_ctzll(lowest));
            return 1;
        }
    }
    return 0;
}

bool odi_injector_has_claimable(odi_injector *injector)
{
    return injector == &site.injectors[0] && odi_load_relaxed(&WAITING) != 0;
}

/* ---- the rest of the engine ---- */

/* What the worker has, then what waits outside; there is nobody to steal from. */
bool odi_worker_find_local(odi_worker *worker, odi_entry *found_here)
{
    return odi_deque_take(&worker->deques[0], found_here) ||
           odi_injector_claim(&site.injectors[0], found_here, 1) > 0;
}

bool odi_worker_find_elsewhere(odi_worker *worker, odi_entry *found_there)
{
    (void)worker;
    (void)found_there;
    return false;
}

void odi_group_drained(odi_group *group)
{
    (void)group;
}

void odi_pool_wake_monitor(od_pool *whose)
{
    (void)whose;
}

bool odi_thread_is_first(void)
{
    return false;
}

static void refresh(odi_crew *crew)
{
    (void)crew;
}

static void arm_monitor(odi_crew *crew)
{
    (void)crew;
}

/* ---- the jobs ---- */

static unsigned ran[MODEL_ROWS][JOBS], submitted[MODEL_ROWS][JOBS];
static od_stop_report first_report;
static bool submits_more;

static void submit(unsigned n)
{
    submitted[model_thread()][n]++;
    odi_pool_submit(&pool, 0, job(n));
}

static void body(void *context)
{
    unsigned n = (unsigned)(uintptr_t)context;

    ran[model_thread()][n]++;
    if (submits_more && n == 0)
        submit(1);
}

static odi_entry job(unsigned n)
{
    return odi_job_plain(body, (void *)(uintptr_t)n, 0);
}

static unsigned sum(unsigned rows[MODEL_ROWS][JOBS], unsigned n)
{
    unsigned total = 0;

    for (unsigned row = 0; row < MODEL_ROWS; row++)
        total += rows[row][n];
    return total;
}

/* ---- threads ---- */

static void prepare(void)
{
    odi_crew *crew = &pool.crew;

    crew->sites = &site;
    crew->site_count = 1;
    crew->site_order = order;
    crew->site_classes = classes;
    crew->capacity = crew->target = 1;
    crew->first_index = INT64_MAX - 1;
    crew->refresh = refresh;
    crew->arm_monitor = arm_monitor;
    crew->help = odi_pool_help;
    crew->pool = &pool;
    model_check(odi_crew_init(crew));
    odi_store_relaxed(&crew->attention, 0);
    model_hint(&WAITING, sizeof WAITING); /* rechecked by the CAS of who takes a job */
    model_hint(&site.idle.state, sizeof site.idle.state);
    model_hint(&site.idle.asleep, sizeof site.idle.asleep);
    model_hint(&site.bands, sizeof site.bands);
    model_hint(&crew->attention, sizeof crew->attention);
}

/* Its worker is there. */
static void prepare_worker(void)
{
    prepare();
    worker_itself = make_worker(&pool.crew, 0);
    worker_itself->present = true;
    pool.crew.active = pool.crew.present = 1;
    model_check(rebuild_table(&pool.crew));
    model_hint(&worker_itself->bands, sizeof worker_itself->bands);
}

static void submitter(void)
{
    submit(0);
}

static void stopper(void)
{
    model_check(od_pool_stop(&pool, ODI_FOREVER, &first_report) == OD_OK);
}

static void stopper_now(void)
{
    model_check(od_pool_stop(&pool, DEADLINE_NOW, &first_report) == OD_OK);
}

static void worker(void)
{
    odi_worker_main(worker_itself);
}

/* A stop without a deadline: everything ran. */
static void verify_all_ran(void)
{
    for (unsigned n = 0; n < JOBS; n++)
        model_check(sum(ran, n) == sum(submitted, n));
    model_check(odi_load_relaxed(&WAITING) == 0);
    model_check(odi_load_relaxed(&pool.crew.cancelled) == 0);
    model_check(pool.crew.present == 0);
}

/* No worker could be started: submitters run their own work. */
static void prepare_nobody(void)
{
    prepare();
    odi_store_relaxed(&pool.crew.attention, ODI_NO_THREADS);
}
MODEL_SCENARIO(stop_without_workers, prepare_nobody, verify_all_ran, submitter, stopper)

/* One worker, which may be going to sleep. */
MODEL_SCENARIO(stop_against_park, prepare_worker, verify_all_ran, stopper, worker)

/* From here on the worker knows that the pool stops (its sleep is explored above), and the
 * stop goes on from there: one job from outside. */
static void prepare_stopping(void)
{
    prepare_worker();
    odi_store_relaxed(&pool.crew.attention, ODI_STOPPING);
}
MODEL_SCENARIO(stop_against_submit, prepare_stopping, verify_all_ran, submitter, stopper, worker)

/* A job that waits already, and submits another where it runs. */
static void prepare_waiting(void)
{
    prepare_stopping();
    submits_more = true;
    submitted[MODEL_ROWS - 1][0]++;
    (void)odi_site_push(&site, 0, job(0));
}
MODEL_SCENARIO(stop_against_a_job_that_submits, prepare_waiting, verify_all_ran, stopper, worker)

/* The deadline is over: what has not started is counted, once, and nothing else is. */
static void verify_counted(void)
{
    uint64_t all = 0, done = 0;

    for (unsigned n = 0; n < JOBS; n++) {
        model_check(sum(ran, n) <= sum(submitted, n));
        all += sum(submitted, n);
        done += sum(ran, n);
    }
    model_check(done + odi_load_relaxed(&pool.crew.cancelled) == all);
    model_check(odi_load_relaxed(&WAITING) == 0);
    model_check(pool.crew.present == 0);
}
static void verify_reported(void)
{
    verify_counted();
    model_check(first_report.ran + first_report.cancelled + first_report.stuck == 1);
}
static void prepare_in_hand(void)
{
    prepare_waiting();
    submits_more = false;
}
MODEL_SCENARIO(stop_now_with_a_job, prepare_in_hand, verify_reported, stopper_now, worker)
MODEL_SCENARIO(stop_now_against_a_job_that_submits, prepare_waiting, verify_counted, stopper_now,
               worker)
MODEL_SCENARIO(stop_now_against_submit, prepare_stopping, verify_counted, submitter, stopper_now,
               worker)

/* Two stops: one of them does it, the other waits for it and reads its report (P2). */
static od_stop_report reports[2];
static od_status statuses[2];

static void prepare_two_stops(void)
{
    prepare_nobody();
    odi_store_relaxed(&pool.crew.ran_outside, 3);
}
static void stop_first(void)
{
    statuses[0] = od_pool_stop(&pool, ODI_FOREVER, &reports[0]);
}
static void stop_second(void)
{
    statuses[1] = od_pool_stop(&pool, ODI_FOREVER, &reports[1]);
}
static void verify_two_stops(void)
{
    model_check((statuses[0] == OD_OK) != (statuses[1] == OD_OK));
    model_check(statuses[0] == OD_STOPPED || statuses[1] == OD_STOPPED);
    model_check(reports[0].ran == 3 && reports[1].ran == 3);
}
MODEL_SCENARIO(stop_twice, prepare_two_stops, verify_two_stops, stop_first, stop_second)

/* The flag itself against a submission that may not see it: the worker, awake, sees it first
 * and is gone when the job comes (S4). */
static void worker_that_sees_it(void)
{
    model_assume(odi_load_relaxed(&pool.crew.attention) & ODI_STOPPING);
    worker();
}
MODEL_SCENARIO(stop_flag_against_submit, prepare_worker, verify_all_ran, submitter, stopper,
               worker_that_sees_it)
MODEL_SCENARIO(stop_now_flag_against_submit, prepare_worker, verify_counted, submitter,
               stopper_now, worker_that_sees_it)
