#include "observe/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "observe/trace_writer.h"
#include "os/clock.h"
#include "os/control.h"
#include "os/file.h"
#include "os/futex.h"
#include "os/pages.h"
#include "os/thread.h"

enum { MOST_THREADS = 1024, SPARED_RINGS = 64, WRITER_STACK = 256 * 1024 };
#define INTERVAL_NS (10 * ODI_MILLISECOND)
#define SLOT_BYTES (ODI_TRACE_RING_EVENTS * sizeof(odi_trace_slot))

void (*odi_trace_name_all_above)(void);

/* Lock order: control, registry, the names' lock. */
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
/* Under the control lock. */
static bool running;        /* there is a writing thread */
static uint64_t traces_ended;
static int64_t until_ns;    /* constant while it runs */
static odi_trace_sums last_sums;

static odi_atomic(bool) stopping;
static odi_atomic(uint32_t) call_word; /* the writing thread sleeps on it */
static odi_atomic(uint64_t) refused;   /* events of threads without a ring */
static odi_trace_writer writer;        /* the writing thread's, once it runs */
static odi_atomic(bool) uses_ticks;    /* written before the first event is wanted */

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
/* Under the registry's lock. */
static odi_trace_thread *threads;
static int thread_count;
static bool keeps;       /* constant once a pool exists */
static bool draining;    /* a writing thread takes the rings of threads that have left */
static int64_t keep_ns;

static _Thread_local odi_trace_thread *mine __attribute__((tls_model("initial-exec")));
static odi_atomic(uint32_t) trace_number;
static _Thread_local uint32_t refused_in __attribute__((tls_model("initial-exec")));
static pthread_once_t key_made = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
static bool has_key;

/* ---- rings ---- */

static void leave(void *raw)
{
    odi_trace_thread *thread = raw;

    mine = NULL;
    pthread_mutex_lock(&registry);
    thread->use = ODI_TRACE_LEFT;
    thread->left_ns = odi_clock_coarse();
    pthread_mutex_unlock(&registry);
}

/* Of the rings of threads that have left, the oldest one: if its events are too old to be recorded, or if there are many
 * rings. Registry locked. */
static odi_trace_thread *oldest_kept(void)
{
    odi_trace_thread *oldest = NULL;

    if (!keeps || draining)
        return NULL;
    for (odi_trace_thread *each = threads; each != NULL; each = each->next) {
        if (each->use == ODI_TRACE_LEFT && (oldest == NULL || each->left_ns < oldest->left_ns))
            oldest = each;
    }
    bool old = oldest != NULL && odi_clock_coarse() - oldest->left_ns > keep_ns;
    return old || thread_count >= SPARED_RINGS ? oldest : NULL;
}

static odi_trace_thread *make_thread(void)
{
    odi_trace_thread *thread = odi_pages_new(sizeof *thread, ODI_ANY_NODE);

    if (thread != NULL && (thread->ring.slots = odi_pages_reserve(SLOT_BYTES)) == NULL) {
        odi_pages_free(thread, sizeof *thread);
        return NULL;
    }
    return thread;
}

/* A ring that no thread uses, or a new one. NULL: there are too many, or memory is short. */
static odi_trace_thread *take_ring(void)
{
    pthread_mutex_lock(&registry);
    odi_trace_thread *thread = threads;
    while (thread != NULL && thread->use != ODI_TRACE_FREE)
        thread = thread->next;
    if (thread == NULL)
        thread = oldest_kept();
    if (thread == NULL && thread_count < MOST_THREADS && (thread = make_thread()) != NULL) {
        thread->next = threads;
        threads = thread;
        thread_count++;
    }
    if (thread != NULL) {
        thread->use = ODI_TRACE_USED;
        thread->tid = odi_thread_id();
        thread->first = odi_load_relaxed(&thread->ring.head); /* relaxed: the lock orders it after the last owner's events */
        (void)pthread_getname_np(pthread_self(), thread->name, sizeof thread->name);
    }
    pthread_mutex_unlock(&registry);
    return thread;
}

ODI_COLD static odi_trace_thread *join(void)
{
    uint32_t number = odi_load_relaxed(&trace_number); /* relaxed: a hint; a stale number loses an event, which is counted */
    odi_trace_thread *thread = refused_in == number ? NULL : take_ring();

    if (thread != NULL && has_key && pthread_setspecific(at_thread_end, thread) != 0) {
        leave(thread);
        thread = NULL;
    }
    if (thread == NULL)
        refused_in = number;
    mine = thread;
    return thread;
}

static void call_writer(void)
{
    odi_add_relaxed(&call_word, 1); /* relaxed: the kernel compares it */
    odi_futex_wake(&call_word, 1);
}

/* ---- controlled runs ---- */

/* Returns the step of an event, or -1: a worker that only looks for work makes no step. */
static int step_of(odi_trace_kind kind)
{
    switch (kind) {
    case ODI_TRACE_SUBMIT: return OD_CONTROL_SUBMITS;
    case ODI_TRACE_BEGIN: return OD_CONTROL_BEGINS;
    case ODI_TRACE_END: return OD_CONTROL_FINISHES;
    case ODI_TRACE_CANCEL: return OD_CONTROL_CANCELS;
    case ODI_TRACE_STEAL: return OD_CONTROL_STEALS;
    case ODI_TRACE_TIMER: return OD_CONTROL_FIRES;
    case ODI_TRACE_BRANCH: return OD_CONTROL_BRANCHES;
    case ODI_TRACE_SUSPEND: return OD_CONTROL_SUSPENDS;
    case ODI_TRACE_RESUME: return OD_CONTROL_RESUMES;
    default: return -1;
    }
}

/* Whether the event names a queue that still exists. After its closure the queue may be gone. */
static bool names_queue(odi_trace_kind kind)
{
    return kind == ODI_TRACE_SUBMIT || kind == ODI_TRACE_BEGIN || kind == ODI_TRACE_SUSPEND || kind == ODI_TRACE_RESUME;
}

static void control_step(odi_trace_kind kind, const void *object)
{
    int step = step_of(kind);

    if (step >= 0 && odi_control_here != NULL)
        odi_control_step((od_control_kind)step, names_queue(kind) ? object : NULL);
    else if (kind == ODI_TRACE_SUBMIT && object != NULL)
        odi_control_note_outside(object);
}

/* ---- events ---- */

void odi_trace(odi_trace_kind kind, uint32_t band, const void *object, uint64_t word)
{
    uint8_t wanted = odi_load_relaxed(&odi_trace_wanted); /* relaxed: a hint, as for the caller */

    if (wanted & ODI_WANTS_CONTROL)
        control_step(kind, object);
    if (!(wanted & ODI_WANTS_TRACE))
        return;
    odi_trace_thread *thread = mine != NULL ? mine : join();

    if (thread == NULL) {
        odi_add_relaxed(&refused, 1); /* relaxed: a counter */
        return;
    }
    /* relaxed: a trace that this meets too late leaves the event out */
    odi_trace_event event = {{odi_trace_time(odi_load_relaxed(&uses_ticks)), kind | (uint64_t)band << 8,
                              (uint64_t)(uintptr_t)object, word}};

    if (ODI_UNLIKELY(odi_trace_ring_write(&thread->ring, &event) % (ODI_TRACE_RING_EVENTS / 4) == 0))
        call_writer();
}

void odi_trace_name(const void *object, const char *label, bool since_ever)
{
    if (!(odi_load_relaxed(&odi_trace_wanted) & ODI_WANTS_TRACE)) /* relaxed: a hint, as for the caller */
        return;
    /* relaxed: as above */
    odi_trace_names_set(object, since_ever ? 0 : odi_trace_time(odi_load_relaxed(&uses_ticks)), label);
}

/* ---- the writing thread ---- */

/* Threads that have left by now have written all of theirs. */
static void drain(bool last)
{
    odi_trace_thread *left[64];
    size_t count = 0;

    pthread_mutex_lock(&registry);
    for (odi_trace_thread *each = threads; each != NULL; each = each->next) {
        bool gone = each->use == ODI_TRACE_LEFT && count < sizeof left / sizeof *left;

        if (each->use != ODI_TRACE_FREE && odi_trace_writer_add(&writer, each) && gone)
            left[count++] = each;
    }
    pthread_mutex_unlock(&registry);
    odi_trace_writer_pass(&writer, last);
    for (size_t i = 0; i < count; i++) {
        if (left[i]->at < left[i]->count) /* beyond the horizon: the next pass */
            continue;
        odi_trace_writer_leave(&writer, left[i]);
        pthread_mutex_lock(&registry);
        left[i]->use = ODI_TRACE_FREE;
        pthread_mutex_unlock(&registry);
    }
}

static bool goes_on(void)
{
    return !odi_load_relaxed(&stopping) && !odi_trace_writer_is_full(&writer) && odi_clock_now() < until_ns; /* relaxed: a hint */
}

/* The threads that run keep their rings; those of others keep no memory, unless they are kept. */
static void clear_rings(bool drains)
{
    pthread_mutex_lock(&registry);
    draining = drains;
    for (odi_trace_thread *each = threads; each != NULL; each = each->next) {
        if (each->use == ODI_TRACE_LEFT && !keeps)
            each->use = ODI_TRACE_FREE;
        if (keeps)
            each->from = odi_load_relaxed(&each->ring.head); /* relaxed: a hint; events before the trace are left out */
        free(each->copies);
        each->copies = NULL;
        each->count = each->at = 0;
        if (each->use == ODI_TRACE_FREE)
            odi_pages_clear_reserved(each->ring.slots, SLOT_BYTES);
    }
    pthread_mutex_unlock(&registry);
}

static void want_events(bool wanted)
{
    if (wanted)
        odi_or_relaxed(&odi_trace_wanted, ODI_WANTS_TRACE); /* relaxed, both: a hint */
    else
        odi_and_relaxed(&odi_trace_wanted, (uint8_t)~ODI_WANTS_TRACE);
}

static void finish(void)
{
    want_events(keeps);
    drain(true);
    writer.lost += odi_load_relaxed(&refused); /* relaxed: a counter */
    pthread_mutex_lock(&registry);
    odi_trace_thread *first = threads;
    pthread_mutex_unlock(&registry);
    odi_trace_writer_end(&writer, first);
    if (writer.out.error != 0)
        odi_warn("trace: cannot write the file (%s). Free space, or limit the size: FILE:64M.", strerror(writer.out.error));
    odi_trace_names_end();
    clear_rings(false);
    pthread_mutex_lock(&control);
    last_sums = (odi_trace_sums){writer.events, writer.lost, writer.out.bytes, writer.out.error};
    running = false;
    traces_ended++;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&control);
}

static void write_trace(void *unused)
{
    (void)unused;
    odi_thread_stand_back(); /* a program that leaves no CPU free loses events rather than a third of its time */
    while (goes_on()) {
        uint32_t word = odi_load_relaxed(&call_word); /* relaxed: read before the rings */
        int64_t next = odi_clock_after(INTERVAL_NS);

        drain(false);
        if (goes_on())
            (void)odi_futex_wait(&call_word, word, next < until_ns ? next : until_ns);
    }
    finish();
}

/* ---- start and stop ---- */

static void make_key(void)
{
    has_key = pthread_key_create(&at_thread_end, leave) == 0;
    if (!has_key)
        odi_warn("trace: threads that end keep their rings (no key is free).");
}

static bool refuse(char *message, size_t capacity, const char *problem, const char *value, const char *remedy)
{
    snprintf(message, capacity, "%s (%s). %s", problem, value, remedy);
    return false;
}

/* Control lock held, no trace runs. */
static bool open_trace(const char *path, uint64_t most_bytes, char *message, size_t capacity)
{
    int error, file = odi_file_create(path, &error);
    char value[512];

    if (file < 0) {
        snprintf(value, sizeof value, "%s: %s", path, strerror(error));
        return refuse(message, capacity, "cannot create the file", value, "Name a new file in a folder that you may write to.");
    }
    pthread_once(&key_made, make_key);
    clear_rings(true); /* of threads that have left since the last trace */
    bool ticks = keeps ? odi_load_relaxed(&uses_ticks) : odi_clock_ticks_are_steady(); /* relaxed: this lock's */
    odi_store_relaxed(&uses_ticks, ticks); /* relaxed, all: the trace is not wanted yet */
    odi_store_relaxed(&stopping, false);
    odi_store_relaxed(&refused, 0);
    odi_add_relaxed(&trace_number, 1);
    odi_trace_origin origin = odi_trace_origin_now(ticks);
    bool named = odi_trace_names_begin(false);
    if (!named || !odi_trace_writer_begin(&writer, file, &origin, most_bytes)) {
        if (named)
            odi_trace_names_end();
        clear_rings(false);
        odi_file_close(file);
        odi_file_remove(path);
        return refuse(message, capacity, "cannot begin", "out of memory, or a recording is being converted", "Try again later.");
    }
    return true;
}

static bool start_thread(const char *path, char *message, size_t capacity)
{
    want_events(true); /* before the names: a queue of this moment has one */
    if (odi_trace_name_all_above != NULL)
        odi_trace_name_all_above();
    running = true;
    int error = odi_thread_start(write_trace, NULL, WRITER_STACK, "od-trace");
    if (error == 0)
        return true;
    want_events(keeps);
    clear_rings(false);
    running = false;
    odi_file_close(writer.out.file);
    odi_file_remove(path);
    free(writer.out.buffer);
    odi_trace_names_end();
    return refuse(message, capacity, "no thread can be started", strerror(error), "Raise the limit of threads.");
}

bool odi_trace_start(const char *path, int64_t most_ns, uint64_t bytes, uint64_t *number, char *message, size_t capacity)
{
    bool started = false;

    pthread_mutex_lock(&control);
    if (running) {
        (void)refuse(message, capacity, "another trace is being written", path, "End it first.");
    } else if (open_trace(path, bytes, message, capacity)) {
        until_ns = most_ns > 0 ? odi_clock_after(most_ns) : ODI_FOREVER;
        started = start_thread(path, message, capacity);
    }
    if (started && number != NULL)
        *number = traces_ended + 1;
    pthread_mutex_unlock(&control);
    return started;
}

bool odi_trace_stop(uint64_t only, odi_trace_sums *sums)
{
    pthread_mutex_lock(&control);
    uint64_t before = traces_ended;
    bool ran = running && (only == 0 || only == before + 1);
    if (ran) {
        odi_store_relaxed(&stopping, true); /* relaxed: a hint, looked at every interval */
        call_writer();
    }
    while (ran && running && traces_ended == before) /* another trace may begin before this thread wakes */
        pthread_cond_wait(&ended, &control);
    if (sums != NULL)
        *sums = last_sums;
    pthread_mutex_unlock(&control);
    return ran;
}

uint64_t odi_trace_running(odi_trace_sums *last)
{
    pthread_mutex_lock(&control);
    uint64_t number = running ? traces_ended + 1 : 0;
    if (last != NULL)
        *last = last_sums;
    pthread_mutex_unlock(&control);
    return number;
}

__attribute__((destructor)) static void end_at_exit(void)
{
    (void)odi_trace_stop(0, NULL);
}

/* ---- the recorder ---- */

bool odi_trace_keep(int64_t most_ns, bool ticks)
{
    pthread_mutex_lock(&control);
    pthread_once(&key_made, make_key);
    odi_store_relaxed(&uses_ticks, ticks); /* relaxed, both: no event is wanted yet */
    odi_add_relaxed(&trace_number, 1);
    bool begun = odi_trace_names_begin(true);
    if (begun) {
        pthread_mutex_lock(&registry);
        keep_ns = most_ns;
        keeps = true;
        pthread_mutex_unlock(&registry);
        want_events(true); /* before the names: a queue of this moment has one */
        if (odi_trace_name_all_above != NULL)
            odi_trace_name_all_above();
    }
    pthread_mutex_unlock(&control);
    return begun;
}

bool odi_trace_visit_kept(void (*visit)(odi_trace_thread *thread, void *raw), void *raw)
{
    if (!odi_thread_lock_in_time(&registry))
        return false;
    for (odi_trace_thread *each = threads; each != NULL; each = each->next) {
        if (each->use != ODI_TRACE_FREE)
            visit(each, raw);
    }
    pthread_mutex_unlock(&registry);
    return true;
}

/* ---- forked children ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&control);
    pthread_mutex_lock(&registry);
    odi_trace_names_lock();
}

static void after_in_parent(void)
{
    odi_trace_names_unlock();
    pthread_mutex_unlock(&registry);
    pthread_mutex_unlock(&control);
}

/* The rings' memory stays: the parent's writing thread does not come here. */
static void after_in_child(void)
{
    odi_trace_names_forked();
    ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* the parent's threads may wait there */
    odi_store_relaxed(&odi_trace_wanted, 0); /* relaxed: one thread exists. The child belongs to no controlled run. */
    if (running)
        odi_file_close(writer.out.file);
    if (mine != NULL && has_key)
        (void)pthread_setspecific(at_thread_end, NULL);
    running = keeps = draining = false;
    refused_in = 0;
    threads = mine = NULL;
    thread_count = 0;
    pthread_mutex_unlock(&registry);
    pthread_mutex_unlock(&control);
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(before_fork, after_in_parent, after_in_child);
}
