/* atomic.h — every memory order of the engine, by name.
 *
 * Owns     the only spelling of C11 memory orders in the project. An operation's order is
 *          part of its name, and each one stronger than relaxed takes the tag of the
 *          memory edge it belongs to (see edges.h): the tag is checked by the compiler,
 *          and the verification weakens one operation at a time through it.
 * Never    knows what the words mean, or that Linux exists.
 * Forms    this one (C11 atomics), and the model checker's, which replaces it whole when
 *          ODI_MODEL is defined.
 *
 * A relaxed operation carries no tag; the comment beside it says why it may be relaxed.
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

/* One end of one edge may be weakened by one step at compile time:
 * -DODI_WEAKEN_EDGE=ODI_EDGE_D2 -DODI_WEAKEN_END=ODI_END_STORE (or _LOAD, _RMW, _FENCE). */
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

/* Read-modify-writes return the value before. */
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

/* Strong compare-and-swap: true when *p was *expected and became `desired`; otherwise
 * *expected is what was there. A failure reads relaxed unless the name says otherwise. */
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
/* The same, and a failure acquires too: the caller reads what the other side published. */
#define odi_cas_acqrel_acquire(p, e, d, edge)                                             \
    ODI_CAS(p, e, d, ODI_CAS_ORDER(edge, acq_rel, relaxed), ODI_CAS_ORDER(edge, acquire, relaxed))
/* The same with a place in the order of all seq_cst operations, for an edge that the place of use
 * names. Weakened, the tagged edge loses all of it. */
#define odi_cas_seqcst_acquire(p, e, d, edge)                                             \
    ODI_CAS(p, e, d, ODI_CAS_ORDER(edge, seq_cst, relaxed), ODI_CAS_ORDER(edge, acquire, relaxed))

/* ThreadSanitizer does not model stand-alone fences: to it they order nothing, so a fence never
 * hides a race from it. Where one does order plain memory, the pair that it makes is told to it on the
 * very word: odi_tsan_release beside the store that carries the edge, odi_tsan_acquire beside the load. */
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

/* Orders the compiler only: the light side of an asymmetric fence (os/membarrier.h). */
#define odi_fence_compiler() atomic_signal_fence(memory_order_seq_cst)

/* The condition of a wait that is bounded by itself, by turns or by the clock, and pauses first in each
 * turn. The model checker explores both: that it leaves, and that it goes on. */
#define odi_spins_on(condition) (condition)

/* One turn of a wait: tells the CPU that this is a spin loop. Where odi_spins_on does not say otherwise, the
 * wait ends by what it waits for alone. */
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
