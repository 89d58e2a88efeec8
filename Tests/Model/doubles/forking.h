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

static void make_stack(odi_forks *stack)
{
    model_check(odi_forks_make(stack, (odi_team *)&forks, NULL, SLOTS_MINIMUM));
    model_hint(&stack->word, sizeof stack->word);     /* rechecked by a CAS */
    model_hint(&stack->asker, sizeof stack->asker);   /* rechecked by a swap */
    model_hint(&stack->wakeup, sizeof stack->wakeup); /* the kernel compares it, locked */
    model_hint(&stack->owner.limit, sizeof stack->owner.limit); /* CAS, or F2 */
    model_hint(&published, sizeof published); /* only counted */
}

/* Makes a stack for thread `row`. */
static void own(unsigned row) { make_stack(&forks[row]); }

/* Takes what thread `from` has exposed, if anything, and runs it. */
static void steal_and_run_of(unsigned me, unsigned from)
{
    od_fork_slot *slot = odi_forks_steal(&forks[from]);

    if (slot != NULL)
        odi_forks_run(&forks[me], &forks[from], slot);
}

#endif
