// tsan.cc — the hooks that -fsanitize=thread puts before every plain access.
//
// The files under test are compiled with the sanitizer's instrumentation and linked with
// these functions instead of its runtime.
#include <cstring>

#include "machine.h"
#include "report.h"

using namespace model;

namespace {

inline void access(const void *address, size_t bytes, bool store)
{
    Machine &m = machine();

    m.check(m.memory.plain((uintptr_t)address, bytes, store, m.accessor()));
}

} // namespace

#define HOOKS(bytes)                                                                       \
    void __tsan_read##bytes(void *p) { access(p, bytes, false); }                          \
    void __tsan_write##bytes(void *p) { access(p, bytes, true); }                          \
    void __tsan_unaligned_read##bytes(void *p) { access(p, bytes, false); }                \
    void __tsan_unaligned_write##bytes(void *p) { access(p, bytes, true); }                \
    void __tsan_volatile_read##bytes(void *p) { access(p, bytes, false); }                 \
    void __tsan_volatile_write##bytes(void *p) { access(p, bytes, true); }                 \
    void __tsan_read_write##bytes(void *p)                                                 \
    {                                                                                      \
        access(p, bytes, false);                                                           \
        access(p, bytes, true);                                                            \
    }

// An atomic operation that did not go through base/atomic.h. The hooks' real signatures do
// not matter: they never return.
#define NO_ATOMIC(name)                                                                    \
    void __tsan_atomic##name() { broken("an atomic access goes around base/atomic.h"); }
#define NO_ATOMICS(bits)                                                                   \
    NO_ATOMIC(bits##_load) NO_ATOMIC(bits##_store) NO_ATOMIC(bits##_exchange)              \
    NO_ATOMIC(bits##_fetch_add) NO_ATOMIC(bits##_fetch_sub) NO_ATOMIC(bits##_fetch_and)    \
    NO_ATOMIC(bits##_fetch_or) NO_ATOMIC(bits##_fetch_xor) NO_ATOMIC(bits##_fetch_nand)    \
    NO_ATOMIC(bits##_compare_exchange_strong) NO_ATOMIC(bits##_compare_exchange_weak)      \
    NO_ATOMIC(bits##_compare_exchange_val)

extern "C" {

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
NO_ATOMICS(8)
NO_ATOMICS(16)
NO_ATOMICS(32)
NO_ATOMICS(64)
NO_ATOMICS(128)
NO_ATOMIC(_thread_fence)
void __tsan_atomic_signal_fence(int) {}

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_read_range(void *p, size_t n) { access(p, n, false); }
void __tsan_write_range(void *p, size_t n) { access(p, n, true); }

void *__tsan_memset(void *p, int value, size_t n)
{
    access(p, n, true);
    return memset(p, value, n);
}

// A copy may contain padding that was never written: it is not checked, but stays unwritten.
static void *copy(void *to, const void *from, size_t n)
{
    Machine &m = machine();
    Accessor by = m.accessor();

    m.check(m.memory.plain_copy((uintptr_t)to, (uintptr_t)from, n, by));
    return memmove(to, from, n);
}
void *__tsan_memcpy(void *to, const void *from, size_t n) { return copy(to, from, n); }
void *__tsan_memmove(void *to, const void *from, size_t n) { return copy(to, from, n); }

} // extern "C"
