/* od_thread.h — the calling thread: which one it is, and what the layer above this one keeps on it. */
#ifndef OD_THREAD_H
#define OD_THREAD_H

#include <stdbool.h>

#include "od_decls.h"

OD_BEGIN_DECLS

/* A word per thread for the layer above: what the running job is cancelled by. */
void *od_thread_work(void);
void od_thread_set_work(void *work);

/* Another: which queue, that is none of the engine's, it runs a closure of. */
void *od_thread_route(void);
void od_thread_set_route(void *route);

/* Another: what this thread does one after another instead of one inside the other. */
void *od_thread_bounce(void);
void od_thread_set_bounce(void *bounce);

/* Whether the calling thread is the process's first. */
bool od_thread_is_main(void);

/* The CPU that the calling thread is on, by the kernel's number; -1 when unknown. */
int od_thread_cpu(void);

OD_END_DECLS
#endif
