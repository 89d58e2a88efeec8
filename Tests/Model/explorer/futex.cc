// futex.cc — futex(2) as events on one hidden word per futex: the kernel's queue and its lock.
//
// A waiter takes the queue's lock, loads the word, and either leaves or puts itself at the
// end of the queue and unlocks; then it needs a state of the queue without it. A waker takes
// the first sleepers out in one step. The lock orders as the kernel's does. Whoever finds the
// queue locked is cut: the executions in which it is free again are explored as well.
#include "futex.h"

#include "machine.h"
#include "model/check.h"

using namespace model;

namespace model {

namespace {

constexpr uint64_t kLocked = uint64_t{1} << 63;

uint64_t enqueue(uint64_t queue, unsigned thread)
{
    unsigned at = 0;

    while (queue >> at & 0xf)
        at += 4;
    return queue | (uint64_t)(thread + 1) << at;
}

unsigned sleepers(uint64_t queue)
{
    unsigned count = 0;

    for (; queue & 0xf; queue >>= 4)
        count++;
    return count;
}

bool sleeps(uint64_t queue, unsigned thread)
{
    for (; queue & 0xf; queue >>= 4)
        if ((queue & 0xf) == thread + 1)
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
const model_site kWoken = site("futex wait: woken", MODEL_ACQUIRE, __LINE__);
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

// A read-modify-write of the queue, cut if the queue is locked; returns what was there.
uint64_t change(uint16_t word, uint8_t kind, uint64_t operand, const model_site &site)
{
    Event event = on_queue(Kind::Read, word, site);

    event.updates = true;
    event.rmw = kind;
    event.operand = operand;
    uint64_t queue = machine().perform({event}).value;
    model_assume(!(queue & kLocked));
    return queue;
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
    return operand >= 8 ? 0 : queue >> (4 * operand);
}

} // namespace model

extern "C" bool model_futex_wait(const volatile void *address, uint32_t expected)
{
    Machine &m = machine();
    auto word = (uint16_t)m.memory.hidden_word((uintptr_t)address);
    uint64_t queue = change(word, kFutexLock, 0, kLock);

    if ((uint32_t)model_load(address, 4, &kLook) != expected) {
        unlock(word, queue, kLeave);
        return false;
    }
    unlock(word, enqueue(queue, m.self()), kSleep);
    if (sleeps(m.perform({on_queue(Kind::Read, word, kWoken)}).value, m.self()))
        m.block(Why::Futex);
    return true;
}

extern "C" int model_futex_wake(const volatile void *address, int count)
{
    Machine &m = machine();

    if (m.preparing() || count <= 0)
        return 0;
    auto word = (uint16_t)m.memory.hidden_word((uintptr_t)address);
    unsigned there = sleepers(change(word, kFutexWake, (uint64_t)count, kWake));
    return (int)there < count ? (int)there : count;
}
