/* wait_node.c — the sleep and wake-up of a thread that waits at a queue. callers.c, limit.c and room.c call
 * it without a queue's lock. */
#include "gate/wait_node.h"

#include "os/futex.h"
#include "worker/worker.h"

void odi_wait_node_mark(void *unused)
{
    (void)unused;
}

void odi_wait_node_grant(odi_wait_node *waiting)
{
    odi_store_release(&waiting->granted, 1, Q1);
    /* `waiting` may be gone by now; the futex call uses its address only. */
    odi_futex_wake(&waiting->granted, 1);
}

bool odi_queue_await_grant_until(od_queue *queue, odi_wait_node *waiting, const char *what, int64_t until)
{
    bool in_time = true, granted;

    odi_blocking_begin(what, queue);
    /* ended by odi_wait_node_grant, or at the deadline */
    while (!(granted = (odi_load_acquire(&waiting->granted, Q1) != 0)) && in_time)
        in_time = odi_futex_wait(&waiting->granted, 0, until) != ODI_FUTEX_TIMED_OUT;
    od_blocking_end();
    return granted;
}

void odi_queue_await_grant(od_queue *queue, odi_wait_node *waiting, const char *what)
{
    (void)odi_queue_await_grant_until(queue, waiting, what, ODI_FOREVER);
}
