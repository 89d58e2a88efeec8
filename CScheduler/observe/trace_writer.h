/* trace_writer.h — drains the rings of all threads into a file.
 *
 * A pass copies what each ring has, and writes the events up to the time of its beginning in the order of their times.
 * Each use of a ring by a thread is a sequence and a track of the file. An end without its beginning is left out; what is
 * open when events are lost, or at the end, is closed then. All of that is counted in the last event, "trace ends".
 *
 * Threads  one: the writing thread, but `ring` fields as they say.
 */
#ifndef ODI_OBSERVE_TRACE_WRITER_H
#define ODI_OBSERVE_TRACE_WRITER_H

#include "observe/perfetto.h"
#include "observe/trace_flows.h"
#include "observe/trace_kinds.h"
#include "observe/trace_names.h"
#include "observe/trace_ring.h"
#include "os/clock.h"

#pragma GCC visibility push(hidden)

enum { ODI_TRACE_DEEPEST = 64, ODI_TRACE_THREAD_NAME = 16, ODI_TRACE_KNOWN = 256 };

typedef enum { ODI_TRACE_FREE, ODI_TRACE_USED, ODI_TRACE_LEFT } odi_trace_use;

/* A ring, the thread whose it is, and what the writing thread knows of it. */
typedef struct odi_trace_thread odi_trace_thread;
struct odi_trace_thread {
    odi_trace_ring ring;
    /* Under the registry's lock. */
    odi_trace_thread *next;
    odi_trace_use use;
    int tid;
    char name[ODI_TRACE_THREAD_NAME];
    /* The writing thread's. */
    odi_trace_event *copies; /* NULL before the first drain */
    size_t count, at;        /* events of this pass, and the next one */
    uint64_t from;           /* the number of the next event */
    uint32_t sequence;       /* of this use; 0: nothing is written of it yet */
    int64_t last_ns;
    uint32_t depth; /* of open slices; those beyond ODI_TRACE_DEEPEST are not kept */
    uint64_t open[ODI_TRACE_DEEPEST];
    uint64_t texts[ODI_TRACE_TEXTS / 64], categories; /* interned on the sequence */
    /* Of kept rings (odi_trace_keep), under the registry's lock: the use's first event, and the time of its end. */
    uint64_t first;
    int64_t left_ns;
};

/* The process that a file is of, and the clock of its events. */
typedef struct {
    const char *program;
    int pid;
    bool ticks;    /* times are odi_clock_ticks, or nanoseconds */
    bool recorded; /* the clock is known for all of the file, and is not read again */
    uint64_t begun, tick; /* the trace's beginning; a moment */
    int64_t ns;           /* the moment in nanoseconds */
    double ns_per_tick;   /* 0: not known yet */
    odi_perfetto_times times;
} odi_trace_origin;

/* Texts of a queue that was met lately. */
typedef struct {
    const void *object;
    uint64_t until; /* the label holds before this time */
    uint32_t version, label, submit;
} odi_trace_known;

typedef struct {
    odi_perfetto out;
    odi_trace_flows flows;
    odi_trace_thread **order; /* a heap by the times of their next events */
    size_t threads, room;
    uint64_t process;    /* the process's track */
    int pid;
    uint32_t sequences;
    bool ticks, recorded;        /* as odi_trace_origin has them */
    uint64_t begun, tick, horizon; /* the trace's beginning; of the last measurement; of this pass */
    int64_t ns;                  /* the same in nanoseconds */
    double ns_per_tick;
    uint64_t most_bytes;
    odi_trace_known known[ODI_TRACE_KNOWN];
    uint32_t plain_submit, plain_job; /* the texts of closures without a queue */
    uint64_t events, lost, submitted, started, cancelled, closed, unmatched;
} odi_trace_writer;

/* The time, as events have it. */
static inline uint64_t odi_trace_time(bool ticks)
{
    return ticks ? odi_clock_ticks() : (uint64_t)odi_clock_now();
}

/* Reads the clock of events and the monotonic one at one moment. */
void odi_trace_read_clocks(bool ticks, uint64_t *tick, int64_t *ns);
/* This process, now. */
odi_trace_origin odi_trace_origin_now(bool ticks);

/* `most_bytes`: 0 is no limit. False: memory is short. */
bool odi_trace_writer_begin(odi_trace_writer *writer, int file, const odi_trace_origin *origin, uint64_t most_bytes);
/* The file takes no more events: it has its limit, or a write has failed. */
bool odi_trace_writer_is_full(const odi_trace_writer *writer);
/* A ring that takes part in the next pass. False: memory is short, and it does not. */
bool odi_trace_writer_add(odi_trace_writer *writer, odi_trace_thread *thread);
/* Writes what the rings have that were added. `last`: whatever its time. */
void odi_trace_writer_pass(odi_trace_writer *writer, bool last);
/* The thread has ended, and its events have been written. */
void odi_trace_writer_leave(odi_trace_writer *writer, odi_trace_thread *thread);
/* Writes a text that is no thread's, once. */
void odi_trace_writer_note(odi_trace_writer *writer, const char *text);
/* Closes what is open on the rings from `first` on, and the file. */
void odi_trace_writer_end(odi_trace_writer *writer, odi_trace_thread *first);

#pragma GCC visibility pop

#endif
