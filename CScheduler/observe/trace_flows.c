#include "observe/trace_flows.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 4096, MOST_SIZE = 1 << 21 };

static size_t place_of(const odi_trace_flows *flows, uint64_t identity)
{
    return (identity * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (flows->size - 1);
}

/* The place that has the identity, or the free one where it would be. At most three of four are in use. */
static odi_trace_flow *find(odi_trace_flows *flows, uint64_t identity)
{
    size_t at = place_of(flows, identity);

    while (flows->places[at].identity != 0 && flows->places[at].identity != identity)
        at = (at + 1) & (flows->size - 1);
    return &flows->places[at];
}

/* False: there is no room for another one. */
static bool make_room(odi_trace_flows *flows)
{
    size_t size = flows->size == 0 ? FIRST_SIZE : flows->size * 2;

    if (flows->used < flows->size / 4 * 3)
        return true;
    if (size > MOST_SIZE)
        return false;
    odi_trace_flow *places = calloc(size, sizeof *places), *before = flows->places;
    if (places == NULL)
        return false;
    size_t count = flows->size;
    flows->places = places;
    flows->size = size;
    for (size_t i = 0; i < count; i++) {
        if (before[i].identity != 0)
            *find(flows, before[i].identity) = before[i];
    }
    free(before);
    return true;
}

/* Removes an entry. Later entries of its run move up, so that no search ends too early. */
static void take_out(odi_trace_flows *flows, odi_trace_flow *place)
{
    size_t mask = flows->size - 1, hole = (size_t)(place - flows->places);

    for (size_t at = (hole + 1) & mask; flows->places[at].identity != 0; at = (at + 1) & mask) {
        size_t wanted = place_of(flows, flows->places[at].identity);

        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            flows->places[hole] = flows->places[at];
            hole = at;
        }
    }
    flows->places[hole] = (odi_trace_flow){0};
    flows->used--;
}

uint32_t odi_trace_flows_submit(odi_trace_flows *flows, uint64_t identity, int64_t ns)
{
    if (!make_room(flows))
        return 0;
    odi_trace_flow *place = find(flows, identity);

    if (place->identity == identity && place->pending == 0) { /* it has begun, or another one has */
        if (place->begun_ns >= ns) {
            take_out(flows, place);
            return 0;
        }
        *place = (odi_trace_flow){identity, 0, ++flows->last, 1, false};
        return place->flow;
    }
    if (place->identity == identity) {
        place->pending++;
        place->alike = true;
        return 0;
    }
    *place = (odi_trace_flow){identity, 0, ++flows->last, 1, false};
    flows->used++;
    return place->flow;
}

uint32_t odi_trace_flows_begin(odi_trace_flows *flows, uint64_t identity, int64_t ns)
{
    uint32_t flow = 0;

    odi_trace_flow *place = flows->size > 0 ? find(flows, identity) : NULL;

    if (place == NULL || place->identity != identity) {
        if (make_room(flows)) {
            *find(flows, identity) = (odi_trace_flow){.identity = identity, .begun_ns = ns};
            flows->used++;
        }
    } else if (place->pending == 0) {
        place->begun_ns = ns;
    } else {
        flow = place->alike ? 0 : place->flow;
        if (--place->pending == 0)
            take_out(flows, place);
    }
    flows->left_out += flow == 0;
    return flow;
}

void odi_trace_flows_cancel(odi_trace_flows *flows, uint64_t identity)
{
    if (flows->size == 0)
        return;
    odi_trace_flow *place = find(flows, identity);

    if (place->identity == identity && (place->pending == 0 || --place->pending == 0))
        take_out(flows, place);
}

void odi_trace_flows_clear(odi_trace_flows *flows)
{
    if (flows->size > 0)
        memset(flows->places, 0, flows->size * sizeof *flows->places);
    flows->used = 0;
}

void odi_trace_flows_free(odi_trace_flows *flows)
{
    free(flows->places);
    *flows = (odi_trace_flows){0};
}
