#include "observe/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "observe/trace_writer.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/futex.h"
#include "os/pages.h"
#include "os/thread.h"

enum { MOST_THREADS = 1024, WRITER_STACK = 256 * 1024 };
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
static odi_trace_thread *threads; /* under the registry's lock, both */
static int thread_count;

static _Thread_local odi_trace_thread *mine __attribute__((tls_model("initial-exec")));
static odi_atomic(uint32_t) trace_number;
static _Thread_local uint32_t refused_in __attribute__((tls_model("initial-exec")));
static pthread_key_t at_thread_end;
static bool has_key;

/* ---- rings ---- */

static void leave(void *raw)
{
    odi_trace_thread *thread = raw;

    mine = NULL;
    pthread_mutex_lock(&registry);
    thread->use = ODI_TRACE_LEFT;
    pthread_mutex_unlock(&registry);
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
    if (thread == NULL && thread_count < MOST_THREADS && (thread = make_thread()) != NULL) {
        thread->next = threads;
        threads = thread;
        thread_count++;
    }
    if (thread != NULL) {
        thread->use = ODI_TRACE_USED;
        thread->tid = odi_thread_id();
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

void odi_trace(odi_trace_kind kind, uint32_t band, const void *object, uint64_t word)
{
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

/* The threads that run keep their rings; those of others keep no memory. */
static void clear_rings(void)
{
    pthread_mutex_lock(&registry);
    for (odi_trace_thread *each = threads; each != NULL; each = each->next) {
        if (each->use == ODI_TRACE_LEFT)
            each->use = ODI_TRACE_FREE;
        free(each->copies);
        each->copies = NULL;
        each->count = each->at = 0;
        if (each->use == ODI_TRACE_FREE)
            odi_pages_clear_reserved(each->ring.slots, SLOT_BYTES);
    }
    pthread_mutex_unlock(&registry);
}

static void finish(void)
{
    odi_store_relaxed(&odi_trace_wanted, false); /* relaxed: a hint */
    drain(true);
    writer.lost += odi_load_relaxed(&refused); /* relaxed: a counter */
    pthread_mutex_lock(&registry);
    odi_trace_thread *first = threads;
    pthread_mutex_unlock(&registry);
    odi_trace_writer_end(&writer, first);
    if (writer.out.error != 0)
        odi_warn("trace: cannot write the file (%s). Free space, or limit the size: FILE:64M.", strerror(writer.out.error));
    odi_trace_names_end();
    clear_rings();
    pthread_mutex_lock(&control);
    last_sums = (odi_trace_sums){writer.events, writer.lost, writer.out.bytes};
    running = false;
    traces_ended++;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&control);
}

static void write_trace(void *unused)
{
    (void)unused;
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
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    int error, file = odi_file_create(path, &error);
    char value[512];

    if (file < 0) {
        snprintf(value, sizeof value, "%s: %s", path, strerror(error));
        return refuse(message, capacity, "cannot create the file", value, "Name a new file in a folder that you may write to.");
    }
    pthread_once(&made, make_key);
    clear_rings(); /* of threads that have left since the last trace */
    bool ticks = odi_clock_ticks_are_steady();
    odi_store_relaxed(&uses_ticks, ticks); /* relaxed, all: the trace is not wanted yet */
    odi_store_relaxed(&stopping, false);
    odi_store_relaxed(&refused, 0);
    odi_add_relaxed(&trace_number, 1);
    bool begun = odi_trace_names_begin() && odi_trace_writer_begin(&writer, file, ticks, odi_trace_time(ticks), most_bytes);
    if (!begun) {
        odi_trace_names_end();
        odi_file_close(file);
        odi_file_remove(path);
        return refuse(message, capacity, "cannot begin", "out of memory", "Raise the limit of memory.");
    }
    return true;
}

static bool start_thread(const char *path, char *message, size_t capacity)
{
    odi_store_relaxed(&odi_trace_wanted, true); /* relaxed: a hint. Before the names: a queue of this moment has one. */
    if (odi_trace_name_all_above != NULL)
        odi_trace_name_all_above();
    running = true;
    int error = odi_thread_start(write_trace, NULL, WRITER_STACK, "od-trace");
    if (error == 0)
        return true;
    odi_store_relaxed(&odi_trace_wanted, false); /* relaxed: a hint */
    running = false;
    odi_file_close(writer.out.file);
    odi_file_remove(path);
    free(writer.out.buffer);
    odi_trace_names_end();
    return refuse(message, capacity, "no thread can be started", strerror(error), "Raise the limit of threads.");
}

bool odi_trace_start(const char *path, int64_t most_ns, uint64_t bytes, char *message, size_t capacity)
{
    bool started = false;

    pthread_mutex_lock(&control);
    if (running) {
        (void)refuse(message, capacity, "another trace is being written", path, "End it first.");
    } else if (open_trace(path, bytes, message, capacity)) {
        until_ns = most_ns > 0 ? odi_clock_after(most_ns) : ODI_FOREVER;
        started = start_thread(path, message, capacity);
    }
    pthread_mutex_unlock(&control);
    return started;
}

bool odi_trace_stop(odi_trace_sums *sums)
{
    pthread_mutex_lock(&control);
    bool ran = running;
    uint64_t before = traces_ended;
    if (ran) {
        odi_store_relaxed(&stopping, true); /* relaxed: a hint, looked at every interval */
        call_writer();
    }
    while (running && traces_ended == before) /* another trace may begin before this thread wakes */
        pthread_cond_wait(&ended, &control);
    if (sums != NULL)
        *sums = last_sums;
    pthread_mutex_unlock(&control);
    return ran;
}

__attribute__((destructor)) static void end_at_exit(void)
{
    (void)odi_trace_stop(NULL);
}

/* ---- the variable ---- */

/* FILE, with the process's number for %p. False: it is too long. */
static bool expand(const char *from, size_t length, char *to, size_t capacity)
{
    size_t used = 0;

    for (size_t i = 0; i < length && used + 24 < capacity; i++) {
        if (from[i] == '%' && i + 1 < length && from[i + 1] == 'p') {
            used += (size_t)snprintf(to + used, capacity - used, "%d", getpid());
            i++;
        } else {
            to[used++] = from[i];
        }
    }
    to[used] = '\0';
    return used + 24 < capacity;
}

/* The limit behind the last colon, if it is one: digits, then s, K, M or G. */
static size_t read_limit(const char *value, int64_t *most_ns, uint64_t *bytes)
{
    const char *colon = strrchr(value, ':');
    char *unit;

    if (colon == NULL || colon[1] < '0' || colon[1] > '9' || strchr(colon, '/') != NULL)
        return strlen(value);
    unsigned long long number = strtoull(colon + 1, &unit, 10);
    const char *known = *unit != '\0' && unit[1] == '\0' ? strchr("sKMG", *unit) : NULL;
    if (known == NULL || number == 0 || number > 1000000000)
        return 0;
    if (*known == 's')
        *most_ns = (int64_t)number * ODI_SECOND;
    else
        *bytes = (uint64_t)number << (*known == 'K' ? 10 : *known == 'M' ? 20 : 30);
    return (size_t)(colon - value);
}

static void read_environment(void)
{
    const char *value = secure_getenv("OVERDRIVE_TRACE");
    char path[4096], message[1024] = "the value is no FILE, FILE:10s or FILE:64M. Write a limit with its unit.";
    int64_t most_ns = 0;
    uint64_t bytes = 0;

    if (value == NULL || *value == '\0')
        return;
    size_t length = read_limit(value, &most_ns, &bytes);
    if (length == 0 || !expand(value, length, path, sizeof path) || !odi_trace_start(path, most_ns, bytes, message, sizeof message))
        odi_warn("OVERDRIVE_TRACE: %s Nothing is traced (%s).", message, value);
}

void odi_trace_from_environment(void)
{
    static pthread_once_t read = PTHREAD_ONCE_INIT;

    pthread_once(&read, read_environment);
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
    odi_store_relaxed(&odi_trace_wanted, false); /* relaxed: one thread exists */
    if (running)
        odi_file_close(writer.out.file);
    if (mine != NULL && has_key)
        (void)pthread_setspecific(at_thread_end, NULL);
    running = false;
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
