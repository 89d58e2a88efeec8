/* entry.h — an entry: two words that the queues move without knowing their meaning. */
#ifndef ODI_QUEUE_ENTRY_H
#define ODI_QUEUE_ENTRY_H

#include <stdint.h>

#include "base/atomic.h"

#pragma GCC visibility push(hidden)

/* `code` is never zero in a queued entry: zero marks an unpublished slot. */
typedef struct {
    uint64_t code;
    uint64_t context;
} odi_entry;

/* An entry in a ring or a block, where several threads may read it at once. The words are atomic, so that an
 * early or late read gives a stale value and not a data race. The indices decide which value counts. */
typedef struct {
    odi_atomic(uint64_t) code;
    odi_atomic(uint64_t) context;
} odi_slot;

#pragma GCC visibility pop

#endif
