#include "observe/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "observe/recording.h"
#include "observe/trace.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/pages.h"
#include "os/thread.h"

/* Files of hangs in a process; names that are tried; events before the last seconds, which show what a thread is in. */
enum { MOST_HANGS = 8, NAMES_TRIED = 10000, EVENTS_BEFORE = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock. */
static struct {
    bool ticks;
    int64_t most_ns, start_ns;
    uint64_t start_tick;
    odi_trace_event *copies; /* room for a ring */
    unsigned files;
    char folder[4096];
} recorder;

/* The process that records. A forked child records nothing, and cannot take the lock if a thread of the parent held it. */
static odi_atomic(int) process;
static odi_atomic(uint32_t) hangs;
static odi_atomic(bool) writes; /* while a file is written */

/* ---- a file ---- */

typedef struct {
    int file, error;
    odi_recording_header header;
    uint64_t oldest; /* the time of the first event of the last seconds */
    uint64_t texts;
    odi_recording_static text[ODI_RECORDING_STATICS];
} output;

static output out = {.file = -1}; /* under the lock */

static void put(const void *bytes, size_t count)
{
    if (out.error == 0)
        out.error = odi_file_write(out.file, bytes, count);
}

/* Events of blocked closures have the address of a text. */
static void note_static(const odi_trace_event *event)
{
    uint64_t address = event->words[3];

    if ((event->words[1] & 255) != ODI_TRACE_BLOCK || address == 0)
        return;
    for (uint64_t i = 0; i < out.texts; i++) {
        if (out.text[i].address == address)
            return;
    }
    if (out.texts == ODI_RECORDING_STATICS)
        return;
    odi_recording_static *text = &out.text[out.texts++];
    text->address = address;
    (void)snprintf(text->text, sizeof text->text, "%s", (const char *)(uintptr_t)address);
}

static void put_ring(odi_trace_thread *thread, void *unused)
{
    odi_recording_ring ring = {.magic = ODI_RECORDING_RING, .tid = thread->tid};
    odi_trace_event *copies = recorder.copies;
    uint64_t from = thread->first, lost;
    size_t count = odi_trace_ring_copy(&thread->ring, &from, copies, &lost), at = 0;

    (void)unused;
    while (count > 0 && copies[count - 1].words[0] > out.header.tick)
        count--;
    while (at < count && copies[at].words[0] < out.oldest)
        at++;
    if (count == 0 || (at == count && thread->use == ODI_TRACE_LEFT))
        return;
    at -= at < EVENTS_BEFORE ? at : EVENTS_BEFORE;
    for (size_t i = at; i < count; i++)
        note_static(&copies[i]);
    ring.events = count - at;
    memcpy(ring.name, thread->name, sizeof ring.name);
    put(&ring, sizeof ring);
    put(copies + at, (count - at) * sizeof *copies);
}

static void fill_header(const char *reason)
{
    odi_recording_header *header = &out.header;

    *header = (odi_recording_header){
        .magic = ODI_RECORDING_MAGIC,
        .version = ODI_RECORDING_VERSION,
        .ticks = recorder.ticks,
        .pid = getpid(),
        .start_tick = recorder.start_tick,
        .start_ns = recorder.start_ns,
    };
    odi_trace_read_clocks(recorder.ticks, &header->tick, &header->ns);
    header->times = odi_perfetto_times_at((uint64_t)header->ns);
    (void)snprintf(header->program, sizeof header->program, "%s", program_invocation_short_name);
    (void)snprintf(header->reason, sizeof header->reason, "%s", reason);
    double ns = (double)(header->ns - header->start_ns), ticks = (double)(header->tick - header->start_tick);
    bool all = ns <= (double)recorder.most_ns;
    out.oldest = all ? 0 : header->tick - (uint64_t)(ticks * ((double)recorder.most_ns / ns));
}

static int write_file(const char *reason)
{
    odi_recording_end end = {.magic = ODI_RECORDING_END};
    odi_trace_names_view view = {0};

    fill_header(reason);
    out.error = 0;
    out.texts = 0;
    bool named = odi_trace_names_try_view(&view);
    out.header.texts = view.texts;
    out.header.names = view.names;
    put(&out.header, sizeof out.header);
    if (named) {
        put(view.text, view.texts * sizeof *view.text);
        put(view.name, view.names * sizeof *view.name);
        odi_trace_names_unlock();
    }
    if (!odi_trace_visit_kept(put_ring, NULL))
        return EBUSY;
    end.texts = out.texts;
    put(&end, sizeof end);
    put(out.text, out.texts * sizeof *out.text);
    return out.error;
}

/* A new file; its path is in `text`. */
static int open_file(char *text, size_t capacity, int *error)
{
    int file = -1;

    *error = EEXIST;
    for (int tries = 0; file < 0 && *error == EEXIST && tries < NAMES_TRIED; tries++) {
        (void)snprintf(text, capacity, "%s/overdrive-%d-%u.odrec", recorder.folder, getpid(), ++recorder.files);
        file = odi_file_create(text, error);
    }
    return file;
}

/* strerror may allocate, which a signal handler must not. */
static const char *text_of(int error)
{
    const char *text = strerrordesc_np(error);

    return text != NULL ? text : "unknown error";
}

/* Lock held. */
static bool save(const char *reason, char *text, size_t capacity)
{
    int error;

    out.file = open_file(text, capacity, &error);
    if (out.file >= 0) {
        error = write_file(reason);
        int file = out.file;
        out.file = -1;
        odi_file_close(file);
        if (error != 0)
            odi_file_remove(text);
    }
    if (error != 0)
        (void)snprintf(text, capacity, "cannot write the recording (%s: %s). Free space, or name a directory that you may write to.",
                       recorder.folder, text_of(error));
    return error == 0;
}

bool odi_recorder_is_on(void)
{
    return odi_load_relaxed(&process) == getpid(); /* relaxed: written before the first pool exists */
}

bool odi_recorder_save(const char *reason, char *text, size_t capacity)
{
    int error = errno; /* of the code that a signal handler has interrupted */

    if (!odi_recorder_is_on()) {
        (void)snprintf(text, capacity, "nothing is recorded (process %d). Set OVERDRIVE_RECORDER to a directory.", getpid());
        return false;
    }
    if (!odi_thread_lock_in_time(&lock)) {
        (void)snprintf(text, capacity, "cannot write the recording (another one is being written). Try again later.");
        return false;
    }
    odi_store_relaxed(&writes, true); /* relaxed: a hint for other traps */
    bool saved = save(reason, text, capacity);
    odi_store_relaxed(&writes, false); /* relaxed: as above */
    pthread_mutex_unlock(&lock);
    errno = error;
    return saved;
}

/* ---- traps and hangs ---- */

static void record(const char *sentence, bool fatal)
{
    char text[4200];

    if (!odi_recorder_is_on() || (!fatal && odi_add_relaxed(&hangs, 1) >= MOST_HANGS)) /* relaxed: a counter */
        return;
    bool saved = odi_recorder_save(sentence, text, sizeof text);
    /* A trap ends the process, so it waits for the file that another trap is writing. */
    for (int tries = 0; fatal && !saved && odi_load_relaxed(&writes) && tries < 9; tries++) /* relaxed: a hint */
        saved = odi_recorder_save(sentence, text, sizeof text);
    if (!saved)
        odi_tell("recorder: %s", text);
    else
        odi_tell("recorder: the last seconds are in %s. Run overdrive trace convert on it.", text);
}

/* A child without the recorder has no use for its parent's file. */
static void close_in_child(void)
{
    if (out.file >= 0)
        odi_file_close(out.file);
    out.file = -1;
}

bool odi_recorder_start(const char *folder, int64_t most_ns, char *message, size_t capacity)
{
    if (!odi_thread_lock_in_time(&lock)) {
        (void)snprintf(message, capacity, "cannot record (the parent wrote a recording at the fork). Record in a child that calls exec.");
        return false;
    }
    int error = odi_file_folder(folder, recorder.folder, sizeof recorder.folder - 64);
    if (error == 0) {
        recorder.copies = odi_pages_reserve(ODI_TRACE_RING_EVENTS * sizeof *recorder.copies);
        recorder.ticks = odi_clock_ticks_are_steady();
        recorder.most_ns = most_ns;
        odi_trace_read_clocks(recorder.ticks, &recorder.start_tick, &recorder.start_ns);
        if (recorder.copies == NULL || !odi_trace_keep(most_ns, recorder.ticks))
            error = ENOMEM;
    }
    if (error == 0) {
        odi_store_relaxed(&process, getpid()); /* relaxed: no pool exists yet */
        odi_recordings_to(record);
        (void)pthread_atfork(NULL, NULL, close_in_child);
    } else {
        (void)snprintf(message, capacity, "cannot record into the directory (%s: %s). Name a directory that you may write to.",
                       folder, strerror(error));
    }
    pthread_mutex_unlock(&lock);
    return error == 0;
}
