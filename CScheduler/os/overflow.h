/* overflow.h — a stack that is used up ends the process with a sentence, not in silence.
 *
 * A thread that has said so (begin) runs a signal handler on a stack of its own when it touches
 * the guard below its stack. The handler writes the sentence, puts back whoever handled SIGSEGV
 * before, and lets the access fault again: debuggers and crash reporters see what they would
 * have seen. Threads that are not ours overflow as they always did.
 *
 * A thread's stack of forks ends at a guard as well: `watch` adds a place that has a sentence
 * of its own.
 *
 * Owns     the process's SIGSEGV action from the first `begin` on, and passes on what is none
 *          of its business.
 * Threads  begin, end: the thread itself.
 */
#ifndef ODI_OS_OVERFLOW_H
#define ODI_OS_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* From here on the calling thread's stack is watched. Short of memory: it is not. */
void odi_overflow_begin(void);

/* A fault at an address that `lies_there` is reported with `sentence`, on whatever thread; it
 * is called in the handler. Any thread; the same at each call. */
typedef bool odi_overflow_test(uintptr_t address);
void odi_overflow_watch(odi_overflow_test *lies_there, const char *sentence);

/* Before the thread ends. */
void odi_overflow_end(void);

#pragma GCC visibility pop

#endif
