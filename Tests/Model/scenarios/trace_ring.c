/* trace_ring.c — a thread that writes events, and a reader that copies them meanwhile (observe/trace_ring.h).
 *
 * The ring has room for two. Whatever the reader is given is whole and has its number; the rest is counted as lost.
 */
#define ODI_TRACE_RING_EVENTS 2
#define ODI_TRACE_WORDS 2

#include "observe/trace_ring.h"

#include "model/scenario.h"

enum { WRITTEN = 3 };

static odi_trace_slot slots[ODI_TRACE_RING_EVENTS];
static odi_trace_ring ring = {.slots = slots};
static uint64_t from, copied, lost;

static void write_events(void)
{
    for (uint64_t i = 0; i < WRITTEN; i++)
        (void)odi_trace_ring_write(&ring, &(odi_trace_event){{i + 1, i + 1}});
}

static void copy(void)
{
    odi_trace_event events[ODI_TRACE_RING_EVENTS];
    uint64_t before;
    size_t count = odi_trace_ring_copy(&ring, &from, events, &before);

    for (size_t i = 0; i < count; i++) {
        uint64_t number = from - count + i;

        model_check(events[i].words[0] == number + 1 && events[i].words[1] == number + 1);
    }
    copied += count;
    lost += before;
    model_check(copied + lost == from);
}

static void copy_twice(void)
{
    copy();
    copy();
}

static void all_is_accounted_for(void)
{
    uint64_t met = copied;

    copy();
    model_check(from == WRITTEN && copied >= met);
}

MODEL_SCENARIO(trace_copy_beside_writes, NULL, all_is_accounted_for, write_events, copy_twice)
MODEL_REACHES(trace_copy_beside_writes, lost == 0, lost == 1, lost == 2, copied == WRITTEN)
