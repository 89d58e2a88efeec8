/* join.c — the owner of a fork that may have been taken: it takes the fork back, or waits for its thief, and
 * meanwhile runs what that thief has to give. The waits and why they end: forks.h. */
#include "worker/fork_parts.h"

#include "base/invariant.h"
#include "include/od_loop.h"
#include "include/od_pool.h"
#include "os/clock.h"
#include "worker/run.h"
#include "worker/worker.h"

/* A joiner waits awake for this long, giving the CPU away after the first part. */
#define JOIN_AWAKE_NS (50 * ODI_MICROSECOND)
enum { JOIN_PAUSES = 64, LOOK_PAUSES = 8 };

static void answer(odi_forks *forks)
{
    if (odi_forks_answer(forks))
        odi_forks_published(forks);
}

ODI_COLD void od_fork_asked(void)
{
    odi_forks *forks = forks_here();

    if (ODI_UNLIKELY(forks->team == NULL)) {
        /* Nobody may take it: it runs here and now, or when it is joined where it has a number,
         * because there is one slot for all results. */
        uint64_t code = forks->slots[0].code;

        odi_store_relaxed(&forks->owner.head, forks->slots); /* relaxed: nobody looks */
        forks->depth++;
        if (!is_numbered(code))
            call(code, forks->slots[0].context);
        return;
    }
    /* relaxed, both: the owner's */
    if (odi_load_relaxed(&forks->owner.head) == forks->slots + 1) {
        odi_store_relaxed(&forks->work, od_fork_root_work()); /* relaxed: F1 carries it, and what the root is in */
        forks->around = odi_around_here();
    }
    odi_fence_light(F2);
    answer(forks);
}

static bool is_over(od_fork_slot *slot)
{
    return odi_load_acquire(&slot->state, F4) >= ODI_FORK_DONE;
}

/* Takes one fork back from whoever runs `slot`, and runs it. False: there was none. */
static bool leapfrog(odi_forks *forks, od_fork_slot *slot, odi_steal_request *request)
{
    odi_forks *thief = odi_load_acquire(&slot->thief, F10);

    if (thief == NULL)
        return false;
    od_fork_slot *won = odi_forks_steal(thief);
    if (won == NULL) {
        if (odi_forks_ask(thief, request, odi_clock_now()))
            odi_forks_published(thief); /* the request that is met may have been a sleeper's */
        return false;
    }
    /* It is a descendant's if the thief was still at it when the fork was exposed. */
    if (is_over(slot))
        odi_forks_finish(thief, won, ODI_FORK_GIVEN_BACK);
    else {
        /* What lies below was stolen before, or the thief would not be at ours. */
        odi_invariant(place_of(thief, won) >= slot->base);
        odi_forks_run(forks, thief, won);
    }
    return true;
}

/* Sleeps until the slot is over, or its thief has exposed something. Ended by: finish, or the
 * thief's answer to the request that is left with it. */
ODI_COLD static void sleep_in_join(odi_forks *forks, od_fork_slot *slot)
{
    odi_forks *thief = odi_load_acquire(&slot->thief, F10);
    uint32_t wakeup = odi_load_acquire(&forks->wakeup, F5), state = 0;

    if (thief != NULL) {
        odi_store_relaxed(&thief->asker, forks); /* relaxed: the heavy fence follows (F2) */
        odi_forks_want(thief);
        odi_fence_heavy(F2);
        if (odi_forks_hold_work(thief))
            return;
    }
    /* relaxed: the wakeup was read before, and finish rings after its swap */
    if (!odi_cas_relaxed(&slot->state, &state, ODI_FORK_PARKED) && state != ODI_FORK_PARKED)
        return;
    /* Of a worker another takes the place, and an external thread leaves room for one. */
    odi_blocking_begin("for a branch that another thread runs", NULL);
    odi_futex_wait(&forks->wakeup, wakeup, ODI_FOREVER);
    od_blocking_end();
}

/* Until the slot is over. The joiner's own stack stands above the slot meanwhile. */
ODI_COLD static void await(odi_forks *forks, od_fork_slot *slot)
{
    odi_steal_request request = {0};
    int64_t until = 0;

    odi_store_relaxed(&forks->owner.head, slot + 1); /* relaxed, and below: all under it is exposed (F8) */
    for (int looks = 0; !is_over(slot); looks++) {
        if (leapfrog(forks, slot, &request)) {
            until = 0;
            looks = 0;
        } else if (odi_spins_on(looks < JOIN_PAUSES)) {
            for (int i = 0; i < LOOK_PAUSES; i++)
                odi_spin_pause();
        } else if (until == 0)
            until = odi_clock_after(JOIN_AWAKE_NS);
        else if (odi_spins_on(odi_clock_now() < until))
            odi_thread_yield();
        else
            sleep_in_join(forks, slot);
    }
    odi_store_relaxed(&forks->owner.head, slot); /* relaxed: as above */
    odi_fence_light(F2);
}

/* The stack is as if the slot had never been forked. */
static void forget(odi_forks *forks, od_fork_slot *slot)
{
    uint32_t place = place_of(forks, slot);

    (void)settled_limit(forks);
    /* relaxed, all: nothing is exposed, and the slot is the owner's */
    odi_store_relaxed(&slot->thief, (odi_forks *)NULL);
    odi_store_relaxed(&slot->state, 0);
    odi_store_relaxed(&forks->word, make_word(place, place));
    set_limit(forks, place);
}

/* Decides who runs the newest fork, which pop has taken off the stack. True: its owner. */
static bool take_back(odi_forks *forks, od_fork_slot *slot)
{
    uint32_t place = place_of(forks, slot);
    uint64_t word;

    odi_fence_light(F2);
    (void)settled_limit(forks);
    word = odi_load_relaxed(&forks->word); /* relaxed, rechecked by the CAS */
    if (place >= split_of(word)) {
        answer(forks); /* a request stands, and this fork was none of it */
        return true;
    }
    odi_invariant(split_of(word) == place + 1);
    while (tail_of(word) <= place) {
        /* relaxed: it takes away, and the slot is the owner's own */
        if (odi_cas_relaxed(&forks->word, &word, make_word(tail_of(word), place))) {
            set_limit(forks, place);
            return true;
        }
    }
    await(forks, slot);
    uint32_t state = odi_load_relaxed(&slot->state); /* relaxed: is_over has acquired it */
    if (state == ODI_FORK_LOST)
        odi_trap("od_join: fork(2) was called in a branch while another thread ran its sibling. "
                 "Call exec or _exit in the child.");
    forget(forks, slot);
    return state == ODI_FORK_GIVEN_BACK;
}

ODI_COLD bool od_join_back(void)
{
    odi_forks *forks = forks_here();

    if (ODI_UNLIKELY(forks->team == NULL)) {
        /* It ran when it was forked. */
        odi_store_relaxed(&forks->owner.head, forks->slots); /* relaxed: nobody looks */
        if (--forks->depth == 0)
            od_forks_self = NULL;
        return false;
    }
    od_fork_slot *slot = odi_load_relaxed(&forks->owner.head); /* relaxed: the owner's */
    bool root = slot == forks->slots;

    if (take_back(forks, slot)) {
        forks->depth += root; /* what forks in it is at the root again, and does not leave */
        return true;
    }
    if (root && forks->depth == 0 && forks->leaves_at_root)
        odi_external_leave(forks);
    return false;
}

ODI_COLD bool od_join_numbered_back(void)
{
    odi_forks *forks = forks_here();

    if (ODI_UNLIKELY(forks->team == NULL)) {
        odi_store_relaxed(&forks->owner.head, forks->slots); /* relaxed: nobody looks */
        return true;
    }
    od_fork_slot *slot = odi_load_relaxed(&forks->owner.head); /* relaxed: the owner's */
    bool ours = take_back(forks, slot);

    /* An external thread stays until its root's result is read: the next one's forks lie where that is. */
    forks->depth += slot == forks->slots;
    return ours;
}

ODI_COLD void od_join_end(void)
{
    odi_forks *forks = forks_here();

    if (ODI_UNLIKELY(forks->team == NULL)) {
        if (--forks->depth == 0)
            od_forks_self = NULL;
        return;
    }
    /* relaxed: the owner's */
    if (odi_load_relaxed(&forks->owner.head) == forks->slots && --forks->depth == 0 && forks->leaves_at_root)
        odi_external_leave(forks);
}

ODI_COLD void od_join_slow(void)
{
    od_fork_slot *slot = odi_load_relaxed(&forks_here()->owner.head); /* relaxed: the owner's */
    uint64_t code = slot->code;
    void *context = slot->context;

    if (od_join_back()) {
        call(code, context);
        od_join_end();
    }
}

#ifdef ODI_SWIFT_CLOSURES
void od_fork_give_up(void *captures)
{
    odi_job_discard(odi_job_closure(NULL, captures, 0));
}

void od_join_owned(void)
{
    if (ODI_UNLIKELY(forks_here()->team == NULL)) {
        od_join_slow();
        return;
    }
    od_fork_slot *slot = odi_load_relaxed(&od_forks_self->head) - 1; /* relaxed: the owner's */
    odi_entry job = {slot->code, (uint64_t)(uintptr_t)slot->context};

    if (od_fork_pop(slot))
        odi_job_run(job);
    else {
        od_join_slow();
        odi_job_discard(job);
    }
}

/* The words are in the slot; they are passed again so that Swift keeps what they refer to. */
ODI_COLD __attribute__((swiftcall)) bool od_join_numbered_closure_back(void *code, void *context,
                                                                        const void *type)
{
    (void)code;
    (void)context;
    (void)type;
    return od_join_numbered_back();
}

ODI_COLD __attribute__((swiftcall)) bool od_join_closure_back(void *code, void *context)
{
    (void)code;
    (void)context;
    return od_join_back();
}

ODI_COLD __attribute__((swiftcall)) void od_join_closure(void *code, void *context)
{
    (void)code;
    (void)context;
    od_join_slow();
}
#endif
