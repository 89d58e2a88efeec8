// futex.cc — futex(2) as events on one hidden word per futex: the kernel's queue and its lock.
//
// A waiter takes the queue's lock, loads the word, and either leaves or puts itself at the
// end of the queue and unlocks; then it needs a state of the queue without it. A waker takes
// the first sleepers out in one step. The lock orders as the kernel's does. Whoever finds the
// queue locked waits. A waiter may also take itself out, woken or not, and return.
#include "futex.h"

#include "machine.h"
#include "model/check.h"
#include "options.h"
#include "report.h"

using namespace model;

namespace model {

namespace {

constexpr uint64_t kLocked = uint64_t{1} << 63;

// A queue is its sleepers, the first in the lowest ten bits: thread + 1, and which bit of the
// mask names it (kAnyName: all).
constexpr unsigned kBits = 10, kThreadBits = 4, kAnyName = 32;
constexpr uint64_t kEntry = (1 << kBits) - 1;

unsigned thread_in(uint64_t queue) { return (unsigned)(queue & ((1 << kThreadBits) - 1)); }

bool is_named(uint64_t queue, uint32_t names)
{
    auto name = (unsigned)((queue & kEntry) >> kThreadBits);

    return name == kAnyName ? names != 0 : names >> name & 1;
}

uint64_t enqueue(uint64_t queue, unsigned thread, uint32_t name)
{
    unsigned at = 0;

    while (queue >> at & kEntry)
        at += kBits;
    unsigned code = name == ~uint32_t{0} ? kAnyName : (unsigned)__builtin_ctz(name);
    return queue | (uint64_t)(code << kThreadBits | (thread + 1)) << at;
}

// Takes the first `count` sleepers with one of the names out.
uint64_t dequeue(uint64_t queue, unsigned count, uint32_t names, int *woken)
{
    uint64_t rest = 0;
    unsigned at = 0;

    for (; queue & kEntry; queue >>= kBits)
        if (count > 0 && is_named(queue, names)) {
            count--;
            ++*woken;
        } else {
            rest |= (queue & kEntry) << at;
            at += kBits;
        }
    return rest;
}

uint64_t without(uint64_t queue, unsigned thread)
{
    uint64_t rest = 0;
    unsigned at = 0;

    for (; queue & kEntry; queue >>= kBits)
        if (thread_in(queue) != thread + 1) {
            rest |= (queue & kEntry) << at;
            at += kBits;
        }
    return rest;
}

bool sleeps(uint64_t queue, unsigned thread)
{
    for (; queue & kEntry; queue >>= kBits)
        if (thread_in(queue) == thread + 1)
            return true;
    return false;
}

constexpr model_site site(const char *op, model_order order, int line)
{
    return {__FILE__, "", op, "", line, MODEL_END_NONE, (uint8_t)order, (uint8_t)order,
            (uint8_t)MODEL_RELAXED, (uint8_t)MODEL_RELAXED};
}

const model_site kLock = site("futex wait: lock", MODEL_ACQREL, __LINE__);
const model_site kLook = site("futex wait: compare", MODEL_RELAXED, __LINE__);
const model_site kSleep = site("futex wait: sleep", MODEL_RELEASE, __LINE__);
const model_site kLeave = site("futex wait: changed", MODEL_RELEASE, __LINE__);
const model_site kNothing = site("futex wait: who wakes it", MODEL_RELAXED, __LINE__);
const model_site kWoken = site("futex wait: woken", MODEL_ACQUIRE, __LINE__);
const model_site kGone = site("futex wait: for nothing", MODEL_ACQREL, __LINE__);
const model_site kWake = site("futex wake", MODEL_ACQREL, __LINE__);

Event on_queue(Kind kind, uint16_t word, const model_site &site)
{
    Event event;

    event.kind = kind;
    event.word = word;
    event.size = 8;
    event.site = &site;
    event.order = event.success = site.order;
    event.failure = site.failure;
    return event;
}

// A read-modify-write of the queue, as soon as that is not locked; returns what was there.
uint64_t change(uint16_t word, uint8_t kind, uint64_t operand, const model_site &site)
{
    Event event = on_queue(Kind::Read, word, site);

    event.updates = true;
    event.rmw = kind;
    event.operand = operand;
    for (;;) {
        uint64_t queue = machine().perform({event}).value;
        if (!(queue & kLocked))
            return queue;
        machine().block(Why::Waiting, &site);
    }
}

// From waits for this word, or for any (negative).
bool has_returned_for_nothing(int word)
{
    Machine &m = machine();
    const std::vector<Event> &events = m.graph().events[m.self()];

    for (unsigned pos = 0; pos < m.length_of_self(); pos++)
        if (events[pos].site == &kNothing && events[pos].value == 1 && (word < 0 || events[pos].word == word))
            return true;
    return false;
}

// Once for each thread and word a wait is explored that ends though nobody woke the thread: a signal, or
// a wake that was meant for what lay at the address before.
bool returns_for_nothing(uint16_t word)
{
    Machine &m = machine();
    Request request{on_queue(Kind::Choice, word, kNothing)};

    if (!options().spurious || m.woken_only())
        return false;
    request.choices = 2;
    return !has_returned_for_nothing(word) && m.perform(request).value == 1;
}

// The kernel looks at four bytes, of which a program may have made two words.
bool is_expected(const volatile void *address, uint32_t expected)
{
    unsigned size = machine().memory.word_at((uintptr_t)address, 4) < 0 ? 2 : 4;
    auto part = static_cast<const volatile char *>(address);

    for (unsigned at = 0; at < 4; at += size)
        if (model_load(part + at, size, &kLook) != (size == 4 ? expected : expected >> 8 * at & 0xffff))
            return false;
    return true;
}

void unlock(uint16_t word, uint64_t queue, const model_site &site)
{
    Event event = on_queue(Kind::Write, word, site);

    event.value = queue;
    machine().perform({event});
}

} // namespace

bool futex_is_free(uint64_t queue) { return !(queue & kLocked); }

uint64_t futex_written(uint8_t kind, uint64_t queue, uint64_t operand)
{
    if (kind == kFutexLock)
        return queue | kLocked;
    if (kind == kFutexLeave)
        return without(queue, (unsigned)operand);
    int woken = 0;
    return dequeue(queue, (unsigned)(operand >> 32), (uint32_t)operand, &woken);
}

} // namespace model

extern "C" bool model_futex_wait(const volatile void *address, uint32_t expected, uint32_t name)
{
    Machine &m = machine();
    auto word = (uint16_t)m.memory.hidden_word((uintptr_t)address);
    uint64_t queue = change(word, kFutexLock, 0, kLock);

    if (name == 0 || (name != ~uint32_t{0} && (name & (name - 1)) != 0))
        broken("a futex wait under several names");
    if (!is_expected(address, expected)) {
        unlock(word, queue, kLeave);
        return false;
    }
    unlock(word, enqueue(queue, m.self(), name), kSleep);
    if (returns_for_nothing(word)) {
        change(word, kFutexLeave, m.self(), kGone);
        return true;
    }
    while (sleeps(m.perform({on_queue(Kind::Read, word, kWoken)}).value, m.self()))
        m.block(Why::Futex);
    return true;
}

extern "C" bool model_returned_for_nothing(void) { return has_returned_for_nothing(-1); }

extern "C" int model_futex_wake(const volatile void *address, int count, uint32_t names)
{
    Machine &m = machine();
    int woken = 0;

    if (m.preparing() || count <= 0)
        return 0;
    auto word = (uint16_t)m.memory.hidden_word((uintptr_t)address);
    uint64_t most = count < 8 ? (uint64_t)count : 8;
    dequeue(change(word, kFutexWake, most << 32 | names, kWake), (unsigned)most, names, &woken);
    return woken;
}
