/* queues.c — closures that need places of several queues at once: queues on a limited target and
 * on each other, closures that sync onto queues on their own target and earmark their places for it,
 * barriers and sync callers as barriers. Some fork a tree of branches, and timers add to them.
 * Whoever begins counts itself in, in its queue and in all that this one is on. */
#include "Faults/queues.h"

#include "Faults/appointments.h"
#include "Faults/branches.h"

/* A closure waits for the queues behind its own in this order and for no others, so that what
 * these need is held by nobody who waits for them without earmarking it. */
enum { NONE = -1, TARGET, WIDE, DEEP, SERIAL, APART, NODES };

static const struct {
    const char *label;
    int on;
    int32_t width;
} plans[NODES] = {
    [TARGET] = {"target", NONE, 2},
    [WIDE] = {"wide", TARGET, OD_UNLIMITED},
    [DEEP] = {"deep", WIDE, 1},
    [SERIAL] = {"serial on the target", TARGET, 1},
    [APART] = {"apart", NONE, OD_UNLIMITED},
};

enum { FROM_EACH = 60, SYNCS = 8, DEEPEST = 2 };

static struct {
    run *it;
    od_queue *queues[NODES];
    unsigned wave;
    int width;                /* the target's */
    atomic_int running;       /* threads on the target, but for those that have earmarked their place */
    atomic_int inside[NODES]; /* closures, also those that wait */
    atomic_bool alone[NODES]; /* a barrier is */
} tree;

static _Thread_local prng choices;
static _Thread_local int on_target; /* closures of this thread, one on top of the other */

/* The workers have choices of their own, too. */
static prng *mine(void)
{
    static atomic_uint threads;

    if (choices.state == 0)
        choices = prng_for(tree.it->seed, 100 + atomic_fetch_add(&threads, 1));
    return &choices;
}

/* ---- who is where ---- */

static void begin_running(void)
{
    int running = atomic_fetch_add(&tree.running, 1) + 1;

    run_expects(running <= tree.width, "%d run on a target of width %d", running, tree.width);
}

static void enter(int node, bool as_barrier)
{
    for (int each = node; each != NONE; each = plans[each].on) {
        int inside = atomic_fetch_add(&tree.inside[each], 1) + 1;

        run_expects(inside == 1 || plans[each].width != 1, "%d are in \"%s\", which is serial",
                    inside, plans[each].label);
        run_expects(!atomic_load(&tree.alone[each]), "one began beside a barrier of \"%s\"",
                    plans[each].label);
        if (each == TARGET && on_target++ == 0)
            begin_running();
    }
    if (as_barrier) {
        atomic_store(&tree.alone[node], true);
        int inside = atomic_load(&tree.inside[node]);
        run_expects(inside == 1, "a barrier of \"%s\" began beside %d others",
                    plans[node].label, inside - 1);
    }
}

static void leave(int node, bool as_barrier)
{
    if (as_barrier)
        atomic_store(&tree.alone[node], false);
    for (int each = node; each != NONE; each = plans[each].on) {
        if (each == TARGET && --on_target == 0)
            atomic_fetch_sub(&tree.running, 1);
        atomic_fetch_sub(&tree.inside[each], 1);
    }
}

/* ---- syncs ---- */

static bool is_on_target(int node)
{
    return node != TARGET && node != APART;
}

/* Who waits for a queue on the target earmarks its place for it; what runs on top of the waiting
 * closure has one of its own. */
static int step_aside(int awaited)
{
    int given = is_on_target(awaited) ? on_target : 0;

    if (given > 0) {
        on_target = 0;
        atomic_fetch_sub(&tree.running, 1);
    }
    return given;
}

static void step_back(int given)
{
    if (given > 0) {
        begin_running();
        on_target = given;
    }
}

/* Onto a queue behind `last`, and from there perhaps onto one behind that. */
static void sync_behind(int last)
{
    int rest = NODES - 1 - last;
    od_scope scope;

    if (rest == 0)
        return;
    int node = last + 1 + (int)prng_below(mine(), (uint32_t)rest);
    od_queue *queue = tree.queues[node];
    bool as_barrier = prng_one_in(mine(), 6);

    if (od_queue_blocked_target(queue) != NULL || od_queue_is_current(queue))
        return; /* it would wait for itself */
    int given = step_aside(node);
    if (as_barrier)
        od_queue_sync_barrier_begin(queue, &scope);
    else
        od_queue_sync_begin(queue, &scope);
    step_back(given);
    enter(node, as_barrier);
    if (!tree.it->fault->starves && prng_one_in(mine(), 3))
        sync_behind(node);
    leave(node, as_barrier);
    od_queue_sync_end(&scope);
}

/* ---- closures ---- */

/* A job's number: queue (3) | barrier (1) | depth */
static int number_of(int node, bool as_barrier, int depth)
{
    return node | (int)as_barrier << 3 | depth << 4;
}

static void submit(run *it, od_group *group, int depth);

static void closure(job *entry)
{
    int node = entry->number & 7, depth = entry->number >> 4;
    bool as_barrier = entry->number >> 3 & 1;

    enter(node, as_barrier);
    if (prng_one_in(mine(), 6))
        fork_branches(mine());
    for (uint32_t left = depth > 0 ? prng_below(mine(), 4) : 0; left > 0; left--)
        submit(entry->of, entry->group, depth - 1);
    if (!entry->of->fault->starves && prng_one_in(mine(), 4))
        sync_behind(node);
    leave(node, as_barrier);
}

static void submit(run *it, od_group *group, int depth)
{
    int node = (int)prng_below(mine(), NODES);
    bool as_barrier = prng_one_in(mine(), 20);
    od_queue *queue = tree.queues[node];
    job *entry = ledger_job(it, closure, number_of(node, as_barrier, depth));

    entry->group = group;
    ledger_told(entry, od_queue_async_with(queue, group, (int)prng_below(mine(), 6) - 1,
                                           as_barrier ? OD_BARRIER : 0, run_job, entry));
}

/* ---- a wave ---- */

static void from_helper(run *it, int helper)
{
    for (int i = 0; i < FROM_EACH / 4; i++) {
        job *entry = ledger_job(it, closure, number_of(DEEP, false, 1));

        entry->group = it->groups[helper];
        ledger_told(entry, od_queue_async(tree.queues[DEEP], entry->group, OD_QUEUE_BAND, run_job, entry));
    }
    for (int i = 0; i < FROM_EACH; i++) {
        submit(it, it->groups[helper], (int)prng_below(mine(), DEEPEST + 1));
        if (!it->never_waits && !it->fault->starves && i % 8 == 0)
            sync_behind(NONE);
    }
}

static void make_appointments(run *it)
{
    od_queue *const *queues = tree.queues;

    appoint(it, ONCE_SOON, queues[WIDE], closure, number_of(WIDE, false, 0));
    appoint(it, ONCE_SOON_ALONE, queues[APART], closure, number_of(APART, true, 0));
    appoint(it, ONCE_FAR_OFF, queues[SERIAL], closure, number_of(SERIAL, false, 0));
    appoint(it, AGAIN_UNTIL_CALLED_OFF, queues[SERIAL], closure, number_of(SERIAL, false, 0));
    appoint(it, AGAIN_UNTIL_ITS_THIRD, queues[APART], closure, number_of(APART, false, 0));
}

/* Nothing is under way: in every second wave the target has a place more. */
static void resize_target(void)
{
    tree.width = plans[TARGET].width + (int)(tree.wave++ % 2);
    od_queue_set_width(tree.queues[TARGET], tree.width);
}

void queues_launch(run *it)
{
    resize_target();
    if (!it->fault->lacks_records)
        make_appointments(it);
    helpers_start(it, from_helper);
    od_queue_suspend(tree.queues[TARGET]);
    (void)od_queue_wait(tree.queues[DEEP], 50 * ODI_MICROSECOND);
    od_queue_resume(tree.queues[TARGET]);
    it->book.told_cancelled += od_queue_cancel_all(tree.queues[DEEP]);
    if (it->never_waits) {
        helpers_wait();
        return;
    }
    for (int i = 0; i < SYNCS; i++)
        sync_behind(NONE);
    fork_branches_as_external(it->pool, mine());
}

static void await_queues(void)
{
    for (int i = 0; i < NODES; i++)
        run_expects(od_queue_wait(tree.queues[i], LOST_NS), "\"%s\" is not empty after 12 s",
                    plans[i].label);
}

void queues_await(run *it)
{
    helpers_wait();
    for (int i = 0; i <= HELPERS; i++)
        await_group(it, it->groups[i], "queues");
    if (!it->fault->lacks_records)
        call_off_appointments(it);
    await_queues();
    if (!it->fault->lacks_records)
        settle_appointments(it, false);
}

void queues_stopped(run *it)
{
    settle_appointments(it, true);
}

/* ---- queues ---- */

void queues_open(run *it)
{
    tree.it = it;
    tree.wave = 0;
    atomic_store(&tree.running, 0);
    for (int i = 0; i < NODES; i++) {
        od_queue_options options = {
            .band = OD_BAND_DEFAULT,
            .width = plans[i].width,
            .label = plans[i].label,
            .target = plans[i].on != NONE ? tree.queues[plans[i].on] : NULL,
        };

        tree.queues[i] = workload_queue(it, &options);
        atomic_store(&tree.inside[i], 0);
        atomic_store(&tree.alone[i], false);
    }
    forks_belong_to(it->pool);
}

void queues_close(run *it)
{
    (void)it;
    forks_belong_to(NULL);
    for (int i = 0; i < NODES; i++) /* the targets first: those that are on them keep them */
        od_queue_release(tree.queues[i]);
}
