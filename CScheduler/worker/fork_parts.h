/* fork_parts.h — code that forks.c and join.c share: the word, the limit and the call of a branch. */
#ifndef ODI_WORKER_FORK_PARTS_H
#define ODI_WORKER_FORK_PARTS_H

#include "job/job.h"
#include "os/thread.h"
#include "worker/forks.h"

#pragma GCC visibility push(hidden)

/* forks.c. Owner only: meets a request if private forks exist. If it returns true, the caller calls
 * odi_forks_published. */
bool odi_forks_answer(odi_forks *forks);
/* Ends a stolen fork; its owner may continue. */
void odi_forks_finish(odi_forks *victim, od_fork_slot *slot, uint32_t state);

#pragma GCC visibility pop

/* ---- the word: split and tail ---- */

static inline uint32_t tail_of(uint64_t word)
{
    return (uint32_t)word;
}

static inline uint32_t split_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static inline uint64_t make_word(uint32_t tail, uint32_t split)
{
    return (uint64_t)split << 32 | tail;
}

static inline uint32_t place_of(const odi_forks *forks, const od_fork_slot *slot)
{
    return (uint32_t)(slot - forks->slots);
}

static inline uintptr_t limit_at(const odi_forks *forks, uint32_t split)
{
    if (split == 0)
        return ODI_FORKS_ASKED; /* no fork to offer */
    return odi_membarrier_is_refused() ? ODI_FORKS_OPEN : (uintptr_t)&forks->slots[split];
}

static inline odi_forks *forks_here(void)
{
    return (odi_forks *)od_forks_self;
}

/* ---- the limit ---- */

/* An owner spins this many times before it yields its CPU. */
enum { CLAIM_SPINS = 100 };

/* Waits until no thief moves the split; returns the limit. The caller has placed a fence (F2) after its last
 * store of head. Ended by the claimer's store, one membarrier later. */
static inline uintptr_t settled_limit(odi_forks *forks)
{
    uintptr_t limit;

    for (int spins = 0;; spins++) {
        limit = odi_load_acquire(&forks->owner.limit, F3);
        if (limit != ODI_FORKS_CLAIMED)
            return limit;
        if (spins < CLAIM_SPINS)
            odi_spin_pause();
        else
            odi_thread_give_way(spins - CLAIM_SPINS);
    }
}

/* Sets the limit after the owner has lowered the split. */
static inline void set_limit(odi_forks *forks, uint32_t split)
{
    uintptr_t next = limit_at(forks, split), limit = settled_limit(forks);

    /* A request stays, unless no fork is left that could meet it. */
    while (limit != ODI_FORKS_ASKED && limit != next) {
        /* relaxed: publishes nothing beyond the word */
        if (odi_cas_relaxed(&forks->owner.limit, &limit, next))
            return;
        limit = settled_limit(forks);
    }
}

/* ---- the call of a branch ---- */

static inline bool is_plain(uint64_t code)
{
    return code >> 63 != 0;
}

static inline bool is_numbered(uint64_t code)
{
    return ((is_plain(code) ? ~code : code) & OD_FORK_NUMBERED) != 0;
}

static inline uintptr_t address_in(uint64_t code)
{
    return (is_plain(code) ? ~code : code) & ODI_JOB_CODE_MASK;
}

static inline void call(uint64_t code, void *context)
{
    odi_job_call((odi_entry){(is_plain(code) ? ODI_JOB_PLAIN : 0) | address_in(code),
                             (uint64_t)(uintptr_t)context});
}

#endif
