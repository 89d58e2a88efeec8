/* generate.c — programs that end: whatever waits, waits for what is ranked above all that it holds.
 *
 * A closure holds its queue and that one's targets; a group holds up what is submitted in it, so its jobs
 * are on queues of a higher rank than its own. Sections (suspended, entered, with a permit) wait for nothing.
 * A sync onto a queue on a target that the caller is in earmarks the target's place, unless that is exclusive.
 * What a full queue's submitter may run itself holds what the submitter does, too.
 * A branch that a thief may take does not sync onto a queue on a target that its fork is in: who is not on the
 * fork's thread has no place to earmark.
 * An inactive queue is put on its target late: until then nobody knows that who holds a place of the target, and
 * waits in a queue on the inactive one, is waited for himself. */
#include "Random/program.h"

#include "Support/prng.h"

#include <string.h>

typedef struct where {
    uint32_t held;      /* queues that it is in, for certain */
    uint32_t exclusive; /* those that nobody else can be in meanwhile, perhaps */
    uint32_t forked;    /* those that the fork of this branch was in */
    int highest;        /* rank of what is held, perhaps */
    int depth;
    bool leaf;    /* in a section: waits for nothing */
    bool outsider;
    bool top;     /* an outsider's own script */
    bool *waits;  /* the closure is counted among those that wait */
} where;

typedef struct generator {
    program *it;
    prng random;
    uint64_t enabled; /* kinds */
    int waits_left;   /* closures that may wait */
    int size;
} generator;

static bool one_in(generator *g, uint32_t chances)
{
    return prng_one_in(&g->random, chances);
}

static int below(generator *g, int bound)
{
    return (int)prng_below(&g->random, (uint32_t)bound);
}

/* ---- what may be done where ---- */

/* What is held of the queue's targets is below it by now. */
static bool is_joined(const program *it, const where *at, int queue)
{
    bool late = false;

    for (int each = queue; each != NONE; each = it->queue[each].target) {
        bool held = (at->held & bit(each)) != 0;

        if (held && late)
            return false;
        late |= it->queue[each].inactive && !held;
    }
    return true;
}

static bool may_sync(const program *it, const where *at, int queue)
{
    if (at->held & bit(queue))
        return it->queue[queue].width != 1 && !(at->exclusive & bit(queue));
    if (at->forked & chain_of(it, queue))
        return false;
    for (int each = queue; each != NONE; each = it->queue[each].target) {
        if (at->held & bit(each) ? (at->exclusive & bit(each)) != 0 : rank_of(each) <= at->highest)
            return false;
    }
    return is_joined(it, at, queue);
}

/* For all its jobs: none of them needs what is held. */
static bool may_await(const program *it, const where *at, int queue)
{
    return root_rank_of(it, queue) > at->highest;
}

/* Open for good, so that its jobs need nothing but a thread. */
static bool is_free(const queue_plan *queue)
{
    return queue->width == OD_UNLIMITED && queue->target == NONE && !queue->barriers &&
           !queue->suspends && queue->pending_limit == 0 && !queue->inactive;
}

/* Whether a closure's wait is within what is promised; it is counted. */
static bool counts(generator *g, const where *at)
{
    if (at->outsider || g->it->may_stall || *at->waits)
        return true;
    if (g->waits_left == 0)
        return false;
    g->waits_left--;
    return *at->waits = true;
}

/* In a program whose jobs wait for groups of their own alone, and everywhere else but in closures, free. */
static bool may_wait(generator *g, const where *at)
{
    return !at->leaf && (at->outsider || !g->it->strict) && counts(g, at);
}

/* For its room, or for the submitter's turn. Who is in the queue, or in its target, does not wait. */
static bool may_submit(generator *g, const where *at, int queue)
{
    if (!may_be_full(&g->it->queue[queue]))
        return true;
    if (at->held & chain_of(g->it, queue))
        return !at->leaf && is_joined(g->it, at, queue);
    return may_sync(g->it, at, queue) && may_wait(g, at);
}

static where inside_closure(const program *it, const where *at, const op *of)
{
    bool inlined = of->queue != NONE && may_be_full(&it->queue[of->queue]);
    where inside = {.highest = NONE, .depth = at->depth + 1};

    if (inlined) {
        inside.exclusive = at->exclusive;
        inside.forked = at->forked;
        inside.highest = at->highest;
        inside.leaf = at->leaf;
    }
    if (of->queue == NONE)
        return inside;
    for (int each = of->queue; each != NONE; each = it->queue[each].target) {
        inside.held |= bit(each);
        inside.exclusive |= it->queue[each].width == 1 ? bit(each) : 0;
    }
    inside.exclusive |= of->barrier ? bit(of->queue) : 0;
    if (inside.highest < rank_of(of->queue))
        inside.highest = rank_of(of->queue);
    return inside;
}

static where inside_sync(const program *it, const where *at, const op *of)
{
    where inside = *at;

    for (int each = of->queue; each != NONE; each = it->queue[each].target) {
        inside.held |= bit(each);
        inside.exclusive |= it->queue[each].width == 1 ? bit(each) : 0;
    }
    inside.exclusive |= of->barrier ? bit(of->queue) : 0;
    if (inside.highest < rank_of(of->queue))
        inside.highest = rank_of(of->queue);
    inside.top = false;
    inside.depth++;
    return inside;
}

/* ---- one operation ---- */

static int some_queue(generator *g)
{
    return below(g, g->it->queues);
}

static int some_group(generator *g)
{
    return g->it->groups > 0 ? below(g, g->it->groups) : NONE;
}

/* Which of the program's groups may count closures of that queue. */
static int group_for(generator *g, int queue)
{
    int group = some_group(g);

    return group != NONE && g->it->group_rank[group] < root_rank_of(g->it, queue) && !one_in(g, 3) ? group
                                                                                                : NONE;
}

/* Whether what has to be run will be. */
static bool is_certain(const program *it, int queue)
{
    const queue_plan *plan = &it->queue[queue];

    return !plan->cancels && !it->stops &&
           !(plan->pending_limit > 0 && plan->overflow == OD_OVERFLOW_REFUSED);
}

static int earlier(generator *g, kind one, kind other)
{
    for (int tries = 0; tries < 8 && g->it->ops > 0; tries++) {
        int i = below(g, g->it->ops);

        if (g->it->op[i].kind == one || g->it->op[i].kind == other)
            return i;
    }
    return NONE;
}

/* Every other time one on a queue that is held, where that may be; `queue` otherwise. */
static int perhaps_within(generator *g, const where *at, int queue)
{
    int queues = g->it->queues;

    for (int i = one_in(g, 2) ? 0 : queues; i < queues; i++) {
        int other = (queue + i) % queues;

        if (!(at->held & bit(other)) && at->held & chain_of(g->it, other) && may_sync(g->it, at, other))
            return other;
    }
    return queue;
}

static uint32_t time_for_a_stop(generator *g)
{
    return one_in(g, 2) ? 0 : 1 + (uint32_t)below(g, 2000);
}

/* Fills in an operation of this kind. False: not here. */
static bool choose(generator *g, const where *at, kind what, op *of)
{
    program *it = g->it;
    int queue = some_queue(g);
    const queue_plan *plan = &it->queue[queue];

    *of = (op){.kind = what, .queue = queue, .group = NONE, .band = below(g, 8) - 3, .subject = NONE,
               .first = NONE, .next = NONE};
    if (of->band < 0)
        of->band = NONE;
    switch (what) {
    case ASYNC:
        of->group = group_for(g, queue);
        of->barrier = plan->barriers && one_in(g, 3);
        return may_submit(g, at, queue);
    case TRY:
        of->group = group_for(g, queue);
        of->barrier = plan->barriers && one_in(g, 4);
        return true;
    case TASK:
        return may_submit(g, at, queue);
    case BATCH:
        of->group = group_for(g, queue);
        return may_submit(g, at, queue);
    case SUBMIT:
        of->queue = NONE;
        of->band = below(g, 5);
        return true;
    case SYNC:
    case SYNC_BARRIER:
        of->queue = perhaps_within(g, at, queue);
        of->barrier = what == SYNC_BARRIER;
        return (!of->barrier || (it->queue[of->queue].barriers && !(at->held & bit(of->queue)))) &&
               may_sync(it, at, of->queue) && may_wait(g, at);
    case SUSPENDED:
        return plan->suspends && !at->leaf;
    case ENTERED:
        of->queue = NONE;
        of->group = some_group(g);
        return of->group != NONE && !at->leaf;
    case ENTER_ASYNC:
        of->group = some_group(g);
        return of->group != NONE && it->group_rank[of->group] < root_rank_of(it, queue) &&
               is_certain(it, queue) && may_submit(g, at, queue);
    case GROUP_WAIT:
        of->queue = NONE;
        of->group = some_group(g);
        return of->group != NONE && it->group_rank[of->group] > at->highest && may_wait(g, at);
    case GROUP_TIMED:
        of->queue = NONE;
        of->group = some_group(g);
        of->amount = 1 + (uint32_t)below(g, 1000);
        return of->group != NONE && !at->leaf;
    case GROUP_NOTIFY:
        of->queue = NONE;
        of->group = some_group(g);
        return of->group != NONE;
    case OWN_GROUP:
        if (at->leaf || at->depth > 5)
            return false;
        if (is_free(plan) && rank_of(queue) >= at->highest)
            return (it->strict && !at->outsider) || counts(g, at);
        return !it->strict && !may_be_full(plan) && may_await(it, at, queue) && counts(g, at);
    case QUEUE_WAIT:
        return may_await(it, at, queue) && may_wait(g, at);
    case QUEUE_TIMED:
        of->amount = 1 + (uint32_t)below(g, 1000);
        return !at->leaf;
    case QUEUE_NOTIFY:
        return true;
    case PERMIT:
    case PERMIT_TIMED:
        of->queue = NONE;
        of->group = it->semaphores > 0 ? below(g, it->semaphores) : NONE;
        of->amount = what == PERMIT ? 0 : 1 + (uint32_t)below(g, 500);
        return of->group != NONE && !at->leaf && (what == PERMIT_TIMED || counts(g, at));
    case HANDSHAKE:
        of->barrier = plan->barriers && one_in(g, 4);
        return is_certain(it, queue) && !may_be_full(plan) && may_await(it, at, queue) && may_wait(g, at);
    case TIMER:
        of->barrier = plan->barriers && one_in(g, 4);
        of->amount = 1 + (uint32_t)below(g, 3);
        return true;
    case TIMER_ELSEWHERE:
        if (one_in(g, 2) || !is_certain(it, queue) || may_be_full(plan))
            of->queue = NONE;
        of->amount = 1 + (uint32_t)below(g, 3);
        return true;
    case CANCEL_TIMER:
        of->queue = NONE;
        of->subject = earlier(g, TIMER, TIMER_ELSEWHERE);
        return of->subject != NONE;
    case CANCEL_ITEM:
        of->queue = NONE;
        of->subject = earlier(g, TASK, TASK);
        return of->subject != NONE;
    case CANCEL_QUEUE:
        return plan->cancels;
    case COMPUTE:
        of->queue = NONE;
        of->amount = (uint32_t)below(g, 400);
        return true;
    case SLEEP:
    case SAY_SLEEP:
        of->queue = NONE;
        of->amount = 1 + (uint32_t)below(g, 200);
        return !at->leaf;
    case LOOK:
        return true;
    case JOIN:
        of->queue = NONE;
        return !at->leaf && !it->stops && at->depth < 5 && counts(g, at);
    case CHILD:
        of->queue = NONE;
        of->amount = 1 + (uint32_t)below(g, 16);
        return !at->leaf && !it->stops && at->depth < 3 && counts(g, at);
    case STOP:
        of->queue = NONE;
        of->amount = time_for_a_stop(g);
        return it->stops && at->top && one_in(g, 4);
    default:
        return false;
    }
}

/* ---- trees of them ---- */

static int body(generator *g, const where *at, int most);

static int append(generator *g, const op *of)
{
    g->it->op[g->it->ops] = *of;
    return g->it->ops++;
}

static int members(generator *g, const where *at, const op *of)
{
    int first = NONE, *link = &first;

    for (int count = 1 + below(g, 4); count > 0 && g->it->ops < OPS - 1; count--) {
        op member = {.kind = MEMBER, .queue = of->queue, .group = NONE, .band = NONE, .subject = NONE,
                     .first = NONE, .next = NONE};
        int i = append(g, &member);
        bool waits = false;
        where inside = inside_closure(g->it, at, &member);

        if (of->kind == BATCH) /* in the group of all */
            g->it->op[i].group = of->group;
        inside.waits = &waits;
        int first_below = body(g, &inside, 2);
        g->it->op[i].first = first_below;
        *link = i;
        link = &g->it->op[i].next;
    }
    return first;
}

/* The branches of a join: each is one operation, with what is below it. */
static int branches(generator *g, const where *at)
{
    bool waits[4] = {false};
    int first = NONE, *link = &first;

    for (int i = 0; i < 2 + below(g, 3); i++) {
        where inside = *at;

        inside.top = false;
        inside.depth++;
        inside.forked = inside.held;
        inside.waits = &waits[i % 4];
        *link = body(g, &inside, 1);
        if (*link != NONE)
            link = &g->it->op[*link].next;
    }
    return first;
}

static int below_it(generator *g, const where *at, const op *of)
{
    bool waits = false;
    where inside = *at;

    switch (of->kind) {
    case BATCH:
    case OWN_GROUP:
        return members(g, at, of);
    case JOIN:
        return branches(g, at);
    case SYNC:
    case SYNC_BARRIER:
        inside = inside_sync(g->it, at, of);
        return body(g, &inside, 3);
    case SUSPENDED:
    case ENTERED:
    case PERMIT:
    case PERMIT_TIMED:
        inside.leaf = true;
        inside.top = false;
        inside.depth++;
        return body(g, &inside, 3);
    case TIMER:
    case TIMER_ELSEWHERE:
        inside = inside_closure(g->it, at, of);
        inside.leaf = true;
        inside.waits = &waits;
        return one_in(g, 2) ? NONE : body(g, &inside, 1);
    default:
        if (!is_closure(of->kind))
            return NONE;
        inside = inside_closure(g->it, at, of);
        inside.waits = &waits;
        return body(g, &inside, 3);
    }
}

/* What a timer calls several times runs nothing that is counted once. */
static bool is_repeatable(kind what)
{
    return what == COMPUTE || what == LOOK;
}

static int body(generator *g, const where *at, int most)
{
    int first = NONE, *link = &first;
    int count = at->top ? most : below(g, most + 1);

    if (at->depth > 6)
        return NONE;
    for (int tries = 8 * count; tries > 0 && count > 0 && g->it->ops < g->size; tries--) {
        kind what = (kind)below(g, KINDS);
        op of;

        if (!(g->enabled >> what & 1) || !choose(g, at, what, &of))
            continue;
        int i = append(g, &of);
        int first_below = below_it(g, at, &of);

        g->it->op[i].first = first_below;
        if (of.kind == TIMER || of.kind == TIMER_ELSEWHERE) {
            for (int each = first_below; each != NONE; each = g->it->op[each].next)
                g->it->op[each].gone = !is_repeatable(g->it->op[each].kind);
        }
        *link = i;
        link = &g->it->op[i].next;
        count--;
    }
    return first;
}

/* ---- what there is ---- */

static void plan_queue(generator *g, int number)
{
    queue_plan *plan = &g->it->queue[number];
    int targets = 0, candidates[QUEUES];

    *plan = (queue_plan){.target = NONE};
    plan->width = (const int32_t[]){1, 1, OD_UNLIMITED, OD_UNLIMITED, 2, 3}[below(g, 6)];
    for (int i = 0; i < number; i++)
        candidates[targets++] = i;
    if (targets > 0 && one_in(g, 2))
        plan->target = candidates[below(g, targets)];
    plan->cancels = g->enabled >> CANCEL_QUEUE & 1 && one_in(g, 2);
    plan->suspends = g->enabled >> SUSPENDED & 1 && one_in(g, 2);
    plan->barriers = plan->width != 1 && one_in(g, 2);
    plan->inactive = one_in(g, 8);
    if (one_in(g, 3)) {
        plan->pending_limit = 1 + (uint32_t)below(g, 4);
        plan->overflow = (od_overflow)below(g, 3);
    }
}

/* Thread 0 activates first of all, after what it submits without waiting. */
static int prelude(generator *g, const where *at)
{
    int first = NONE, *link = &first;

    for (int i = 0; i < g->it->queues; i++) {
        op of = {.kind = ASYNC, .queue = i, .group = group_for(g, i), .band = NONE, .subject = NONE,
                 .first = NONE, .next = NONE};

        if (!g->it->queue[i].inactive)
            continue;
        if (!may_be_full(&g->it->queue[i]) && one_in(g, 2)) {
            *link = append(g, &of);
            link = &g->it->op[*link].next;
        }
        of.kind = ACTIVATE;
        of.group = NONE;
        of.amount = one_in(g, 4) ? 1 + (uint32_t)below(g, 500) : 0;
        *link = append(g, &of);
        link = &g->it->op[*link].next;
    }
    (void)at;
    return first;
}

static void plan_resources(generator *g)
{
    program *it = g->it;

    it->queues = 1 + below(g, QUEUES);
    for (int i = 0; i < it->queues; i++)
        plan_queue(g, i);
    it->groups = below(g, GROUPS + 1);
    for (int i = 0; i < it->groups; i++)
        it->group_rank[i] = 2 * below(g, it->queues);
    it->semaphores = below(g, SEMAPHORES + 1);
    for (int i = 0; i < it->semaphores; i++)
        it->permits[i] = 1 + (uint32_t)below(g, 2);
}

static void plan_pool(generator *g)
{
    program *it = g->it;

    it->workers = 1 + below(g, 4);
    it->spares = (const int[]){0, 0, 1, 2, 64, 64}[below(g, 6)];
    it->cpus = 1 + below(g, 2);
    it->stops = g->enabled >> STOP & 1;
    it->drains = !it->stops && one_in(g, 2);
    it->strict = it->spares < 64 && one_in(g, 3);
    it->may_stall = it->spares < 64 && !it->strict && one_in(g, 256);
    g->waits_left = it->workers + it->spares - 1;
}

/* Where what comes after all of a script is put. */
static int *end_of(program *it, int *first)
{
    while (*first != NONE)
        first = &it->op[*first].next;
    return first;
}

/* Of a thread whose script is over. After a stop little else happens. */
static void stop_at_last(generator *g)
{
    op of = {.kind = STOP, .queue = NONE, .group = NONE, .band = NONE, .amount = time_for_a_stop(g),
             .subject = NONE, .first = NONE, .next = NONE};

    int i = append(g, &of);
    *end_of(g->it, &g->it->script[below(g, g->it->threads)]) = i;
}

void program_generate(program *it, uint64_t seed)
{
    generator g = {.it = it, .random = prng_for(seed, 0)};

    *it = (program){.seed = seed};
    for (int i = 0; i < KINDS; i++)
        g.enabled |= (uint64_t)!one_in(&g, i == STOP ? 16 : 3) << i;
    if (!one_in(&g, 4)) /* most is about pools that go on */
        g.enabled &= ~(UINT64_C(1) << STOP);
    plan_pool(&g);
    plan_resources(&g);
    it->threads = 1 + below(&g, THREADS);
    for (int i = 0; i < it->threads; i++) {
        bool waits = false;
        where at = {.highest = NONE, .outsider = true, .top = true, .waits = &waits};

        it->script[i] = i == 0 ? prelude(&g, &at) : NONE;
        g.size = OPS - 1 - (it->threads - 1 - i) * (OPS / 4);
        int rest = body(&g, &at, 3 + below(&g, 10));
        *end_of(it, &it->script[i]) = rest;
    }
    if (it->stops)
        stop_at_last(&g);
    (void)program_prune(it);
}
