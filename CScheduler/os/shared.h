/* shared.h — a sealed piece of memory that other processes of the same user find by the process's number and a name.
 *
 * Nothing stays behind: the memory goes with the processes that have it. Only its creator can write into it.
 */
#ifndef ODI_OS_SHARED_H
#define ODI_OS_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Returns new memory, or NULL: *error is the errno value. *file goes to odi_shared_free. */
void *odi_shared_new(const char *name, size_t bytes, int *file, int *error);

/* The same, and every process that may open the memory can write into it. */
void *odi_shared_new_for_all(const char *name, size_t bytes, int *file, int *error);

void odi_shared_free(void *memory, size_t bytes, int file);

/* Maps another process's memory for reading. Returns NULL: *error is ESRCH if there is no process, EACCES or EPERM if it is
 * another user's, ENOENT if it has no such memory. */
const void *odi_shared_open(int process, const char *name, size_t bytes, int *error);

void odi_shared_close(const void *memory, size_t bytes);

/* As odi_shared_open, for memory of odi_shared_new_for_all. The memory and *file go to odi_shared_free. */
void *odi_shared_open_for_writing(int process, const char *name, size_t bytes, int *file, int *error);

/* Holds the memory until the file is closed, at the latest when the process ends. False: another process holds it. */
bool odi_shared_hold(int file);

/* Whether a process holds the memory. */
bool odi_shared_is_held(int file);

/* Returns when a process has started, in the kernel's ticks since boot; 0: there is none, or it has ended. */
uint64_t odi_shared_started(int process);

#pragma GCC visibility pop

#endif
