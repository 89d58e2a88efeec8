/* wheel.h — what is due next among a million: a hierarchical timing wheel.
 *
 * Varghese and Lauck, "Hashed and hierarchical timing wheels" (SOSP 1987), schemes 6 and 7.
 * Time is counted in ticks of 1024 ns and written in digits of 6 bits. A node stands in the
 * level of the highest digit in which its tick differs from the wheel's own time `at`, in the
 * slot of that digit. So all of a level comes before all of the next, the slots of a level
 * come in the order of their digits, and the next node is found by two bit scans.
 *
 * A slot is spread over the levels below it when the earliest of its nodes is due, not when
 * its time begins: until then it is known by that node's tick (`least`), so that nobody wakes
 * for a slot. Nodes of one tick are always in one slot, in the order in which they were armed.
 *
 * Owns     the nodes between arm and take or cancel.
 * Never    reads a clock, locks, or knows what a node is for.
 * Threads  one at a time: the caller's lock. A zeroed wheel is an empty one.
 */
#ifndef ODI_TIMER_WHEEL_H
#define ODI_TIMER_WHEEL_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { ODI_WHEEL_DIGIT = 6, ODI_WHEEL_SLOTS = 1 << ODI_WHEEL_DIGIT, ODI_WHEEL_LEVELS = 9 };

/* Ticks are below this; it is also what an empty wheel says is next. */
#define ODI_WHEEL_NEVER (UINT64_C(1) << ODI_WHEEL_DIGIT * ODI_WHEEL_LEVELS)

typedef struct odi_wheel_node {
    struct odi_wheel_node *next, *previous;
    uint64_t tick; /* as armed, or the wheel's time if that was later */
} odi_wheel_node;

typedef struct {
    odi_wheel_node *first, *last;
    uint64_t least; /* no node's tick is below this; exact unless the first due was cancelled */
} odi_wheel_slot;

typedef struct {
    uint64_t at; /* no node is due before this */
    uint64_t count;
    uint32_t levels;                  /* that hold something */
    uint64_t taken[ODI_WHEEL_LEVELS]; /* slots that do */
    odi_wheel_slot slots[ODI_WHEEL_LEVELS][ODI_WHEEL_SLOTS];
} odi_wheel;

/* Puts a node in; `now` lets the wheel's time catch up. A tick in the past is due at once. */
void odi_wheel_arm(odi_wheel *wheel, odi_wheel_node *node, uint64_t tick, uint64_t now);

/* Takes a node out that is in. */
void odi_wheel_cancel(odi_wheel *wheel, odi_wheel_node *node);

/* Takes the earliest node out, if its tick is `now` or before: in the order of ticks, and of
 * one tick in the order of arming. NULL: nothing is due. */
odi_wheel_node *odi_wheel_take(odi_wheel *wheel, uint64_t now);

/* No node's tick is below this; ODI_WHEEL_NEVER when there is none. */
uint64_t odi_wheel_next(const odi_wheel *wheel);

/* Takes everything out, as a list by `next`. */
odi_wheel_node *odi_wheel_empty(odi_wheel *wheel);

#pragma GCC visibility pop

#endif
