#include "reclaim/grace.h"

#include <urcu/urcu-memb.h>

#include "base/atomic.h"

#ifdef ODI_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static char grace_edge; /* R2, for the sanitizer's eyes */
#define READERS_DONE() __tsan_release(&grace_edge)
#define GRACE_OVER() __tsan_acquire(&grace_edge)
#else
#define READERS_DONE() ((void)0)
#define GRACE_OVER() ((void)0)
#endif

void odi_grace_join(void)
{
    urcu_memb_register_thread();
}

void odi_grace_leave(void)
{
    urcu_memb_unregister_thread();
}

void odi_grace_read_begin(void)
{
    urcu_memb_read_lock();
}

void odi_grace_read_end(void)
{
    READERS_DONE();
    urcu_memb_read_unlock();
}

void odi_grace_wait(void)
{
    urcu_memb_synchronize_rcu();
    GRACE_OVER();
}
