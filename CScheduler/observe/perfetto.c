#include "observe/perfetto.h"

#include <string.h>
#include <time.h>

#include "os/file.h"

/* Room for the longest packet: texts are short. */
enum { LONGEST_PACKET = 1024, SIZE_BYTES = 4 };

/* TracePacket, and Trace.packet. */
enum {
    PACKET = 1, CLOCK_SNAPSHOT = 6, TIMESTAMP = 8, SEQUENCE_ID = 10, TRACK_EVENT = 11, INTERNED_DATA = 12,
    SEQUENCE_FLAGS = 13, PREVIOUS_DROPPED = 42, CLOCK_ID = 58, DEFAULTS = 59, TRACK_DESCRIPTOR = 60,
    FIRST_ON_SEQUENCE = 87
};
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };
/* TrackEvent, its defaults and annotations, and InternedData. */
enum {
    EVENT_CATEGORY = 3, EVENT_NOTE = 4, EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11, EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48, NOTE_NUMBER = 3, NOTE_NAME = 10, INTERNED_CATEGORY = 1, INTERNED_NAME = 2,
    ENTRY_NUMBER = 1, ENTRY_TEXT = 2
};
/* TrackDescriptor, ProcessDescriptor, ThreadDescriptor. */
enum {
    TRACK_UUID = 1, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, PROCESS_PID = 1, PROCESS_NAME = 6,
    THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5
};
/* ClockSnapshot, and the clocks that Perfetto knows by number. */
enum { CLOCK = 1, PRIMARY_CLOCK = 2, CLOCK_NUMBER = 1, CLOCK_TIME = 2, REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

void odi_perfetto_flush(odi_perfetto *out)
{
    if (out->error == 0 && out->used > 0) {
        out->error = odi_file_write(out->file, out->buffer, out->used);
        out->bytes += out->error == 0 ? out->used : 0;
    }
    out->used = 0;
}

/* ---- fields ---- */

static void varint(odi_perfetto *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        out->buffer[out->used++] = (unsigned char)(value | 0x80);
    out->buffer[out->used++] = (unsigned char)value;
}

static void number(odi_perfetto *out, uint32_t field, uint64_t value)
{
    varint(out, (uint64_t)field << 3); /* the type VARINT is 0 */
    varint(out, value);
}

static void fixed(odi_perfetto *out, uint32_t field, uint64_t value)
{
    varint(out, (uint64_t)field << 3 | FIXED64);
    for (int i = 0; i < 8; i++)
        out->buffer[out->used++] = (unsigned char)(value >> 8 * i);
}

static void text(odi_perfetto *out, uint32_t field, const char *bytes)
{
    size_t length = strlen(bytes);

    varint(out, (uint64_t)field << 3 | BYTES);
    varint(out, length);
    memcpy(out->buffer + out->used, bytes, length);
    out->used += length;
}

/* A message within another one. Its size is known at its end, so it has bytes of a fixed number. */
static size_t open_message(odi_perfetto *out, uint32_t field)
{
    varint(out, (uint64_t)field << 3 | BYTES);
    out->used += SIZE_BYTES;
    return out->used;
}

static void close_message(odi_perfetto *out, size_t start)
{
    size_t size = out->used - start;

    for (size_t i = 0; i < SIZE_BYTES; i++)
        out->buffer[start - SIZE_BYTES + i] = (unsigned char)(size >> 7 * i & 0x7f) | (i + 1 < SIZE_BYTES ? 0x80 : 0);
}

static size_t open_packet(odi_perfetto *out, uint32_t sequence)
{
    if (out->used > ODI_PERFETTO_BUFFER - LONGEST_PACKET)
        odi_perfetto_flush(out);
    size_t start = open_message(out, PACKET);
    number(out, SEQUENCE_ID, sequence);
    return start;
}

/* ---- packets ---- */

static uint64_t time_of(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void clock_at(odi_perfetto *out, uint32_t id, uint64_t ns)
{
    size_t clock = open_message(out, CLOCK);

    number(out, CLOCK_NUMBER, id);
    number(out, CLOCK_TIME, ns);
    close_message(out, clock);
}

odi_perfetto_times odi_perfetto_times_at(uint64_t monotonic_ns)
{
    uint64_t later = time_of(CLOCK_MONOTONIC) - monotonic_ns;

    return (odi_perfetto_times){monotonic_ns, time_of(CLOCK_BOOTTIME) - later, time_of(CLOCK_REALTIME) - later};
}

void odi_perfetto_clocks(odi_perfetto *out, uint32_t sequence, odi_perfetto_times times)
{
    size_t packet = open_packet(out, sequence), snapshot = open_message(out, CLOCK_SNAPSHOT);

    clock_at(out, MONOTONIC, times.monotonic);
    clock_at(out, BOOTTIME, times.boottime);
    clock_at(out, REALTIME, times.realtime);
    number(out, PRIMARY_CLOCK, MONOTONIC);
    close_message(out, snapshot);
    close_message(out, packet);
}

void odi_perfetto_process(odi_perfetto *out, uint32_t sequence, uint64_t track, int pid, const char *name)
{
    size_t packet = open_packet(out, sequence), descriptor = open_message(out, TRACK_DESCRIPTOR);

    number(out, TRACK_UUID, track);
    size_t process = open_message(out, TRACK_PROCESS);
    number(out, PROCESS_PID, (uint64_t)pid);
    text(out, PROCESS_NAME, name);
    close_message(out, process);
    close_message(out, descriptor);
    close_message(out, packet);
}

void odi_perfetto_thread(odi_perfetto *out, uint32_t sequence, uint64_t track, uint64_t process, int pid, int tid,
                         const char *name)
{
    size_t packet = open_packet(out, sequence), descriptor = open_message(out, TRACK_DESCRIPTOR);

    number(out, TRACK_UUID, track);
    number(out, TRACK_PARENT, process);
    size_t thread = open_message(out, TRACK_THREAD);
    number(out, THREAD_PID, (uint64_t)pid);
    number(out, THREAD_TID, (uint64_t)tid);
    text(out, THREAD_NAME, name);
    close_message(out, thread);
    close_message(out, descriptor);
    close_message(out, packet);
}

void odi_perfetto_sequence(odi_perfetto *out, uint32_t sequence, uint64_t track, bool first, bool lost)
{
    size_t packet = open_packet(out, sequence);

    number(out, SEQUENCE_FLAGS, STATE_CLEARED);
    if (first)
        number(out, FIRST_ON_SEQUENCE, 1);
    if (lost)
        number(out, PREVIOUS_DROPPED, 1);
    size_t defaults = open_message(out, DEFAULTS);
    number(out, CLOCK_ID, MONOTONIC);
    size_t event = open_message(out, TRACK_EVENT);
    number(out, EVENT_TRACK, track);
    close_message(out, event);
    close_message(out, defaults);
    close_message(out, packet);
}

static void intern(odi_perfetto *out, uint32_t sequence, uint32_t field, uint32_t entry, const char *bytes)
{
    size_t packet = open_packet(out, sequence);

    number(out, SEQUENCE_FLAGS, NEEDS_STATE);
    size_t data = open_message(out, INTERNED_DATA), one = open_message(out, field);
    number(out, ENTRY_NUMBER, entry);
    text(out, ENTRY_TEXT, bytes);
    close_message(out, one);
    close_message(out, data);
    close_message(out, packet);
}

void odi_perfetto_name(odi_perfetto *out, uint32_t sequence, uint32_t entry, const char *bytes)
{
    intern(out, sequence, INTERNED_NAME, entry, bytes);
}

void odi_perfetto_category(odi_perfetto *out, uint32_t sequence, uint32_t entry, const char *bytes)
{
    intern(out, sequence, INTERNED_CATEGORY, entry, bytes);
}

static void note(odi_perfetto *out, const char *name, uint64_t value)
{
    size_t annotation = open_message(out, EVENT_NOTE);

    text(out, NOTE_NAME, name);
    number(out, NOTE_NUMBER, value);
    close_message(out, annotation);
}

void odi_perfetto_event_write(odi_perfetto *out, const odi_perfetto_event *event)
{
    size_t packet = open_packet(out, event->sequence);

    number(out, TIMESTAMP, event->ns);
    number(out, SEQUENCE_FLAGS, NEEDS_STATE);
    size_t it = open_message(out, TRACK_EVENT);
    number(out, EVENT_TYPE, event->type);
    if (event->track != 0)
        number(out, EVENT_TRACK, event->track);
    if (event->name != 0)
        number(out, EVENT_NAME, event->name);
    if (event->category != 0)
        number(out, EVENT_CATEGORY, event->category);
    if (event->flow != 0)
        fixed(out, event->ends_flow ? EVENT_LAST_FLOW : EVENT_FLOW, event->flow);
    for (size_t i = 0; i < sizeof event->notes / sizeof *event->notes && event->notes[i] != NULL; i++)
        note(out, event->notes[i], event->numbers[i]);
    close_message(out, it);
    close_message(out, packet);
}
