/* atomic.h — the engine's atomic operations, with the memory order in each name.
 *
 * Owns     the project's only spelling of C11 memory orders. Each operation stronger than relaxed takes
 *          the tag of its memory edge (see edges.h). The compiler checks the tag, and the
 *          verification uses it to weaken one operation at a time.
 * Never    knows the meaning of the words, or uses Linux.
 * Forms    C11 atomics in this file; with ODI_MODEL the model checker replaces the whole file.
 *
 * A relaxed operation has no tag; the comment beside it states why relaxed order is enough.
 */
#ifndef ODI_BASE_ATOMIC_H
#define ODI_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/edges.h"

#ifdef ODI_MODEL
#include "model/atomic_form.h"
#else

#include <stdatomic.h>

/* The type of a word shared between threads. */
#define odi_atomic(type) _Atomic(type)

/* Compile-time options weaken one end of one edge by one step: -DODI_WEAKEN_EDGE=ODI_EDGE_D2
 * -DODI_WEAKEN_END=ODI_END_STORE (or _LOAD, _RMW, _FENCE). */
enum { ODI_END_NONE, ODI_END_STORE, ODI_END_LOAD, ODI_END_RMW, ODI_END_FENCE };
#ifndef ODI_WEAKEN_EDGE
#define ODI_WEAKEN_EDGE ODI_EDGE_none
#define ODI_WEAKEN_END ODI_END_NONE
#endif
#define ODI_ORDER(edge, end, strong, weak)                                                \
    (ODI_EDGE_##edge == ODI_WEAKEN_EDGE && (end) == ODI_WEAKEN_END ? memory_order_##weak  \
                                                                   : memory_order_##strong)

#define odi_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define odi_load_acquire(p, edge)                                                         \
    atomic_load_explicit((p), ODI_ORDER(edge, ODI_END_LOAD, acquire, relaxed))
#define odi_load_seqcst(p, edge)                                                          \
    atomic_load_explicit((p), ODI_ORDER(edge, ODI_END_LOAD, seq_cst, acquire))

#define odi_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define odi_store_release(p, v, edge)                                                     \
    atomic_store_explicit((p), (v), ODI_ORDER(edge, ODI_END_STORE, release, relaxed))

/* Read-modify-write operations return the previous value. */
#define ODI_RMW(what, p, v, edge, strong, weak)                                           \
    atomic_##what##_explicit((p), (v), ODI_ORDER(edge, ODI_END_RMW, strong, weak))
#define odi_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define odi_add_acquire(p, v, edge) ODI_RMW(fetch_add, p, v, edge, acquire, relaxed)
#define odi_add_release(p, v, edge) ODI_RMW(fetch_add, p, v, edge, release, relaxed)
#define odi_add_acqrel(p, v, edge) ODI_RMW(fetch_add, p, v, edge, acq_rel, relaxed)
#define odi_add_seqcst(p, v, edge) ODI_RMW(fetch_add, p, v, edge, seq_cst, acq_rel)
#define odi_or_relaxed(p, v) atomic_fetch_or_explicit((p), (v), memory_order_relaxed)
#define odi_or_acqrel(p, v, edge) ODI_RMW(fetch_or, p, v, edge, acq_rel, relaxed)
#define odi_or_seqcst(p, v, edge) ODI_RMW(fetch_or, p, v, edge, seq_cst, acq_rel)
#define odi_and_relaxed(p, v) atomic_fetch_and_explicit((p), (v), memory_order_relaxed)
#define odi_and_acqrel(p, v, edge) ODI_RMW(fetch_and, p, v, edge, acq_rel, relaxed)
#define odi_and_seqcst(p, v, edge) ODI_RMW(fetch_and, p, v, edge, seq_cst, acq_rel)
#define odi_swap_relaxed(p, v) atomic_exchange_explicit((p), (v), memory_order_relaxed)
#define odi_swap_acqrel(p, v, edge) ODI_RMW(exchange, p, v, edge, acq_rel, relaxed)

/* Strong compare-and-swap. Returns true if *p was *expected and became `desired`. Otherwise *expected
 * receives the current value. A failure reads relaxed unless the name states otherwise. */
#define ODI_CAS(p, expected, desired, done, failed)                                       \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), done, failed)
#define ODI_CAS_ORDER(edge, strong, weak) ODI_ORDER(edge, ODI_END_RMW, strong, weak)
#define odi_cas_relaxed(p, e, d) ODI_CAS(p, e, d, memory_order_relaxed, memory_order_relaxed)
#define odi_cas_acquire(p, e, d, edge)                                                    \
    ODI_CAS(p, e, d, ODI_CAS_ORDER(edge, acquire, relaxed), memory_order_relaxed)
#define odi_cas_release(p, e, d, edge)                                                    \
    ODI_CAS(p, e, d, ODI_CAS_ORDER(edge, release, relaxed), memory_order_relaxed)
#define odi_cas_acqrel(p, e, d, edge)                                                     \
    ODI_CAS(p, e, d, ODI_CAS_ORDER(edge, acq_rel, relaxed), memory_order_relaxed)
/* A failure acquires too, so that the caller can read what the other thread published. */
#define odi_cas_acqrel_acquire(p, e, d, edge)                                             \
    ODI_CAS(p, e, d, ODI_CAS_ORDER(edge, acq_rel, relaxed), ODI_CAS_ORDER(edge, acquire, relaxed))
/* This operation also belongs to the total order of seq_cst operations, for an edge that the caller names. A
 * weakened build loses both orders. */
#define odi_cas_seqcst_acquire(p, e, d, edge)                                             \
    ODI_CAS(p, e, d, ODI_CAS_ORDER(edge, seq_cst, relaxed), ODI_CAS_ORDER(edge, acquire, relaxed))

/* ThreadSanitizer does not model stand-alone fences, so a fence never hides a race from it. If a fence orders
 * plain memory, annotations on the same word tell the sanitizer. odi_tsan_release stands beside the store
 * that carries the edge, odi_tsan_acquire beside the load. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ODI_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define ODI_TSAN 1
#endif

#ifdef ODI_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define odi_tsan_acquire(p) __tsan_acquire((void *)(uintptr_t)(p))
#define odi_tsan_release(p) __tsan_release((void *)(uintptr_t)(p))
#else
#define odi_tsan_acquire(p) ((void)(p))
#define odi_tsan_release(p) ((void)(p))
#endif

/* Stand-alone fences. */
#define odi_fence_seqcst(edge) atomic_thread_fence(ODI_ORDER(edge, ODI_END_FENCE, seq_cst, acq_rel))
#define odi_fence_release(edge) atomic_thread_fence(ODI_ORDER(edge, ODI_END_FENCE, release, relaxed))

/* Orders only the compiler: the light side of an asymmetric fence (os/membarrier.h). */
#define odi_fence_compiler() atomic_signal_fence(memory_order_seq_cst)

/* The condition of a spin loop that is bounded by a count or by the clock and pauses first in each round. The
 * model checker explores both outcomes: the loop ends, and the loop continues. */
#define odi_spins_on(condition) (condition)

/* One round of a spin: tells the CPU that this is a spin loop. Without odi_spins_on the loop ends only when
 * its condition holds. */
static inline void odi_spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

#endif /* ODI_MODEL */
#endif
