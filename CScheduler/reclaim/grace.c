/* grace.c — calls of liburcu's memb flavour, with the annotations that ThreadSanitizer needs. reclaim.c is
 * the only caller. */
#include "reclaim/grace.h"

#include <urcu/urcu-bp.h>

#include "base/atomic.h"
#include "os/membarrier.h"
#include "os/pages.h"

static char grace_edge; /* R2, visible to the sanitizer only */

/* liburcu lists a thread from its first registration until its end. */
static _Thread_local bool listed;

/* liburcu ends the process if it finds no memory for the entries of threads, which it allocates in growing chunks. */
enum { LARGEST_CHUNK = 256 * 1024 };

bool odi_grace_join(void)
{
    if (listed)
        return true;
    void *probe = odi_pages_new(LARGEST_CHUNK, ODI_ANY_NODE);
    if (probe == NULL)
        return false;
    odi_pages_free(probe, LARGEST_CHUNK);
    urcu_bp_register_thread();
    listed = true;
    return true;
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
