/* forks.c — one thread's fork stack: exposing, stealing, migrating and running forks. join.c is the owner's
 * side of a stolen fork. */
#include "worker/fork_parts.h"

#include "os/clock.h"
#include "os/overflow.h"
#include "os/pages.h"
#include "worker/run.h"

/* A thief waits this long for an answer to its request before it migrates the forks. */
#define PATIENCE_NS (20 * ODI_MICROSECOND)

/* The time between two requests of a thief: each request takes a cache line from the owner. */
#define ASK_AGAIN_NS (10 * ODI_MICROSECOND)

#define SLOTS_MINIMUM ((size_t)1 << 20)

/* Twice the size of the notes, so that they end before the guard page. */
#define NOTES_BYTES (2 * ODI_FORKS_NOTES * sizeof(odi_forks_note))

_Thread_local od_forks *od_forks_self __attribute__((tls_model("initial-exec")));

/* ---- the call of a branch ---- */

typedef void numbered_function(void *context, uint32_t number);
#ifdef ODI_SWIFT_CLOSURES
typedef __attribute__((swiftcall)) void numbered_closure(
    __attribute__((swift_indirect_result)) void *result, uint64_t number,
    __attribute__((swift_context)) void *captures);
#endif

/* Calls a numbered branch; its result replaces the slot's code and context. */
static void call_numbered(od_fork_slot *slot, uint64_t code, void *context, uint32_t number)
{
#ifdef ODI_SWIFT_CLOSURES
    if (!is_plain(code)) {
        ((numbered_closure *)address_in(code))(slot, number, context);
        return;
    }
#else
    (void)slot;
#endif
    ((numbered_function *)address_in(code))(context, number);
}

/* ---- creation ---- */

/* Called in a signal handler: only the guard page after the last slot can fault. */
static bool lies_behind_the_slots(uintptr_t address)
{
    odi_forks *forks = forks_here();

    return forks != NULL && forks->team != NULL && address >= (uintptr_t)forks->slots &&
           address - (uintptr_t)forks->slots < forks->bytes;
}

bool odi_forks_make(odi_forks *forks, odi_team *team, odi_worker *worker, size_t stack_bytes)
{
    forks->team = team;
    forks->worker = worker;
    size_t bytes = stack_bytes > SLOTS_MINIMUM ? stack_bytes : SLOTS_MINIMUM;
    for (; forks->slots == NULL && bytes >= SLOTS_MINIMUM; bytes /= 2) {
        forks->slots = odi_pages_reserve_guarded(bytes);
        forks->bytes = bytes;
    }
    if (forks->slots != NULL)
        forks->notes = odi_pages_reserve_guarded(NOTES_BYTES);
    odi_store_relaxed(&forks->owner.limit, ODI_FORKS_ASKED); /* relaxed, both: not shared yet */
    odi_store_relaxed(&forks->owner.head, forks->slots);
    odi_overflow_watch(lies_behind_the_slots,
                       "overdrive: od_fork: one thread has too many open forks for its stack of "
                       "forks. Join some first, or fork several parts at once.\n");
    return forks->slots != NULL;
}

void odi_forks_free(odi_forks *forks)
{
    odi_pages_free_reserved(forks->slots, forks->bytes);
    odi_pages_free_reserved(forks->notes, NOTES_BYTES);
    forks->slots = NULL;
    forks->notes = NULL;
}

/* ---- the owner ---- */

static void ring(odi_forks *sleeper)
{
    odi_add_release(&sleeper->wakeup, 1, F5);
    odi_futex_wake(&sleeper->wakeup, 1);
}

/* Wakes the joiner that sleeps and waits for more shared forks. */
static void ring_asker(odi_forks *victim)
{
    /* relaxed, both: F2's fence has shown it, and only its wakeup word is touched */
    odi_forks *asker = odi_load_relaxed(&victim->asker);

    if (asker != NULL)
        asker = odi_swap_relaxed(&victim->asker, (odi_forks *)NULL);
    if (asker != NULL)
        ring(asker);
}

bool odi_forks_answer(odi_forks *forks)
{
    /* relaxed, both: owner-only words, rechecked by the CAS */
    uint32_t head = place_of(forks, odi_load_relaxed(&forks->owner.head));
    uint64_t word = odi_load_relaxed(&forks->word);
    uintptr_t limit;

    for (;;) {
        limit = settled_limit(forks);
        if (limit != ODI_FORKS_ASKED)
            return false; /* a thief has migrated the forks */
        uint32_t split = split_of(word);
        if (head == split)
            return false; /* no private fork: the request stays */
        uint32_t next = split + (head - split + 1) / 2;
        if (!odi_cas_release(&forks->word, &word, make_word(tail_of(word), next), F8))
            continue;
        /* A thief may have migrated forks since, and another thief may have asked again. Then this request
         * differs from the met one, and the limit must follow the split of the migration. Acquire: the asking
         * thief read the limit after that migration's store. */
        if (odi_cas_acquire(&forks->owner.limit, &limit, limit_at(forks, next), F3)) {
            uint32_t now = split_of(odi_load_relaxed(&forks->word)); /* relaxed: F3 has shown it */

            if (now != next)
                set_limit(forks, now);
        }
        break;
    }
    ring_asker(forks);
    return true;
}

ODI_COLD bool od_fork_is_crowded(void)
{
    odi_forks *forks = forks_here();

    /* relaxed: owner-only word */
    return forks != NULL && forks->team != NULL &&
           place_of(forks, odi_load_relaxed(&forks->owner.head)) >
               forks->bytes / sizeof(od_fork_slot) / 2;
}

/* ---- the work and context that branches inherit ---- */

/* Makes later forks of the calling thread inherit `work` and `around`. Returns false if the next fork is a
 * root, which reads both itself, or no note is left. */
static bool note(odi_forks *forks, void *work, const odi_around *around)
{
    /* relaxed, all loads and the note itself: owner-only words, and F1 carries them */
    uint32_t place = place_of(forks, odi_load_relaxed(&forks->owner.head));
    uint32_t count = odi_load_relaxed(&forks->note_count);

    if (forks->team == NULL || place == 0 || count == ODI_FORKS_NOTES || forks->notes == NULL)
        return false;
    odi_store_relaxed(&forks->notes[count].place, place); /* relaxed: as above */
    odi_store_relaxed(&forks->notes[count].work, work);
    forks->notes[count].around = *around;
    odi_store_release(&forks->note_count, count + 1, F9);
    return true;
}

/* Makes later forks inherit `work`. Returns false if they already do. */
static bool note_work(odi_forks *forks, void *work)
{
    /* relaxed, all: owner-only words */
    uint32_t place = place_of(forks, odi_load_relaxed(&forks->owner.head));
    uint32_t count = odi_load_relaxed(&forks->note_count);

    if (forks->team == NULL || place == 0)
        return false;
    if (count == 0 ? odi_load_relaxed(&forks->work) == work /* relaxed, and below: as above */
                   : odi_load_relaxed(&forks->notes[count - 1].work) == work &&
                         odi_load_relaxed(&forks->notes[count - 1].place) < place)
        return false;
    odi_around around = odi_around_here();
    return note(forks, work, &around);
}

static void strike_note(odi_forks *forks)
{
    /* relaxed load: the owner's word. The store carries the notes below, which may be newer than its reader
     * knows. */
    odi_store_release(&forks->note_count, odi_load_relaxed(&forks->note_count) - 1, F9);
}

bool odi_forks_note_around(const odi_around *around)
{
    return od_forks_self != NULL && note(forks_here(), od_thread_work(), around);
}

void odi_forks_strike(void)
{
    if (od_forks_self != NULL) /* in a forked child the thread may have none */
        strike_note(forks_here());
}

/* Returns the work and context of a stolen fork. A note below the fork existed before it and lasts as long.
 * Newer notes in the array have a place above the fork. */
static void *inherited_work(odi_forks *victim, uint32_t place, odi_around *around)
{
    uint32_t count = odi_load_acquire(&victim->note_count, F9);
    uint32_t below = 0; /* number of notes below the fork; their places never decrease */

    while (below < count) {
        uint32_t middle = below + (count - below) / 2;

        if (odi_load_relaxed(&victim->notes[middle].place) > place) /* relaxed: F9 has shown it */
            count = middle;
        else
            below = middle + 1;
    }
    *around = below > 0 ? victim->notes[below - 1].around : victim->around;
    /* relaxed, both: F8 or F1 has shown the root's, and F9 the note's */
    return below > 0 ? odi_load_relaxed(&victim->notes[below - 1].work) : odi_load_relaxed(&victim->work);
}

__attribute__((weak)) void *od_fork_root_work(void)
{
    return od_thread_work();
}

void *od_work_enter(void *work)
{
    void *outer = od_thread_work();

    od_thread_set_work(work);
    if (od_forks_self != NULL)
        (void)note_work(forks_here(), work);
    return outer;
}

void od_work_leave(void *outer)
{
    odi_forks *forks = forks_here();
    /* relaxed, all: owner-only words */
    uint32_t count = forks != NULL ? odi_load_relaxed(&forks->note_count) : 0;

    if (count > 0 && odi_load_relaxed(&forks->notes[count - 1].work) == od_thread_work() &&
        odi_load_relaxed(&forks->notes[count - 1].place) ==
            place_of(forks, odi_load_relaxed(&forks->owner.head)))
        strike_note(forks);
    od_thread_set_work(outer);
}

/* ---- the thief ---- */

od_fork_slot *odi_forks_steal(odi_forks *victim)
{
    uint64_t word = odi_load_relaxed(&victim->word); /* relaxed, rechecked by the CAS */

    while (tail_of(word) < split_of(word)) {
        if (odi_cas_acquire(&victim->word, &word, word + 1, F8))
            return &victim->slots[tail_of(word)];
    }
    return NULL;
}

static bool holds_private(odi_forks *victim)
{
    /* relaxed word: a hint, or the caller's fence (F2) */
    return place_of(victim, odi_load_acquire(&victim->owner.head, F1)) >
           split_of(odi_load_relaxed(&victim->word));
}

/* Exposes all forks of an owner that does not answer. Returns false if the owner has answered in between. */
static bool migrate(odi_forks *victim)
{
    uintptr_t limit = ODI_FORKS_ASKED;

    if (!odi_cas_relaxed(&victim->owner.limit, &limit, ODI_FORKS_CLAIMED)) /* relaxed: F2's fence follows */
        return false;
    odi_fence_heavy(F2);
    uint32_t head = place_of(victim, odi_load_acquire(&victim->owner.head, F1));
    uint64_t word = odi_load_relaxed(&victim->word); /* relaxed, rechecked by the CAS */
    bool moved = false;
    /* Never the root: its owner is about to expose it and has not stored its work yet. */
    while (split_of(word) != 0 && head > split_of(word) && !moved)
        moved = odi_cas_release(&victim->word, &word, make_word(tail_of(word), head), F8);
    odi_store_release(&victim->owner.limit,
                      moved ? limit_at(victim, head) : ODI_FORKS_ASKED, F3);
    if (moved)
        ring_asker(victim);
    return moved;
}

void odi_forks_want(odi_forks *victim)
{
    uintptr_t limit = odi_load_relaxed(&victim->owner.limit); /* relaxed, rechecked by the CAS */

    while (limit < ODI_FORKS_CLAIMED) {
        /* relaxed: the caller's heavy fence follows (F2) */
        if (odi_cas_relaxed(&victim->owner.limit, &limit, ODI_FORKS_ASKED))
            return;
    }
}

bool odi_forks_ask(odi_forks *victim, odi_steal_request *request, int64_t now)
{
    if (request->asked == NULL) {
        if (now < request->again_ns)
            return false;
        request->again_ns = now + ASK_AGAIN_NS;
        odi_forks_want(victim);
        if (holds_private(victim)) {
            request->asked = victim;
            request->asked_ns = now;
        }
    } else if (request->asked == victim) {
        if (odi_load_relaxed(&victim->owner.limit) != ODI_FORKS_ASKED) /* relaxed: a hint */
            request->asked = NULL;
        else if (now - request->asked_ns >= PATIENCE_NS) {
            request->asked = NULL;
            return holds_private(victim) && migrate(victim);
        }
    }
    return false;
}

bool odi_forks_hold_work(odi_forks *victim)
{
    if (holds_private(victim))
        return true;
    /* Read second: forks that the owner exposes between the two reads are shared in this word. relaxed: the
     * caller's fence (F2). */
    uint64_t word = odi_load_relaxed(&victim->word);
    return tail_of(word) < split_of(word);
}

void odi_forks_finish(odi_forks *victim, od_fork_slot *slot, uint32_t state)
{
    if (odi_swap_acqrel(&slot->state, state, F4) == ODI_FORK_PARKED)
        ring(victim);
}

void odi_forks_run(odi_forks *here, odi_forks *victim, od_fork_slot *slot)
{
    void *outer_work = od_thread_work();
    odi_descent descent = {.scopes = odi_scopes, .outsides = odi_outsides, .outer = odi_descended};
    void *work = descent.work = inherited_work(victim, place_of(victim, slot), &descent.from); /* both outlast the branch */
    uint64_t code = slot->code;
    void *context = slot->context;
    uint32_t number = slot->number; /* the base is written to the same place */

    /* relaxed: owner-only word */
    slot->base = place_of(here, odi_load_relaxed(&here->owner.head));
    odi_store_release(&slot->thief, here, F10);
    od_thread_set_work(work);
    odi_descended = &descent;
    odi_around around = odi_around_here();
    bool noted = note(here, work, &around);
    if (is_numbered(code))
        call_numbered(slot, code, context, number);
    else
        call(code, context);
    if (noted)
        strike_note(here);
    odi_descended = descent.outer;
    od_thread_set_work(outer_work);
    odi_count(&here->stolen, 1); /* before the finish: the fork's owner may read it afterwards */
    odi_forks_finish(victim, slot, ODI_FORK_DONE);
}

/* ---- after fork(2) ---- */

void odi_forks_lose(odi_forks *forks)
{
    /* relaxed, all: one thread exists */
    uint32_t tail = tail_of(odi_load_relaxed(&forks->word));
    for (uint32_t place = 0; place < tail; place++) {
        if (odi_load_relaxed(&forks->slots[place].state) < ODI_FORK_DONE)
            odi_store_relaxed(&forks->slots[place].state, ODI_FORK_LOST);
    }
    odi_store_relaxed(&forks->owner.limit, ODI_FORKS_ASKED); /* relaxed: one thread exists */
}

/* ---- clock for loops ---- */

uint64_t od_loop_system_ticks(void)
{
    return (uint64_t)odi_clock_now();
}
