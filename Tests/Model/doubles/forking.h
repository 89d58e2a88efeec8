/* forking.h — for scenarios over worker/forks.c: the rest of the engine, and stacks of forks for the
 * scenario's threads. */
#ifndef DOUBLES_FORKING_H
#define DOUBLES_FORKING_H

#include "doubles/clock.h"
#include "doubles/fork_stacks.h"
#include "doubles/futex.h"

static odi_forks forks[MODEL_ROWS];
static odi_atomic(uint32_t) published;

/* ---- external threads, and who is told of forks ---- */

void odi_forks_published(odi_forks *whose) { odi_add_release(&published, 1, none); }
void odi_external_leave(odi_forks *whose) {}
void odi_blocking_begin(const char *what, void *whose) {}
void od_blocking_end(void) {}

/* ---- stacks ---- */

/* The calling thread's stack is that of thread `row`. */
static void be(unsigned row) { od_forks_self = &forks[row].owner; }

/* Makes a stack for thread `row`. */
static void own(unsigned row)
{
    model_check(odi_forks_make(&forks[row], (odi_team *)&forks, NULL, SLOTS_MINIMUM));
    model_hint(&forks[row].word, sizeof forks[row].word);     /* rechecked by a CAS */
    model_hint(&forks[row].asker, sizeof forks[row].asker);   /* rechecked by a swap */
    model_hint(&forks[row].wakeup, sizeof forks[row].wakeup); /* the kernel compares it, locked */
    model_hint(&forks[row].owner.limit, sizeof forks[row].owner.limit); /* CAS, or F2 */
    model_hint(&published, sizeof published); /* only counted */
}

/* Takes what thread `from` has exposed, if anything, and runs it. */
static void steal_and_run_of(unsigned me, unsigned from)
{
    od_fork_slot *slot = odi_forks_steal(&forks[from]);

    if (slot != NULL)
        odi_forks_run(&forks[me], &forks[from], slot);
}

#endif
