/* earmark.c — earmarked permits of a target: admits the drain requests and sync callers that a waiting holder
 * depends on. settle.c, callers.c and drain.c call it with the target's lock held. The file takes no queue
 * lock. */
#include "gate/earmark.h"

#include "gate/pass.h"

/* ---- holders and callers that may continue ---- */

/* Lets a holder continue if a permit is available. A called drainer that no worker runs gives up its permit,
 * so the holder does not depend on a worker. */
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

/* Returns the link to the next queue with an earmarked drain request, or the list's end. */
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

/* Returns the link to the queue, or (NULL) the list's end. */
static od_queue **link_to(od_queue *queue, const od_queue *awaited)
{
    od_queue **link = &queue->more->first_awaited;

    while (*link != awaited)
        link = &(*link)->more->next_awaited;
    return link;
}

static void put_last(od_queue *queue, od_queue *awaited)
{
    *link_to(queue, NULL) = awaited;
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
    put_last(queue, awaited); /* the queues are served in rotation */
    return true;
}

bool odi_earmark_return(od_queue *queue, odi_wait_node *holder)
{
    if (come_back(queue))
        return true;
    odi_store_relaxed(&holder->granted, 0); /* relaxed: the lock carries it */
    odi_wait_list_append(&queue->more->back, holder);
    queue->gate.returning++;
    return false;
}

/* ---- awaited queues ---- */

void odi_earmark_line_up(od_queue *queue, odi_wait_node *caller)
{
    odi_queue_more *through = ODI_UNLIKELY(caller->through != NULL) ? caller->through->more : NULL;

    if (through != NULL && through->awaited > 0) {
        odi_wait_list_append(&through->callers, caller);
        return;
    }
    (void)odi_inbox_add(&queue->inbox, odi_wait_node_entry(caller), &caller->node);
    if (through != NULL)
        through->callers_in_line++;
}

static bool goes_through(const void *awaited, odi_entry entry)
{
    return odi_is_wait_node(entry) && odi_wait_node_of(entry)->through == awaited;
}

/* Moves the queue's callers out of the target's wait queue. */
static void take_out(od_queue *awaited, odi_fifo *line)
{
    odi_fifo_sieve sieve = {.takes = goes_through, .of = awaited};

    do {
        sieve.count = 0;
        odi_fifo_sift(line, &sieve);
        awaited->more->callers_in_line -= sieve.count;
        for (uint32_t each = 0; each < sieve.count; each++)
            odi_wait_list_append(&awaited->more->callers, odi_wait_node_of(sieve.entries[each]));
    } while (sieve.count == ODI_SIEVE_MOST);
}

void odi_earmark_begin(od_queue *queue, od_queue *awaited)
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

void odi_earmark_end(od_queue *queue, od_queue *awaited)
{
    if (awaited->more->awaited == 0 || --awaited->more->awaited > 0) /* 0 in a forked child */
        return;
    *link_to(queue, awaited) = awaited->more->next_awaited;
    if (awaited->more->pass_is_ahead) /* its drainer has a request in the wait queue, or gets one */
        awaited->more->pass_is_ahead = awaited->more->pass_ahead_is_out = false;
    while (awaited->more->callers.first != NULL)
        odi_earmark_line_up(queue, odi_wait_list_take(&awaited->more->callers));
}
