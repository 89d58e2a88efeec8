/* join.c — the owner's side of a fork that may have been taken: it takes the fork back, or waits for the
 * thief and runs the thief's forks. forks.h lists the waits and how they end. */
#include "worker/fork_parts.h"

#include "base/invariant.h"
#include "include/od_loop.h"
#include "include/od_pool.h"
#include "os/clock.h"
#include "worker/run.h"
#include "worker/worker.h"

/* A joiner spins for this long, and yields its CPU after the first part. */
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
        /* No thief can take it: the branch runs immediately. A numbered branch runs at its join, because all
         * results share one slot. */
        uint64_t code = forks->slots[0].code;

        odi_store_relaxed(&forks->owner.head, forks->slots); /* relaxed: owner-only, no thread else reads it */
        forks->depth++;
        if (!is_numbered(code))
            call(code, forks->slots[0].context);
        return;
    }
    /* relaxed, both: owner-only words */
    if (odi_load_relaxed(&forks->owner.head) == forks->slots + 1) {
        odi_store_relaxed(&forks->work, od_fork_root_work()); /* relaxed: F1 carries it, and the root's context */
        forks->around = odi_around_here();
    }
    odi_fence_light(F2);
    answer(forks);
}

static bool is_over(od_fork_slot *slot)
{
    return odi_load_acquire(&slot->state, F4) >= ODI_FORK_DONE;
}

/* Takes one fork back from the thread that runs `slot`, and runs the fork. Returns false if there was none. */
static bool leapfrog(odi_forks *forks, od_fork_slot *slot, odi_steal_request *request)
{
    odi_forks *thief = odi_load_acquire(&slot->thief, F10);

    if (thief == NULL)
        return false;
    od_fork_slot *won = odi_forks_steal(thief);
    if (won == NULL) {
        if (odi_forks_ask(thief, request, odi_clock_now()))
            odi_forks_published(thief); /* the request that was met may belong to a sleeper */
        return false;
    }
    /* The fork is a descendant if the thief was still running `slot` when it exposed the fork. */
    if (is_over(slot))
        odi_forks_finish(thief, won, ODI_FORK_GIVEN_BACK);
    else {
        /* Forks below were stolen earlier; otherwise the thief would not run our branch. */
        odi_invariant(place_of(thief, won) >= slot->base);
        odi_forks_run(forks, thief, won);
    }
    return true;
}

/* Sleeps until the branch has ended, or its thief has exposed forks. Ended by finish, or by the thief's
 * answer to the request. */
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
    /* relaxed: wakeup was read before, and finish wakes after its swap */
    if (!odi_cas_relaxed(&slot->state, &state, ODI_FORK_PARKED) && state != ODI_FORK_PARKED)
        return;
    /* A spare may replace a worker here, and an external thread makes room for a worker. */
    odi_blocking_begin("for a branch that another thread runs", NULL);
    odi_futex_wait(&forks->wakeup, wakeup, ODI_FOREVER);
    od_blocking_end();
}

/* Waits until the branch has ended. The stack frames of forks that run in the wait lie above the slot. */
ODI_COLD static void await(odi_forks *forks, od_fork_slot *slot)
{
    odi_steal_request request = {0};
    int64_t until = 0;

    odi_store_relaxed(&forks->owner.head, slot + 1); /* relaxed, and below: all forks under it are exposed (F8) */
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

/* Resets the stack as if the slot had never been forked. */
static void forget(odi_forks *forks, od_fork_slot *slot)
{
    uint32_t place = place_of(forks, slot);

    (void)settled_limit(forks);
    /* relaxed, all: no fork is exposed, and the slot is owner-only again */
    odi_store_relaxed(&slot->thief, (odi_forks *)NULL);
    odi_store_relaxed(&slot->state, 0);
    odi_store_relaxed(&forks->word, make_word(place, place));
    set_limit(forks, place);
}

/* Decides which thread runs the newest fork, which pop has removed. Returns true if the owner runs it. */
static bool take_back(odi_forks *forks, od_fork_slot *slot)
{
    uint32_t place = place_of(forks, slot);
    uint64_t word;

    odi_fence_light(F2);
    (void)settled_limit(forks);
    word = odi_load_relaxed(&forks->word); /* relaxed, rechecked by the CAS */
    if (place >= split_of(word)) {
        answer(forks); /* a request stands, and this fork was private */
        return true;
    }
    odi_invariant(split_of(word) == place + 1);
    while (tail_of(word) <= place) {
        /* relaxed: it only takes the fork away, and the owner wrote the slot */
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
        /* The branch ran when it was forked. */
        odi_store_relaxed(&forks->owner.head, forks->slots); /* relaxed: owner-only, no thread else reads it */
        if (--forks->depth == 0)
            od_forks_self = NULL;
        return false;
    }
    od_fork_slot *slot = odi_load_relaxed(&forks->owner.head); /* relaxed: owner-only word */
    bool root = slot == forks->slots;

    if (take_back(forks, slot)) {
        /* Counts the branch as a root that the owner runs. Joins inside it then do not call
         * odi_external_leave. */
        forks->depth += root;
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
        odi_store_relaxed(&forks->owner.head, forks->slots); /* relaxed: owner-only, no thread else reads it */
        return true;
    }
    od_fork_slot *slot = odi_load_relaxed(&forks->owner.head); /* relaxed: owner-only word */
    bool ours = take_back(forks, slot);

    /* An external thread stays until its root's result is read, because the slot's next user would overwrite
     * the result. */
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
    /* relaxed: owner-only word */
    if (odi_load_relaxed(&forks->owner.head) == forks->slots && --forks->depth == 0 && forks->leaves_at_root)
        odi_external_leave(forks);
}

ODI_COLD void od_join_slow(void)
{
    od_fork_slot *slot = odi_load_relaxed(&forks_here()->owner.head); /* relaxed: owner-only word */
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
    od_fork_slot *slot = odi_load_relaxed(&od_forks_self->head) - 1; /* relaxed: owner-only word */
    odi_entry job = {slot->code, (uint64_t)(uintptr_t)slot->context};

    if (od_fork_pop(slot))
        odi_job_run(job);
    else {
        od_join_slow();
        odi_job_discard(job);
    }
}

/* The slot holds these words. They are passed again so that Swift keeps the objects that they refer to alive. */
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
