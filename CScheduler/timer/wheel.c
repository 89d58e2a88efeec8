/* wheel.c — the hierarchical timing wheel; wheel.h states the algorithm. The caller holds the wheel's lock. */
#include "timer/wheel.h"

#include <stddef.h>

#include "base/invariant.h"

static int level_of(const odi_wheel *wheel, uint64_t tick)
{
    uint64_t differs = wheel->at ^ tick;

    return differs == 0 ? 0 : (63 - __builtin_clzll(differs)) / ODI_WHEEL_DIGIT;
}

static int digit(uint64_t tick, int level)
{
    return (int)(tick >> level * ODI_WHEEL_DIGIT) & (ODI_WHEEL_SLOTS - 1);
}

/* Returns the first tick of a slot, which is never before the wheel's time. */
static uint64_t begin_of(const odi_wheel *wheel, int level, int slot)
{
    int above = (level + 1) * ODI_WHEEL_DIGIT;

    return wheel->at >> above << above | (uint64_t)slot << level * ODI_WHEEL_DIGIT;
}

/* Returns the first nonempty slot. The wheel must not be empty. */
static odi_wheel_slot *first_slot(const odi_wheel *wheel, int *level, int *slot)
{
    *level = __builtin_ctz(wheel->levels);
    *slot = __builtin_ctzll(wheel->taken[*level]);
    return (odi_wheel_slot *)&wheel->slots[*level][*slot];
}

static void mark_empty(odi_wheel *wheel, int level, int slot)
{
    wheel->taken[level] &= ~(UINT64_C(1) << slot);
    if (wheel->taken[level] == 0)
        wheel->levels &= ~(1u << level);
}

static void put(odi_wheel *wheel, odi_wheel_node *node)
{
    int level = level_of(wheel, node->tick), index = digit(node->tick, level);
    odi_wheel_slot *slot = &wheel->slots[level][index];

    node->next = NULL;
    node->previous = slot->last;
    if (slot->last != NULL) {
        slot->last->next = node;
        if (node->tick < slot->least)
            slot->least = node->tick;
    } else {
        slot->first = node;
        slot->least = node->tick;
        wheel->taken[level] |= UINT64_C(1) << index;
        wheel->levels |= 1u << level;
    }
    slot->last = node;
}

/* Advances the wheel's time, at most to the beginning of the first slot. This changes no node's highest
 * differing digit. */
static void catch_up(odi_wheel *wheel, uint64_t now)
{
    int level, slot;

    if (now <= wheel->at)
        return;
    if (wheel->levels != 0) {
        (void)first_slot(wheel, &level, &slot);
        uint64_t begin = begin_of(wheel, level, slot);

        if (begin <= now)
            return;
    }
    wheel->at = now;
}

void odi_wheel_arm(odi_wheel *wheel, odi_wheel_node *node, uint64_t tick, uint64_t now)
{
    odi_invariant(tick < ODI_WHEEL_NEVER && now < ODI_WHEEL_NEVER);
    catch_up(wheel, now);
    node->tick = tick < wheel->at ? wheel->at : tick;
    wheel->count++;
    put(wheel, node);
}

void odi_wheel_cancel(odi_wheel *wheel, odi_wheel_node *node)
{
    int level = level_of(wheel, node->tick), index = digit(node->tick, level);
    odi_wheel_slot *slot = &wheel->slots[level][index];

    if (node->previous != NULL)
        node->previous->next = node->next;
    else
        slot->first = node->next;
    if (node->next != NULL)
        node->next->previous = node->previous;
    else
        slot->last = node->previous;
    if (slot->first == NULL)
        mark_empty(wheel, level, index);
    wheel->count--;
}

/* Distributes the first slot over the lower levels. */
static void spread(odi_wheel *wheel, int level, int index)
{
    odi_wheel_slot *slot = &wheel->slots[level][index];
    odi_wheel_node *node = slot->first;

    wheel->at = begin_of(wheel, level, index);
    slot->first = slot->last = NULL;
    mark_empty(wheel, level, index);
    while (node != NULL) {
        odi_wheel_node *next = node->next;

        put(wheel, node);
        node = next;
    }
}

odi_wheel_node *odi_wheel_take(odi_wheel *wheel, uint64_t now)
{
    int level, index;

    while (wheel->levels != 0) {
        odi_wheel_slot *slot = first_slot(wheel, &level, &index);

        if (slot->least > now)
            break;
        if (level > 0) {
            spread(wheel, level, index);
            continue;
        }
        odi_wheel_node *node = slot->first;

        wheel->at = node->tick;
        odi_wheel_cancel(wheel, node);
        return node;
    }
    return NULL;
}

uint64_t odi_wheel_next(const odi_wheel *wheel)
{
    int level, slot;

    return wheel->levels == 0 ? ODI_WHEEL_NEVER : first_slot(wheel, &level, &slot)->least;
}

odi_wheel_node *odi_wheel_empty(odi_wheel *wheel)
{
    odi_wheel_node *all = NULL;
    int level, index;

    while (wheel->levels != 0) {
        odi_wheel_slot *slot = first_slot(wheel, &level, &index);

        slot->last->next = all;
        all = slot->first;
        slot->first = slot->last = NULL;
        mark_empty(wheel, level, index);
    }
    wheel->count = 0;
    return all;
}
