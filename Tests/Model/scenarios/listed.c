/* listed.c — a barrier that the line had no memory for is next, and something comes into the inbox
 * (gate/line.c, drain_batches.c): what has come meanwhile is not taken for the barrier.
 *
 * The barrier is a sync caller's, in its frame. Who takes what is next looks at the front and then takes, both
 * under the queue's lock; who submits has the inbox's.
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "queue/fifo.c"

#include "gate/drain_batches.c"

#include "gate/line.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/never.h"
#include "model/scenario.h"

NEVER(odi_is_pass)
NEVER(odi_queue_pass_raised)

_Thread_local od_scope *odi_scopes;
_Thread_local odi_set_apart *odi_apart;

void odi_wait_node_mark(void *unused)
{
    (void)unused;
}

/* Nothing here is counted on a record. */
odi_record *odi_record_of_job(odi_entry entry)
{
    (void)entry;
    return NULL;
}

static od_queue queue;
static odi_wait_node barrier, other;
static odi_entry what_comes, taken[2];
static int taken_count;

static odi_entry turn_of(odi_wait_node *whose)
{
    return odi_job_plain(odi_wait_node_mark, whose, ODI_TAG_INTERNAL);
}

/* The barrier is listed, and one thread holds the only place. */
static void prepare(odi_entry comes)
{
    what_comes = comes;
    queue.gate = (odi_gate){.width = 1, .most = 1, .held = 1, .complete = true, .barriers = 1};
    barrier.exclusive = true;
    barrier.entry = turn_of(&barrier);
    queue.first_node = queue.last_node = &barrier;
    model_hint(&queue.inbox.waiting, sizeof queue.inbox.waiting); /* as its lock says */
}

static void job(void *unused)
{
    (void)unused;
}

static void a_job_comes(void)
{
    prepare(odi_job_plain(job, NULL, 0));
}

static void a_caller_comes(void)
{
    prepare(turn_of(&other));
}

static void submits(void)
{
    odi_lock_acquire(&queue.inbox.lock);
    model_check(odi_inbox_push(&queue.inbox, what_comes));
    odi_lock_release(&queue.inbox.lock);
}

static bool is_the_barrier(odi_entry entry)
{
    return entry.code == barrier.entry.code && entry.context == barrier.entry.context;
}

/* What runs as a barrier is it, and it is counted as one that waits until then. */
static void takes_all(void)
{
    odi_entry entry;

    odi_lock_acquire(&queue.watch.lock);
    while (taken_count < 2 && odi_queue_take(&queue, &entry, false)) {
        model_check(queue.gate.exclusive == is_the_barrier(entry));
        model_check(queue.gate.barriers == 1 || queue.gate.exclusive || taken_count == 1);
        queue.gate.exclusive = false;
        taken[taken_count++] = entry;
    }
    odi_lock_release(&queue.watch.lock);
}

/* Its place is for the next sync caller, which the barrier's is not: a drainer takes what is listed. */
static void ends_its_turn(void)
{
    odi_entry next;

    odi_lock_acquire(&queue.watch.lock);
    if (odi_queue_take(&queue, &next, true)) {
        model_check(!is_the_barrier(next) && !queue.gate.exclusive && queue.gate.barriers == 1);
        taken[taken_count++] = next;
    }
    odi_lock_release(&queue.watch.lock);
}

static void each_once(void)
{
    int barriers = 0;

    takes_all();
    for (int each = 0; each < taken_count; each++)
        barriers += is_the_barrier(taken[each]);
    model_check(taken_count == 2 && barriers == 1 && queue.gate.barriers == 0);
    odi_fifo_free(&queue.line);
    odi_fifo_free(&queue.inbox.fifo);
}

MODEL_SCENARIO(listed_barrier_and_a_job, a_job_comes, each_once, takes_all, submits)
MODEL_SCENARIO(listed_barrier_and_the_end_of_a_turn, a_caller_comes, each_once, ends_its_turn, submits)
