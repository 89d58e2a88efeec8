/* inbox.c — who pushes and who leaves an empty line: one of them sees to a drainer.
 *
 * The steps are those of records.c's odi_queue_push and settle.c's odi_queue_settle for one place. */
#include "doubles/lock.h"

#include "gate/inbox.h"

#include "queue/fifo.c"

#include "model/scenario.h"

static odi_lock queue_lock;
static odi_inbox inbox;
static odi_fifo line;
static int running, ran;
static uint64_t last[3]; /* of each submitter's jobs that ran */
static uint64_t first;   /* whose job ran first */

/* Queue's lock held. */
static void settle(void)
{
    bool seems_clear = line.count + odi_inbox_waiting(&inbox) == 0;

    if (seems_clear)
        odi_lock_acquire(&inbox.lock);
    bool waits = line.count > 0 || !seems_clear || inbox.fifo.count > 0;
    running += running == 0 && waits;
    odi_store_relaxed(&inbox.wants, running == 0);
    if (seems_clear)
        odi_lock_release(&inbox.lock);
}

static bool push_to_idle(odi_entry job)
{
    odi_lock_acquire(&queue_lock);
    bool pushed = odi_load_relaxed(&inbox.wants) && odi_fifo_push(&line, job, NULL);
    if (pushed)
        settle();
    odi_lock_release(&queue_lock);
    return pushed;
}

static void push(odi_entry job)
{
    if (odi_load_relaxed(&inbox.wants) && push_to_idle(job))
        return;
    odi_lock_acquire(&inbox.lock);
    model_check(odi_inbox_push(&inbox, job, NULL));
    bool wants = odi_load_relaxed(&inbox.wants);
    odi_lock_release(&inbox.lock);
    if (!wants)
        return;
    odi_lock_acquire(&queue_lock);
    settle();
    odi_lock_release(&queue_lock);
}

static void submit(void)
{
    push((odi_entry){1, 1});
}

static void submit_two(void)
{
    push((odi_entry){2, 1});
    push((odi_entry){2, 2});
}

static void run_line(void)
{
    odi_entry job;

    while (odi_fifo_pop(&line, &job)) {
        first = ran == 0 ? job.code : first;
        model_check(job.context == last[job.code] + 1); /* each submitter's in their order */
        last[job.code] = job.context;
        ran++;
    }
}

/* A drainer, if there is one: it runs what there is, or leaves. */
static void drain(void)
{
    odi_lock_acquire(&queue_lock);
    if (running == 1) {
        if (line.count > 0 || odi_inbox_empty_into(&inbox, &line))
            run_line();
        else {
            running--;
            settle();
        }
    }
    odi_lock_release(&queue_lock);
}

static void drain_twice(void) { drain(); drain(); }
static void one_drains(void) { running = 1; odi_store_relaxed(&inbox.wants, false); }
static void nobody_drains(void) { odi_store_relaxed(&inbox.wants, true); }

static uint64_t in_line, in_inbox; /* what is left at the end */

/* What was pushed ran, or somebody holds the place and comes for it. */
static void nothing_is_forgotten(void)
{
    in_line = line.count;
    in_inbox = inbox.fifo.count;
    uint64_t waiting = in_line + in_inbox;

    model_check(waiting == 0 || running == 1);
    model_check(running == 1 || odi_load_relaxed(&inbox.wants));
    run_line();
    if (odi_inbox_empty_into(&inbox, &line))
        run_line();
    model_check(last[0] == 0 && ran == (int)(last[1] + last[2]));
    odi_fifo_free(&line);
    odi_fifo_free(&inbox.fifo);
}

MODEL_SCENARIO(inbox_push_and_leave, one_drains, nothing_is_forgotten, drain, submit)
MODEL_REACHES(inbox_push_and_leave, in_line == 1, in_inbox == 1)
MODEL_SCENARIO(inbox_push_to_idle, nobody_drains, nothing_is_forgotten, drain_twice, submit_two)
MODEL_REACHES(inbox_push_to_idle, in_line + in_inbox == 0, in_line > 0, in_inbox > 0)
MODEL_SCENARIO(inbox_two_push_to_idle, nobody_drains, nothing_is_forgotten, submit, submit_two)
MODEL_REACHES(inbox_two_push_to_idle, first == 1)
