/* fork_stacks.h — what worker/forks.c needs below it: pages for a few slots, whose work a thread does,
 * and waits that are cut. Nobody becomes an external thread by forking. */
#ifndef DOUBLES_FORK_STACKS_H
#define DOUBLES_FORK_STACKS_H

#include "model/check.h"
#include "model/scenario.h"

#include "worker/self.c"

enum { SLOTS = 6 };

void *odi_pages_reserve_guarded(size_t bytes) { return model_calloc(SLOTS, sizeof(od_fork_slot)); }
void odi_pages_free_reserved(void *pages, size_t bytes) { model_free(pages); }
void odi_overflow_watch(odi_overflow_test *lies_there, const char *sentence) {}
void odi_trap(const char *format, ...) { model_fail("the engine found a broken promise"); }
void odi_thread_yield(void) { odi_spin_pause(); }
void odi_thread_give_way(int round) { odi_spin_pause(); }

od_fork_slot *od_fork_first(uint64_t code, void *context)
{
    model_fail("a scenario forked where it has no stack of forks");
}

od_fork_slot *od_fork_first_numbered(uint64_t code, void *context, uint32_t number)
{
    return od_fork_first(code, context);
}

#endif
