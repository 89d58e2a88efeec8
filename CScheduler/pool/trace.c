/* trace.c — traces, as the users of the engine ask for them. */
#include "include/od_trace.h"

#include "observe/trace.h"

bool od_trace_start(const char *path, int64_t most_ns, uint64_t most_bytes, char *message, size_t capacity)
{
    return odi_trace_start(path, most_ns, most_bytes, message, capacity);
}

bool od_trace_stop(od_trace_report *report)
{
    odi_trace_sums sums;
    bool ended = odi_trace_stop(&sums);

    if (report != NULL && ended)
        *report = (od_trace_report){sums.events, sums.lost, sums.bytes};
    return ended;
}
