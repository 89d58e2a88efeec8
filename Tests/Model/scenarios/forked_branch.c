/* forked_branch.c — the word of a branch that may be abandoned, transcribed from
 * Sources/OverdriveCore/Parallel/ForkedBranch.swift (`run`, `abandon`, `end`): a thief's branch
 * does not begin after the joiner has given it up, or the joiner finds what to cancel, whole.
 *
 * transcribes: Sources/OverdriveCore/Parallel/ForkedBranch.swift:run 3b1b0f2b
 * transcribes: Sources/OverdriveCore/Parallel/ForkedBranch.swift:abandon 9adba727
 * transcribes: Sources/OverdriveCore/Parallel/ForkedBranch.swift:end 7937336a
 * transcribes: Sources/OverdriveCore/Parallel/ForkedBranch.swift:cancel 837b08fa
 */
#include "base/atomic.h"
#include "model/scenario.h"

enum { OPEN = 0, ABANDONED = 1, FIRST_WORK = 2 };

typedef struct {
    int outer; /* plain: who is told reads it */
    odi_atomic(uint32_t) cancelled;
} work;

static work works[1];
static odi_atomic(uintptr_t) word;
static bool began, abandoned_first, told;

/* ForkedBranch.run, on the thief. */
static void run(void)
{
    uintptr_t open = OPEN;

    works[0].outer = 7;
    if (odi_cas_acqrel(&word, &open, FIRST_WORK, none))
        began = true;
}

/* ForkedBranch.abandon, on the joiner, and then what it tells whom it found. */
static void give_up(void)
{
    uintptr_t seen = OPEN;

    if (odi_cas_acqrel_acquire(&word, &seen, ABANDONED, none))
        abandoned_first = true;
    else {
        model_check(seen == FIRST_WORK && works[0].outer == 7);
        odi_store_relaxed(&works[0].cancelled, 1);
        told = true;
    }
}

static void nothing(void) {}

static void verify(void)
{
    model_check(began != abandoned_first);
    model_check(told == began);
    model_check(odi_load_relaxed(&works[0].cancelled) == told);
}
MODEL_SCENARIO(forked_branch_abandon, nothing, verify, run, give_up)
MODEL_REACHES(forked_branch_abandon, began)
