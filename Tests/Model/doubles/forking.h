/* forking.h — for scenarios over worker/forks.c: the rest of the engine, and stacks of forks for the
 * scenario's threads. */
#ifndef DOUBLES_FORKING_H
#define DOUBLES_FORKING_H

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "model/scenario.h"

enum { SLOTS = 6 };

static odi_forks forks[MODEL_ROWS];
static odi_atomic(uint32_t) published;

/* ---- the rest of the engine ---- */

void odi_forks_published(odi_forks *whose)
{
    (void)whose;
    odi_add_release(&published, 1, none);
}

void odi_guest_leave(odi_forks *whose)
{
    (void)whose;
}

void odi_guest_sleeps(odi_forks *whose)
{
    (void)whose;
}

void odi_guest_wakes(odi_forks *whose)
{
    (void)whose;
}

void odi_overflow_watch(odi_overflow_test *lies_there, const char *sentence)
{
    (void)lies_there;
    (void)sentence;
}

void *odi_pages_reserve_guarded(size_t bytes)
{
    (void)bytes;
    return model_calloc(SLOTS, sizeof(od_fork_slot));
}

void odi_pages_free_reserved(void *pages, size_t bytes)
{
    (void)bytes;
    model_free(pages);
}

void odi_trap(const char *format, ...)
{
    (void)format;
    model_check(false);
    __builtin_unreachable();
}

void odi_thread_yield(void)
{
    odi_spin_pause();
}

void odi_thread_give_way(int round)
{
    (void)round;
    odi_spin_pause();
}

static void *work_of[MODEL_ROWS];

void *od_thread_work(void)
{
    return work_of[model_thread()];
}

void od_thread_set_work(void *work)
{
    work_of[model_thread()] = work;
}

void *od_fork_root_work(void)
{
    return od_thread_work();
}

od_fork_slot *od_fork_first(uint64_t code, void *context)
{
    (void)code;
    (void)context;
    model_check(false);
    return NULL;
}

od_fork_slot *od_fork_first_numbered(uint64_t code, void *context, uint32_t number)
{
    (void)number;
    return od_fork_first(code, context);
}

/* ---- stacks ---- */

/* The calling thread's stack is that of thread `row`. */
static void be(unsigned row)
{
    od_forks_self = &forks[row].owner;
}

/* Makes a stack for thread `row`. */
static void own(unsigned row)
{
    model_check(odi_forks_make(&forks[row], (odi_crew *)&forks, NULL, SLOTS_MINIMUM));
    model_hint(&forks[row].word, sizeof forks[row].word);   /* rechecked by a CAS */
    model_hint(&forks[row].asker, sizeof forks[row].asker); /* rechecked by a swap */
    model_hint(&forks[row].bell, sizeof forks[row].bell);   /* the kernel compares it, locked */
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
