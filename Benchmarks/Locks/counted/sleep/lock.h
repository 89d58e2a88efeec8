/* lock.h — the engine's lock, and beside it counts of who takes it, for Benchmarks/Locks: this folder stands before the
 * engine's in the include path. */
#ifndef LOCKS_COUNTED_LOCK_H
#define LOCKS_COUNTED_LOCK_H

#include "../../../../CScheduler/sleep/lock.h"

/* A place in the source where a lock is taken; places that call it by the same expression are counted as one. */
typedef struct locks_site {
    const char *name;
    odi_atomic(int) number; /* 0: not taken yet */
} locks_site;

void locks_acquire(odi_lock *lock, locks_site *site);
void locks_release(odi_lock *lock);

#define odi_lock_acquire(lock)                       \
    do {                                             \
        static locks_site locks_here = {.name = #lock};\
        locks_acquire((lock), &locks_here);          \
    } while (0)
#define odi_lock_release(lock) locks_release(lock)

#endif
