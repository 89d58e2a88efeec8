/* thread_self.h — what a thread asks os/thread.c about itself, for the model: nothing that
 * matters. */
#include "os/overflow.h"
#include "os/thread.h"

#include "model/scenario.h"

void odi_thread_yield(void) { odi_spin_pause(); }
void odi_thread_give_way(int round) { odi_spin_pause(); }
int odi_thread_id(void) { return (int)model_thread() + 1; }
int odi_thread_cpu_clock(void) { return -1; }
int od_thread_cpu(void) { return -1; }

void *odi_thread_stack_in_use(size_t *bytes)
{
    *bytes = 0;
    return NULL;
}

void odi_overflow_begin(void) {}
void odi_overflow_end(void) {}
