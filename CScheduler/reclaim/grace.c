/* grace.c — calls of liburcu's memb flavour, with the annotations that ThreadSanitizer needs. reclaim.c is
 * the only caller. */
#include "reclaim/grace.h"

#include <urcu/urcu-memb.h>

#include "base/atomic.h"
#include "os/membarrier.h"

static char grace_edge; /* R2, visible to the sanitizer only */

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
    odi_tsan_release(&grace_edge);
    urcu_memb_read_unlock();
}

void odi_grace_wait(void)
{
    odi_fence_heavy(none); /* traps here, and not inside liburcu, if the kernel has begun to refuse barriers */
    urcu_memb_synchronize_rcu();
    odi_tsan_acquire(&grace_edge);
}
