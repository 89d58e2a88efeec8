/* grace.c — calls of liburcu's memb flavour, with the annotations that ThreadSanitizer needs. reclaim.c is
 * the only caller. */
#include "reclaim/grace.h"

#include <pthread.h>
#include <urcu/urcu-bp.h>

#include "base/atomic.h"
#include "os/membarrier.h"
#include "os/pages.h"

static char grace_edge; /* R2, visible to the sanitizer only */

/* Held during a grace period and across a fork. A child's thread unregisters at its end, with liburcu's lock, which a
 * grace period of the parent would have left locked. */
static pthread_mutex_t periods = PTHREAD_MUTEX_INITIALIZER;

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
    pthread_mutex_lock(&periods);
    urcu_bp_synchronize_rcu();
    pthread_mutex_unlock(&periods);
    odi_tsan_acquire(&grace_edge);
}

void odi_grace_before_fork(void)
{
    pthread_mutex_lock(&periods);
}

void odi_grace_after_fork(bool in_child)
{
    if (in_child)
        periods = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    else
        pthread_mutex_unlock(&periods);
}
