/* thread_state.h — what a thread is doing, from /proc/self/task/<id>/stat.
 *
 * Pure: text in, one letter out.
 */
#ifndef ODI_TOPOLOGY_THREAD_STATE_H
#define ODI_TOPOLOGY_THREAD_STATE_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The state letter ('R' running, 'S' asleep, 'D' waiting for a device, ...), or 0 when the
 * text is none of the kernel's. A thread's name may hold anything, parentheses and blanks
 * included, so fields are counted from the last ')'. */
char odi_thread_state_parse(const char *text, size_t length);

#pragma GCC visibility pop

#endif
