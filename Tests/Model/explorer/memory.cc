#include "memory.h"

#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "machine.h"
#include "report.h"

// The global variables of the code under test: model/globals.h, included before each of its
// files, puts them into these sections.
extern "C" {
extern char __start_model_bss[] __attribute__((weak));
extern char __stop_model_bss[] __attribute__((weak));
extern char __start_model_data[] __attribute__((weak));
extern char __stop_model_data[] __attribute__((weak));
}

namespace model {

namespace {

constexpr size_t kArena = 256 * 1024;
constexpr size_t kGranule = 16;
constexpr size_t kHeap = (kThreads + 1) * kArena;
constexpr uintptr_t kHiddenBase = uintptr_t{1} << 60;

constexpr uint8_t kNobody = 0x0f, kThreadMask = 0x0f, kInitialised = 0x10, kAtomic = 0x20;

char *reserve(size_t bytes)
{
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        broken("no address space for the shadow");
    return static_cast<char *>(p);
}

std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string text(const char *format, ...)
{
    char buffer[400];
    va_list list;

    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    return buffer;
}

} // namespace

void Memory::map()
{
    heap_ = reserve(kHeap + kThreads * kStack);
    initialised_ = reserve(kHeap);
    for (auto &arena : arenas_)
        arena.block_of = reinterpret_cast<uint16_t *>(reserve(kArena / kGranule * 2));
    auto range = [](char *start, char *end) {
        return Range{(uintptr_t)start, (uintptr_t)end,
                     reinterpret_cast<Cell *>(reserve((size_t)(end - start) * 16 + 16))};
    };
    ranges_[0] = range(heap_, heap_ + kHeap + kThreads * kStack);
    ranges_[1] = range(__start_model_bss, __stop_model_bss);
    ranges_[2] = range(__start_model_data, __stop_model_data);
}

char *Memory::stack_of(unsigned thread) { return heap_ + kHeap + thread * kStack; }

void Memory::remember_pristine()
{
    for (int i = 0; i < 2; i++)
        pristine_[i].assign((char *)ranges_[i + 1].start, (char *)ranges_[i + 1].end);
}

void Memory::restore_pristine()
{
    for (int i = 0; i < 2; i++)
        if (!pristine_[i].empty())
            memcpy((char *)ranges_[i + 1].start, pristine_[i].data(), pristine_[i].size());
    for (auto &arena : arenas_) {
        arena.blocks.clear();
        arena.used = 0;
        memset(arena.block_of, 0, kArena / kGranule * 2);
    }
    memset(initialised_, 0, kHeap);
    for (WordPlace &word : words_)
        word.hint = word.address >= kHiddenBase;
    execution_++;
}

void Memory::remember_prepared()
{
    const Arena &arena = arenas_[kPreparing];

    for (int i = 0; i < 2; i++)
        prepared_[i].assign((char *)ranges_[i + 1].start, (char *)ranges_[i + 1].end);
    char *start = heap_ + kPreparing * kArena;
    prepared_heap_.assign(start, start + arena.used);
    prepared_blocks_ = arena.blocks.size();
}

void Memory::restore_prepared()
{
    for (int i = 0; i < 2; i++)
        if (!prepared_[i].empty())
            memcpy((char *)ranges_[i + 1].start, prepared_[i].data(), prepared_[i].size());
    if (!prepared_heap_.empty())
        memcpy(heap_ + kPreparing * kArena, prepared_heap_.data(), prepared_heap_.size());
    for (unsigned t = 0; t < kThreads; t++) {
        Arena &arena = arenas_[t];
        if (arena.used == 0)
            continue;
        memset(arena.block_of, 0, (arena.used / kGranule + 1) * 2);
        arena.blocks.clear();
        arena.used = 0;
    }
    for (Block &block : arenas_[kPreparing].blocks)
        block.gone = nullptr;
    execution_++;
}

Memory::Cell *Memory::cell(uintptr_t address)
{
    for (Range &range : ranges_)
        if (address >= range.start && address < range.end)
            return &range.cells[address - range.start];
    return nullptr;
}

Memory::Cell &Memory::fresh(Cell &cell)
{
    if (cell.execution != execution_) {
        cell.execution = execution_;
        cell.writer = kNobody;
        cell.epoch = 0;
        cell.reads = Clock();
    }
    return cell;
}

bool Memory::initialised(uintptr_t address) const
{
    uintptr_t offset = address - (uintptr_t)heap_;

    if (offset >= kHeap || initialised_[offset])
        return true;
    const Cell &cell = ranges_[0].cells[offset];
    return cell.execution == execution_ && (cell.writer & kInitialised);
}

void *Memory::allocate(unsigned thread, size_t bytes, size_t alignment, bool zeroed, const Accessor *by)
{
    Arena &arena = arenas_[thread];
    // A granule before and after each block belongs to nobody, so that overruns are seen.
    size_t start = (arena.used + kGranule + alignment - 1) / alignment * alignment;

    bytes = bytes ? bytes : 1;
    if (start + bytes + kGranule > kArena)
        out_of_room("heap of one thread");
    arena.used = (start + bytes + kGranule - 1) / kGranule * kGranule;
    uintptr_t address = (uintptr_t)heap_ + thread * kArena + start;
    arena.blocks.push_back({address, bytes, nullptr});
    for (size_t g = start / kGranule; g < arena.used / kGranule; g++)
        arena.block_of[g] = (uint16_t)arena.blocks.size();
    char *block = (char *)address;
    if (by == nullptr) {
        memset(block, zeroed ? 0 : 0xa5, bytes);
        memset(initialised_ + (block - heap_), zeroed, bytes);
        return block;
    }
    memset(block, zeroed ? 0 : 0xa5, bytes);
    // Whoever touches the block must have learnt of it in an ordered way: its allocation
    // counts as a plain store.
    for (size_t i = 0; i < bytes; i++) {
        Cell &c = fresh(*cell(address + i));
        c.writer = (uint8_t)(by->thread | (zeroed ? kInitialised : 0));
        c.epoch = (uint8_t)by->epoch;
    }
    return block;
}

Memory::Block *Memory::block(uintptr_t address)
{
    size_t offset = address - (uintptr_t)heap_;
    Arena &arena = arenas_[offset / kArena];
    uint16_t index = arena.block_of[offset % kArena / kGranule];

    return index == 0 ? nullptr : &arena.blocks[index - 1u];
}

std::string Memory::check_block(uintptr_t address, size_t bytes)
{
    if (address - (uintptr_t)heap_ >= kHeap)
        return "";
    Block *b = block(address);
    if (b == nullptr || address + bytes > b->start + b->bytes)
        return text("access outside any block: %zu bytes at %s", bytes, name_of(address).c_str());
    if (b->gone != nullptr)
        return text("use after %s: %zu bytes at %s", b->gone, bytes, name_of(address).c_str());
    return "";
}

// A plain access met a byte that is accessed atomically too.
std::string Memory::mixed(uintptr_t address, bool store, const Accessor &by)
{
    int word = cell(address)->word - 1;

    if (word >= 0 && !machine().ordered_before(word, by))
        return text("data race: a plain %s of %s is not ordered after an atomic access",
                    store ? "store" : "load", name_of(address).c_str());
    return text("plain %s of %s, which is used atomically", store ? "store" : "load", name_of(address).c_str());
}

std::string Memory::plain(uintptr_t address, size_t bytes, bool store, const Accessor &by,
                          bool may_be_uninitialised)
{
    Cell *first = cell(address);

    if (by.thread == kPreparing) {
        uintptr_t offset = address - (uintptr_t)heap_;
        if (store && offset < kHeap)
            memset(initialised_ + offset, 1, bytes);
        return "";
    }
    if (first == nullptr)
        return "";
    bool heap = address - (uintptr_t)heap_ < kHeap;
    if (heap) {
        std::string error = check_block(address, bytes);
        if (!error.empty())
            return error;
    }
    for (size_t i = 0; i < bytes; i++) {
        Cell &c = fresh(first[i]);
        unsigned writer = c.writer & kThreadMask;
        if (writer != kNobody && writer != by.thread && c.epoch > by.clock->at[writer])
            return text("data race: a plain %s of %zu bytes at %s is not ordered after a plain "
                        "store by thread %u behind its event %u",
                        store ? "store" : "load", bytes, name_of(address + i).c_str(), writer,
                        c.epoch - 1u);
        if (c.writer & kAtomic)
            return mixed(address + i, store, by);
        if (store) {
            for (unsigned t = 0; t < kThreads; t++)
                if (t != by.thread && c.reads.at[t] > by.clock->at[t])
                    return text("data race: a plain store of %zu bytes at %s is not ordered "
                                "after a plain load by thread %u behind its event %u",
                                bytes, name_of(address + i).c_str(), t, c.reads.at[t] - 1u);
            c.writer = (uint8_t)(by.thread | kInitialised);
            c.epoch = (uint8_t)by.epoch;
        } else {
            if (heap && !may_be_uninitialised && !initialised(address + i))
                return text("uninitialised load of %zu bytes at %s", bytes, name_of(address + i).c_str());
            c.reads.at[by.thread] = (uint8_t)by.epoch;
        }
    }
    return "";
}

std::string Memory::atomic(uintptr_t address, size_t bytes, bool store, const Accessor &by)
{
    Cell *first = cell(address);

    if (first == nullptr)
        return "";
    std::string error = check_block(address, bytes);
    if (!error.empty())
        return error;
    for (size_t i = 0; i < bytes; i++) {
        Cell &c = fresh(first[i]);
        unsigned writer = c.writer & kThreadMask;
        if (writer != kNobody && writer != by.thread && c.epoch > by.clock->at[writer])
            return text("data race: an atomic access of %s is not ordered after its plain "
                        "store, or its allocation, by thread %u behind its event %u",
                        name_of(address).c_str(), writer, c.epoch - 1u);
        if (store)
            for (unsigned t = 0; t < kThreads; t++)
                if (t != by.thread && c.reads.at[t] > by.clock->at[t])
                    return text("data race: an atomic store of %s is not ordered after a plain "
                                "load by thread %u behind its event %u",
                                name_of(address).c_str(), t, c.reads.at[t] - 1u);
        c.writer |= kAtomic;
    }
    return "";
}

std::string Memory::release(uintptr_t address, const Accessor &by, const char *verb)
{
    if (address - (uintptr_t)heap_ >= kHeap)
        return text("%s of %s, which is no heap block", verb, name_of(address).c_str());
    Block *b = block(address);
    if (b == nullptr || b->start != address)
        return text("%s of %s, which is no heap block", verb, name_of(address).c_str());
    if (b->gone != nullptr)
        return text("%s of %s, which is gone by %s", verb, name_of(address).c_str(), b->gone);
    if (by.thread != kPreparing)
        for (uintptr_t a = b->start; a < b->start + b->bytes; a++) {
            Cell &c = fresh(*cell(a));
            unsigned writer = c.writer & kThreadMask;
            bool late = writer != kNobody && writer != by.thread &&
                        c.epoch > by.clock->at[writer];
            for (unsigned t = 0; t < kThreads; t++)
                late |= t != by.thread && c.reads.at[t] > by.clock->at[t];
            if (c.writer & kAtomic)
                late |= !machine().ordered_before(c.word - 1, by);
            if (late)
                return text("%s of a block while an access to %s is not ordered before it",
                            verb, name_of(a).c_str());
        }
    b->gone = verb;
    return "";
}

std::string Memory::plain_copy(uintptr_t to, uintptr_t from, size_t bytes, const Accessor &by)
{
    std::string error = plain(from, bytes, false, by, true);

    if (error.empty())
        error = plain(to, bytes, true, by);
    if (!error.empty() || to - (uintptr_t)heap_ >= kHeap)
        return error;
    for (size_t i = 0; i < bytes; i++)
        if (!initialised(from + i)) {
            if (by.thread == kPreparing)
                initialised_[to + i - (uintptr_t)heap_] = 0;
            else
                fresh(*cell(to + i)).writer &= (uint8_t)~kInitialised;
        }
    return error;
}

int Memory::word_at(uintptr_t address, unsigned size)
{
    Cell *first = cell(address);

    if (first == nullptr)
        broken("atomic access to %#zx, outside the memory of the code under test", (size_t)address);
    if (first->word != 0) {
        int word = first->word - 1;
        const WordPlace &place = words_[(size_t)word];
        return address + size <= place.address + place.size ? word : -1;
    }
    for (unsigned i = 1; i < size; i++)
        if (first[i].word != 0)
            return -1;
    words_.push_back({address, size, false});
    for (unsigned i = 0; i < size; i++)
        first[i].word = (uint16_t)words_.size();
    return (int)words_.size() - 1;
}

int Memory::hidden_word(uintptr_t key)
{
    for (size_t i = 0; i < words_.size(); i++)
        if (words_[i].address == kHiddenBase + key)
            return (int)i;
    words_.push_back({kHiddenBase + key, 8, true});
    return (int)words_.size() - 1;
}

uint64_t Memory::initial_value(int word, bool *uninitialised) const
{
    const WordPlace &place = words_[(size_t)word];
    uint64_t value = 0;

    *uninitialised = false;
    if (place.address >= kHiddenBase)
        return 0;
    for (unsigned i = 0; i < place.size; i++)
        *uninitialised |= !initialised(place.address + i);
    memcpy(&value, (const char *)place.address, place.size);
    return value;
}

std::string Memory::name_of(uintptr_t address) const
{
    if (address >= kHiddenBase)
        return "futex of " + name_of(address - kHiddenBase);
    uintptr_t offset = address - (uintptr_t)heap_;
    if (offset < kHeap) {
        const Arena &arena = arenas_[offset / kArena];
        for (size_t i = 0; i < arena.blocks.size(); i++) {
            const Block &b = arena.blocks[i];
            if (address >= b.start && address < b.start + b.bytes) {
                std::string owner = offset / kArena == kPreparing
                                        ? "p" : std::to_string(offset / kArena);
                return text("heap:%s.%zu+%zu", owner.c_str(), i, (size_t)(address - b.start));
            }
        }
        return text("heap, no block");
    }
    if (offset < kHeap + kThreads * kStack)
        return text("stack of %zu-%zu", (offset - kHeap) / kStack, kStack - (offset - kHeap) % kStack);
    return symbol_of(address);
}

} // namespace model
