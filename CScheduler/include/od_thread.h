/* od_thread.h — the identity of the calling thread, and three pointers that the Swift layer keeps on it. */
#ifndef OD_THREAD_H
#define OD_THREAD_H

#include <stdbool.h>

#include "od_decls.h"

OD_BEGIN_DECLS

/* A pointer per thread for the Swift layer: the cancellation state of the running job. */
void *od_thread_work(void);
void od_thread_set_work(void *work);

/* A pointer per thread for the Swift layer: a queue outside the engine whose closure the thread runs. */
void *od_thread_route(void);
void od_thread_set_route(void *route);

/* A pointer per thread for the Swift layer: its trampoline, which runs nested continuations one after
 * another. */
void *od_thread_bounce(void);
void od_thread_set_bounce(void *bounce);

/* Returns the address of that pointer, for several accesses of the calling thread. */
void **od_thread_bounce_place(void);

/* Whether the calling thread is the process's main thread. */
bool od_thread_is_main(void);

/* Returns the kernel's number of the CPU on which the calling thread runs, or -1 if unknown. */
int od_thread_cpu(void);

OD_END_DECLS
#endif
