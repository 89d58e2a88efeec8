/* grace.c — calls of liburcu's memb flavour, with the annotations that ThreadSanitizer needs. reclaim.c is
 * the only caller. */
#include "reclaim/grace.h"

#include <urcu/urcu-bp.h>

#include "base/atomic.h"
#include "os/membarrier.h"

static char grace_edge; /* R2, visible to the sanitizer only */

void odi_grace_join(void)
{
    urcu_bp_register_thread();
}

/* Nothing to do: liburcu unregisters a thread at its end. The program may be reading in this thread, too. */
void odi_grace_leave(void)
{
}

void odi_grace_read_begin(void)
{
    urcu_bp_read_lock();
}

void odi_grace_read_end(void)
{
    odi_tsan_release(&grace_edge);
    urcu_bp_read_unlock();
}

void odi_grace_wait(void)
{
    odi_fence_heavy(none); /* traps here, and not inside liburcu, if the kernel has begun to refuse barriers */
    urcu_bp_synchronize_rcu();
    odi_tsan_acquire(&grace_edge);
}
