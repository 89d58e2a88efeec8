/* perfetto.h — packets of a Perfetto trace, as protobuf, into a buffer that goes to a file.
 *
 * The numbers of fields are those of perfetto/trace/trace_packet.proto and what it includes. A packet goes to the file as
 * a whole with others of its buffer, so that a file that breaks off has whole packets before its end.
 *
 * Threads  one: the writing thread.
 */
#ifndef ODI_OBSERVE_PERFETTO_H
#define ODI_OBSERVE_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { ODI_PERFETTO_BUFFER = 256 * 1024 };

typedef struct {
    int file, error; /* 0, or the errno value of the first write that failed: nothing is written from then on */
    size_t used;
    uint64_t bytes; /* in the file */
    unsigned char *buffer;
} odi_perfetto;

typedef enum { ODI_PERFETTO_SLICE = 1, ODI_PERFETTO_SLICE_END, ODI_PERFETTO_INSTANT } odi_perfetto_type;

typedef struct {
    uint32_t sequence;
    uint64_t ns;
    odi_perfetto_type type;
    uint64_t track;             /* 0: the sequence's own */
    uint32_t name, category;    /* interned on the sequence; 0: none */
    uint64_t flow;              /* 0: none */
    bool ends_flow;
    const char *notes[6];       /* names of the numbers that follow, up to the first NULL */
    uint64_t numbers[6];
} odi_perfetto_event;

void odi_perfetto_flush(odi_perfetto *out);

/* The clocks at one moment, in nanoseconds. */
typedef struct {
    uint64_t monotonic, boottime, realtime;
} odi_perfetto_times;

odi_perfetto_times odi_perfetto_times_at(uint64_t monotonic_ns);

/* The clocks' times at one moment, and the clock of the trace. */
void odi_perfetto_clocks(odi_perfetto *out, uint32_t sequence, odi_perfetto_times times);
void odi_perfetto_process(odi_perfetto *out, uint32_t sequence, uint64_t track, int pid, const char *name);
void odi_perfetto_thread(odi_perfetto *out, uint32_t sequence, uint64_t track, uint64_t process, int pid, int tid,
                         const char *name);
/* A sequence begins, or begins again after a loss: what was interned on it is forgotten. */
void odi_perfetto_sequence(odi_perfetto *out, uint32_t sequence, uint64_t track, bool first, bool lost);
void odi_perfetto_name(odi_perfetto *out, uint32_t sequence, uint32_t number, const char *text);
void odi_perfetto_category(odi_perfetto *out, uint32_t sequence, uint32_t number, const char *text);
void odi_perfetto_event_write(odi_perfetto *out, const odi_perfetto_event *event);

#pragma GCC visibility pop

#endif
