/* task_edge.c — an edge between two tasks while the dependency is one that its dependents cease to keep:
 * Sources/Overdrive/Dependencies/Edge.swift and AnyTask+Dependencies.swift, in C for the reason that task_word.c names.
 *
 * A task that was started without a queue, and whose body has returned, can be finished by its holder alone. Who
 * links an edge to it and who returns from the body may miss each other; the edge may be removed, or the task
 * finished, at the same time. Whatever happens: each dependent is released once, and nobody keeps what is forgotten.
 * The counts of references are here as they are there, so that a late access is one to freed memory. The edge lies in
 * its dependent: its memory goes with the last reference to the dependent, or with the hold of who removed the edge.
 *
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:fire 8fbc91f9
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:fireForReady b5ef7c40
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:remove 720fe26b
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:stopKeeping 651ee999
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:finishLinking 944179e4
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:watch 9b6b140f
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:beginLinking 7b9e820e
 * transcribes: Sources/Overdrive/Dependencies/Edge.swift:letGo 9fa22758
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:attach 557464e9
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:release df3b23b0
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:retakeDependents 6b482968
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:remaining eec35818
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:noteRemovedDependent 1224d703
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:stopBeingKept 78e2bc3c
 * transcribes: Sources/Overdrive/Dependencies/AnyTask+Dependencies.swift:remove 17570efd
 * transcribes: Sources/Overdrive/Task/AnyTask.swift:step fbabb875
 * transcribes: Sources/Overdrive/Task/Task.swift:finish 34a448c7
 * transcribes: Sources/Overdrive/Task/AnyTask+End.swift:publish 6ae4bc4a
 * transcribes: Sources/Overdrive/Task/Task.swift:publish 7c53a3d3
 * transcribes: Sources/Overdrive/Task/Task.swift:leave d586ca3d
 */
#include "base/atomic.h"
#include "model/scenario.h"

enum {
    IN_BODY = 1,
    SETTLED = 2,
    FINISHED = 4,
    HAS_DEPENDENTS = 8,
};

/* Edge.State, from beginLinking on */
enum { LINKING, LINKED, FIRED, REMOVED };

typedef struct edge {
    struct edge *next;
    odi_atomic(int) state;
    odi_atomic(int) references; /* the dependent's list, and whoever links it or the dependency's list */
    odi_atomic(int) lock;       /* of the dependent's list */
    bool in_list;               /* the dependent's, under its lock */
    bool dependency;            /* Edge.dependency: a reference to the task */
    bool watched;
    bool over; /* WatchedTask.over: a reference to the task */
    bool dependent;            /* Edge.dependent: a reference to the dependent */
    bool hold;                 /* Edge.hold */
    odi_atomic(int) dependent_references; /* the edge's, and the program's until the dependent ends */
    odi_atomic(int) memory;    /* of the dependent: all references together, and the hold */
} edge;

#include "doubles/dependents.h"

enum { EDGES = 2 };

static odi_atomic(uint32_t) word;
static odi_atomic(int) references; /* to the task: the program's, the edges', those that threads have */
static odi_atomic(int) released[EDGES];
static edge *edges[EDGES];
static unsigned fired_by[MODEL_ROWS], unkept_by[MODEL_ROWS];
static bool was_removed;
static bool removes; /* a thread has the first dependent, and removes its edge */
static bool sweeps;  /* each removal is followed by a sweep */
static unsigned swept_by[MODEL_ROWS];

/* ---- the word ---- */

static uint32_t standing(void) { return odi_load_acquire(&word, none); }

/* AnyTask.step, for events that set flags and clear others unless one of `refused` is there */
static bool step(uint32_t set, uint32_t clear, uint32_t refused)
{
    uint32_t current = standing();

    do {
        if (current & refused)
            return false;
    } while (!odi_cas_acqrel_acquire(&word, &current, (current & ~clear) | set, none));
    return true;
}

static bool is_forgettable(uint32_t standing)
{
    return (standing & (IN_BODY | SETTLED | FINISHED)) == 0;
}

/* ---- the edge ---- */

static void lock(edge *it)
{
    for (int open = 0; !odi_cas_acquire(&it->lock, &open, 1, none); open = 0)
        odi_spin_pause();
}

static void unlock(edge *it) { odi_store_release(&it->lock, 0, none); }

static void let_go_of_task(void);
static void sweep(void);

static void let_go_of_memory(edge *it)
{
    if (odi_add_acqrel(&it->memory, -1, none) == 1)
        model_free(it);
}

static void let_go_of_dependent(edge *it)
{
    if (odi_add_acqrel(&it->dependent_references, -1, none) == 1)
        let_go_of_memory(it);
}

/* Edge.release */
static void let_go_of_edge(edge *it)
{
    bool has_task, has_dependent, has_hold;

    if (odi_add_acqrel(&it->references, -1, none) != 1)
        return;
    has_task = it->dependency || it->over;
    has_dependent = it->dependent;
    has_hold = it->hold;
    if (has_task)
        let_go_of_task();
    if (has_dependent)
        let_go_of_dependent(it);
    if (has_hold)
        let_go_of_memory(it);
}

/* Edge.letGo */
static void let_go_of_both(edge *it)
{
    bool has_dependent = it->dependent;

    it->dependent = false;
    let_go_of_edge(it);
    if (has_dependent)
        let_go_of_dependent(it);
}

static bool change(edge *it, int old, int new)
{
    return odi_cas_acqrel_acquire(&it->state, &old, new, none);
}

static int number_of(edge *it) { return it == edges[0] ? 0 : 1; }

static bool is_done(edge *it) { return odi_load_acquire(&it->state, none) >= FIRED; }

/* The dependent runs, ends and drops its edges (AnyTask.dropDependencies) before the thread that fired goes on. */
static void run_dependent(edge *it)
{
    bool was_there;

    lock(it);
    was_there = it->in_list;
    it->in_list = false;
    unlock(it);
    if (!was_there)
        return;
    let_go_of_edge(it);
    let_go_of_dependent(it);
}

/* Edge.fire */
static void fire(edge *it)
{
    if (!change(it, LINKED, FIRED)) {
        let_go_of_edge(it);
        return;
    }
    fired_by[model_thread()]++;
    model_check(it->dependent);
    it->dependent = false;
    model_check(it->dependency || it->watched);
    let_go_of_edge(it);
    odi_add_relaxed(&released[number_of(it)], 1);
    run_dependent(it);
    let_go_of_dependent(it);
}

/* Edge.remove, of an edge that was taken out of the dependent's list */
static bool remove_edge(edge *it)
{
    do {
        if (is_done(it))
            return false;
        if (change(it, LINKING, REMOVED))
            return true;
        if (!it->hold)
            odi_add_relaxed(&it->memory, 1);
        it->hold = true;
    } while (!change(it, LINKED, REMOVED));
    it->dependent = false;
    let_go_of_dependent(it);
    if (it->dependency) {
        it->dependency = false;
        if (sweeps)
            sweep();
        let_go_of_task();
    }
    return true;
}

/* Edge.watch; the caller has the task */
static void watch(edge *it)
{
    unkept_by[model_thread()]++;
    lock(it);
    it->watched = true;
    model_check(it->dependency);
    it->dependency = false;
    let_go_of_task();
    unlock(it);
}

/* Edge.stopKeeping; the caller has the dependency's list, and the dependency */
static bool stop_keeping(edge *it)
{
    if (it->watched)
        return true;
    if (!change(it, LINKED, LINKING)) {
        let_go_of_edge(it);
        return false;
    }
    watch(it);
    if (change(it, LINKING, LINKED))
        return true;
    let_go_of_both(it);
    return false;
}

/* ---- the dependency's list ---- */

/* AnyTask.attach */
static bool attach(edge *it) { return (standing() & HAS_DEPENDENTS) != 0 && push_dependent(it); }

/* Edge.isOver */
static void is_over(edge *it)
{
    if (!it->watched)
        return;
    it->over = true;
    odi_add_relaxed(&references, 1);
}

/* AnyTask.release(_:isLost:); the order is not explored */
static void release_taken(edge *taken, bool is_lost)
{
    for (edge *it = taken, *next; it != NULL; it = next) {
        next = it->next;
        if (!is_lost)
            is_over(it);
        fire(it);
    }
}

static void release_dependents(bool is_lost) { release_taken(take_dependents(), is_lost); }

/* AnyTask.remaining */
static edge *remaining(edge *taken, edge *rest, bool (*belongs)(edge *))
{
    edge *first = rest, *last = NULL;

    for (edge *it = taken, *next; it != NULL; it = next) {
        next = it->next;
        it->next = rest;
        if (!belongs(it))
            continue;
        if (last != NULL)
            last->next = it;
        else
            first = it;
        last = it;
    }
    return first;
}

/* AnyTask.retakeDependents; the caller has the task */
static void retake_dependents(bool (*belongs)(edge *))
{
    edge *kept = NULL, *head = odi_load_acquire(&dependents, none);

    while (head != NULL || kept != NULL) {
        edge *expected = head;

        if (head == &closed) {
            release_taken(kept, false);
            return;
        }
        if (!odi_cas_acqrel_acquire(&dependents, &expected, head == NULL ? kept : NULL, none)) {
            head = expected;
            continue;
        }
        if (head == NULL)
            return;
        kept = remaining(head, kept, belongs);
        head = odi_load_acquire(&dependents, none);
    }
}

/* AnyTask.stopBeingKept; the caller has the task */
static void stop_being_kept(void)
{
    /* standingInFull: a read-modify-write that changes nothing */
    if (is_forgettable(odi_add_seqcst(&word, 0, none)))
        retake_dependents(stop_keeping);
}

static bool is_not_done(edge *it)
{
    if (!is_done(it))
        return true;
    swept_by[model_thread()]++;
    let_go_of_edge(it);
    return false;
}

/* AnyTask.noteRemovedDependent, when a sweep is due; the caller has the task */
static void sweep(void)
{
    retake_dependents(is_not_done);
    stop_being_kept();
}

/* ---- the task ---- */

/* A count of references; the last is Task.deinit, and endForgotten where nobody has finished it. */
static void let_go_of_task(void)
{
    if (odi_add_acqrel(&references, -1, none) != 1)
        return;
    if (step(SETTLED, 0, SETTLED | FINISHED) && standing() & HAS_DEPENDENTS)
        release_dependents(true);
}

/* Task.finish(with:), Task.publish */
static void finish(void)
{
    if (!step(SETTLED, 0, SETTLED | FINISHED))
        return;
    (void)step(FINISHED, 0, 0);
    if (standing() & HAS_DEPENDENTS)
        release_dependents(false);
}

/* Task.leave */
static void leave(void)
{
    (void)step(0, IN_BODY, 0);
    if (standing() & HAS_DEPENDENTS)
        stop_being_kept();
}

/* Edge.finishLinking */
static void link_edge(edge *it)
{
    odi_add_relaxed(&references, 1); /* guard let dependency */
    (void)step(HAS_DEPENDENTS, 0, FINISHED);
    bool is_kept = !is_forgettable(standing());
    if (!is_kept)
        watch(it);
    if (!change(it, LINKING, LINKED)) {
        let_go_of_both(it);
    } else if (!attach(it)) {
        is_over(it);
        fire(it);
    } else if (is_kept) {
        stop_being_kept();
    }
    let_go_of_task();
}

/* AnyTask.remove(dependency:) */
static void take_out(edge *it)
{
    bool was_there;

    lock(it);
    model_check(it->dependency || it->watched); /* Edge.task, read under the lock */
    was_there = it->in_list;
    it->in_list = false;
    unlock(it);
    if (was_there) {
        was_removed = remove_edge(it);
        let_go_of_edge(it);
        if (was_removed)
            odi_add_relaxed(&released[number_of(it)], 1);
        let_go_of_dependent(it);
    }
    let_go_of_dependent(it); /* the caller's */
}

/* ---- scenarios ---- */

/* Started without a queue, and in its body; the program has it once. */
static void in_body(int count, int holders)
{
    odi_store_relaxed(&word, IN_BODY);
    odi_store_relaxed(&references, holders + count);
    for (int i = 0; i < count; i++) {
        edges[i] = model_calloc(1, sizeof *edges[i]);
        odi_store_relaxed(&edges[i]->state, LINKING);
        odi_store_relaxed(&edges[i]->references, 2);
        odi_store_relaxed(&edges[i]->dependent_references, removes && i == 0 ? 3 : 2);
        odi_store_relaxed(&edges[i]->memory, 1);
        edges[i]->dependency = edges[i]->dependent = edges[i]->in_list = true;
    }
}

static void one_edge(void) { in_body(1, 1); }

static void one_removed_edge(void)
{
    removes = true;
    in_body(1, 1);
}


/* One is there, the other one comes. */
static void one_more_edge(void) { in_body(2, 1); link_edge(edges[0]); }

/* The body has returned, and nobody has the task but the two edges that are linked now. */
static void two_edges_to_what_is_forgotten(void) { in_body(2, 0); leave(); }

static void two_holders(void) { in_body(1, 2); }
static void returns_and_forgets(void) { leave(); let_go_of_task(); }
static void finishes(void) { finish(); let_go_of_task(); }
static void links_first(void) { link_edge(edges[0]); }
static void links_second(void) { link_edge(edges[1]); }
static void removes_first(void) { take_out(edges[0]); }
static void first_is_released_once(void) { model_check(odi_load_relaxed(&released[0]) == 1); }

static void both_are_released_once(void)
{
    first_is_released_once();
    model_check(odi_load_relaxed(&released[1]) == 1);
}

MODEL_SCENARIO(edge_linked_while_the_body_returns, one_edge, first_is_released_once, returns_and_forgets, links_first)
MODEL_REACHES(edge_linked_while_the_body_returns, fired_by[0] == 1, unkept_by[0] == 1, unkept_by[1] == 1)
MODEL_SCENARIO(edge_removed_while_the_body_returns, one_removed_edge, first_is_released_once, returns_and_forgets,
               links_first, removes_first)
MODEL_REACHES(edge_removed_while_the_body_returns, was_removed, unkept_by[0] == 1, unkept_by[1] == 1)
MODEL_SCENARIO(edge_beside_one_that_is_linked, one_more_edge, both_are_released_once, returns_and_forgets,
               links_second)
MODEL_REACHES(edge_beside_one_that_is_linked, unkept_by[0] == 2, unkept_by[1] == 2)
MODEL_SCENARIO(edge_of_two_that_are_linked_at_once, two_edges_to_what_is_forgotten, both_are_released_once,
               links_first, links_second)
MODEL_REACHES(edge_of_two_that_are_linked_at_once, fired_by[0] == 2, fired_by[1] == 2)
MODEL_SCENARIO(edge_linked_while_the_task_is_finished, two_holders, first_is_released_once, returns_and_forgets,
               links_first, finishes)
MODEL_REACHES(edge_linked_while_the_task_is_finished, fired_by[0] == 1, fired_by[2] == 1,
              unkept_by[0] + unkept_by[1] == 0)

/* ---- removed edges are swept ---- */

static void two_linked_to_what_is_swept(void)
{
    removes = sweeps = true;
    in_body(2, 1);
    link_edge(edges[0]);
    link_edge(edges[1]);
}

MODEL_SCENARIO(edge_swept_while_the_body_returns, two_linked_to_what_is_swept, both_are_released_once, returns_and_forgets,
               removes_first)
MODEL_REACHES(edge_swept_while_the_body_returns, swept_by[1] == 1 && unkept_by[0] == 1, unkept_by[1] == 1)
MODEL_SCENARIO(edge_swept_while_the_task_is_finished, two_linked_to_what_is_swept, both_are_released_once, removes_first,
               finishes)
MODEL_REACHES(edge_swept_while_the_task_is_finished, swept_by[0] == 1 && fired_by[0] == 1, fired_by[1] == 2)
