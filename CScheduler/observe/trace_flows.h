/* trace_flows.h — which beginning of a closure belongs to which submission: the arrows of a trace.
 *
 * A closure's identity is unique while it is pending, as a rule: its captures are its own. If two with one identity are
 * pending, neither gets an arrow. A submission may come to the table after its own beginning, from another ring; the
 * times tell.
 *
 * Threads  one: the writing thread.
 */
#ifndef ODI_OBSERVE_TRACE_FLOWS_H
#define ODI_OBSERVE_TRACE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct {
    uint64_t identity; /* 0: a free place */
    int64_t begun_ns;  /* if it began before its submission came */
    uint32_t flow, pending;
    bool alike; /* several were pending at once */
} odi_trace_flow;

typedef struct {
    odi_trace_flow *places;
    size_t size, used; /* a power of two; places in use */
    uint32_t last;     /* the last flow's number */
    uint64_t left_out; /* beginnings without an arrow */
} odi_trace_flows;

/* The number of the submission's arrow; 0: none. */
uint32_t odi_trace_flows_submit(odi_trace_flows *flows, uint64_t identity, int64_t ns);
/* The same for the beginning. It is no longer pending. */
uint32_t odi_trace_flows_begin(odi_trace_flows *flows, uint64_t identity, int64_t ns);
/* It will never begin. */
void odi_trace_flows_cancel(odi_trace_flows *flows, uint64_t identity);
/* Events were lost: what is pending is unknown. */
void odi_trace_flows_clear(odi_trace_flows *flows);
void odi_trace_flows_free(odi_trace_flows *flows);

#pragma GCC visibility pop

#endif
