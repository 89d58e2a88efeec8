/* fork_parts.h — what forks.c and join.c share of a thread's forks: the word, the limit and the call. */
#ifndef ODI_WORKER_FORK_PARTS_H
#define ODI_WORKER_FORK_PARTS_H

#include "job/job.h"
#include "os/thread.h"
#include "worker/forks.h"

#pragma GCC visibility push(hidden)

/* forks.c. Meets a request, if something is private: the owner. True: odi_forks_published follows. */
bool odi_forks_answer(odi_forks *forks);
/* Ends a stolen fork: its owner may go on. */
void odi_forks_finish(odi_forks *victim, od_fork_slot *slot, uint32_t state);

#pragma GCC visibility pop

/* ---- the word ---- */

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
        return ODI_FORKS_ASKED; /* nothing to give */
    return odi_membarrier_is_refused() ? ODI_FORKS_OPEN : (uintptr_t)&forks->slots[split];
}

static inline odi_forks *forks_here(void)
{
    return (odi_forks *)od_forks_self;
}

/* ---- the limit ---- */

/* An owner looks so often before it gives its CPU away. */
enum { CLAIM_SPINS = 100 };

/* Waits until no thief moves the split; returns the limit. The caller has put a fence (F2)
 * behind its last store of head. Ended by: the claimer's store, one membarrier on. */
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

/* The limit for a split that the owner has lowered. */
static inline void set_limit(odi_forks *forks, uint32_t split)
{
    uintptr_t next = limit_at(forks, split), limit = settled_limit(forks);

    /* A request stands, unless nothing is left that it could be about. */
    while (limit != ODI_FORKS_ASKED && limit != next) {
        /* relaxed: it says nothing that the word does not say */
        if (odi_cas_relaxed(&forks->owner.limit, &limit, next))
            return;
        limit = settled_limit(forks);
    }
}

/* ---- the call ---- */

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
