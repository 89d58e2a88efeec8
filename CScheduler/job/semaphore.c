#include "job/semaphore.h"

#include "job/arena.h"
#include "os/futex.h"

static odi_arena semaphores = ODI_ARENA_FOR(odi_semaphore);

odi_semaphore *odi_semaphore_new(int64_t value)
{
    odi_semaphore *semaphore = odi_arena_take(&semaphores);

    if (semaphore == NULL)
        return NULL;
    odi_lock_acquire(&semaphore->lock); /* the last signal of its last generation held this */
    odi_store_relaxed(&semaphore->value, value); /* relaxed: not shared yet */
    semaphore->gate = (odi_gate){0};
    semaphore->first = semaphore->last = NULL;
    semaphore->initial = value;
    odi_lock_release(&semaphore->lock);
    return semaphore;
}

void odi_semaphore_free(odi_semaphore *semaphore)
{
    odi_arena_give(&semaphores, semaphore);
}

/* ---- the list: lock held ---- */

static void append(odi_semaphore *semaphore, odi_waiter *waiter)
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

static void take_off(odi_semaphore *semaphore, odi_waiter *waiter)
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

/* A waiter that was counted goes. True: no signal had been counted for it, so it goes without
 * a permit. False: one had, and its permit is taken before it comes. */
static bool uncount(odi_semaphore *semaphore)
{
    int64_t value = odi_load_acquire(&semaphore->value, M1);

    while (value < 0) {
        if (odi_cas_acqrel_acquire(&semaphore->value, &value, value + 1, M1))
            return true;
    }
    odi_gate_hold(&semaphore->gate);
    return false;
}

/* ---- waiting ---- */

bool odi_semaphore_try(odi_semaphore *semaphore)
{
    int64_t value = odi_load_relaxed(&semaphore->value); /* relaxed, rechecked by the CAS */

    while (value > 0) {
        if (odi_cas_acquire(&semaphore->value, &value, value - 1, M1))
            return true;
    }
    return false;
}

ODI_COLD static odi_waiter_state get_in_line(odi_semaphore *semaphore, odi_waiter *waiter)
{
    odi_lock_acquire(&semaphore->lock);
    if (waiter->state == ODI_WAITER_GONE) {
        if (!uncount(semaphore))
            waiter->state = ODI_WAITER_GRANTED;
    } else if (odi_gate_enter(&semaphore->gate, false, semaphore->first == NULL)) {
        waiter->state = ODI_WAITER_GRANTED;
    } else {
        append(semaphore, waiter);
    }
    /* LISTED is said even if it is granted a moment later: its function is called then. */
    odi_waiter_state state = waiter->state;
    odi_lock_release(&semaphore->lock);
    return state;
}

odi_waiter_state odi_semaphore_begin(odi_semaphore *semaphore, odi_waiter *waiter)
{
    if (ODI_LIKELY(odi_add_acquire(&semaphore->value, -1, M1) > 0))
        return ODI_WAITER_GRANTED;
    return get_in_line(semaphore, waiter);
}

bool odi_semaphore_await(odi_waiter *waiter, int64_t deadline_ns)
{
    while (odi_load_acquire(&waiter->granted, M1) == 0) { /* ended by: hand_over */
        if (odi_futex_wait(&waiter->granted, 0, deadline_ns) == ODI_FUTEX_TIMED_OUT)
            return odi_load_acquire(&waiter->granted, M1) != 0;
    }
    return true;
}

/* Leaves the line. Returns whether it was in it; *state is what it is afterwards. */
static bool leave(odi_semaphore *semaphore, odi_waiter *waiter, odi_waiter_state *state)
{
    odi_lock_acquire(&semaphore->lock);
    bool listed = waiter->state == ODI_WAITER_LISTED;
    if (listed) {
        take_off(semaphore, waiter);
        waiter->state = uncount(semaphore) ? ODI_WAITER_GONE : ODI_WAITER_GRANTED;
    } else if (waiter->state == ODI_WAITER_NEW) {
        waiter->state = ODI_WAITER_GONE;
    }
    *state = waiter->state;
    odi_lock_release(&semaphore->lock);
    return listed;
}

bool odi_semaphore_give_up(odi_semaphore *semaphore, odi_waiter *waiter)
{
    odi_waiter_state state;

    (void)leave(semaphore, waiter, &state);
    return state == ODI_WAITER_GONE;
}

/* ---- signalling ---- */

/* Gives the permit that a signal owes to the longest waiter, outside of the lock where it is
 * to be called: it may be gone as soon as it is known to be granted. */
ODI_COLD static void hand_over(odi_semaphore *semaphore)
{
    odi_function *function = NULL;
    void *context = NULL;

    odi_lock_acquire(&semaphore->lock);
    odi_gate_leave(&semaphore->gate);
    odi_waiter *waiter = semaphore->first;
    if (waiter != NULL && !odi_gate_enter(&semaphore->gate, false, true))
        waiter = NULL; /* the permit was taken by who gave up before it came */
    if (waiter != NULL) {
        take_off(semaphore, waiter);
        waiter->state = ODI_WAITER_GRANTED;
        function = waiter->function;
        context = waiter->context;
        odi_store_release(&waiter->granted, 1, M1);
    }
    odi_lock_release(&semaphore->lock);
    if (function != NULL)
        function(context);
    else if (waiter != NULL)
        odi_futex_wake(&waiter->granted, 1); /* by its address alone */
}

bool od_semaphore_signal(odi_semaphore *semaphore)
{
    if (ODI_LIKELY(odi_add_release(&semaphore->value, 1, M1) >= 0))
        return false;
    hand_over(semaphore);
    return true;
}

bool od_semaphore_cancel(odi_semaphore *semaphore, odi_waiter *waiter)
{
    odi_waiter_state state;
    bool listed = leave(semaphore, waiter, &state);

    if (listed && state == ODI_WAITER_GRANTED)
        (void)od_semaphore_signal(semaphore); /* the permit is the next one's */
    return listed;
}

/* ---- fork ---- */

static void forget_who_waits(void *object)
{
    odi_semaphore *semaphore = object;

    semaphore->lock = (odi_lock){0};
    semaphore->first = semaphore->last = NULL;
    semaphore->gate = (odi_gate){0};
    if (odi_load_relaxed(&semaphore->value) < 0) /* relaxed, both: one thread exists */
        odi_store_relaxed(&semaphore->value, 0);
}

void odi_semaphores_forked(void)
{
    odi_arena_forked(&semaphores, forget_who_waits);
}
