/* injector.c — the pool's queue for jobs of external threads; injector.h states the algorithm, its edges and
 * its invariants. */
#include "queue/injector.h"

#include "base/invariant.h"
#include "os/pages.h"

struct odi_block {
    odi_retired retired; /* first member: the reclaimer returns this address */
    odi_block *next;     /* link of the spare list */
    odi_injector *injector;
    ODI_LINE_ALIGNED odi_slot slots[ODI_INJECTOR_BLOCK];
};

/* Tickets of one round of the directory. */
#define ROUND ((uint64_t)ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY)

/* Returns the value of a place while `block` serves the round of `ticket`. */
static uintptr_t occupant_of(const odi_block *block, uint64_t ticket)
{
    uint64_t round = ticket / ODI_INJECTOR_BLOCK / ODI_INJECTOR_DIRECTORY;

    return (uintptr_t)block | (uintptr_t)(round % ODI_INJECTOR_ROUNDS);
}

/* Returns the block that serves `ticket`, or NULL if its place holds no block or another round. */
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

/* Takes one spare block if more than `leave` exist. */
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

/* Called by the reclaimer: no consumer can read the block. The injector still exists, because its destroyer
 * drains the reclaimer first. */
static void retirement_ends(odi_retired *retired)
{
    odi_block *block = (odi_block *)retired;
    odi_injector *injector = block->injector;

    odi_pages_free(block, sizeof *block);
    trim(injector); /* blocks that became spare while the reclaimer was behind were kept */
}

/* Retires surplus spares, unless too many objects wait for the reclaimer. */
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

/* Returns a block with all slots zero, or NULL. */
static odi_block *block_new(odi_injector *injector)
{
    odi_block *block = take_spare(injector, 0);

    if (block == NULL) {
        block = odi_pages_new(sizeof *block, injector->node);
        if (block != NULL)
            block->injector = injector;
        return block;
    }
    /* relaxed, J2 carries it. Only the code words matter, because a slot is published by its code. A very
     * late consumer may read the block; its CAS on head fails whatever it reads. */
    for (size_t i = 0; i < ODI_INJECTOR_BLOCK; i++)
        odi_store_relaxed(&block->slots[i].code, 0);
    return block;
}

/* ---- life ---- */

#define DIRECTORY_BYTES (ODI_INJECTOR_DIRECTORY * sizeof(odi_block_place))

/* The directory must be all zeros. */
static void begin(odi_injector *injector, uint64_t start)
{
    odi_invariant(start / ROUND % ODI_INJECTOR_ROUNDS == 0); /* zeros in the directory mean this round */
    odi_store_relaxed(&injector->tail, start); /* relaxed: no other thread knows the injector */
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
    /* Blocks are installed from head's to tail's block only. relaxed: no other thread uses the injector. */
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

/* Installs a block at the place of `ticket`, unless another producer was faster. Returns false if out of
 * memory. */
ODI_COLD static bool install(odi_injector *injector, odi_block_place *place, uint64_t ticket)
{
    uintptr_t nothing = occupant_of(NULL, ticket);
    odi_block *block = block_new(injector);

    if (block == NULL)
        return odi_load_relaxed(&place->occupant) != nothing; /* relaxed, rechecked by the caller */
    /* Acquires J5: the recycler has finished with the place. J2 publishes the block. */
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

            /* If the place of the very next ticket is not empty for this round, the directory is full. Some
             * consumer still holds slots of the previous round. */
            if (now == ticket && (occupant != occupant_of(NULL, ticket) ||
                                  !install(injector, place, ticket)))
                return false;
            ticket = now;
            continue;
        }
        /* While tail equals `ticket`, the block at the place serves this ticket: it cannot be consumed before
         * it is claimed. J6 on entry: the producer that moved tail here saw this block, so this thread does
         * not see the previous one. seq_cst for S2: the ticket spares odi_idle_signal_counted a fence. */
        if (ODI_LIKELY(odi_cas_seqcst_acquire(&injector->tail, &ticket, ticket + 1, J6))) {
            odi_slot *slot = &block->slots[ticket % ODI_INJECTOR_BLOCK];

            odi_store_relaxed(&slot->context, entry.context); /* relaxed, J1 carries it */
            odi_store_release(&slot->code, entry.code, J1);
            return true;
        }
    }
}

/* relaxed: a producer that comes too late loses its CAS. The caller's heavy fence makes all pushes before the
 * close visible. */
void odi_injector_close(odi_injector *injector)
{
    odi_add_relaxed(&injector->tail, ODI_INJECTOR_CLOSED);
    odi_lock_acquire(&injector->lock);
    injector->closed = true;
    odi_lock_release(&injector->lock);
}

bool odi_injector_is_used_up(odi_injector *injector)
{
    /* relaxed, all: the last ticket has been claimed, and head only grows */
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
        /* seq_cst for S2, like a ticket's CAS. */
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

/* Reads the published slots from `head` on. Returns their number. */
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
        return 0; /* head has moved past this block in between */
    if (most > tail - head)
        most = tail - head;
    if (most > ODI_INJECTOR_BLOCK - offset)
        most = ODI_INJECTOR_BLOCK - offset;
    for (; count < most; count++) {
        odi_slot *slot = &block->slots[offset + count];

        entries[count].code = odi_load_acquire(&slot->code, J1);
        if (entries[count].code == 0)
            break; /* claimed, but not written yet */
        entries[count].context = odi_load_relaxed(&slot->context); /* relaxed, J1 carries it */
    }
    return count;
}

/* Reads from *head on. An empty result counts only if head has not moved: otherwise the block may serve
 * another round by now. */
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

/* Counts `count` slots from `ticket` on as consumed; the thread that consumes the block's last slot recycles
 * the block. */
static void consumed(odi_injector *injector, uint64_t ticket, size_t count)
{
    odi_block_place *place = place_of(injector, ticket);

    if (ODI_LIKELY(odi_add_acqrel(&place->consumed, count, J4) + count < ODI_INJECTOR_BLOCK))
        return;

    /* relaxed: look() has acquired it (J2), and the block stays installed while some slots are not consumed */
    odi_block *block = block_for(odi_load_relaxed(&place->occupant), ticket);
    odi_store_relaxed(&place->consumed, 0); /* relaxed, J5 carries it */
    /* Marks the place empty for the next round. A late producer of this round then sees that the place serves
     * another round. */
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
        /* J3, relaxed: it decides only who wins. J6 and J1 cover the reads, and J4 their end. */
        if (odi_cas_relaxed(&injector->head, &head, head + count)) {
            consumed(injector, head, count);
            return count;
        }
    }
    return 0;
}

bool odi_injector_has_claimable(odi_injector *injector)
{
    uint64_t head = odi_load_relaxed(&injector->head); /* relaxed: the caller's fence orders it */
    odi_entry oldest;

    /* relaxed: the caller's fence orders it */
    return odi_load_relaxed(&injector->listed) > 0 || look_from(injector, &head, &oldest, 1) > 0;
}
