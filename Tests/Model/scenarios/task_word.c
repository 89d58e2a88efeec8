/* task_word.c — what threads do with one task's word: Sources/Overdrive/Task/TaskState.swift and AnyTask.swift.
 *
 * Swift's atomics do not compile here, so this is their C form: the same words, orders and steps, for the
 * events that meet without a lock. The rules themselves are a pure function, which StateMachineTests explores
 * over all its states; here is explored what its exchanges order: who owns the outcome, the handler's slot, the
 * dependents' list and the place on the registry, and that each is handed over once.
 *
 * transcribes: Sources/Overdrive/Task/TaskState.swift:after f0700e17
 * transcribes: Sources/Overdrive/Task/TaskState.swift:take b27b250f
 * transcribes: Sources/Overdrive/Task/TaskState.swift:takeOutcome c48cecad
 * transcribes: Sources/Overdrive/Task/TaskState.swift:takeLeave 59c9e905
 * transcribes: Sources/Overdrive/Task/TaskState.swift:takeCancel c38e54ac
 * transcribes: Sources/Overdrive/Task/AnyTask.swift:step fbabb875
 * transcribes: Sources/Overdrive/Task/AnyTask+End.swift:publishOutcome 402d8131
 * transcribes: Sources/Overdrive/Task/AnyTask+End.swift:endPublishing 0eec89ee
 * transcribes: Sources/Overdrive/Task/AnyTask+Queues.swift:enqueue 3a002720
 * transcribes: Sources/Overdrive/Task/AnyTask+End.swift:publish 6ae4bc4a
 * transcribes: Sources/Overdrive/Task/Task.swift:publish 7c53a3d3
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:attach 557464e9
 * transcribes: Sources/Overdrive/Queue/QueueTasks.swift:register d55bbb7f
 * transcribes: Sources/Overdrive/Queue/QueueTasks.swift:unregister fb200922
 * transcribes: Sources/Overdrive/Task/Task.swift:add 82113120
 * transcribes: Sources/Overdrive/Task/AnyTask+Queues.swift:move 55f98a41
 * transcribes: Sources/Overdrive/Task/TaskExtras.swift:change be514399
 * transcribes: Sources/Overdrive/Task/TaskExtras.swift:had f9e119e5
 * transcribes: Sources/Overdrive/Task/AnyTask.swift:change 8455754b
 * transcribes: Sources/Overdrive/Task/AnyTask.swift:ifHad f23b9396
 */
#include "base/atomic.h"
#include "doubles/lock.h"
#include "model/scenario.h"

/* The fields of the word that these events look at. */
enum {
    READY = 1,
    EXECUTING = 2,
    FINISHED = 3,
    PHASE = 3,
    CANCELLED = 1 << 2,
    IN_BODY = 1 << 3,
    SETTLED = 1 << 4,
    CLAIMED = 1 << 5,
    FILLED = 1 << 6,
    CLOSED = 1 << 7,
    HAS_DEPENDENTS = 1 << 8,
};

/* What whoever made the step has to do. */
enum { ACCEPT = 1, PUBLISH = 2, PUBLISH_CANCELLED = 4, SERVE_SLOT = 8, SERVE_LATE = 16, ENTER = 32 };

enum event { ADD, BEGIN, FINISH, CANCEL, PUBLISHED, CLAIM, FILL, CLOSE, GAIN_DEPENDENT };

static uint32_t after(uint32_t word, enum event event, int *actions)
{
    uint32_t phase = word & PHASE;

    *actions = 0;
    switch (event) {
    case ADD:
        if (phase != 0 || word & SETTLED)
            return word;
        *actions = ACCEPT;
        return word | READY;
    case BEGIN:
        if (phase != READY || word & SETTLED)
            return word;
        *actions = ACCEPT | ENTER;
        return (word & ~(uint32_t)PHASE) | EXECUTING | IN_BODY;
    case FINISH:
        if (word & SETTLED)
            return word;
        *actions = ACCEPT | (word & CANCELLED ? PUBLISH_CANCELLED : PUBLISH);
        return (word & ~(uint32_t)IN_BODY) | SETTLED;
    case CANCEL:
        if (word & (CANCELLED | SETTLED))
            return word;
        *actions = ACCEPT | (word & IN_BODY ? 0 : PUBLISH_CANCELLED);
        return word | CANCELLED | (word & IN_BODY ? 0 : SETTLED);
    case PUBLISHED:
        *actions = ACCEPT | (word & FILLED ? SERVE_SLOT : 0);
        return word | FINISHED | (word & FILLED ? 0 : CLOSED);
    case CLAIM:
        if (word & CLAIMED || phase == FINISHED)
            return word;
        *actions = ACCEPT;
        return word | CLAIMED;
    case FILL:
        if (phase == FINISHED) {
            *actions = SERVE_LATE;
            return word;
        }
        *actions = ACCEPT;
        return word | FILLED;
    case CLOSE:
        *actions = ACCEPT;
        return word | CLOSED;
    case GAIN_DEPENDENT:
        if (phase == FINISHED)
            return word;
        *actions = ACCEPT;
        return word | HAS_DEPENDENTS;
    }
    return word;
}

static odi_atomic(uint32_t) word;
static odi_atomic(uint32_t) served, accepted;
static int outcome, slot; /* plain: whom the word names, or nobody */
static unsigned served_by; /* which thread */

/* AnyTask.step */
static int step(enum event event)
{
    uint32_t current = odi_load_acquire(&word, none);

    for (;;) {
        int actions;
        uint32_t next = after(current, event, &actions);

        if (next == current || odi_cas_acqrel_acquire(&word, &current, next, none))
            return actions;
    }
}

static void serve(int handler)
{
    model_check(handler != 0 && outcome != 0);
    served_by = model_thread();
    odi_add_relaxed(&served, 1);
}

/* AnyTask.publishOutcome, Task.publish, AnyTask.endPublishing */
static void publish(int value)
{
    outcome = value;
    if (step(PUBLISHED) & SERVE_SLOT) {
        int handler = slot;

        slot = 0;
        serve(handler);
        (void)step(CLOSE);
    }
}

static void finish(int value)
{
    int actions = step(FINISH);

    if (actions & ACCEPT)
        odi_add_relaxed(&accepted, 1);
    if (actions & PUBLISH)
        publish(value);
    if (actions & PUBLISH_CANCELLED)
        publish(-1);
}

/* Task.add(handler): the one that lives in the task itself */
static void bring_handler(void)
{
    if (step(CLAIM) & ACCEPT) {
        slot = 1;
        if (step(FILL) & SERVE_LATE) {
            int handler = slot;

            slot = 0;
            serve(handler);
        }
    } else if ((odi_load_acquire(&word, none) & PHASE) == FINISHED) {
        serve(1); /* the side storage, whose lock orders it, is not explored here */
    }
}

static void is_served_once(void)
{
    model_check((odi_load_relaxed(&word) & PHASE) == FINISHED);
    model_check(odi_load_relaxed(&served) == 1);
    model_check(slot == 0 && outcome != 0);
}

/* ---- the outcome ---- */

static void executing(void) { odi_store_relaxed(&word, EXECUTING | IN_BODY); }
static void returns(void) { finish(1); }
static void finishes_from_outside(void) { finish(2); }

static void one_finish_counts(void)
{
    is_served_once();
    model_check(odi_load_relaxed(&accepted) == 1);
}

MODEL_SCENARIO(task_of_two_finishes_one_counts, executing, one_finish_counts, returns,
               finishes_from_outside, bring_handler)
MODEL_REACHES(task_of_two_finishes_one_counts, outcome == 1, served_by == 0, served_by == 1, served_by == 2)

static void ready(void) { odi_store_relaxed(&word, READY); }

static void begins(void)
{
    if (step(BEGIN) & ENTER)
        finish(1);
}

static void cancels(void)
{
    if (step(CANCEL) & PUBLISH_CANCELLED)
        publish(-1);
}

MODEL_SCENARIO(task_is_cancelled_or_runs, ready, is_served_once, begins, cancels, bring_handler)
MODEL_REACHES(task_is_cancelled_or_runs, outcome == 1, served_by == 0, served_by == 1, served_by == 2)

/* ---- dependents ---- */

typedef struct edge {
    struct edge *next;
    int fired;
    unsigned by; /* which thread */
} edge;

#include "doubles/dependents.h"

static edge edges[2];

static void fire(edge *it)
{
    model_check(outcome != 0); /* a dependent reads it */
    it->fired++;
    it->by = model_thread();
}

/* AnyTask.attach: false where the task is over */
static bool attach(edge *it)
{
    return (odi_load_acquire(&word, none) & HAS_DEPENDENTS) != 0 && push_dependent(it);
}

static void depend(edge *it)
{
    (void)step(GAIN_DEPENDENT);
    if (!attach(it))
        fire(it);
}

static void first_dependent(void) { depend(&edges[0]); }
static void second_dependent(void) { depend(&edges[1]); }

static void ends(void)
{
    finish(1);
    if (odi_load_acquire(&word, none) & HAS_DEPENDENTS)
        for (edge *it = take_dependents(), *next; it != NULL; it = next) {
            next = it->next;
            fire(it);
        }
}

static void each_was_fired_once(void) { model_check(edges[0].fired == 1 && edges[1].fired == 1); }

MODEL_SCENARIO(task_releases_each_dependent_once, executing, each_was_fired_once, ends,
               first_dependent, second_dependent)
MODEL_REACHES(task_releases_each_dependent_once, edges[0].by == 0, edges[0].by == 0 && edges[1].by == 2,
              edges[0].by == 1 && edges[1].by == 2)

/* ---- the place on the queue's registry ---- */

enum { NOWHERE, GONE = 99 };

static odi_atomic(int) lazy_queue, place, on_registry, next_place;

/* QueueTasks.register; the registry itself has a lock, whose order the counts have */
static void enter_registry(void)
{
    int nowhere = NOWHERE, mine;

    if (odi_load_relaxed(&place) != NOWHERE)
        return;
    mine = odi_add_acqrel(&next_place, 1, none) + 1;
    odi_add_acqrel(&on_registry, 1, none);
    if (!odi_cas_release(&place, &nowhere, mine, none))
        odi_add_acqrel(&on_registry, -1, none);
}

/* QueueTasks.unregister */
static void leave_registry(void)
{
    int mine = odi_swap_acquire(&place, GONE, none);

    if (mine != NOWHERE && mine != GONE)
        odi_add_acqrel(&on_registry, -1, none);
}

static bool late[MODEL_ROWS];

/* AnyTask.enqueue */
static void add(void)
{
    int nobody = 0, actions;

    (void)odi_cas_acqrel_acquire(&lazy_queue, &nobody, 1, none);
    enter_registry();
    actions = step(ADD);
    /* standingInFull: a read-modify-write that changes nothing */
    late[model_thread()] = actions == 0 && (odi_add_seqcst(&word, 0, none) & PHASE) == FINISHED;
    if (late[model_thread()])
        leave_registry();
}

static void finishes_while_it_is_added(void)
{
    finish(2);
    if (odi_load_acquire(&lazy_queue, none) != 0)
        leave_registry();
}

static void registry_is_empty(void)
{
    model_check((odi_load_relaxed(&word) & PHASE) == FINISHED);
    model_check(odi_load_relaxed(&on_registry) == 0);
}

MODEL_SCENARIO(task_leaves_its_registry, NULL, registry_is_empty, add, add, finishes_while_it_is_added)
MODEL_REACHES(task_leaves_its_registry, late[0] && late[1], late[0] || late[1])

/* ---- what a task counts as in the progress of a queue to which it is moved ---- */

static odi_atomic(unsigned) kinds;
static odi_lock extras;
static int ticket; /* under the lock */
static odi_atomic(int) ended;
static unsigned ended_by; /* which thread */

/* AnyTask.ifHad, as endProgress asks: who finds that there never was a ticket takes no lock */
static void end_progress(void)
{
    int mine;

    if (odi_load_relaxed(&kinds) == 0)
        return;
    odi_lock_acquire(&extras);
    mine = ticket;
    ticket = 0;
    odi_lock_release(&extras);
    if (mine != 0) {
        ended_by = model_thread();
        odi_add_relaxed(&ended, 1);
    }
}

/* AnyTask.change, and a look that is no more than a look: AnyTask.move, of a task that is cancelled meanwhile. The task's place in
 * the registry of that queue is set and taken in the same manner. An observer that
 * is added is the same: who sees no end then is told of it. */
static void moves(void)
{
    odi_or_relaxed(&kinds, 1);
    odi_lock_acquire(&extras);
    ticket = 1;
    odi_lock_release(&extras);
    (void)odi_add_seqcst(&word, 0, none);
    if ((odi_load_acquire(&word, none) & PHASE) == FINISHED)
        end_progress();
}

static void is_cancelled(void)
{
    cancels();
    end_progress();
}

static void progress_has_ended(void) { model_check(odi_load_relaxed(&ended) == 1 && ticket == 0); }

MODEL_SCENARIO(task_ends_the_progress_that_it_is_moved_to, ready, progress_has_ended, moves, is_cancelled)
MODEL_REACHES(task_ends_the_progress_that_it_is_moved_to, ended_by == 0, ended_by == 1)
