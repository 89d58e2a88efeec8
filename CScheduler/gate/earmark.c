#include "gate/earmark.h"

#include "gate/target.h"

/* ---- what a thread holds ---- */

bool odi_scopes_hold(const od_scope *scope, const od_queue *queue)
{
    for (; scope != NULL; scope = scope->outer) {
        for (od_queue *each = scope->queue; scope->holds_place && each != NULL && each != scope->beyond;
             each = odi_target_gate(each)) {
            if (each == queue)
                return true;
        }
    }
    return false;
}

/* ---- who may go on: lock held ---- */

/* A drainer that no worker runs at this moment gives its permit up, if there is one: nobody needs a
 * worker to go on. */
static bool come_back(od_queue *queue)
{
    bool gave_up, comes = odi_gate_return(&queue->gate, queue->drainers_waiting > 0, &gave_up);

    queue->drainers_waiting -= gave_up;
    return comes;
}

static void let_callers_in(od_queue *queue, od_queue *awaited)
{
    while (awaited->more->callers.first != NULL && odi_gate_enter_earmarked(&queue->gate))
        odi_wait_node_grant(odi_wait_list_take(&awaited->more->callers));
}

ODI_COLD void odi_earmark_settle(od_queue *queue)
{
    odi_gate_recount(&queue->gate);
    while (queue->more->back.first != NULL && come_back(queue)) {
        queue->gate.returning--;
        odi_wait_node_grant(odi_wait_list_take(&queue->more->back));
    }
    for (od_queue *each = queue->more->first_awaited; each != NULL; each = each->more->next_awaited)
        let_callers_in(queue, each);
}

/* What points to the next queue of which a pass is ahead, if there is one. */
static od_queue **next_ahead(od_queue *queue)
{
    od_queue **link = &queue->more->first_awaited;

    while (*link != NULL && !(*link)->more->pass_is_ahead)
        link = &(*link)->more->next_awaited;
    return link;
}

bool odi_earmark_has_pass(od_queue *queue)
{
    return *next_ahead(queue) != NULL;
}

static void put_last(od_queue *queue, od_queue *awaited)
{
    od_queue **link = &queue->more->first_awaited;

    while (*link != NULL)
        link = &(*link)->more->next_awaited;
    *link = awaited;
    awaited->more->next_awaited = NULL;
}

ODI_COLD bool odi_earmark_pop(od_queue *queue, odi_entry *pass)
{
    od_queue **link = next_ahead(queue), *awaited = *link;

    if (awaited == NULL || !odi_gate_may_take_earmarked(&queue->gate))
        return false;
    awaited->more->pass_is_ahead = false;
    *pass = odi_queue_pass(awaited, (odi_pass){awaited->band, false});
    *link = awaited->more->next_awaited;
    put_last(queue, awaited); /* each of them in turn */
    return true;
}

/* ---- whom is waited for: both locks held ---- */

void odi_earmark_list(odi_wait_node *caller)
{
    odi_wait_list_append(&caller->through->more->callers, caller);
}

static bool goes_through(const void *awaited, odi_entry entry)
{
    return odi_is_wait_node(entry) && odi_wait_node_of(entry)->through == awaited;
}

/* Takes its callers out of the target's line. */
static void take_out(od_queue *awaited, odi_fifo *line)
{
    odi_fifo_sieve sieve = {.takes = goes_through, .of = awaited};

    do {
        sieve.count = 0;
        odi_fifo_sift(line, &sieve);
        awaited->more->callers_in_line -= sieve.count;
        for (uint32_t each = 0; each < sieve.count; each++)
            odi_earmark_list(odi_wait_node_of(sieve.entries[each]));
    } while (sieve.count == ODI_SIEVE_MOST);
}

static void begin_waiting(od_queue *queue, od_queue *awaited)
{
    if (awaited->more->awaited++ > 0)
        return;
    put_last(queue, awaited);
    if (awaited->more->callers_in_line > 0) {
        take_out(awaited, &queue->line);
        odi_lock_acquire(&queue->inbox.lock);
        take_out(awaited, &queue->inbox.fifo);
        /* relaxed: locked */
        odi_store_relaxed(&queue->inbox.waiting, (uint32_t)queue->inbox.fifo.count);
        odi_lock_release(&queue->inbox.lock);
    }
}

/* What is left of its callers goes into the target's line. Returns whether there are such. */
static bool end_waiting(od_queue *queue, od_queue *awaited)
{
    od_queue **link = &queue->more->first_awaited;

    if (awaited->more->awaited == 0 || --awaited->more->awaited > 0) /* 0: in a forked child */
        return false;
    while (*link != awaited)
        link = &(*link)->more->next_awaited;
    *link = awaited->more->next_awaited;
    if (awaited->more->pass_is_ahead) /* its drainer has one in the line, or gets it */
        awaited->more->pass_is_ahead = awaited->more->pass_ahead_is_out = false;
    bool has_callers = awaited->more->callers.first != NULL;
    while (awaited->more->callers.first != NULL)
        odi_queue_line_up_caller(queue, odi_wait_list_take(&awaited->more->callers));
    return has_callers;
}

/* ---- earmarking and taking back ---- */

/* Both locks held; releases them. What notifications may come of is last: one that stops the pool waits for
 * every drainer that has been called. */
static void settle_both(od_queue *awaited, od_queue *queue)
{
    odi_settlement settlement = odi_queue_settle(queue);
    odi_lock_release(&queue->watch.lock);
    odi_settlement passes = odi_queue_settle(awaited);
    odi_lock_release(&awaited->watch.lock);
    odi_queue_start_drainers(queue, settlement.passes, settlement.band);
    odi_queue_carry_out(awaited, passes);
    odi_reserved_give_back(settlement.reserved);
}

/* What lies in the target's line for it counts no more: its drainers get another pass, and the one that
 * comes up late finds nobody. */
static void give(od_queue *awaited, od_queue *queue)
{
    odi_lock_acquire(&awaited->watch.lock);
    odi_lock_acquire(&queue->watch.lock);
    begin_waiting(queue, awaited);
    queue->gate.earmarks++;
    odi_queue_take_back(queue); /* the drainer that is here goes on no further */
    settle_both(awaited, queue);
}

static void want_back(od_queue *queue, odi_wait_node *holder_back)
{
    odi_store_relaxed(&holder_back->granted, 0); /* relaxed: the lock carries it */
    odi_wait_list_append(&queue->more->back, holder_back);
    queue->gate.returning++;
}

static void take_back(od_queue *awaited, od_queue *queue)
{
    odi_wait_node mine = {0};

    odi_lock_acquire(&awaited->watch.lock);
    odi_lock_acquire(&queue->watch.lock);
    bool has_callers = end_waiting(queue, awaited);
    bool at_once = come_back(queue);
    if (!at_once)
        want_back(queue, &mine);
    settle_both(awaited, queue);
    if (has_callers) /* who has a permit then gives nothing back: see callers.c */
        odi_queue_return_reserved(queue);
    if (at_once)
        return;
    odi_queue_await_grant(queue, &mine, "for its place of"); /* ended by: odi_earmark_settle */
}

/* A bit for each line of the chain says which of its places was earmarked. */
void odi_earmark_give(odi_earmarks *earmarks)
{
    uint32_t place = 1;

    earmarks->given = 0;
    for (od_queue *below = earmarks->awaited, *each; place != 0 && od_queue_is_active(below);
         below = each, place <<= 1) {
        each = odi_target_gate(below);
        if (each == NULL)
            break;
        if (!odi_scopes_hold(odi_scopes, each))
            continue;
        give(below, each);
        earmarks->given |= place;
    }
}

/* In the order in which all who need several take them: outwards. */
void odi_earmark_take_back(odi_earmarks *earmarks)
{
    od_queue *below = earmarks->awaited, *each;

    for (uint32_t given = earmarks->given; given != 0; below = each, given >>= 1) {
        each = odi_target_gate(below);
        if (given & 1)
            take_back(below, each);
    }
}
