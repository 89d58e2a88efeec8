#include "observe/trace_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"

/* Names that are interned on the sequence of what is no thread's. */
enum { END_NAME = 1, NOTE_NAME };
/* That sequence, and categories. */
enum { OWN_SEQUENCE = 1, BANDS = 5, SCHEDULER = BANDS + 1, CATEGORIES };

static const char *const category_names[CATEGORIES + 1] = {
    NULL, "userInteractive", "userInitiated", "default", "utility", "background", "scheduler",
};

/* ---- time ---- */

/* Takes the closest of three readings, because the thread may lose its CPU in between. */
void odi_trace_read_clocks(bool ticks, uint64_t *tick, int64_t *ns)
{
    uint64_t closest = UINT64_MAX;

    *ns = odi_clock_now();
    *tick = (uint64_t)*ns;
    if (!ticks)
        return;
    for (int i = 0; i < 3; i++) {
        uint64_t before = odi_trace_time(ticks);
        int64_t now = odi_clock_now();
        uint64_t gap = odi_trace_time(ticks) - before;

        if (gap < closest) {
            closest = gap;
            *tick = before + gap / 2;
            *ns = now;
        }
    }
}

static int64_t ns_of(const odi_trace_writer *writer, uint64_t tick)
{
    if (!writer->ticks)
        return (int64_t)tick;
    return writer->ns + (int64_t)((double)(int64_t)(tick - writer->tick) * writer->ns_per_tick);
}

/* Measures the clock. Events copied after this call are older than the next measurement, unless their thread was
 * preempted. */
static void measure(odi_trace_writer *writer)
{
    uint64_t tick;
    int64_t ns;

    if (writer->recorded)
        return;
    odi_trace_read_clocks(writer->ticks, &tick, &ns);
    if (tick > writer->tick && ns > writer->ns)
        writer->ns_per_tick = (double)(ns - writer->ns) / (double)(tick - writer->tick);
    /* Times before are reckoned back from here: those of two passes may differ by what a reading is off. */
    writer->tick = tick;
    writer->ns = ns;
}

/* ---- names ---- */

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t mix = (a + b * UINT64_C(0x9e3779b97f4a7c15)) ^ UINT64_C(0xd6e8feb86659fd93);

    mix = (mix ^ mix >> 32) * UINT64_C(0xd6e8feb86659fd93);
    mix = (mix ^ mix >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (mix ^ mix >> 32) | 1;
}

static uint64_t track_of(const odi_trace_writer *writer, uint32_t sequence)
{
    return mixed(writer->process, sequence);
}

static uint64_t arrow_of(const odi_trace_writer *writer, uint32_t flow)
{
    return flow != 0 ? mixed(~writer->process, flow) : 0;
}

/* Before the first event of a thread's use of its ring, and after a loss. */
static void begin_sequence(odi_trace_writer *writer, odi_trace_thread *thread, bool lost)
{
    bool first = thread->sequence == 0;

    if (first) {
        thread->sequence = ++writer->sequences;
        thread->last_ns = 0;
        thread->depth = 0;
        odi_perfetto_thread(&writer->out, thread->sequence, track_of(writer, thread->sequence), writer->process, writer->pid,
                            thread->tid, thread->name);
    }
    memset(thread->texts, 0, sizeof thread->texts);
    thread->categories = 0;
    odi_perfetto_sequence(&writer->out, thread->sequence, track_of(writer, thread->sequence), first, lost);
}

/* Sees to it that the text is interned. Returns its number there. */
static uint32_t name_on(odi_trace_writer *writer, odi_trace_thread *thread, uint32_t number)
{
    uint64_t bit = UINT64_C(1) << number % 64;

    if (!(thread->texts[number / 64] & bit)) {
        char text[ODI_TRACE_TEXT_BYTES];

        thread->texts[number / 64] |= bit;
        odi_trace_copy_text(number, text);
        odi_perfetto_name(&writer->out, thread->sequence, number + 1, text);
    }
    return number + 1;
}

static uint32_t category_on(odi_trace_writer *writer, odi_trace_thread *thread, uint32_t category)
{
    if (!(thread->categories >> category & 1)) {
        thread->categories |= UINT64_C(1) << category;
        odi_perfetto_category(&writer->out, thread->sequence, category, category_names[category]);
    }
    return category;
}

/* `verb` and the object's label. */
static uint32_t text_with(const char *verb, const void *object, uint64_t ticks)
{
    char label[ODI_TRACE_TEXT_BYTES], text[2 * ODI_TRACE_TEXT_BYTES];

    odi_trace_copy_text(odi_trace_names_of(object, ticks, NULL), label);
    snprintf(text, sizeof text, object != NULL ? "%s \"%s\"" : "%s", verb, label);
    return odi_trace_text(text);
}

/* The texts of a queue whose label has not changed since it was met. */
static const odi_trace_known *known_of(odi_trace_writer *writer, const void *object, uint64_t ticks)
{
    odi_trace_known *known = &writer->known[mixed((uintptr_t)object, 0) >> 40 & (ODI_TRACE_KNOWN - 1)];
    uint32_t version = odi_trace_names_version();

    if (known->object != object || known->version != version || ticks >= known->until) {
        uint64_t until;
        uint32_t label = odi_trace_names_of(object, ticks, &until);

        *known = (odi_trace_known){object, until, version, label, text_with("submit", object, ticks)};
    }
    return known;
}

/* ---- events ---- */

typedef struct {
    odi_trace_writer *writer;
    odi_trace_thread *thread;
    odi_trace_kind kind;
    uint32_t band;
    uint64_t ticks, word;
    const void *object;
    odi_perfetto_event event;
} telling;

static void tell(telling *it, odi_perfetto_type type, uint32_t text)
{
    it->event.type = type;
    it->event.name = name_on(it->writer, it->thread, text);
    it->event.category =
        category_on(it->writer, it->thread, it->band < BANDS && it->kind <= ODI_TRACE_CANCEL ? it->band + 1 : SCHEDULER);
    odi_perfetto_event_write(&it->writer->out, &it->event);
}

static void open_slice(telling *it, uint64_t key, uint32_t text)
{
    odi_trace_thread *thread = it->thread;

    if (thread->depth < ODI_TRACE_DEEPEST)
        thread->open[thread->depth] = key;
    thread->depth++;
    tell(it, ODI_PERFETTO_SLICE, text);
}

static void close_slice(telling *it, uint64_t key)
{
    odi_trace_thread *thread = it->thread;
    bool kept = thread->depth <= ODI_TRACE_DEEPEST;

    if (thread->depth == 0 || (kept && thread->open[thread->depth - 1] != key)) {
        it->writer->unmatched++;
        return;
    }
    thread->depth--;
    it->event.type = ODI_PERFETTO_SLICE_END;
    odi_perfetto_event_write(&it->writer->out, &it->event);
}

/* All that is open on the thread's track ends at its last event. */
static void close_all(odi_trace_writer *writer, odi_trace_thread *thread, int64_t ns)
{
    odi_perfetto_event end = {.sequence = thread->sequence, .ns = (uint64_t)ns, .type = ODI_PERFETTO_SLICE_END};

    writer->closed += thread->depth;
    for (; thread->depth > 0; thread->depth--)
        odi_perfetto_event_write(&writer->out, &end);
}

/* A slice's end is known by its kind and its closure or queue. */
static uint64_t key_of(const telling *it, odi_trace_kind begins)
{
    return mixed(it->word ^ (uint64_t)(uintptr_t)it->object, begins);
}

static void tell_closure(telling *it)
{
    odi_trace_writer *writer = it->writer;
    uint32_t flow = 0;

    switch (it->kind) {
    case ODI_TRACE_SUBMIT:
        writer->submitted++;
        flow = odi_trace_flows_submit(&writer->flows, it->word, (int64_t)it->event.ns);
        it->event.flow = arrow_of(writer, flow);
        tell(it, ODI_PERFETTO_INSTANT,
             it->object != NULL ? known_of(writer, it->object, it->ticks)->submit : writer->plain_submit);
        break;
    case ODI_TRACE_BEGIN:
        writer->started++;
        if (it->word != 0)
            flow = odi_trace_flows_begin(&writer->flows, it->word, (int64_t)it->event.ns);
        it->event.flow = arrow_of(writer, flow);
        it->event.ends_flow = true;
        open_slice(it, key_of(it, ODI_TRACE_BEGIN),
                   it->object != NULL ? known_of(writer, it->object, it->ticks)->label : writer->plain_job);
        break;
    case ODI_TRACE_END:
        close_slice(it, key_of(it, ODI_TRACE_BEGIN));
        break;
    default:
        writer->cancelled++;
        odi_trace_flows_cancel(&writer->flows, it->word);
        tell(it, ODI_PERFETTO_INSTANT, text_with("cancel", it->object, it->ticks));
    }
}

static void note(telling *it, int at, const char *name, uint64_t number)
{
    it->event.notes[at] = name;
    it->event.numbers[at] = number;
}

static void tell_wait(telling *it)
{
    char verb[ODI_TRACE_TEXT_BYTES] = "blocked";

    switch (it->kind) {
    case ODI_TRACE_PARK:
        open_slice(it, key_of(it, ODI_TRACE_PARK), odi_trace_text("parked"));
        break;
    case ODI_TRACE_BLOCK:
        if (it->word != 0)
            snprintf(verb, sizeof verb, "blocked: %s", (const char *)(uintptr_t)it->word);
        it->word = 0;
        open_slice(it, mixed(0, ODI_TRACE_BLOCK), text_with(verb, it->object, it->ticks));
        break;
    case ODI_TRACE_BENCH:
        open_slice(it, key_of(it, ODI_TRACE_BENCH), odi_trace_text("spare, on the bench"));
        break;
    case ODI_TRACE_BRANCH:
        open_slice(it, key_of(it, ODI_TRACE_BRANCH), odi_trace_text("stolen branch"));
        break;
    case ODI_TRACE_UNBLOCK:
        close_slice(it, mixed(0, ODI_TRACE_BLOCK));
        break;
    default:
        close_slice(it, key_of(it, it->kind - 1));
    }
}

static void tell_moment(telling *it)
{
    switch (it->kind) {
    case ODI_TRACE_STEAL:
        note(it, 0, "closures", it->word);
        note(it, 1, "from thread", (uint64_t)(uintptr_t)it->object);
        tell(it, ODI_PERFETTO_INSTANT, odi_trace_text("steal"));
        break;
    case ODI_TRACE_TIMER:
        note(it, 0, "late ns", it->word);
        tell(it, ODI_PERFETTO_INSTANT, odi_trace_text("timer"));
        break;
    case ODI_TRACE_SUSPEND:
    case ODI_TRACE_RESUME:
        tell(it, ODI_PERFETTO_INSTANT, text_with(it->kind == ODI_TRACE_SUSPEND ? "suspend" : "resume", it->object, it->ticks));
        break;
    case ODI_TRACE_START:
        tell(it, ODI_PERFETTO_INSTANT, odi_trace_text(it->word != 0 ? "spare starts" : "worker starts"));
        break;
    default:
        tell(it, ODI_PERFETTO_INSTANT, odi_trace_text("worker leaves"));
    }
}

static void tell_event(odi_trace_writer *writer, odi_trace_thread *thread, const odi_trace_event *raw)
{
    telling it = {.writer = writer, .thread = thread, .ticks = raw->words[0], .kind = (odi_trace_kind)(raw->words[1] & 255),
                  .band = (uint32_t)(raw->words[1] >> 8 & 255), .object = (const void *)(uintptr_t)raw->words[2],
                  .word = raw->words[3]};
    int64_t ns = ns_of(writer, it.ticks);

    if (thread->sequence == 0)
        begin_sequence(writer, thread, false);
    thread->last_ns = ns > thread->last_ns ? ns : thread->last_ns;
    it.event.sequence = thread->sequence;
    it.event.ns = (uint64_t)thread->last_ns;
    writer->events++;
    if (it.kind <= ODI_TRACE_CANCEL)
        tell_closure(&it);
    else if (it.kind <= ODI_TRACE_BRANCH_END)
        tell_wait(&it);
    else
        tell_moment(&it);
}

/* ---- a pass ---- */

static uint64_t time_of(const odi_trace_thread *thread)
{
    return thread->copies[thread->at].words[0];
}

static void sink(odi_trace_writer *writer, size_t at)
{
    odi_trace_thread **order = writer->order;

    for (size_t child; (child = 2 * at + 1) < writer->threads; at = child) {
        if (child + 1 < writer->threads && time_of(order[child + 1]) < time_of(order[child]))
            child++;
        if (time_of(order[at]) <= time_of(order[child]))
            break;
        odi_trace_thread *other = order[at];
        order[at] = order[child];
        order[child] = other;
    }
}

bool odi_trace_writer_add(odi_trace_writer *writer, odi_trace_thread *thread)
{
    if (writer->threads == writer->room) {
        size_t room = writer->room == 0 ? 64 : 2 * writer->room;
        odi_trace_thread **order = realloc(writer->order, room * sizeof *order);

        if (order == NULL)
            return false;
        writer->order = order;
        writer->room = room;
    }
    if (thread->copies == NULL && (thread->copies = malloc(ODI_TRACE_RING_EVENTS * sizeof *thread->copies)) == NULL)
        return false;
    writer->order[writer->threads++] = thread;
    return true;
}

/* After a loss, the thread's open slices and all pending closures are unknown, and are dropped. */
static void note_loss(odi_trace_writer *writer, odi_trace_thread *thread, uint64_t lost)
{
    writer->lost += lost;
    odi_trace_flows_clear(&writer->flows);
    if (thread->sequence == 0)
        return;
    close_all(writer, thread, thread->last_ns);
    begin_sequence(writer, thread, true);
}

/* Events that the last pass did not write are kept. */
static void copy_ring(odi_trace_writer *writer, odi_trace_thread *thread)
{
    uint64_t lost;

    thread->from -= thread->count - thread->at; /* of the last pass: those beyond its horizon are copied again */
    thread->at = 0;
    thread->count = odi_trace_ring_copy(&thread->ring, &thread->from, thread->copies, &lost);
    while (thread->at < thread->count && time_of(thread) < writer->begun)
        thread->at++; /* of the trace before, or from a thread that lost its CPU before this one began */
    if (lost > 0)
        note_loss(writer, thread, lost);
}

void odi_trace_writer_pass(odi_trace_writer *writer, bool last)
{
    size_t with_events = 0;

    measure(writer);
    writer->horizon = last ? UINT64_MAX : writer->tick;
    for (size_t i = 0; i < writer->threads; i++) {
        odi_trace_thread *thread = writer->order[i];

        copy_ring(writer, thread);
        if (thread->at < thread->count)
            writer->order[with_events++] = thread;
    }
    writer->threads = with_events;
    for (size_t at = with_events; at-- > 0;)
        sink(writer, at);
    while (writer->threads > 0 && time_of(writer->order[0]) <= writer->horizon && !odi_trace_writer_is_full(writer)) {
        odi_trace_thread *thread = writer->order[0];

        tell_event(writer, thread, &thread->copies[thread->at++]);
        if (thread->at == thread->count)
            writer->order[0] = writer->order[--writer->threads];
        sink(writer, 0);
    }
    writer->threads = 0;
    odi_perfetto_flush(&writer->out);
}

void odi_trace_writer_leave(odi_trace_writer *writer, odi_trace_thread *thread)
{
    if (thread->sequence != 0)
        close_all(writer, thread, thread->last_ns);
    thread->sequence = 0;
}

/* ---- beginning and end ---- */

bool odi_trace_writer_is_full(const odi_trace_writer *writer)
{
    const odi_perfetto *out = &writer->out;

    return out->error != 0 || (writer->most_bytes != 0 && out->bytes + out->used >= writer->most_bytes);
}

odi_trace_origin odi_trace_origin_now(bool ticks)
{
    odi_trace_origin origin = {.program = program_invocation_short_name, .pid = getpid(), .ticks = ticks};

    origin.begun = odi_trace_time(ticks);
    odi_trace_read_clocks(ticks, &origin.tick, &origin.ns);
    origin.times = odi_perfetto_times_at((uint64_t)origin.ns);
    return origin;
}

bool odi_trace_writer_begin(odi_trace_writer *writer, int file, const odi_trace_origin *origin, uint64_t most_bytes)
{
    *writer = (odi_trace_writer){
        .out = {.file = file, .buffer = malloc(ODI_PERFETTO_BUFFER)},
        .pid = origin->pid,
        .sequences = OWN_SEQUENCE,
        .ticks = origin->ticks,
        .recorded = origin->recorded,
        .begun = origin->begun,
        .tick = origin->tick,
        .ns = origin->ns,
        .ns_per_tick = origin->ns_per_tick,
        .most_bytes = most_bytes,
    };
    if (writer->out.buffer == NULL)
        return false;
    writer->plain_submit = odi_trace_text("submit");
    writer->plain_job = odi_trace_text("no queue");
    writer->process = mixed((uint64_t)writer->pid, (uint64_t)writer->ns);
    odi_perfetto_clocks(&writer->out, OWN_SEQUENCE, origin->times);
    odi_perfetto_process(&writer->out, OWN_SEQUENCE, writer->process, writer->pid, origin->program);
    odi_perfetto_sequence(&writer->out, OWN_SEQUENCE, writer->process, true, false);
    odi_perfetto_flush(&writer->out);
    return true;
}

static int64_t now_of(const odi_trace_writer *writer)
{
    return writer->recorded ? writer->ns : odi_clock_now();
}

void odi_trace_writer_note(odi_trace_writer *writer, const char *text)
{
    odi_perfetto_event event = {
        .sequence = OWN_SEQUENCE, .ns = (uint64_t)now_of(writer), .type = ODI_PERFETTO_INSTANT, .name = NOTE_NAME};

    odi_perfetto_name(&writer->out, OWN_SEQUENCE, NOTE_NAME, text);
    odi_perfetto_event_write(&writer->out, &event);
}

void odi_trace_writer_end(odi_trace_writer *writer, odi_trace_thread *first)
{
    int64_t now = now_of(writer);
    odi_perfetto_event end = {
        .sequence = OWN_SEQUENCE,
        .ns = (uint64_t)now,
        .type = ODI_PERFETTO_INSTANT,
        .name = END_NAME,
        .notes = {"submitted", "started", "lost", "arrows left out", "closed", "unmatched"},
    };

    for (odi_trace_thread *thread = first; thread != NULL; thread = thread->next) {
        if (thread->sequence != 0)
            close_all(writer, thread, now > thread->last_ns ? now : thread->last_ns);
        thread->sequence = 0;
    }
    uint64_t numbers[] = {writer->submitted, writer->started, writer->lost, writer->flows.left_out, writer->closed,
                          writer->unmatched};
    memcpy(end.numbers, numbers, sizeof numbers);
    odi_perfetto_name(&writer->out, OWN_SEQUENCE, END_NAME, "trace ends");
    odi_perfetto_event_write(&writer->out, &end);
    odi_perfetto_flush(&writer->out);
    int file = writer->out.file;
    writer->out.file = -1; /* a child forked from here on closes no file of others */
    odi_file_close(file);
    odi_trace_flows_free(&writer->flows);
    free(writer->out.buffer);
    free(writer->order);
}
