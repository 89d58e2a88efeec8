/* control_run.c — begins a controlled run, watches it from outside, and ends it. The thread that begins it is no
 * thread of the run. */
#include "os/control_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/invariant.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/thread.h"

/* A run whose holder takes no step for this long is stuck. A run in which no thread is ready waits this long for a
 * thread outside it. */
#define STUCK_NS (2 * ODI_SECOND)
#define OUTSIDE_NS (100 * ODI_MILLISECOND)

enum { BODY_STACK = 8 * 1024 * 1024 };

/* The run's clock begins here, so that two runs read equal times. */
#define BEGINNING_NS (1000 * ODI_SECOND)

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The run in progress, for wake-ups from outside. */
static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static od_control *current;

/* Counts the runs of the process. Written with one_at_a_time held. */
static uint64_t runs;

/* The number of the run in progress, or 0. */
static odi_atomic(uint64_t) number_now;

uint64_t odi_control_run_here(void)
{
    return odi_is_controlled() ? odi_control_here->control->number : 0;
}

uint64_t odi_control_run_now(void)
{
    return odi_load_relaxed(&number_now); /* relaxed: a thread outside the run may come late */
}

bool od_control_is_inside(void)
{
    return odi_is_controlled();
}

int64_t od_control_time(void)
{
    return odi_is_controlled() ? odi_control_now() - BEGINNING_NS : 0;
}

void *od_control_owner(void)
{
    return odi_is_controlled() ? odi_control_here->control->options.owner : NULL;
}

int odi_control_futex_wake(odi_atomic(uint32_t) *word, int count, uint32_t names)
{
    int woken = 0;

    if (odi_control_here != NULL)
        return odi_control_wake_in(odi_control_here->control, (const void *)word, count, names);
    odi_control_lock(&current_lock);
    if (current != NULL)
        woken = odi_control_wake_in(current, (const void *)word, count, names);
    odi_control_unlock(&current_lock);
    return woken;
}

void odi_control_note_outside(const void *queue)
{
    odi_control_lock(&current_lock);
    if (current != NULL && current->options.owns != NULL && current->options.owns(queue)) {
        odi_control_lock(&current->lock);
        current->report.outside++;
        odi_control_unlock(&current->lock);
    }
    odi_control_unlock(&current_lock);
}

/* A thread of a dead run may still come to a step, at which it stops for ever. */
static odi_atomic(bool) some_are_dead;

static void set_current(od_control *control)
{
    odi_control_lock(&current_lock);
    current = control;
    odi_store_relaxed(&number_now, control != NULL ? control->number : 0); /* relaxed: the run's threads start afterwards */
    odi_control_unlock(&current_lock);
    if (control != NULL)
        odi_or_relaxed(&odi_trace_wanted, ODI_WANTS_CONTROL); /* relaxed: the run's threads start afterwards */
    else if (!odi_load_relaxed(&some_are_dead)) /* relaxed: written by the threads that begin runs, one at a time */
        odi_and_relaxed(&odi_trace_wanted, (uint8_t)~ODI_WANTS_CONTROL); /* relaxed: a hint for the threads outside */
}

/* The child has one thread, which belongs to no run. */
static void leave_in_child(void)
{
    static const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;

    odi_control_here = NULL;
    one_at_a_time = initial;
    current_lock = initial;
    current = NULL;
    odi_store_relaxed(&number_now, 0);        /* relaxed, both: one thread exists */
    odi_store_relaxed(&some_are_dead, false);
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(NULL, NULL, leave_in_child);
}

/* ---- the account of a run that cannot end ---- */

static void describe_waits(od_control *control)
{
    char *text = control->report.text;
    size_t size = sizeof control->report.text, used = strlen(text);

    for (uint32_t i = 0; i < control->count && used < size; i++) {
        const odi_baton *thread = control->threads[i];

        if (thread->state == ODI_BATON_WAITING && thread->waits_for != NULL)
            used += (size_t)snprintf(text + used, size - used, "%s%s waits %s%s%s%s", used > 0 ? "; " : "", thread->name,
                                     thread->waits_for, thread->waits_at[0] != '\0' ? " \"" : "", thread->waits_at,
                                     thread->waits_at[0] != '\0' ? "\"" : "");
    }
}

static void describe_holder(od_control *control)
{
    const odi_baton *holder = control->holder;
    size_t used = strlen(control->report.text);

    if (holder != NULL)
        snprintf(control->report.text + used, sizeof control->report.text - used, "%s%s has reached no scheduling point for 2 s",
                 used > 0 ? "; " : "", holder->name);
}

static void kill_run(od_control *control, od_control_end end)
{
    if (end == OD_CONTROL_STUCK)
        describe_holder(control);
    else
        describe_waits(control);
    control->report.end = end;
    control->dead = true;
    control->holder = NULL;
}

/* ---- watching ---- */

static bool has_ended(const od_control *control)
{
    for (uint32_t i = 0; i < control->count; i++) {
        if (control->threads[i]->state != ODI_BATON_ENDED)
            return false;
    }
    return true;
}

/* Returns whether the time has passed, and no event has ended the wait early. */
static bool wait_a_while(od_control *control, int64_t ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t sum = until.tv_nsec + ns;
    until.tv_sec += (time_t)(sum / ODI_SECOND);
    until.tv_nsec = (long)(sum % ODI_SECOND);
    return pthread_cond_timedwait(&control->event, &control->lock, &until) == ETIMEDOUT;
}

/* Waits until the run has ended, or is dead. Lock held. */
static void watch(od_control *control)
{
    while (!has_ended(control) && !control->dead) {
        uint64_t seen = control->changes;
        bool idle = control->holder == NULL;

        bool timed_out = wait_a_while(control, idle ? OUTSIDE_NS : STUCK_NS);
        if (!timed_out || control->dead || control->changes != seen || has_ended(control))
            continue;
        if (!idle)
            kill_run(control, OD_CONTROL_STUCK);
        else
            kill_run(control, control->threads[0]->state == ODI_BATON_ENDED ? OD_CONTROL_LEFT : OD_CONTROL_DEADLOCK);
    }
}

static void run_body(void *raw)
{
    od_control *control = raw;

    control->body(control->context);
}

static od_control *make(const od_control_options *options, void (*body)(void *), void *context)
{
    od_control *control = calloc(1, sizeof *control);
    pthread_condattr_t attributes;

    if (control == NULL) {
        odi_trap("od_control_run: out of memory. Raise the memory limit.");
        return NULL; /* not reached */
    }
    pthread_mutex_init(&control->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&control->event, &attributes);
    pthread_condattr_destroy(&attributes);
    control->options = *options;
    control->body = body;
    control->context = context;
    control->number = ++runs;
    control->now = BEGINNING_NS;
    control->cpu = -1;
    control->report.missed = UINT32_MAX;
    odi_control_policy_begin(control);
    return control;
}

od_control *od_control_run(const od_control_options *options, void (*body)(void *), void *context, od_control_report *report)
{
    pthread_mutex_lock(&one_at_a_time);
    od_control *control = make(options, body, context);
    odi_baton *first = odi_control_thread_in(control, "test");

    set_current(control);
    if (options->trap_line != NULL)
        odi_control_traps_begin();
    control->holder = first;
    int error = first == NULL ? ENOMEM : odi_thread_start_as(first, run_body, control, BODY_STACK, "test");
    if (error != 0)
        odi_trap("od_control_run: no thread can be started (%s). Raise the limit of threads.", strerror(error));
    odi_control_lock(&control->lock);
    watch(control);
    control->report.decisions = control->decisions;
    control->report.threads = control->count;
    control->report.log = control->log;
    control->report.time_ns = control->now - BEGINNING_NS;
    if (control->report.missed == UINT32_MAX && control->forced_seen < options->forced_count)
        control->report.missed = options->forced[control->forced_seen].decision;
    control->options.trap_line = NULL; /* the caller frees the line, and threads of a dead run stay */
    *report = control->report;
    if (control->dead)
        odi_store_relaxed(&some_are_dead, true); /* relaxed: as above */
    odi_control_unlock(&control->lock);
    odi_tsan_acquire(control); /* the run's threads have released it when they ended */
    if (options->trap_line != NULL)
        odi_control_traps_end();
    set_current(NULL);
    pthread_mutex_unlock(&one_at_a_time);
    return control;
}

const char *od_control_thread(const od_control *control, uint32_t number)
{
    return number < control->count ? control->threads[number]->name : "";
}

void od_control_free(od_control *control)
{
    if (control->dead)
        return; /* its threads still read it */
    for (uint32_t i = 0; i < control->count; i++)
        free(control->threads[i]);
    free(control->log);
    free(control);
}
