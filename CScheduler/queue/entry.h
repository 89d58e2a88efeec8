/* entry.h — what the queues move: two words whose meaning they do not know. */
#ifndef ODI_QUEUE_ENTRY_H
#define ODI_QUEUE_ENTRY_H

#include <stdint.h>

#include "base/atomic.h"

#pragma GCC visibility push(hidden)

/* `code` is never zero in a queued entry: zero marks a slot that is not published yet. */
typedef struct {
    uint64_t code;
    uint64_t context;
} odi_entry;

/* The same two words in a ring or a block, where several threads may look at once. They are
 * atomic so that a look that comes too early or too late is a stale value, not a data race;
 * which value counts is decided by the indices. */
typedef struct {
    odi_atomic(uint64_t) code;
    odi_atomic(uint64_t) context;
} odi_slot;

#pragma GCC visibility pop

#endif
