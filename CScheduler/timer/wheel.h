/* wheel.h — a hierarchical timing wheel: finds the earliest of a million timers.
 *
 * The algorithm is Varghese and Lauck, "Hashed and hierarchical timing wheels" (SOSP 1987), schemes 6 and 7.
 * Time is counted in ticks of 1024 ns and written in digits of 6 bits. A node's level is the highest digit in
 * which its tick differs from the wheel's time `at`. Its slot is the value of that digit. Nodes of a level
 * therefore come before those of the next level, and slots are in the order of their digits. Two bit scans
 * find the next node.
 *
 * A slot is distributed over the lower levels when its earliest node is due, not when its time begins. Until
 * then its `least` holds that node's tick, so no thread wakes for a slot. Nodes of one tick are always in one
 * slot, in the order in which they were armed.
 *
 * Owns     the nodes between arm and take or cancel.
 * Never    reads a clock, takes a lock, or knows the purpose of a node.
 * Threads  one at a time, under the caller's lock. A zeroed wheel is empty.
 */
#ifndef ODI_TIMER_WHEEL_H
#define ODI_TIMER_WHEEL_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { ODI_WHEEL_DIGIT = 6, ODI_WHEEL_SLOTS = 1 << ODI_WHEEL_DIGIT, ODI_WHEEL_LEVELS = 9 };

/* All ticks are below this value, which also means that a wheel is empty. */
#define ODI_WHEEL_NEVER (UINT64_C(1) << ODI_WHEEL_DIGIT * ODI_WHEEL_LEVELS)

typedef struct odi_wheel_node {
    struct odi_wheel_node *next, *previous;
    uint64_t tick; /* as armed, or the wheel's time if that was later */
} odi_wheel_node;

typedef struct {
    odi_wheel_node *first, *last;
    uint64_t least; /* lower bound of the nodes' ticks; exact unless the earliest node was cancelled */
} odi_wheel_slot;

typedef struct {
    uint64_t at; /* no node is due before this tick */
    uint64_t count;
    uint32_t levels;                  /* bit set of nonempty levels */
    uint64_t taken[ODI_WHEEL_LEVELS]; /* bit sets of nonempty slots */
    odi_wheel_slot slots[ODI_WHEEL_LEVELS][ODI_WHEEL_SLOTS];
} odi_wheel;

/* Adds a node; `now` lets the wheel's time advance. A tick in the past is due immediately. */
void odi_wheel_arm(odi_wheel *wheel, odi_wheel_node *node, uint64_t tick, uint64_t now);

/* Removes an armed node. */
void odi_wheel_cancel(odi_wheel *wheel, odi_wheel_node *node);

/* Removes the earliest node if its tick is at most `now`. Nodes come in the order of ticks, and within a tick
 * in the order of arming. Returns NULL if no node is due. */
odi_wheel_node *odi_wheel_take(odi_wheel *wheel, uint64_t now);

/* Returns a lower bound of all ticks, or ODI_WHEEL_NEVER if the wheel is empty. */
uint64_t odi_wheel_next(const odi_wheel *wheel);

/* Removes all nodes and returns them as a list by `next`. */
odi_wheel_node *odi_wheel_empty(odi_wheel *wheel);

#pragma GCC visibility pop

#endif
