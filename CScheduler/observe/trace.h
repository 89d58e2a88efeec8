/* trace.h — traces: an event for each step of the engine, written to a file.
 *
 * Each thread has a ring of events. The ring is mapped at the thread's first event, and another thread reuses it after
 * the thread's end. One thread, which exists only during a trace, drains the rings into the file (trace_writer.h).
 *
 * Jobs store nothing for a trace. A closure is identified by its two words, its code and its captures. Two pending
 * closures with equal words get no arrow (trace_flows.h).
 *
 * States   OFF -> ON        odi_trace_start, under the control lock
 *          ON -> ENDING     odi_trace_stop, a limit, a failed write, the process's exit
 *          ENDING -> OFF    the writing thread has closed the file
 *          any -> OFF       in a forked child, whose file is the parent's
 *
 * With odi_trace_keep, threads write events in every state, and recorder.c copies the rings.
 *
 * Owns     the rings and the writing thread.
 * Never    knows queues or jobs beyond addresses and numbers.
 * Threads  odi_trace, odi_trace_name: anyone. start, stop: anyone, not under a lock.
 *
 * How a stop's wait ends: by the writing thread, after its last drain. The writing thread's: by its interval, by a thread
 * whose ring is a quarter full, or by a stop.
 */
#ifndef ODI_OBSERVE_TRACE_H
#define ODI_OBSERVE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/trace_flag.h"
#include "observe/trace_kinds.h"

#pragma GCC visibility push(hidden)

struct odi_trace_thread;

/* Writes an event of the calling thread. `object`: a queue, or what the kind says. `word`: likewise. */
ODI_COLD void odi_trace(odi_trace_kind kind, uint32_t band, const void *object, uint64_t word);

/* `object` has this label, from now on or since ever. Called before its first event, and only while a trace is wanted. */
ODI_COLD void odi_trace_name(const void *object, const char *label, bool since_ever);

/* Registered by the layer above: names every object that there is. */
extern void (*odi_trace_name_all_above)(void);

typedef struct {
    uint64_t events, lost, bytes;
    int error; /* of the last write: an errno value */
} odi_trace_sums;

/* Begins a trace into a new file. `most_ns`, `most_bytes`: it ends there; 0: no limit. False: why not is in `message`.
 * Returns the trace's number in `number`, which may be NULL. */
bool odi_trace_start(const char *path, int64_t most_ns, uint64_t most_bytes, uint64_t *number, char *message, size_t capacity);

/* Ends the trace with this number, or any trace for 0, and returns once the file is closed. False: no such trace ran. */
bool odi_trace_stop(uint64_t only, odi_trace_sums *sums);

/* Returns the number of the trace that is being written, or 0. `last`: of the trace that ended last; may be NULL. */
uint64_t odi_trace_running(odi_trace_sums *last);

/* From now on events are kept in the rings without a trace too, for the recorder. A thread's ring is reused `most_ns`
 * after its end. False: memory is short. Call once, before any trace. */
bool odi_trace_keep(int64_t most_ns, bool ticks);

/* Calls `visit` with each ring that has events which no trace has taken. A signal handler may call it. False: another
 * thread has the lock for too long. */
bool odi_trace_visit_kept(void (*visit)(struct odi_trace_thread *thread, void *raw), void *raw);

/* Reads FILE, FILE:10s or FILE:64M, with the process's number for %p. False: the value is none of these, or too long. */
bool odi_trace_read_value(const char *value, int process, char *path, size_t capacity, int64_t *most_ns, uint64_t *bytes);

/* As OVERDRIVE_RECORDER and OVERDRIVE_TRACE say, once in a process. A value that cannot be used is told as a warning. */
void odi_trace_from_environment(void);

/* The same for OVERDRIVE_RECORDER only: before a trace that the program starts. */
void odi_recorder_from_environment(void);

#pragma GCC visibility pop

#endif
