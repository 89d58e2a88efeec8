/* semaphore.c — semaphores for jobs; a spare may replace a worker that waits. */
#include "gate/semaphore.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "job/arena.h"
#include "os/clock.h"
#include "os/futex.h"
#include "sleep/idle.h"
#include "worker/worker.h"

/* A wait spins for WAIT_SPINS pauses, because a running closure may signal sooner. After a spin without a
 * permit, the thread's next wait sleeps immediately; then its next 2, 4, up to MOST_SKIPPED. */
enum { WAIT_SPINS = 600, MOST_SKIPPED = 64 };

static odi_arena semaphores = ODI_ARENA_FOR(od_semaphore);

od_semaphore *od_semaphore_create(int64_t value)
{
    if (value < 0)
        odi_trap("CountingSemaphore(value:): negative number of permits (%lld). Choose 0 or more.", (long long)value);
    od_semaphore *semaphore = odi_arena_take(&semaphores);

    if (semaphore == NULL)
        return NULL;
    odi_lock_acquire(&semaphore->lock); /* a late signal to the memory's former semaphore holds it */
    odi_store_relaxed(&semaphore->value, value); /* relaxed: not shared yet */
    semaphore->first = semaphore->last = NULL;
    semaphore->owed = 0;
    semaphore->initial = value;
    odi_lock_release(&semaphore->lock);
    return semaphore;
}

int64_t od_semaphore_value(od_semaphore *semaphore)
{
    return odi_load_relaxed(&semaphore->value); /* relaxed: a hint */
}

void od_semaphore_release(od_semaphore *semaphore)
{
    int64_t value = od_semaphore_value(semaphore);

    if (value < semaphore->initial)
        odi_trap("CountingSemaphore.deinit: permits are missing (%lld of %lld are there). "
                 "Call signal() as often as wait().",
                 (long long)value, (long long)semaphore->initial);
    odi_arena_give(&semaphores, semaphore);
}

/* ---- the list: lock held ---- */

static void append(od_semaphore *semaphore, odi_waiter *waiter)
{
    waiter->state = ODI_WAITER_LISTED;
    waiter->before = semaphore->last;
    waiter->after = NULL;
    if (semaphore->last == NULL)
        semaphore->first = waiter;
    else
        semaphore->last->after = waiter;
    semaphore->last = waiter;
}

static void take_off(od_semaphore *semaphore, odi_waiter *waiter)
{
    if (waiter->before == NULL)
        semaphore->first = waiter->after;
    else
        waiter->before->after = waiter->after;
    if (waiter->after == NULL)
        semaphore->last = waiter->before;
    else
        waiter->after->before = waiter->before;
}

/* Removes a waiter from the value. If a signal is on its way to it, the permit becomes available to others. */
static void uncount(od_semaphore *semaphore)
{
    semaphore->owed -= odi_add_relaxed(&semaphore->value, 1) >= 0; /* relaxed: a signal's writes stay released */
}

/* ---- waiting ---- */

/* Lists a waiter that the value counts. */
ODI_COLD static od_semaphore_outcome get_in_line(od_semaphore *semaphore, odi_waiter *waiter)
{
    od_semaphore_outcome outcome = OD_SEMAPHORE_WAITS; /* returned even if it is granted a moment later */

    odi_lock_acquire(&semaphore->lock);
    if (waiter->state == ODI_WAITER_GONE) {
        uncount(semaphore);
        outcome = OD_SEMAPHORE_CANCELLED;
    } else if (semaphore->owed > 0) {
        semaphore->owed--;
        outcome = OD_SEMAPHORE_TAKEN;
    } else {
        append(semaphore, waiter);
    }
    odi_lock_release(&semaphore->lock);
    return outcome;
}

od_semaphore_outcome od_semaphore_wait_async(od_semaphore *semaphore, od_semaphore_waiter *waiter)
{
    if (ODI_LIKELY(odi_add_acquire(&semaphore->value, -1, M1) > 0))
        return OD_SEMAPHORE_TAKEN;
    return get_in_line(semaphore, waiter);
}

static bool is_granted(odi_waiter *waiter)
{
    return odi_load_acquire(&waiter->granted, M2) & ODI_WAITER_HAS_PERMIT;
}

/* Returns false at the deadline. A permit may have come as well: the lock decides. */
static bool await(odi_waiter *waiter, int64_t deadline_ns)
{
    while (!is_granted(waiter)) { /* ended by hand_over */
        odi_or_relaxed(&waiter->granted, ODI_WAITER_SLEEPS); /* relaxed: the kernel rechecks it */
        if (odi_futex_wait(&waiter->granted, ODI_WAITER_SLEEPS, deadline_ns) == ODI_FUTEX_TIMED_OUT)
            return false;
    }
    return true;
}

/* Spins for the permit, and returns whether it came. A worker sleeps instead, so that a spare can replace it. */
static bool came_soon(odi_waiter *waiter)
{
    static _Thread_local uint32_t skipped, to_skip;
    bool woke = odi_woke_a_sleeper;

    odi_woke_a_sleeper = false;
    if (woke || odi_worker_self != NULL || !odi_load_relaxed(&odi_may_spin)) /* relaxed: a hint */
        return false;
    if (skipped < to_skip) {
        skipped++;
        return false;
    }
    for (int spins = 0; odi_spins_on(spins < WAIT_SPINS && !is_granted(waiter)); spins++)
        odi_spin_pause();
    if (is_granted(waiter)) {
        to_skip = 0;
        return true;
    }
    skipped = 0;
    to_skip = to_skip == 0 ? 1 : to_skip < MOST_SKIPPED ? 2 * to_skip : MOST_SKIPPED;
    return false;
}

ODI_COLD static bool sleep_in_line(od_semaphore *semaphore, int64_t timeout_ns)
{
    odi_waiter waiter = {0};
    int64_t deadline = odi_clock_after(timeout_ns);

    if (get_in_line(semaphore, &waiter) == OD_SEMAPHORE_TAKEN || came_soon(&waiter))
        return true;
    odi_blocking_begin("for a semaphore", NULL);
    bool granted = await(&waiter, deadline) || !od_semaphore_cancel(semaphore, &waiter);
    od_blocking_end();
    return granted;
}

bool od_semaphore_wait(od_semaphore *semaphore, int64_t timeout_ns)
{
    int64_t value = odi_load_relaxed(&semaphore->value); /* relaxed, rechecked by the CAS */

    if (ODI_LIKELY(timeout_ns > 0))
        return ODI_LIKELY(odi_add_acquire(&semaphore->value, -1, M1) > 0) || sleep_in_line(semaphore, timeout_ns);
    while (value > 0) {
        if (odi_cas_acquire(&semaphore->value, &value, value - 1, M1))
            return true;
    }
    return false;
}

/* ---- waiting without a thread ---- */

od_semaphore_waiter *od_semaphore_waiter_create(void (*function)(void *), void *context)
{
    odi_waiter *waiter = calloc(1, sizeof *waiter);

    if (waiter != NULL) {
        waiter->function = function;
        waiter->context = context;
    }
    return waiter;
}

void od_semaphore_waiter_free(od_semaphore_waiter *waiter)
{
    free(waiter);
}

bool od_semaphore_cancel(od_semaphore *semaphore, od_semaphore_waiter *waiter)
{
    odi_lock_acquire(&semaphore->lock);
    bool listed = waiter->state == ODI_WAITER_LISTED;
    if (listed) {
        take_off(semaphore, waiter);
        uncount(semaphore);
    }
    if (waiter->state != ODI_WAITER_GRANTED)
        waiter->state = ODI_WAITER_GONE;
    odi_lock_release(&semaphore->lock);
    return listed;
}

/* ---- signalling ---- */

/* Gives the permit of a signal to the longest waiter. Its function is called without the lock. The waiter may
 * be gone as soon as it is granted, so its fields are read before. */
ODI_COLD static void hand_over(od_semaphore *semaphore)
{
    odi_function *function = NULL;
    void *context = NULL;
    bool sleeps = false;

    odi_lock_acquire(&semaphore->lock);
    semaphore->owed++;
    odi_waiter *waiter = semaphore->owed > 0 ? semaphore->first : NULL;
    if (waiter != NULL) {
        semaphore->owed--;
        take_off(semaphore, waiter);
        waiter->state = ODI_WAITER_GRANTED;
        function = waiter->function;
        context = waiter->context;
        sleeps = odi_add_release(&waiter->granted, ODI_WAITER_HAS_PERMIT, M2) & ODI_WAITER_SLEEPS;
    }
    odi_lock_release(&semaphore->lock);
    if (function != NULL)
        function(context);
    else if (sleeps)
        odi_futex_wake(&waiter->granted, 1); /* uses only the address */
}

bool od_semaphore_signal(od_semaphore *semaphore)
{
    if (ODI_LIKELY(odi_add_release(&semaphore->value, 1, M1) >= 0))
        return false;
    hand_over(semaphore);
    return true;
}

/* ---- in a forked child: the other waiters do not exist ---- */

static void forget_who_waits(void *object)
{
    od_semaphore *semaphore = object;

    semaphore->lock = (odi_lock){0};
    semaphore->first = semaphore->last = NULL;
    semaphore->owed = 0;
    if (odi_load_relaxed(&semaphore->value) < 0) /* relaxed, both: one thread exists */
        odi_store_relaxed(&semaphore->value, 0);
}

static void forked(void)
{
    odi_arena_forked(&semaphores, forget_who_waits);
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(NULL, NULL, forked);
}
