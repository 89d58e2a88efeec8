#include "queue/injector.h"

#include "base/invariant.h"
#include "os/pages.h"

struct odi_block {
    odi_retired retired; /* first: the reclaimer hands it back */
    odi_block *next;     /* among the spares */
    odi_injector *injector;
    ODI_LINE_ALIGNED odi_slot slots[ODI_INJECTOR_BLOCK];
};

/* The tickets of one round. */
#define ROUND ((uint64_t)ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY)

/* What a block's place holds while the block serves `ticket`'s round. */
static uintptr_t occupant_of(const odi_block *block, uint64_t ticket)
{
    uint64_t round = ticket / ODI_INJECTOR_BLOCK / ODI_INJECTOR_DIRECTORY;

    return (uintptr_t)block | (uintptr_t)(round % ODI_INJECTOR_ROUNDS);
}

/* The block that serves `ticket`, or NULL when its place holds another round's or none. */
static odi_block *block_for(uintptr_t occupant, uint64_t ticket)
{
    odi_block *block = (odi_block *)(occupant & ~(uintptr_t)(ODI_INJECTOR_ROUNDS - 1));

    return block != NULL && occupant == occupant_of(block, ticket) ? block : NULL;
}

static odi_block_place *place_of(odi_injector *injector, uint64_t ticket)
{
    return &injector->directory[ticket / ODI_INJECTOR_BLOCK % ODI_INJECTOR_DIRECTORY];
}

/* ---- spare blocks ---- */

/* One of the spare blocks, if more than `leave` are there. */
static odi_block *take_spare(odi_injector *injector, uint32_t leave)
{
    odi_lock_acquire(&injector->lock);
    odi_block *block = injector->spare_count > leave ? injector->spares : NULL;
    if (block != NULL) {
        injector->spares = block->next;
        injector->spare_count--;
    }
    odi_lock_release(&injector->lock);
    return block;
}

static void trim(odi_injector *injector);

/* The reclaimer's: no consumer can be looking at the block. Its injector is there: who frees that drains the reclaimer. */
static void retirement_ends(odi_retired *retired)
{
    odi_block *block = (odi_block *)retired;
    odi_injector *injector = block->injector;

    odi_pages_free(block, sizeof *block);
    trim(injector); /* what became spare while the reclaimer was behind stayed */
}

/* What is more than some spares is retired, unless so much is retired already. */
static void trim(odi_injector *injector)
{
    odi_block *block;

    while (!odi_reclaim_is_behind() && (block = take_spare(injector, ODI_INJECTOR_SPARES)) != NULL)
        odi_retire(&block->retired, retirement_ends);
}

static void give_spare(odi_injector *injector, odi_block *block)
{
    odi_lock_acquire(&injector->lock);
    block->next = injector->spares;
    injector->spares = block;
    injector->spare_count++;
    odi_lock_release(&injector->lock);
    trim(injector);
}

/* A block with all slots zero, or NULL. */
static odi_block *block_new(odi_injector *injector)
{
    odi_block *block = take_spare(injector, 0);

    if (block == NULL) {
        block = odi_pages_new(sizeof *block, injector->node);
        if (block != NULL)
            block->injector = injector;
        return block;
    }
    /* relaxed, J2 carries it. Only the code words matter: a slot is published by its code.
     * A consumer of long ago may be looking; its CAS on head fails whatever it sees. */
    for (size_t i = 0; i < ODI_INJECTOR_BLOCK; i++)
        odi_store_relaxed(&block->slots[i].code, 0);
    return block;
}

/* ---- life ---- */

#define DIRECTORY_BYTES (ODI_INJECTOR_DIRECTORY * sizeof(odi_block_place))

/* Its directory is all zeros. */
static void begin(odi_injector *injector, uint64_t start)
{
    odi_invariant(start / ROUND % ODI_INJECTOR_ROUNDS == 0); /* the directory's zeros are that round's */
    odi_store_relaxed(&injector->tail, start); /* relaxed: nobody else knows it */
    odi_store_relaxed(&injector->head, start);
    injector->spares = NULL;
    injector->spare_count = 0;
    injector->lock = (odi_lock){0};
    injector->closed = false;
    odi_store_relaxed(&injector->listed, 0); /* relaxed: as above */
    injector->first = injector->last = NULL;
}

bool odi_injector_init(odi_injector *injector, uint64_t start, int node)
{
    injector->directory = odi_pages_reserve(DIRECTORY_BYTES);
    injector->node = node;
    begin(injector, start);
    return injector->directory != NULL;
}

void odi_injector_forked(odi_injector *injector)
{
    odi_pages_clear_reserved(injector->directory, DIRECTORY_BYTES);
    begin(injector, 0);
}

void odi_injector_free(odi_injector *injector)
{
    for (odi_block *spare; (spare = take_spare(injector, 0)) != NULL;)
        odi_pages_free(spare, sizeof *spare);
    if (injector->directory == NULL)
        return;
    /* Installed are the blocks from head's to tail's, and no other. relaxed: nobody else. */
    uint64_t head = odi_load_relaxed(&injector->head);
    uint64_t tail = odi_load_relaxed(&injector->tail);
    if (tail - head >= ODI_INJECTOR_CLOSED)
        tail -= ODI_INJECTOR_CLOSED;
    for (uint64_t block = head / ODI_INJECTOR_BLOCK; block <= tail / ODI_INJECTOR_BLOCK; block++) {
        uint64_t ticket = block * ODI_INJECTOR_BLOCK;

        odi_pages_free(
            block_for(odi_load_relaxed(&place_of(injector, ticket)->occupant), ticket),
            sizeof(odi_block));
    }
    odi_pages_free_reserved(injector->directory, DIRECTORY_BYTES);
    injector->directory = NULL;
}

/* ---- producers ---- */

/* Puts a block at the place of `ticket`, unless another producer was faster. False: no
 * memory. */
ODI_COLD static bool install(odi_injector *injector, odi_block_place *place, uint64_t ticket)
{
    uintptr_t nothing = occupant_of(NULL, ticket);
    odi_block *block = block_new(injector);

    if (block == NULL)
        return odi_load_relaxed(&place->occupant) != nothing; /* relaxed: the caller looks again */
    /* J5 on the way in: what the recycler left behind is done. J2 publishes the block. */
    if (!odi_cas_acqrel(&place->occupant, &nothing, occupant_of(block, ticket), J2))
        give_spare(injector, block);
    return true;
}

bool odi_injector_push(odi_injector *injector, odi_entry entry)
{
    uint64_t ticket = odi_load_acquire(&injector->tail, J6);

    odi_invariant(entry.code != 0);
    for (;;) {
        odi_block_place *place = place_of(injector, ticket);
        uintptr_t occupant = odi_load_acquire(&place->occupant, J2);
        odi_block *block = block_for(occupant, ticket);

        if (ODI_UNLIKELY(block == NULL)) {
            uint64_t now = odi_load_acquire(&injector->tail, J6);

            /* Not empty for this round, at the place of the very next ticket: the directory is
             * full. Somebody still has slots of the round before in hand. */
            if (now == ticket && (occupant != occupant_of(NULL, ticket) ||
                                  !install(injector, place, ticket)))
                return false;
            ticket = now;
            continue;
        }
        /* While tail is `ticket`, the block at its place serves this ticket: it cannot have
         * been consumed before it was claimed. J6 on the way in: whoever moved tail here saw
         * this block, so we do not see its place's previous one. seq_cst for S2: the ticket is
         * what spares odi_idle_signal_counted a fence. */
        if (ODI_LIKELY(odi_cas_seqcst_acquire(&injector->tail, &ticket, ticket + 1, J6))) {
            odi_slot *slot = &block->slots[ticket % ODI_INJECTOR_BLOCK];

            odi_store_relaxed(&slot->context, entry.context); /* relaxed, J1 carries it */
            odi_store_release(&slot->code, entry.code, J1);
            return true;
        }
    }
}

/* relaxed: who comes too late for it loses its CAS, and finds what stands before the close by the
 * heavy fence that its caller has there */
void odi_injector_close(odi_injector *injector)
{
    odi_add_relaxed(&injector->tail, ODI_INJECTOR_CLOSED);
    odi_lock_acquire(&injector->lock);
    injector->closed = true;
    odi_lock_release(&injector->lock);
}

bool odi_injector_is_used_up(odi_injector *injector)
{
    /* relaxed, all: the tickets are given, and head passes them all */
    return odi_load_relaxed(&injector->tail) - odi_load_relaxed(&injector->head) == ODI_INJECTOR_CLOSED &&
           odi_load_relaxed(&injector->listed) == 0;
}

/* ---- nodes ---- */

ODI_COLD bool odi_injector_push_node(odi_injector *injector, odi_entry entry, odi_entry_node *node)
{
    odi_entry_node_fill(node, entry);
    odi_lock_acquire(&injector->lock);
    bool open = !injector->closed;
    if (open) {
        if (injector->first == NULL)
            injector->first = &node->link;
        else
            injector->last->next = &node->link;
        injector->last = &node->link;
        /* seq_cst for S2, as a ticket is. */
        odi_add_seqcst(&injector->listed, 1, S2);
    }
    odi_lock_release(&injector->lock);
    return open;
}

ODI_COLD static size_t claim_node(odi_injector *injector, odi_entry *entry)
{
    odi_lock_acquire(&injector->lock);
    odi_link *first = injector->first;
    if (first != NULL) {
        injector->first = first->next;
        *entry = *odi_link_entries(first);
        odi_add_relaxed(&injector->listed, (uint32_t)-1); /* relaxed: locked */
    }
    odi_lock_release(&injector->lock);
    return first != NULL;
}

/* ---- consumers ---- */

/* Reads the published slots from `head` on. Returns how many. */
static size_t look(odi_injector *injector, uint64_t head, odi_entry *entries, size_t most)
{
    uint64_t tail = odi_load_acquire(&injector->tail, J6);
    uint64_t offset = head % ODI_INJECTOR_BLOCK;
    size_t count = 0;

    if (tail <= head)
        return 0;
    odi_block *block =
        block_for(odi_load_acquire(&place_of(injector, head)->occupant, J2), head);
    if (block == NULL)
        return 0; /* head moved past this block meanwhile */
    if (most > tail - head)
        most = tail - head;
    if (most > ODI_INJECTOR_BLOCK - offset)
        most = ODI_INJECTOR_BLOCK - offset;
    for (; count < most; count++) {
        odi_slot *slot = &block->slots[offset + count];

        entries[count].code = odi_load_acquire(&slot->code, J1);
        if (entries[count].code == 0)
            break; /* claimed and not yet written */
        entries[count].context = odi_load_relaxed(&slot->context); /* relaxed, J1 carries it */
    }
    return count;
}

/* Looks from *head on. Finding nothing there means nothing if head has moved meanwhile: its
 * block may serve another round by now. */
static size_t look_from(odi_injector *injector, uint64_t *head, odi_entry *entries, size_t most)
{
    for (;;) {
        size_t count = look(injector, *head, entries, most);
        uint64_t now = odi_load_relaxed(&injector->head); /* relaxed, rechecked by the CAS */

        if (count > 0 || now == *head)
            return count;
        *head = now;
    }
}

/* `count` slots from `ticket` on are done with; the block's last one recycles it. */
static void consumed(odi_injector *injector, uint64_t ticket, size_t count)
{
    odi_block_place *place = place_of(injector, ticket);

    if (ODI_LIKELY(odi_add_acqrel(&place->consumed, count, J4) + count < ODI_INJECTOR_BLOCK))
        return;

    /* relaxed: look() has acquired it (J2), and it stays while slots of it are in hand */
    odi_block *block = block_for(odi_load_relaxed(&place->occupant), ticket);
    odi_store_relaxed(&place->consumed, 0); /* relaxed, J5 carries it */
    /* Empty for the round to come, so that a producer of this round, late with a block, finds
     * that it is not its turn. */
    odi_store_release(&place->occupant, occupant_of(NULL, ticket + ROUND), J5);
    give_spare(injector, block);
}

size_t odi_injector_claim(odi_injector *injector, odi_entry *entries, size_t most)
{
    uint64_t head = odi_load_relaxed(&injector->head); /* relaxed, rechecked by the CAS */
    size_t count;

    /* relaxed: a hint, the lock decides */
    if (ODI_UNLIKELY(odi_load_relaxed(&injector->listed) > 0) && claim_node(injector, entries) > 0)
        return 1;
    /* A failed CAS has loaded the new head; each failure is another consumer's success. */
    while ((count = look_from(injector, &head, entries, most)) > 0) {
        /* J3, relaxed: it only decides who wins. What was read is covered by J6 and J1, and
         * that the reading is over by J4. */
        if (odi_cas_relaxed(&injector->head, &head, head + count)) {
            consumed(injector, head, count);
            return count;
        }
    }
    return 0;
}

bool odi_injector_has_claimable(odi_injector *injector)
{
    uint64_t head = odi_load_relaxed(&injector->head); /* relaxed: the caller's fence */
    odi_entry oldest;

    /* relaxed: the caller's fence */
    return odi_load_relaxed(&injector->listed) > 0 || look_from(injector, &head, &oldest, 1) > 0;
}
