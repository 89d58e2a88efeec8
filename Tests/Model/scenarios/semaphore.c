/* semaphore.c — permits go to exactly one waiter each, and a signal is never lost: not to one
 * on its way into the line, nor to one on its way out.
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "gate/semaphore.c"
#include "job/arena.c"

#include "job/free_list.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/pages.h"
#include "model/scenario.h"

_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));
_Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));
odi_atomic(bool) odi_may_spin;

static unsigned slept[MODEL_ROWS]; /* waits that did not end in a spin */

void odi_blocking_begin(const char *what, void *whose) { slept[model_thread()]++; }
void od_blocking_end(void) {}

static od_semaphore *semaphore;
static odi_waiter early; /* in line before the threads begin, without a thread */
static unsigned called;
static int written; /* before each signal, read by who got its permit */
static unsigned granted[MODEL_ROWS];
static bool passes_on;

static void prepare(void)
{
    deadlines_come = true;
    odi_store_relaxed(&odi_may_spin, true); /* relaxed: no thread exists yet */
    semaphore = od_semaphore_create(0);
    /* CAS and addition recheck what these loads say. */
    model_hint(&semaphore->value, sizeof semaphore->value);
}

static void signal_one(void) { (void)od_semaphore_signal(semaphore); }
static void write_and_signal(void) { written = 1; signal_one(); }
static void got_it(void) { granted[model_thread()]++; }
static void wait(void) { (void)od_semaphore_wait(semaphore, INT64_MAX); got_it(); }
static void wait_and_read(void) { wait(); model_check(written == 1); }

/* The deadline comes at once. */
static void wait_briefly(void)
{
    if (od_semaphore_wait(semaphore, 1))
        got_it();
}

static void wait_briefly_and_read(void)
{
    wait_briefly();
    model_check(granted[model_thread()] == 0 || written == 1);
}

static void wait_briefly_and_pass_on(void)
{
    wait_briefly();
    passes_on = granted[model_thread()] > 0;
    if (passes_on)
        signal_one();
}

static void look(void)
{
    if (od_semaphore_wait(semaphore, 0)) {
        model_check(written == 1);
        got_it();
    }
}

/* What was signalled was granted once, or is still there. */
static void settle(int64_t signals)
{
    model_check(odi_load_relaxed(&semaphore->value) + model_sum(granted) + called == signals);
    model_check(odi_load_relaxed(&semaphore->value) >= 0 && semaphore->owed == 0);
    model_check(semaphore->first == NULL && semaphore->last == NULL);
}

static void verify_one(void) { settle(1); }

/* Thread 1 was in line, and had not begun to sleep: thread 0 handed over without a wake-up. */
static bool spin_pays(void)
{
    return granted[1] == 1 && slept[1] == 0 && model_met(0, "hand_over") > 0 && model_met(0, "futex wake") == 0;
}

static void verify_two(void) { settle(2); }

static void verify_passed_on(void)
{
    granted[0] = 0; /* who passes its permit on has none */
    settle(1);
}

MODEL_SCENARIO(semaphore_wait, prepare, verify_one, write_and_signal, wait_and_read)
MODEL_REACHES(semaphore_wait, model_slept(1), spin_pays())
MODEL_SPINS(semaphore_wait, MODEL_SPINS_BOTH)
MODEL_SCENARIO(semaphore_brief, prepare, verify_one, write_and_signal, wait_briefly_and_read)
MODEL_REACHES(semaphore_brief, granted[1] == 1)
MODEL_SPINS(semaphore_brief, MODEL_SPINS_BOTH)
MODEL_SCENARIO(semaphore_look, prepare, verify_one, write_and_signal, look)
MODEL_REACHES(semaphore_look, granted[1] == 1)

/* ---- without a thread ---- */

static void call(void *counter) { ++*(unsigned *)counter; }

static void prepare_early(void)
{
    prepare();
    early = (odi_waiter){.function = call, .context = &called};
    model_check(od_semaphore_wait_async(semaphore, &early) == OD_SEMAPHORE_WAITS);
}

static void signal_twice(void) { signal_one(); signal_one(); }
MODEL_SCENARIO(semaphore_two_waits, prepare_early, verify_two, signal_one, signal_one, wait)
MODEL_REACHES(semaphore_two_waits, model_slept(2))
MODEL_SPINS(semaphore_two_waits, MODEL_SPINS_BOTH)
MODEL_SCENARIO(semaphore_passed_on, prepare, verify_passed_on, wait_briefly_and_pass_on, signal_one, wait)
MODEL_REACHES(semaphore_passed_on, passes_on, model_slept(2))
MODEL_SPINS(semaphore_passed_on, MODEL_SPINS_LEAVE)
MODEL_SCENARIO(semaphore_brief_beside, prepare_early, verify_two, wait_briefly, signal_twice)
MODEL_REACHES(semaphore_brief_beside, granted[0] == 1)
MODEL_SPINS(semaphore_brief_beside, MODEL_SPINS_BOTH)

static void cancel(void) { (void)od_semaphore_cancel(semaphore, &early); }

/* A cancelled waiter's permit goes to the next, who may sleep for it. */
MODEL_SCENARIO(semaphore_cancel, prepare_early, verify_one, signal_one, cancel)
MODEL_REACHES(semaphore_cancel, called == 1)

static odi_waiter next;
static unsigned next_called;

static void prepare_beside(void)
{
    prepare_early();
    next = early;
    next.state = ODI_WAITER_NEW;
    next.context = &next_called;
    model_check(od_semaphore_wait_async(semaphore, &next) == OD_SEMAPHORE_WAITS);
}

static void verify_beside(void)
{
    model_check(called + next_called == 1);
    (void)od_semaphore_cancel(semaphore, &next);
    granted[model_thread()] = next_called;
    settle(1);
}
MODEL_SCENARIO(semaphore_cancel_beside, prepare_beside, verify_beside, signal_one, cancel)
MODEL_REACHES(semaphore_cancel_beside, called == 1)

static void prepare_unbegun(void)
{
    prepare();
    early = (odi_waiter){.function = call, .context = &called};
}

static void begin(void)
{
    if (od_semaphore_wait_async(semaphore, &early) == OD_SEMAPHORE_TAKEN) {
        model_check(written == 1);
        got_it();
    }
}

static void end_of_unbegun(void)
{
    (void)od_semaphore_cancel(semaphore, &early);
    settle(1);
}
MODEL_SCENARIO(semaphore_cancel_begin, prepare_unbegun, end_of_unbegun, begin, cancel, write_and_signal)
MODEL_REACHES(semaphore_cancel_begin, called == 1, granted[0] == 1, model_sum(granted) + called == 0)
