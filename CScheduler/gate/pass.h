/* pass.h — drain requests: the job by which a queue asks the pool for a drainer. */
#ifndef ODI_GATE_PASS_H
#define ODI_GATE_PASS_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* A drain request holds its queue's address. The address's free bits hold the band, and whether the request
 * uses the queue's node. */
typedef struct {
    uint32_t band; /* the band in which it was submitted */
    bool of_node;
} odi_pass;

enum { ODI_PASS_BAND = 7, ODI_PASS_OF_NODE = 8, ODI_PASS_BITS = ODI_PASS_BAND | ODI_PASS_OF_NODE };

_Static_assert(_Alignof(od_queue) > ODI_PASS_BITS, "a queue's address leaves room for these");

/* The function of drain requests. Constant: lifecycle.c sets it before any queue exists. */
extern odi_function *odi_drain;

/* Returns a drain request of the queue. */
static inline odi_entry odi_queue_pass(od_queue *queue, odi_pass pass)
{
    uintptr_t word = (uintptr_t)queue | pass.band | (pass.of_node ? ODI_PASS_OF_NODE : 0);

    return odi_job_plain(odi_drain, (void *)word, ODI_TAG_INTERNAL);
}

static inline bool odi_is_pass(odi_entry entry)
{
    return entry.code == odi_job_plain(odi_drain, NULL, ODI_TAG_INTERNAL).code;
}

static inline od_queue *odi_queue_of_pass(void *pass)
{
    return (od_queue *)((uintptr_t)pass & ~(uintptr_t)ODI_PASS_BITS);
}

#pragma GCC visibility pop

#endif
