/* overflow.h — reports a stack overflow with a sentence before the process ends.
 *
 * A watched thread (begin) that touches the guard below its stack runs a signal handler on a separate stack.
 * The handler writes the sentence, restores the previous SIGSEGV action, and lets the access fault again.
 * Debuggers and crash reporters therefore see the original fault. Threads outside the engine overflow as
 * without it.
 *
 * A thread's fork stack ends at a guard as well: `watch` adds a test for such an area, with its own sentence.
 *
 * Owns     the process's SIGSEGV action from the first `begin` on; passes unrelated faults on.
 * Threads  begin, end: the thread itself.
 */
#ifndef ODI_OS_OVERFLOW_H
#define ODI_OS_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Watches the calling thread's stack from here on; does nothing if an allocation fails. */
void odi_overflow_begin(void);

/* Reports a fault at an address that `lies_there` accepts, with `sentence`, on any thread. The test runs in
 * the signal handler. Any thread may call this; all calls pass equal arguments. */
typedef bool odi_overflow_test(uintptr_t address);
void odi_overflow_watch(odi_overflow_test *lies_there, const char *sentence);

/* Call before the thread ends. */
void odi_overflow_end(void);

#pragma GCC visibility pop

#endif
