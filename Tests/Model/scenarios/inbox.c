/* inbox.c — who pushes and who leaves an empty line: one of them sees to a drainer.
 *
 * The steps are those of divert.c's odi_queue_push and odi_queue_settle for one place. */
#define ODI_LOCK_SPINS 0

#include "gate/inbox.h"

#include "queue/fifo.c"
#include "sleep/lock.c"

#include "doubles/futex.h"
#include "model/scenario.h"

static odi_lock queue_lock;
static odi_inbox inbox;
static odi_fifo line;
static int running, started, ran;

/* Queue's lock held. True: a drainer is to be started, and holds the place. */
static bool settle(void)
{
    odi_lock_acquire(&inbox.lock);
    bool starts = running == 0 && line.count + inbox.fifo.count > 0;
    running += starts;
    inbox.wants = running == 0;
    odi_lock_release(&inbox.lock);
    started += starts;
    return starts;
}

static void submit(void)
{
    odi_lock_acquire(&inbox.lock);
    model_check(odi_inbox_push(&inbox, (odi_entry){1, 1}, NULL));
    bool wants = inbox.wants;
    odi_lock_release(&inbox.lock);
    if (!wants)
        return;
    odi_lock_acquire(&queue_lock);
    (void)settle();
    odi_lock_release(&queue_lock);
}

/* A drainer whose line is empty: it takes the inbox's, or leaves. */
static void leave(void)
{
    odi_entry job;

    odi_lock_acquire(&queue_lock);
    if (odi_inbox_empty_into(&inbox, &line)) {
        while (odi_fifo_pop(&line, &job))
            ran++;
    } else {
        running--;
        (void)settle();
    }
    odi_lock_release(&queue_lock);
}

static void one_drains(void)
{
    running = 1;
    inbox.wants = false;
}

/* What was pushed ran, or somebody holds the place and comes for it. */
static void nothing_is_forgotten(void)
{
    uint64_t waiting = line.count + inbox.fifo.count;

    model_check(waiting == 0 || running == 1);
    model_check(running == 1 || inbox.wants);
    odi_fifo_free(&line);
    odi_fifo_free(&inbox.fifo);
}

MODEL_SCENARIO(inbox_push_and_leave, one_drains, nothing_is_forgotten, leave, submit)
