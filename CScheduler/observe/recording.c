#include "observe/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/recorder.h"
#include "os/file.h"

typedef struct {
    const char *path; /* of the recording */
    char *message;
    size_t capacity;
    char *next, *end; /* what has not been read yet */
    odi_recording_header *header;
    odi_trace_thread *threads;
    odi_recording_static *statics;
    uint64_t static_count;
    bool breaks_off;
} conversion;

static odi_recording_status refuse(const conversion *it, odi_recording_status status, const char *problem, const char *reason,
                                   const char *remedy)
{
    bool has_reason = reason[0] != '\0';

    (void)snprintf(it->message, it->capacity, "%s (%s%s%s). %s", problem, it->path, has_reason ? ": " : "", reason, remedy);
    return status;
}

/* The next bytes of the file; NULL if it has fewer. */
static void *take(conversion *it, uint64_t count, size_t size)
{
    uint64_t left = (uint64_t)(it->end - it->next);

    if (count > left / size)
        return NULL;
    char *start = it->next;
    it->next += count * size;
    return start;
}

/* ---- checks ---- */

static bool header_is_sound(const odi_recording_header *header)
{
    return header->tick > header->start_tick && header->ns > header->start_ns && header->start_ns >= 0 &&
           header->texts <= ODI_TRACE_TEXTS && header->names <= ODI_TRACE_OBJECTS && header->pid > 0 && header->pid <= INT32_MAX &&
           (header->ticks != 0 || (header->tick == (uint64_t)header->ns && header->start_tick == (uint64_t)header->start_ns));
}

static odi_recording_status read_header(conversion *it)
{
    odi_recording_header *header = take(it, 1, sizeof *header);
    char version[16];

    if (header == NULL || memcmp(header->magic, ODI_RECORDING_MAGIC, sizeof header->magic) != 0)
        return refuse(it, ODI_RECORDING_INVALID, "the file is no recording", "", "Name a file that OVERDRIVE_RECORDER has written.");
    if (header->version != ODI_RECORDING_VERSION) {
        (void)snprintf(version, sizeof version, "version %u", header->version);
        return refuse(it, ODI_RECORDING_INVALID, "the recording has an unknown version", version,
                      "Use the overdrive of the same version as the program.");
    }
    if (!header_is_sound(header))
        return refuse(it, ODI_RECORDING_INVALID, "the recording is damaged", "its header", "Record again.");
    header->program[sizeof header->program - 1] = header->reason[sizeof header->reason - 1] = '\0';
    odi_trace_clean(header->program);
    it->header = header;
    return ODI_RECORDING_CONVERTED;
}

/* The text that stands at the address in the recorded process; 0: it is unknown. */
static uint64_t static_at(const conversion *it, uint64_t address)
{
    for (uint64_t i = 0; i < it->static_count; i++) {
        if (it->statics[i].address == address)
            return (uint64_t)(uintptr_t)it->statics[i].text;
    }
    return 0;
}

/* Keeps the events that can be of the recorded time. Returns how many. */
static uint64_t keep_sound(const conversion *it, odi_trace_event *events, uint64_t count)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < count; i++) {
        odi_trace_event event = events[i];
        uint64_t time = event.words[0], kind = event.words[1] & 255;

        if (time < it->header->start_tick || time > it->header->tick || kind > ODI_TRACE_LEAVE)
            continue;
        if (kind == ODI_TRACE_BLOCK)
            event.words[3] = static_at(it, event.words[3]);
        events[kept++] = event;
    }
    return kept;
}

/* ---- parts of the file ---- */

static int by_time(const void *first, const void *second)
{
    const odi_trace_name_entry *a = first, *b = second;

    return a->since < b->since ? -1 : a->since > b->since;
}

static bool read_names(conversion *it)
{
    char (*texts)[ODI_TRACE_TEXT_BYTES] = take(it, it->header->texts, sizeof *texts);
    odi_trace_name_entry *names = texts != NULL ? take(it, it->header->names, sizeof *names) : NULL;

    if (names == NULL)
        return false;
    for (uint32_t i = 0; i < it->header->texts; i++)
        texts[i][ODI_TRACE_TEXT_BYTES - 1] = '\0';
    qsort(names, it->header->names, sizeof *names, by_time);
    for (uint32_t i = 0; i < it->header->names; i++) {
        if (names[i].text < it->header->texts)
            odi_trace_names_set(names[i].object, names[i].since, texts[names[i].text]);
    }
    return true;
}

/* A thread of the file. NULL: memory is short. */
static odi_trace_thread *add_thread(conversion *it, const odi_recording_ring *ring, odi_trace_event *events)
{
    odi_trace_thread *thread = aligned_alloc(_Alignof(odi_trace_thread), sizeof *thread);

    if (thread == NULL)
        return NULL;
    memset(thread, 0, sizeof *thread);
    thread->ring.slots = (odi_trace_slot *)events;
    thread->count = ring->events; /* until the end of the file is read */
    thread->tid = (int)ring->tid;
    memcpy(thread->name, ring->name, sizeof thread->name - 1);
    thread->next = it->threads;
    it->threads = thread;
    return thread;
}

/* The rings, as far as the file has whole ones. False: memory is short. */
static bool read_rings(conversion *it)
{
    odi_recording_ring *ring;

    it->breaks_off = true;
    while ((ring = take(it, 1, sizeof ring->magic)) != NULL && memcmp(ring->magic, ODI_RECORDING_RING, sizeof ring->magic) == 0) {
        if (take(it, 1, sizeof *ring - sizeof ring->magic) == NULL || ring->events > ODI_TRACE_RING_EVENTS)
            return true;
        odi_trace_event *events = take(it, ring->events, sizeof *events);
        if (events == NULL)
            return true;
        if (add_thread(it, ring, events) == NULL)
            return false;
    }
    odi_recording_end *end = (odi_recording_end *)ring;
    if (ring == NULL || memcmp(end->magic, ODI_RECORDING_END, sizeof end->magic) != 0 ||
        take(it, 1, sizeof *end - sizeof end->magic) == NULL)
        return true;
    odi_recording_static *statics = take(it, end->texts, sizeof *statics);
    if (statics == NULL)
        return true;
    it->statics = statics;
    it->static_count = end->texts;
    for (uint64_t i = 0; i < end->texts; i++)
        statics[i].text[ODI_TRACE_TEXT_BYTES - 1] = '\0';
    it->breaks_off = false;
    return true;
}

/* ---- the trace ---- */

static bool write_events(conversion *it, odi_trace_writer *writer)
{
    for (odi_trace_thread *each = it->threads; each != NULL; each = each->next) {
        uint64_t events = keep_sound(it, (odi_trace_event *)each->ring.slots, each->count);

        each->count = 0;
        odi_store_relaxed(&each->ring.head, events); /* relaxed: one thread exists that knows it */
        if (!odi_trace_writer_add(writer, each))
            return false;
    }
    odi_trace_writer_pass(writer, true);
    return true;
}

static odi_recording_status write_trace(conversion *it, int file)
{
    static odi_trace_writer writer; /* large; the names are one conversion's at a time */
    const odi_recording_header *header = it->header;
    odi_trace_origin origin = {
        .program = header->program,
        .pid = (int)header->pid,
        .ticks = header->ticks != 0,
        .recorded = true,
        .begun = header->start_tick,
        .tick = header->tick,
        .ns = header->ns,
        .ns_per_tick = (double)(header->ns - header->start_ns) / (double)(header->tick - header->start_tick),
        .times = header->times,
    };
    char reason[ODI_RECORDING_REASON + 16];
    uint64_t before = (uint64_t)(header->ns - header->start_ns);

    /* The clocks as they were when the recorder began, before all events. */
    origin.times.monotonic -= before;
    origin.times.boottime -= before;
    origin.times.realtime -= before;
    if (!odi_trace_writer_begin(&writer, file, &origin, 0)) {
        odi_file_close(file);
        return refuse(it, ODI_RECORDING_UNWRITTEN, "cannot convert the recording", "out of memory", "Raise the limit of memory.");
    }
    bool whole = write_events(it, &writer);
    (void)snprintf(reason, sizeof reason, "recorded: %s", header->reason);
    odi_trace_clean(reason);
    odi_trace_writer_note(&writer, reason);
    odi_trace_writer_end(&writer, it->threads);
    if (writer.out.error != 0)
        return refuse(it, ODI_RECORDING_UNWRITTEN, "cannot write the trace", strerror(writer.out.error),
                      "Free space, or name a file elsewhere.");
    return whole ? ODI_RECORDING_CONVERTED
                 : refuse(it, ODI_RECORDING_UNWRITTEN, "cannot convert the recording", "out of memory", "Raise the limit of memory.");
}

static odi_recording_status write_new_file(conversion *it, const char *path)
{
    int error, file = odi_file_create(path, &error);
    odi_recording_status status;

    if (file < 0) {
        it->path = path;
        return refuse(it, ODI_RECORDING_UNWRITTEN, "cannot create the file", strerror(error),
                      "Name a new file in a directory that you may write to.");
    }
    status = write_trace(it, file);
    if (status != ODI_RECORDING_CONVERTED)
        odi_file_remove(path);
    return status;
}

static odi_recording_status convert(conversion *it, const char *path)
{
    odi_recording_status status = read_header(it);

    if (status != ODI_RECORDING_CONVERTED)
        return status;
    if (!read_names(it))
        return refuse(it, ODI_RECORDING_INVALID, "the recording breaks off", "before its first thread", "Record again.");
    if (!read_rings(it))
        return refuse(it, ODI_RECORDING_UNWRITTEN, "cannot convert the recording", "out of memory", "Raise the limit of memory.");
    if (it->breaks_off && it->threads == NULL)
        return refuse(it, ODI_RECORDING_INVALID, "the recording breaks off", "before its first thread", "Record again.");
    status = write_new_file(it, path);
    if (status == ODI_RECORDING_CONVERTED && it->breaks_off)
        (void)refuse(it, status, "the recording breaks off, and its last threads are missing", "", "Free space, and record again.");
    return status;
}

odi_recording_status odi_recording_convert(const char *recording, const char *path, char *message, size_t capacity)
{
    conversion it = {.path = recording, .message = message, .capacity = capacity};
    size_t bytes = 0;
    int error;

    (void)snprintf(message, capacity, "%s", "");
    it.next = odi_file_map(recording, &bytes, &error);
    if (it.next == NULL && error != 0)
        return refuse(&it, ODI_RECORDING_UNREADABLE, "cannot read the recording", strerror(error), "Name a file that exists.");
    it.end = bytes > 0 ? it.next + bytes : it.next;
    char *start = it.next;
    odi_recording_status status;
    if (!odi_recorder_is_on() && odi_trace_names_begin(false)) {
        status = convert(&it, path);
        odi_trace_names_end();
    } else {
        status = refuse(&it, ODI_RECORDING_UNWRITTEN, "cannot convert the recording", "this process traces itself",
                        "Convert in another process.");
    }
    for (odi_trace_thread *next, *each = it.threads; each != NULL; each = next) {
        next = each->next;
        free(each->copies);
        free(each);
    }
    if (start != NULL)
        odi_file_unmap(start, bytes);
    return status;
}
