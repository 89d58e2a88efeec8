/* lend.h — bands that a waiter has lent its own to: while it waits for jobs of a lower band, that
 * band is served as if it were the waiter's.
 *
 * What a lane holds is lent to by itself (lane/lend.c). A concurrent queue's jobs lie in the
 * pool's bands among other queues' jobs and cannot be taken out of their order; so the whole
 * band inherits, as far as its first jobs are what stands before the one that is waited for.
 *
 * Owns     nothing: a loan lives in its waiter's frame, and names pools only while they exist.
 * Threads  anyone. Workers read `lent` as a hint when several bands have work.
 * Locks    one for all loans; held for a few instructions, inside a group's or a queue's.
 */
#ifndef ODI_WORKER_LEND_H
#define ODI_WORKER_LEND_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/crew.h"

#pragma GCC visibility push(hidden)

/* A waiter for jobs of more pools lends to the first ones. */
enum { ODI_LOAN_CREWS = 4 };

typedef struct odi_loan {
    uint32_t band; /* the waiter's */
    uint32_t count, forks;
    struct {
        odi_crew *crew; /* NULL: it is gone */
        uint32_t bands; /* that it lends to */
    } of[ODI_LOAN_CREWS];
    struct odi_loan *before, *after;
} odi_loan;

/* The waiter's band is lent to nobody yet. */
static inline odi_loan odi_loan_of(uint32_t band)
{
    return (odi_loan){.band = band};
}

/* Adds a band to what the loan will be lent to; nothing where it is not lower. Owner. */
void odi_loan_name(odi_loan *loan, odi_crew *crew, uint32_t band);

/* From here on, until the end, the bands that it names are served as the waiter's. */
void odi_loan_begin(odi_loan *loan);
void odi_loan_end(odi_loan *loan);

/* The band that `band` is served as. A hint. */
static inline uint32_t odi_crew_served_as(odi_crew *crew, uint32_t band)
{
    /* relaxed: a hint */
    uint32_t lent = odi_load_relaxed(&crew->lent) >> (4 * band) & 15;

    return lent != 0 && lent - 1 < band ? lent - 1 : band;
}

/* The pool goes: loans that name it forget it. */
void odi_loans_forget(odi_crew *crew);

/* In a forked child: who waited is the parent's. */
void odi_loans_forked(void);

#pragma GCC visibility pop

#endif
