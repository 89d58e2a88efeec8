/* stop.c — a pool stops while somebody submits (pool/stop.c, pool/submit.c, worker/team.c,
 * worker/run_loop.c, worker/run.c as they are; where a worker looks is short): every accepted job runs exactly once, or is counted
 * by the stop that came too late for it; and everybody leaves (S4, P2, W2).
 * There is one worker at most. A deadline is either never or now.
 */
#include "doubles/small_pool.h"

/* ---- the jobs ---- */

static unsigned ran[JOBS][MODEL_ROWS], submitted[JOBS][MODEL_ROWS];
static od_stop_report first_report;
static bool submits_more;

static void submit(unsigned n)
{
    submitted[n][model_thread()]++;
    odi_pool_submit(&pool, 0, job(n));
}

static void body(void *context)
{
    unsigned n = (unsigned)(uintptr_t)context;

    ran[n][model_thread()]++;
    model_check(odi_worker_self != NULL); /* nobody else runs anything */
    if (submits_more && n == 0)
        submit(1);
}

static odi_entry job(unsigned n) { return odi_job_plain(body, (void *)(uintptr_t)n, 0); }

/* ---- threads ---- */

static odi_worker *worker_itself;

static void prepare(void) { make_pool(1); }

/* Its worker is there. */
static void prepare_worker(void) { prepare(); worker_itself = make_present(); }

static void submitter(void) { submit(0); }
static void stopper(void) { model_check(od_pool_stop(&pool, ODI_FOREVER, &first_report) == OD_OK); }
static void stopper_now(void) { model_check(od_pool_stop(&pool, DEADLINE_NOW, &first_report) == OD_OK); }
static void worker(void) { odi_worker_main(worker_itself); }

/* The worker has found nothing, and leaves. */
static void leaving_worker(void)
{
    odi_worker_self = worker_itself;
    odi_reader_join();
    retire(worker_itself, false);
}

/* Parts of od_pool_stop, where the whole has too many executions: what comes after everybody knows of the
 * stop, the same with what tells them, and the same two where the deadline is over. */
static void stop_goes_on(void) { model_check(await_the_last(&pool)); }
static void stop_to_its_end(void)
{
    discarded here;

    stop_goes_on();
    odi_fence_heavy(S4); /* announce's: the flag is there already */
    begin_to_discard(&pool, &here); /* what follows is give_up without queues and deques, which are empty */
    close_injectors(&pool.team);
    (void)discard_injector(&pool.team, &site.injectors[0]);
    end_to_discard(&pool, &here);
}
static void stop_from_its_flag(void)
{
    announce(&pool.team, ODI_STOPPING);
    stop_to_its_end();
}
static void stop_at_its_deadline(void)
{
    announce(&pool.team, ODI_CANCELLING);
    odi_pool_await_leaving(&pool, odi_clock_after(GRACE_NS), 0);
    give_up(&pool);
}
static void stop_now_from_its_flag(void)
{
    announce(&pool.team, ODI_STOPPING);
    stop_at_its_deadline();
}

/* A stop without a deadline: everything ran. */
static void verify_all_ran(void)
{
    for (unsigned n = 0; n < JOBS; n++)
        model_check(model_sum(ran[n]) == model_sum(submitted[n]));
    model_check((odi_load_relaxed(&WAITING) & ~CLOSED) == 0);
    model_check(odi_load_relaxed(&pool.team.cancelled) == 0);
    model_check(pool.team.present == 0);
}

/* What has not started when the deadline is over, or came after the stop, is counted, once, and nothing else is. */
static void verify_counted(void)
{
    uint64_t all = 0, done = 0;

    for (unsigned n = 0; n < JOBS; n++) {
        model_check(model_sum(ran[n]) <= model_sum(submitted[n]));
        all += model_sum(submitted[n]);
        done += model_sum(ran[n]);
    }
    model_check(done + odi_load_relaxed(&pool.team.cancelled) == all);
    model_check((odi_load_relaxed(&WAITING) & ~CLOSED) == 0);
    model_check(pool.team.present == 0);
}
/* Not one thread is to be had, for what could not be refused: it is discarded where the stop finds it, or by its
 * submitter. */
static void no_thread_is_to_be_had(void) { pool.team.next_start_ns = INT64_MAX; }
static void prepare_nobody(void)
{
    prepare();
    odi_store_relaxed(&pool.team.attention, ODI_NO_THREADS);
    no_thread_is_to_be_had();
}
MODEL_SCENARIO(stop_without_workers, prepare_nobody, verify_counted, submitter, stopper)
MODEL_REACHES(stop_without_workers, model_met(0, "odi_run_discard") > 0, first_report.cancelled == 1)

/* One worker, which may be going to sleep. */
MODEL_SCENARIO(stop_against_park, prepare_worker, verify_all_ran, stopper, worker)
MODEL_REACHES(stop_against_park, model_slept(0), model_slept(1))

/* From here on the worker knows that the pool stops (its sleep is explored above), and the
 * stop goes on from there: one job from outside. */
static void prepare_stopping(void)
{
    prepare_worker();
    odi_store_relaxed(&pool.team.attention, ODI_STOPPING);
    no_thread_is_to_be_had();
}
MODEL_SCENARIO(stop_against_submit, prepare_stopping, verify_counted, submitter, stop_to_its_end, worker)
MODEL_REACHES(stop_against_submit, model_sum(ran[0]) == 1, model_slept(1))

/* A job that waits already, and submits another where it runs. */
static void prepare_waiting(void)
{
    prepare_stopping();
    submits_more = true;
    submitted[0][MODEL_ROWS - 1]++;
    (void)odi_site_push(&site, 0, job(0));
}
MODEL_SCENARIO(stop_against_a_job_that_submits, prepare_waiting, verify_all_ran, stopper, worker)
MODEL_REACHES(stop_against_a_job_that_submits, model_slept(0))

/* The last worker has left, and there is work: a worker comes for it. */
static void prepare_left_behind(void)
{
    prepare();
    odi_store_relaxed(&pool.team.attention, ODI_STOPPING);
    submitted[0][MODEL_ROWS - 1]++;
    (void)odi_site_push(&site, 0, job(0));
}
MODEL_SCENARIO(stop_leaves_work_to_a_worker, prepare_left_behind, verify_all_ran, stopper, model_started_thread)
MODEL_REACHES(stop_leaves_work_to_a_worker, model_slept(0))
/* One that is submitted then runs on a worker that the stop has started, or is discarded: of the two
 * threads that both may want only one is to be had, and the one that comes leaves room for another before its
 * submitter looks. Where there was room for one in the team, on one that its submitter has started. */
static void prepare_left(void)
{
    prepare();
    threads_to_be_had = 1;
    odi_store_relaxed(&pool.team.attention, ODI_STOPPING);
    model_hint(&pool.team.starts, sizeof pool.team.starts); /* for reports */
}
static void prepare_left_with_room(void)
{
    prepare_left();
    threads_to_be_had = 2;
    odi_store_relaxed(&pool.team.attention, ODI_STOPPING | ODI_CAN_START);
}
/* Whoever wants one, no thread is to be had: who saw the worker present all the same is told that it is not. */
static void prepare_left_with_room_alone(void)
{
    prepare_left_with_room();
    threads_to_be_had = 0;
}
MODEL_SCENARIO(stop_sees_a_worker_that_is_not_to_be_had, prepare_left_with_room_alone, verify_counted, stop_to_its_end,
               submitter)
MODEL_REACHES(stop_sees_a_worker_that_is_not_to_be_had, model_met(0, "odi_run_discard") > 0,
              model_met(1, "odi_run_discard") > 0)
MODEL_SCENARIO(stop_starts_a_worker_against_submit, prepare_left, verify_counted, stop_to_its_end, submitter,
               model_started_thread)
MODEL_REACHES(stop_starts_a_worker_against_submit, model_sum(ran[0]) == 1, odi_load_relaxed(&threads_started) == 0)
MODEL_SCENARIO(stop_and_submit_start_workers, prepare_left_with_room, verify_counted, stopper, submitter,
               model_started_thread, model_second_started_thread)
MODEL_REACHES(stop_and_submit_start_workers, model_sum(ran[0]) == 1, odi_load_relaxed(&threads_started) == 2,
              started[0].by == 0, started[0].by == 1)

static void verify_reported(void)
{
    verify_counted();
    model_check(first_report.ran + first_report.cancelled + first_report.stuck == 1);
}
static void prepare_in_hand(void) { prepare_waiting(); submits_more = false; }
MODEL_SCENARIO(stop_now_with_a_job, prepare_in_hand, verify_reported, stopper_now, worker)
MODEL_REACHES(stop_now_with_a_job, model_sum(ran[0]) == 1, first_report.stuck == 1)
MODEL_SCENARIO(stop_now_against_a_job_that_submits, prepare_waiting, verify_counted, stopper_now, worker)
MODEL_REACHES(stop_now_against_a_job_that_submits, model_sum(ran[0]) == 0, model_sum(ran[1]) == 1,
              first_report.stuck == 1)
MODEL_SCENARIO(stop_now_against_submit, prepare_stopping, verify_counted, submitter, stop_at_its_deadline, worker)
MODEL_REACHES(stop_now_against_submit, model_sum(ran[0]) == 1)

/* A worker that was called for a search and gets no CPU before the grace after the deadline is over:
 * the token is out, and whoever held it leaves without a look. */
static void prepare_called(void)
{
    prepare_worker();
    worker_itself->searching = true;
    model_check(odi_idle_try_search(&site.idle));
    clock_stands_at = INT64_MAX;
}
static void verify_after_the_late_worker(void) { worker(); verify_counted(); }
MODEL_SCENARIO(stop_now_with_a_late_worker, prepare_called, verify_after_the_late_worker, submitter, stopper_now)
MODEL_REACHES(stop_now_with_a_late_worker, first_report.cancelled == 1)
/* The same after the stop: it leaves while somebody submits, who discards it himself. */
static void prepare_leaving(void)
{
    prepare_called();
    odi_store_relaxed(&pool.team.attention, ODI_STOPPING | ODI_CANCELLING);
    odi_injector_close(&site.injectors[0]);
}
MODEL_SCENARIO(stop_is_over_with_a_late_worker, prepare_leaving, verify_counted, submitter, worker)
MODEL_ONLY_END(stop_is_over_with_a_late_worker, odi_load_relaxed(&pool.team.cancelled) == 1)

/* Its only worker is in a job that does not end: a submitter that sees nothing of the stop leaves its job
 * where the stop finds it (S4). Who leaves has a fence of his own; here nobody does. */
static void prepare_stuck(void)
{
    prepare_worker();
    odi_store_relaxed(&worker_itself->jobs, 1);
}
static void verify_counted_beside_a_stuck_one(void)
{
    pool.team.present = 0;
    verify_counted();
}
MODEL_SCENARIO(stop_now_of_a_stuck_pool_against_submit, prepare_stuck, verify_counted_beside_a_stuck_one,
               submitter, stopper_now)
MODEL_REACHES(stop_now_of_a_stuck_pool_against_submit, first_report.cancelled == 1)

/* The stuck job submits behind what lies in its worker's deque, and past the deadline takes the oldest back: the
 * stop finds the other one (D3). */
static void prepare_stuck_with_a_job(void)
{
    prepare_stuck();
    submitted[0][MODEL_ROWS - 1]++;
    model_check(odi_deque_push(&worker_itself->deques[0], job(0)));
}
static void stuck_job(void) { odi_worker_self = worker_itself; submit(1); }
MODEL_SCENARIO(stop_now_against_a_stuck_job_that_submits, prepare_stuck_with_a_job,
               verify_counted_beside_a_stuck_one, stuck_job, stop_at_its_deadline)
MODEL_REACHES(stop_now_against_a_stuck_job_that_submits, model_met(0, "take_back") > 0)

/* A worker has taken a job, and gets no CPU before the grace is over: the report knows of the job, or it is not
 * begun (S4). */
static void prepare_in_hand_of_a_late_worker(void)
{
    prepare_worker();
    submitted[0][MODEL_ROWS - 1]++;
    clock_stands_at = INT64_MAX;
}
static void late_worker(void)
{
    odi_worker_self = worker_itself;
    odi_worker_run(worker_itself, job(0), 0);
}
static void verify_reported_or_not_begun(void)
{
    unsigned begun = model_sum(ran[0]);

    model_check(begun + odi_load_relaxed(&pool.team.cancelled) == 1);
    model_check(first_report.ran + first_report.stuck >= begun);
    model_check(odi_load_relaxed(&worker_itself->jobs) == 2 * begun); /* it is in none */
}
/* What ran by the report has been seen (W2). */
static void stopper_now_sees_what_ran(void)
{
    stopper_now();
    if (first_report.ran == 1)
        model_check(ran[0][0] == 1);
}
MODEL_SCENARIO(stop_now_with_a_job_in_a_late_hand, prepare_in_hand_of_a_late_worker, verify_reported_or_not_begun,
               late_worker, stopper_now_sees_what_ran)
MODEL_REACHES(stop_now_with_a_job_in_a_late_hand, model_sum(ran[0]) == 1, first_report.stuck == 1,
              first_report.ran == 1)

/* Two stops: one of them does it, the other waits for it and reads its report (P2). */
static od_stop_report reports[2];
static od_status statuses[2];

static void prepare_two_stops(void)
{
    prepare_nobody();
    odi_store_relaxed(&pool.team.ran_outside, 3);
}
static void stop_first(void) { statuses[0] = od_pool_stop(&pool, ODI_FOREVER, &reports[0]); }
static void stop_second(void) { statuses[1] = od_pool_stop(&pool, ODI_FOREVER, &reports[1]); }
static void verify_two_stops(void)
{
    model_check((statuses[0] == OD_OK) != (statuses[1] == OD_OK));
    model_check(statuses[0] == OD_STOPPED || statuses[1] == OD_STOPPED);
    model_check(reports[0].ran == 3 && reports[1].ran == 3);
}
MODEL_SCENARIO(stop_twice, prepare_two_stops, verify_two_stops, stop_first, stop_second)
MODEL_REACHES(stop_twice, statuses[0] == OD_OK, model_slept(1))

/* Somebody asks whether it is over, and has the report then. */
static bool was_stopped;

static void asks_whether_it_is_over(void)
{
    was_stopped = od_pool_is_stopped(&pool);
    if (was_stopped)
        model_check(pool.last_report.ran == 3);
}
MODEL_SCENARIO(stop_is_asked_for, prepare_two_stops, NULL, stop_first, asks_whether_it_is_over)
MODEL_REACHES(stop_is_asked_for, was_stopped)

/* Two stops where a job does not end, and one of them has a deadline: it is both's (S3). */
static void stop_second_now(void) { statuses[1] = od_pool_stop(&pool, DEADLINE_NOW, &reports[1]); }
static void verify_two_stops_of_a_stuck_pool(void)
{
    model_check((statuses[0] == OD_OK) != (statuses[1] == OD_OK));
    model_check(statuses[0] == OD_STOPPED || statuses[1] == OD_STOPPED);
    model_check(reports[0].stuck == 1 && reports[1].stuck == 1);
}
MODEL_SCENARIO(stop_twice_one_now, prepare_stuck, verify_two_stops_of_a_stuck_pool, stop_first, stop_second_now)
MODEL_REACHES(stop_twice_one_now, statuses[0] == OD_OK, model_slept(0), model_slept(1))

/* The flag itself against a submission that may not see it: the worker, awake, sees it first
 * and is gone when the job comes (S4). */
static void prepare_worker_alone(void) { prepare_worker(); no_thread_is_to_be_had(); }
static void worker_that_sees_it(void)
{
    while (!(odi_load_relaxed(&pool.team.attention) & ODI_STOPPING))
        odi_spin_pause();
    leaving_worker();
}
MODEL_SCENARIO(stop_flag_against_submit, prepare_worker_alone, verify_counted, submitter,
               stop_from_its_flag, worker_that_sees_it)
MODEL_REACHES(stop_flag_against_submit, model_met(0, "odi_run_discard") > 0, model_met(1, "odi_run_discard") > 0)
MODEL_SCENARIO(stop_now_flag_against_submit, prepare_worker_alone, verify_counted, submitter,
               stop_now_from_its_flag, worker_that_sees_it)
MODEL_REACHES(stop_now_flag_against_submit, model_met(0, "odi_run_discard") > 0, model_met(1, "odi_run_discard") > 0)

/* A worker leaves a full team while somebody submits: whoever sees the other calls another worker for the job, for
 * which those that are left may wait (S4). */
static void prepare_full(void)
{
    make_pool(2);
    worker_itself = make_present();
    odi_store_relaxed(&pool.team.attention, ODI_STOPPING);
}
static void leaves_room(void) { odi_worker_self = worker_itself; odi_team_depart(worker_itself, false); }
static void verify_called(void) { model_check(odi_load_relaxed(&threads_started) == 1 && pool.team.active == 1); }
MODEL_SCENARIO(stop_leaves_room_against_submit, prepare_full, verify_called, submitter, leaves_room)
MODEL_REACHES(stop_leaves_room_against_submit, started[0].by == 0)

/* Too large otherwise: it takes a minute and a half as it is. */
MODEL_WOKEN_ONLY(stop_and_submit_start_workers, ~0u)
