/* trace.c — traces, as the users of the engine ask for them. */
#include "include/od_trace.h"

#include "base/invariant.h"
#include "observe/recorder.h"
#include "observe/recording.h"
#include "observe/trace.h"

bool od_trace_start(const char *path, int64_t most_ns, uint64_t most_bytes, char *message, size_t capacity)
{
    odi_recorder_from_environment(); /* the trace finds its names and its clock */
    return odi_trace_start(path, most_ns, most_bytes, NULL, message, capacity);
}

bool od_trace_stop(od_trace_report *report)
{
    odi_trace_sums sums;
    bool ended = odi_trace_stop(0, &sums);

    if (report != NULL && ended)
        *report = (od_trace_report){sums.events, sums.lost, sums.bytes};
    return ended;
}

bool od_recording_save(const char *reason, char *text, size_t capacity)
{
    return odi_recorder_save(reason, text, capacity);
}

void od_recording_trapped(const char *sentence)
{
    odi_write_recording(sentence, true);
}

od_recording_status od_recording_convert(const char *recording, const char *path, char *message, size_t capacity)
{
    return (od_recording_status)odi_recording_convert(recording, path, message, capacity);
}
