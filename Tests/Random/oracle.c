/* oracle.c — what must hold while closures begin and end: exclusion, width, order, context. */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "Random/world.h"

world w;
shared *random_shared;
_Thread_local thread self = {.submitting = NONE, .section = NONE};

void oracle_fails(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (atomic_exchange(&random_shared->failed, 1) == 0)
        vsnprintf(random_shared->message, sizeof random_shared->message, format, arguments);
    va_end(arguments);
    _exit(EXIT_FINDING);
}

/* ---- waits ---- */

void count_waiting(bool waits)
{
    waits &= od_pool_is_worker(w.pool);
    if (waits != self.counted)
        atomic_fetch_add(&random_shared->waiting, waits ? 1 : -1);
    self.counted = waits;
}

thread waits(waiting what, od_group *group, int queue)
{
    thread before = self;

    self.waiting = what;
    self.group = group;
    self.queue = queue;
    count_waiting(true);
    return before;
}

void waited(thread before)
{
    count_waiting(before.counted);
    self = before;
    progress();
}

/* ---- places and order in queues ---- */

static void raise_to(atomic_ullong *greatest, unsigned long long value)
{
    unsigned long long now = atomic_load(greatest);

    while (now < value && !atomic_compare_exchange_weak(greatest, &now, value)) {
    }
}

static void take_place(int queue, int op)
{
    queue_state *state = &w.queue[queue];
    int32_t width = w.program.queue[queue].width;
    int running = atomic_fetch_add(&state->running, 1) + 1;

    oracle_expects(width == OD_UNLIMITED || running <= width,
                   "%d run at once in queue %d, whose width is %d, when %d begins", running, queue, width,
                   op);
}

/* All of them, beginning with the queue itself. */
static void enter(uint32_t queues, bool barrier, int op)
{
    for (int i = QUEUES - 1; i >= 0; i--) {
        if (!(queues & bit(i)))
            continue;
        atomic_fetch_add(&w.queue[i].holders, 1);
        take_place(i, op);
        oracle_expects(!atomic_load(&w.queue[i].barrier), "%d begins in queue %d beside a barrier", op, i);
    }
    if (barrier) {
        queue_state *own = &w.queue[w.program.op[op].queue];

        atomic_store(&own->barrier, 1);
        oracle_expects(atomic_load(&own->holders) == 1, "the barrier %d begins beside others of queue %d", op,
                       w.program.op[op].queue);
    }
}

static void leave(uint32_t queues, bool barrier, int op)
{
    if (barrier)
        atomic_store(&w.queue[w.program.op[op].queue].barrier, 0);
    for (int i = 0; i < QUEUES; i++) {
        if (queues & bit(i)) {
            atomic_fetch_sub(&w.queue[i].running, 1);
            atomic_fetch_sub(&w.queue[i].holders, 1);
        }
    }
}

/* It begins now; `after` is 0 where its submission has not returned, or it is a sync call. */
static void note_order(int op, unsigned long long before, unsigned long long after, bool barrier)
{
    int number = w.program.op[op].queue;
    queue_state *queue = &w.queue[number];

    if (w.program.queue[number].width == 1 || barrier) {
        unsigned long long newest = atomic_load(&queue->newest);

        oracle_expects(after == 0 || after > newest, "%d begins in queue %d after what was submitted later",
                       op, number);
    }
    if (after != 0)
        oracle_expects(after > atomic_load(&queue->newest_barrier),
                       "%d begins in queue %d after a barrier that was submitted later", op, number);
    raise_to(&queue->newest, before);
    if (barrier)
        raise_to(&queue->newest_barrier, before);
}

void check_context(uint32_t held, const char *where, int op)
{
    uint32_t context = 0;
    od_queue *queue;

    for (int depth = 0; (queue = od_queue_of_thread(depth)) != NULL; depth++)
        context |= bit((int)(intptr_t)od_queue_context(queue) - 1);
    oracle_expects(context == held, "%s %d is in queues %#x, and not in %#x", where, op, context, held);
}

/* ---- where a closure may run ---- */

static od_group *group_of(int op)
{
    od_group *own = atomic_load(&w.entry[op].group);

    if (own != NULL)
        return own;
    return w.program.op[op].group != NONE ? w.group[w.program.op[op].group] : NULL;
}

/* It runs within the call that submits it. */
static void check_inlined(int op)
{
    const struct op *of = &w.program.op[op];
    bool is_it = self.submitting == op || of->kind == MEMBER;

    oracle_expects(is_it, "%d runs within the submission of %d", op, self.submitting);
    oracle_expects(of->queue != NONE && w.program.queue[of->queue].pending_limit > 0 &&
                       w.program.queue[of->queue].overflow == OD_OVERFLOW_RUNS,
                   "%d runs on its submitter", op);
    oracle_expects(!self.waiting, "%d runs on its submitter, which waits", op);
    feature_met(RUN_ON_SUBMITTER);
}

/* What is before a serial queue's jobs in its line, of a queue on it, has to end before these. */
static bool is_awaited(int queue)
{
    return queue == self.queue || (queue != NONE && w.program.queue[self.queue].width == 1 &&
                                   chain_of(&w.program, queue) & bit(self.queue));
}

static void check_thread(int op)
{
    const struct op *of = &w.program.op[op];

    oracle_expects(!self.outsider, "%d runs on a thread that is no worker", op);
    if (self.waiting == FOR_GROUP)
        oracle_expects(group_of(op) == self.group, "%d runs on top of a wait for another group", op);
    else if (self.waiting == FOR_QUEUE)
        oracle_expects(is_awaited(of->queue), "%d runs on top of a wait for queue %d", op, self.queue);
    else
        oracle_expects(self.waiting == NOTHING && self.top == NULL, "%d runs on top of another closure%s", op,
                       self.waiting ? ", which waits" : "");
}

static void check_section(int op)
{
    int section = w.entry[op].section;

    oracle_expects(section == NONE || !atomic_load(&w.entry[section].open),
                   "%d begins although its queue was suspended before, at %d", op, section);
}

/* ---- closures ---- */

void closure_begins(began *it, int op)
{
    const struct op *of = &w.program.op[op];
    entry *entry = &w.entry[op];
    bool inlined = self.submitting != NONE && !self.waiting;
    bool timer = of->kind == TIMER || of->kind == TIMER_ELSEWHERE;
    uint32_t chain = of->queue != NONE ? chain_of(&w.program, of->queue) : 0;
    uint32_t around = inlined && self.top != NULL ? self.top->held : 0;

    progress();
    atomic_fetch_add(&w.inside, 1);
    if (inlined)
        check_inlined(op);
    else
        check_thread(op);
    if (!timer) {
        oracle_expects(atomic_fetch_add(&entry->ran, 1) == 0, "%d runs twice", op);
        oracle_expects(!atomic_load(&entry->discarded), "%d runs, and was discarded", op);
        oracle_expects(!atomic_load(&entry->may_not_run), "%d begins although a wait for it is over", op);
    }
    it->before = self;
    count_waiting(false);
    it->frame = (frame){.outer = inlined ? self.top : NULL, .held = around | chain};
    it->entered = chain & ~around;
    if (it->entered != 0 || !inlined)
        check_section(op);
    self = (thread){.top = &it->frame, .outsider = self.outsider, .submitting = NONE, .section = NONE};
    check_context(it->frame.held, "the closure", op);
    if (it->entered != 0) {
        enter(it->entered, of->barrier, op);
        note_order(op, timer ? 0 : atomic_load(&entry->before), timer ? 0 : atomic_load(&entry->after),
                   of->barrier);
    }
}

void closure_ends(began *it, int op)
{
    const struct op *of = &w.program.op[op];

    check_context(it->frame.held, "at its end the closure", op);
    if (it->entered != 0)
        leave(it->entered, of->barrier, op);
    self = it->before;
    self.counted = false;
    count_waiting(it->before.counted);
    atomic_store(&w.entry[op].ended, 1);
    atomic_fetch_add(&w.runs, 1);
    atomic_fetch_add(&random_shared->closures, 1);
    progress();
    atomic_fetch_sub(&w.inside, 1);
}

/* ---- sync ---- */

void sync_waits(synced *it, const op *of)
{
    uint32_t chain = chain_of(&w.program, of->queue), held = self.top != NULL ? self.top->held : 0;

    it->entered = chain & ~held;
    it->overridden = it->entered & bit(of->queue) ? chain & held : 0;
    it->before = ticket();
    for (int i = 0; i < QUEUES; i++) {
        if (it->overridden & bit(i))
            atomic_fetch_sub(&w.queue[i].running, 1);
    }
    if (it->overridden)
        feature_met(SYNC_IN_TREE);
    it->waiter = waits(FOR_ELSE, NULL, NONE);
}

void sync_begins(synced *it, const op *of)
{
    int number = (int)(of - w.program.op);

    waited(it->waiter);
    it->frame = (frame){.outer = self.top, .held = it->entered | (self.top != NULL ? self.top->held : 0)};
    for (int i = 0; i < QUEUES; i++) {
        if (it->overridden & bit(i))
            take_place(i, number);
    }
    if (it->entered & bit(of->queue)) {
        enter(it->entered, of->barrier, number);
        note_order(number, it->before, 0, of->barrier);
    }
    self.top = &it->frame;
    check_context(it->frame.held, "the sync", number);
}

void sync_ends(synced *it, const op *of)
{
    self.top = it->frame.outer;
    if (it->entered & bit(of->queue))
        leave(it->entered, of->barrier, (int)(of - w.program.op));
    progress();
}
