/* appointments.c — timers: never early, never twice at a time, never after their end or after a
 * cancel has returned, and each has one end.
 *
 * The engine counts a call that is called off while it waits in its queue as a job that ran, or
 * that a stop cancelled; whether it did wait there is the engine's secret. The ledger says how
 * many may be such (`called_off_late`). */
#include "Faults/appointments.h"

#include "include/od_timer.h"

#define SOON_NS (200 * ODI_MICROSECOND)
#define FAR_OFF_NS (1000 * ODI_SECOND)
#define INTERVAL_NS (150 * ODI_MICROSECOND)

typedef struct {
    run *of;
    void (*body)(job *);
    int number;
    appointment_kind kind;
    od_timer *timer;
    int64_t due;             /* its next call */
    atomic_bool in_call;     /* which writes `due` */
    atomic_bool called_off;  /* a cancel has returned */
    bool by_us;              /* not its own */
    bool one_ran;            /* it said so: one call may have begun before */
    atomic_uint calls, late; /* late: those that saw `called_off` */
    atomic_uint ends;
} appointment;

static appointment made[APPOINTMENTS];

static bool repeats(const appointment *one)
{
    return one->kind == AGAIN_UNTIL_CALLED_OFF || one->kind == AGAIN_UNTIL_ITS_THIRD;
}

/* ---- what the timer calls ---- */

static void expect_time_has_come(appointment *one, uint64_t missed)
{
    one->due += (int64_t)missed * INTERVAL_NS;
    run_expects(odi_clock_now() >= one->due, "a timer was called %lld ns early",
                (long long)(one->due - odi_clock_now()));
    run_expects(repeats(one) || missed == 0, "a timer that does not repeat missed %llu calls",
                (unsigned long long)missed);
    one->due += INTERVAL_NS;
}

static void call(void *raw, uint64_t missed)
{
    appointment *one = raw;

    atomic_fetch_add(&one->late, atomic_load(&one->called_off));
    run_expects(!atomic_exchange(&one->in_call, true), "two calls of a timer at a time");
    run_expects(atomic_load(&one->ends) == 0, "a timer was called after its end");
    unsigned calls = atomic_fetch_add(&one->calls, 1) + 1;
    run_expects(calls == 1 || repeats(one), "a timer was called %u times", calls);
    run_expects(one->kind != ONCE_FAR_OFF, "a timer was called that is due in 1,000 s");
    expect_time_has_come(one, missed);
    run_job(ledger_job(one->of, one->body, one->number));
    if (one->kind == AGAIN_UNTIL_ITS_THIRD && calls == 3) {
        run_expects(od_timer_cancel(one->timer) == OD_TIMER_RUNS,
                    "a timer's own call could not call it off");
        one->one_ran = true;
        atomic_store(&one->called_off, true);
    }
    run_expects(calls <= 3 || one->kind != AGAIN_UNTIL_ITS_THIRD,
                "a timer was called after its own call had called it off");
    atomic_store(&one->in_call, false);
}

static void over(void *raw)
{
    appointment *one = raw;
    bool in_own_call = one->kind == AGAIN_UNTIL_ITS_THIRD && atomic_load(&one->calls) == 3;

    if (one->kind != ONCE_FAR_OFF && !in_own_call && od_timer_is_cancelled(one->timer))
        atomic_fetch_add(&one->of->book.called_off_late, 1);
    run_expects(!atomic_load(&one->in_call), "a timer's end came during its call");
    run_expects(atomic_fetch_add(&one->ends, 1) == 0, "a timer ended twice");
}

/* ---- making ---- */

void appoint(run *it, appointment_kind kind, od_queue *queue, void (*body)(job *), int number)
{
    appointment *one = &made[kind];
    od_timer_options options = {.call = call, .over = over, .context = one};
    int tries = 0;

    one->of = it;
    one->body = body;
    one->number = number;
    one->kind = kind;
    one->one_ran = one->by_us = false;
    atomic_store(&one->called_off, false);
    atomic_store(&one->calls, 0);
    atomic_store(&one->late, 0);
    atomic_store(&one->ends, 0);
    one->due = od_timer_now() + (kind == ONCE_FAR_OFF ? FAR_OFF_NS : SOON_NS);
    options.due_ns = one->due;
    options.interval_ns = repeats(one) ? INTERVAL_NS : 0;
    while ((one->timer = od_timer_create_with(queue, OD_QUEUE_BAND,
                                              kind == ONCE_SOON_ALONE ? OD_BARRIER : 0,
                                              &options)) == NULL)
        memory_is_short(tries++, "a timer");
    od_timer_start(one->timer);
}

/* ---- ending ---- */

/* Without any thread nobody looks at the clock, and timers wait for one. */
static bool somebody_looks(run *it)
{
    od_metrics metrics;

    od_pool_metrics(it->pool, &metrics);
    return metrics.active > 0 || metrics.thread_failures == 0;
}

static void await_end(run *it, appointment *one)
{
    int64_t give_up = odi_clock_after(LOST_NS);

    while (atomic_load(&one->ends) == 0 && somebody_looks(it)) {
        run_expects(odi_clock_now() < give_up,
                    "timer %d has not ended after 12 s; it was called %u times",
                    (int)one->kind, atomic_load(&one->calls));
        odi_clock_sleep(20 * ODI_MICROSECOND);
    }
}

static void call_off(appointment *one)
{
    od_timer_cancelled found = od_timer_cancel(one->timer);

    one->one_ran |= found == OD_TIMER_RUNS;
    one->by_us = true;
    atomic_store(&one->called_off, true);
    run_expects(one->kind != ONCE_FAR_OFF || found == OD_TIMER_PREVENTED,
                "the cancel of a timer that is due in 1,000 s said %d", (int)found);
}

void call_off_appointments(run *it)
{
    for (int i = 0; i < APPOINTMENTS; i++) {
        appointment *one = &made[i];

        if (one->kind != ONCE_FAR_OFF && one->kind != AGAIN_UNTIL_CALLED_OFF)
            await_end(it, one);
        if (atomic_load(&one->ends) == 0)
            call_off(one);
    }
}

static void expect_kept(appointment *one, bool stopped)
{
    unsigned calls = atomic_load(&one->calls), owed = repeats(one) ? 3 : 1;
    bool by_itself = one->kind != ONCE_FAR_OFF && one->kind != AGAIN_UNTIL_CALLED_OFF;

    run_expects(atomic_load(&one->late) <= one->one_ran, "a timer was called after its cancel");
    run_expects(!by_itself || stopped || calls == owed || one->by_us,
                "timer %d was called %u times instead of %u", (int)one->kind, calls, owed);
}

void settle_appointments(run *it, bool stopped)
{
    int64_t give_up = odi_clock_after(LOST_NS);

    (void)it;
    for (int i = 0; i < APPOINTMENTS; i++) {
        while (atomic_load(&made[i].ends) == 0) {
            run_expects(odi_clock_now() < give_up, "timer %d has no end after 12 s", i);
            odi_clock_sleep(20 * ODI_MICROSECOND);
        }
        expect_kept(&made[i], stopped);
        od_timer_release(made[i].timer);
    }
}
