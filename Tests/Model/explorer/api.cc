// api.cc — the calls of model/runtime.h and model/check.h, turned into requests.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "machine.h"
#include "model/check.h"
#include "options.h"
#include "report.h"

using namespace model;

namespace {

Event make(Kind kind, const model_site *site)
{
    Event event;
    bool weak = is_weakened(site);

    event.kind = kind;
    event.site = site;
    event.order = weak ? site->weak : site->order;
    event.success = event.order;
    event.failure = weak ? site->weak_failure : site->failure;
    return event;
}

// A word and where the accessed bytes lie in it.
struct Place {
    uint16_t word;
    uint8_t size;
    unsigned shift;
};

Place find(const volatile void *address, unsigned size, bool store)
{
    auto a = (uintptr_t)address;
    int word = machine().memory.word_at(a, size);

    if (word < 0)
        machine().fail("an atomic access overlaps a word of another size: " + machine().memory.name_of(a));
    const WordPlace &place = machine().memory.place(word);
    if (place.size != size && store)
        machine().fail("an atomic store to a part of a word: " + machine().memory.name_of(a));
    return {(uint16_t)word, (uint8_t)place.size, (unsigned)(a - place.address) * 8};
}

uint64_t peek(const volatile void *address, unsigned size)
{
    uint64_t value = 0;

    memcpy(&value, const_cast<const void *>(address), size);
    return value;
}

void poke(volatile void *address, unsigned size, uint64_t value)
{
    machine().check(machine().memory.plain((uintptr_t)address, size, true, machine().accessor()));
    memcpy(const_cast<void *>(address), &value, size);
}

Event rmw_event(unsigned size, model_rmw_kind kind, uint64_t operand, uint64_t expected, const model_site *site)
{
    Event event = make(Kind::Read, site);

    event.updates = true;
    event.rmw = (uint8_t)kind;
    event.size = (uint8_t)size;
    event.operand = truncate_to(size, operand);
    event.expected = truncate_to(size, expected);
    return event;
}

} // namespace

extern "C" {

uint64_t model_load(const volatile void *word, unsigned size, const model_site *site)
{
    if (machine().preparing())
        return peek(word, size);
    Place place = find(word, size, false);
    Request request{make(Kind::Read, site)};
    request.event.word = place.word;
    request.event.size = place.size;
    return truncate_to(size, machine().perform(request).value >> place.shift);
}

void model_store(volatile void *word, unsigned size, uint64_t value, const model_site *site)
{
    value = truncate_to(size, value);
    if (machine().preparing())
        return poke(word, size, value);
    Place place = find(word, size, true);
    Request request{make(Kind::Write, site)};
    request.event.word = place.word;
    request.event.size = place.size;
    request.event.value = value;
    machine().perform(request);
}

uint64_t model_rmw(volatile void *word, unsigned size, model_rmw_kind kind, uint64_t operand,
                   const model_site *site)
{
    Event event = rmw_event(size, kind, operand, 0, site);

    if (machine().preparing()) {
        event.value = peek(word, size);
        poke(word, size, written_by(event));
        return event.value;
    }
    event.word = find(word, size, true).word;
    return machine().perform({event}).value;
}

bool model_cas(volatile void *word, unsigned size, uint64_t *expected, uint64_t desired, const model_site *site)
{
    Event event = rmw_event(size, MODEL_CAS, desired, *expected, site);
    uint64_t before = event.expected;

    if (machine().preparing()) {
        *expected = peek(word, size);
        if (*expected == before)
            poke(word, size, event.operand);
    } else {
        event.word = find(word, size, true).word;
        *expected = machine().perform({event}).value;
    }
    return *expected == before;
}

void model_fence(const model_site *site)
{
    Request request{make(Kind::Fence, site)};

    if (!machine().preparing() && request.event.order != MODEL_NO_FENCE)
        machine().perform(request);
}

// A wait that is bounded leaves, or takes a turn more and then leaves.
bool model_spins_on(void)
{
    static const model_site site = {__FILE__, __func__, "takes a turn", "", __LINE__, 0, 0, 0, 0, 0};
    Request request{make(Kind::Choice, &site)};

    if (machine().preparing() || machine().spins() == MODEL_SPINS_LEAVE)
        return false;
    if (machine().spins() == MODEL_SPINS_WAIT)
        return true;
    request.choices = 2;
    bool first = machine().turn() == Turn::None;
    bool goes_on = first && machine().perform(request).value == 1;
    machine().set_turn(goes_on ? Turn::Taken : first ? Turn::None : Turn::Left);
    return goes_on;
}

// A turn of a waiting loop: what it waits for has not been stored in this execution. The
// executions in which it has been are explored through the load before.
void model_pause(const model_site *site)
{
    if (machine().preparing())
        broken("a wait while preparing");
    if (machine().turn() == Turn::Taken)
        return;
    note_wait(site);
    machine().block(Why::Waiting, site);
}

void model_invariant(bool holds, const char *condition, const char *file, int line)
{
    if (!holds)
        model_fail("%s:%d: broken: %s", file, line, condition);
}

void model_fail(const char *format, ...)
{
    char text[400];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    machine().fail(text);
}

void model_assume_at(bool holds, const char *condition, const char *file, int line)
{
    note_assumption(condition, file, line);
    if (holds)
        return;
    if (machine().preparing())
        broken("an assumption fails while preparing");
    machine().block(Why::Assumption);
}

void model_hint(const volatile void *word, unsigned size)
{
    machine().memory.mark_hint(find(word, size, false).word);
}

void model_unborn(void) { machine().block(Why::Unborn); }

unsigned model_choose(unsigned count)
{
    static const model_site site = {__FILE__, __func__, "choose", "", __LINE__, 0, 0, 0, 0, 0};

    if (machine().preparing() || count < 2)
        return 0;
    Request request{make(Kind::Choice, &site)};
    request.choices = count;
    return (unsigned)machine().perform(request).value;
}

unsigned model_met(unsigned thread, const char *what)
{
    unsigned count = 0;

    for (const Event &event : machine().graph().events[thread]) {
        bool is_second_half = event.kind == Kind::Write && event.updates;
        count += !is_second_half && (strcmp(event.site->op, what) == 0 || strcmp(event.site->function, what) == 0);
    }
    return count;
}

void model_outcome(unsigned slot, int64_t value) { machine().set_outcome(slot, value); }

unsigned model_thread(void) { return machine().self(); }

static void *allocate(size_t bytes, size_t alignment, bool zeroed)
{
    Accessor by = machine().accessor();

    return machine().memory.allocate(by.thread, bytes, alignment, zeroed, machine().preparing() ? nullptr : &by);
}

void *model_malloc(size_t bytes) { return allocate(bytes, 16, false); }
void *model_calloc(size_t count, size_t bytes) { return allocate(count * bytes, 16, true); }
void *model_aligned_alloc(size_t alignment, size_t bytes)
{
    return allocate(bytes, alignment < 16 ? 16 : alignment, false);
}

void model_free(void *block)
{
    if (block != nullptr)
        machine().check(machine().memory.release((uintptr_t)block, machine().accessor(), "free"));
}

void model_retire(void *block)
{
    machine().check(machine().memory.release((uintptr_t)block, machine().accessor(), "retirement"));
}

} // extern "C"
