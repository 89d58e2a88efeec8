#include "observe/perfetto.h"

#include <string.h>
#include <time.h>

#include "os/file.h"

/* Room for the longest packet: texts are short. */
enum { LONGEST_PACKET = 1024 };
/* Bytes of a message's size: enough for any, and enough for an event without notes. */
enum { WIDE = 4, NARROW = 1 };

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

/* ---- fields ----
 * Each writes at `at` and returns the byte after it. A position in a register, not in memory, is a third of an event's cost. */

static inline unsigned char *varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *number(unsigned char *at, uint32_t field, uint64_t value)
{
    return varint(varint(at, (uint64_t)field << 3), value); /* the type VARINT is 0 */
}

static inline unsigned char *fixed(unsigned char *at, uint32_t field, uint64_t value)
{
    at = varint(at, (uint64_t)field << 3 | FIXED64);
    for (int i = 0; i < 8; i++)
        *at++ = (unsigned char)(value >> 8 * i);
    return at;
}

static unsigned char *text(unsigned char *at, uint32_t field, const char *bytes)
{
    size_t length = strlen(bytes);

    at = varint(varint(at, (uint64_t)field << 3 | BYTES), length);
    memcpy(at, bytes, length);
    return at + length;
}

/* A message within another one. Its size is known at its end, so the size has a fixed number of bytes. */
static inline unsigned char *open_message(unsigned char *at, uint32_t field, size_t size_bytes)
{
    return varint(at, (uint64_t)field << 3 | BYTES) + size_bytes;
}

/* `start`: what open_message returned. */
static inline void close_message(unsigned char *start, const unsigned char *end, size_t size_bytes)
{
    size_t size = (size_t)(end - start);
    unsigned char *at = start - size_bytes;

    for (size_t i = 0; i < size_bytes; i++)
        at[i] = (unsigned char)(size >> 7 * i & 0x7f) | (i + 1 < size_bytes ? 0x80 : 0);
}

/* Room for the next packet. */
static inline unsigned char *room(odi_perfetto *out)
{
    if (out->used > ODI_PERFETTO_BUFFER - LONGEST_PACKET)
        odi_perfetto_flush(out);
    return out->buffer + out->used;
}

/* Closes the packet that `start` is the beginning of, and the buffer has it. */
static inline void put_packet(odi_perfetto *out, unsigned char *start, const unsigned char *end, size_t size_bytes)
{
    close_message(start, end, size_bytes);
    out->used = (size_t)(end - out->buffer);
}

/* ---- packets ---- */

static uint64_t time_of(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static unsigned char *clock_at(unsigned char *at, uint32_t id, uint64_t ns)
{
    unsigned char *clock = open_message(at, CLOCK, WIDE);

    at = number(clock, CLOCK_NUMBER, id);
    at = number(at, CLOCK_TIME, ns);
    close_message(clock, at, WIDE);
    return at;
}

odi_perfetto_times odi_perfetto_times_at(uint64_t monotonic_ns)
{
    uint64_t later = time_of(CLOCK_MONOTONIC) - monotonic_ns;

    return (odi_perfetto_times){monotonic_ns, time_of(CLOCK_BOOTTIME) - later, time_of(CLOCK_REALTIME) - later};
}

void odi_perfetto_clocks(odi_perfetto *out, uint32_t sequence, odi_perfetto_times times)
{
    unsigned char *packet = open_message(room(out), PACKET, WIDE);
    unsigned char *snapshot = open_message(number(packet, SEQUENCE_ID, sequence), CLOCK_SNAPSHOT, WIDE);
    unsigned char *at = clock_at(snapshot, MONOTONIC, times.monotonic);

    at = clock_at(at, BOOTTIME, times.boottime);
    at = clock_at(at, REALTIME, times.realtime);
    at = number(at, PRIMARY_CLOCK, MONOTONIC);
    close_message(snapshot, at, WIDE);
    put_packet(out, packet, at, WIDE);
}

void odi_perfetto_process(odi_perfetto *out, uint32_t sequence, uint64_t track, int pid, const char *name)
{
    unsigned char *packet = open_message(room(out), PACKET, WIDE);
    unsigned char *descriptor = open_message(number(packet, SEQUENCE_ID, sequence), TRACK_DESCRIPTOR, WIDE);
    unsigned char *process = open_message(number(descriptor, TRACK_UUID, track), TRACK_PROCESS, WIDE);
    unsigned char *at = text(number(process, PROCESS_PID, (uint64_t)pid), PROCESS_NAME, name);

    close_message(process, at, WIDE);
    close_message(descriptor, at, WIDE);
    put_packet(out, packet, at, WIDE);
}

void odi_perfetto_thread(odi_perfetto *out, uint32_t sequence, uint64_t track, uint64_t process, int pid, int tid,
                         const char *name)
{
    unsigned char *packet = open_message(room(out), PACKET, WIDE);
    unsigned char *descriptor = open_message(number(packet, SEQUENCE_ID, sequence), TRACK_DESCRIPTOR, WIDE);
    unsigned char *at = number(number(descriptor, TRACK_UUID, track), TRACK_PARENT, process);
    unsigned char *thread = open_message(at, TRACK_THREAD, WIDE);

    at = number(number(thread, THREAD_PID, (uint64_t)pid), THREAD_TID, (uint64_t)tid);
    at = text(at, THREAD_NAME, name);
    close_message(thread, at, WIDE);
    close_message(descriptor, at, WIDE);
    put_packet(out, packet, at, WIDE);
}

void odi_perfetto_sequence(odi_perfetto *out, uint32_t sequence, uint64_t track, bool first, bool lost)
{
    unsigned char *packet = open_message(room(out), PACKET, WIDE);
    unsigned char *at = number(number(packet, SEQUENCE_ID, sequence), SEQUENCE_FLAGS, STATE_CLEARED);

    if (first)
        at = number(at, FIRST_ON_SEQUENCE, 1);
    if (lost)
        at = number(at, PREVIOUS_DROPPED, 1);
    unsigned char *defaults = open_message(at, DEFAULTS, WIDE);
    unsigned char *event = open_message(number(defaults, CLOCK_ID, MONOTONIC), TRACK_EVENT, WIDE);
    at = number(event, EVENT_TRACK, track);
    close_message(event, at, WIDE);
    close_message(defaults, at, WIDE);
    put_packet(out, packet, at, WIDE);
}

static void intern(odi_perfetto *out, uint32_t sequence, uint32_t field, uint32_t entry, const char *bytes)
{
    unsigned char *packet = open_message(room(out), PACKET, WIDE);
    unsigned char *at = number(number(packet, SEQUENCE_ID, sequence), SEQUENCE_FLAGS, NEEDS_STATE);
    unsigned char *data = open_message(at, INTERNED_DATA, WIDE), *one = open_message(data, field, WIDE);

    at = text(number(one, ENTRY_NUMBER, entry), ENTRY_TEXT, bytes);
    close_message(one, at, WIDE);
    close_message(data, at, WIDE);
    put_packet(out, packet, at, WIDE);
}

void odi_perfetto_name(odi_perfetto *out, uint32_t sequence, uint32_t entry, const char *bytes)
{
    intern(out, sequence, INTERNED_NAME, entry, bytes);
}

void odi_perfetto_category(odi_perfetto *out, uint32_t sequence, uint32_t entry, const char *bytes)
{
    intern(out, sequence, INTERNED_CATEGORY, entry, bytes);
}

static unsigned char *notes(unsigned char *at, const odi_perfetto_event *event)
{
    for (size_t i = 0; i < sizeof event->notes / sizeof *event->notes && event->notes[i] != NULL; i++) {
        unsigned char *annotation = open_message(at, EVENT_NOTE, WIDE);

        at = text(annotation, NOTE_NAME, event->notes[i]);
        at = number(at, NOTE_NUMBER, event->numbers[i]);
        close_message(annotation, at, WIDE);
    }
    return at;
}

static inline void write_event(odi_perfetto *out, const odi_perfetto_event *event, size_t size_bytes)
{
    unsigned char *packet = open_message(room(out), PACKET, size_bytes);
    unsigned char *at = number(number(packet, SEQUENCE_ID, event->sequence), TIMESTAMP, event->ns);
    unsigned char *body = open_message(number(at, SEQUENCE_FLAGS, NEEDS_STATE), TRACK_EVENT, size_bytes);

    at = number(body, EVENT_TYPE, event->type);
    if (event->track != 0)
        at = number(at, EVENT_TRACK, event->track);
    if (event->name != 0)
        at = number(at, EVENT_NAME, event->name);
    if (event->category != 0)
        at = number(at, EVENT_CATEGORY, event->category);
    if (event->flow != 0)
        at = fixed(at, event->ends_flow ? EVENT_LAST_FLOW : EVENT_FLOW, event->flow);
    if (size_bytes == WIDE)
        at = notes(at, event);
    close_message(body, at, size_bytes);
    put_packet(out, packet, at, size_bytes);
}

void odi_perfetto_event_write(odi_perfetto *out, const odi_perfetto_event *event)
{
    if (event->notes[0] == NULL)
        write_event(out, event, NARROW);
    else
        write_event(out, event, WIDE);
}
