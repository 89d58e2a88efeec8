/* atomic_form.h — base/atomic.h for the model checker: the same names, explored.
 *
 * A word stays `_Atomic`, so that the types of the engine do not change. An access that goes
 * around these macros compiles to a call of ThreadSanitizer's atomic hooks, which end the
 * exploration with an error: nothing slips past.
 */
#ifndef MODEL_ATOMIC_FORM_H
#define MODEL_ATOMIC_FORM_H

#include "model/runtime.h"

#define odi_atomic(type) _Atomic(type)

enum { ODI_END_NONE, ODI_END_STORE, ODI_END_LOAD, ODI_END_RMW, ODI_END_FENCE };
#ifndef ODI_WEAKEN_EDGE
#define ODI_WEAKEN_EDGE ODI_EDGE_none
#define ODI_WEAKEN_END ODI_END_NONE
#endif
#define ODI_ORDER(edge, end, strong, weak)                                                \
    ((int)ODI_EDGE_##edge == (int)ODI_WEAKEN_EDGE && (int)(end) == (int)ODI_WEAKEN_END    \
         ? (weak)                                                                         \
         : (strong))

#define MODEL_PLAIN(p) __typeof_unqual__(*(p))

#define MODEL_SITE(opname, tag, whichend, strong, weaker, fail, weakfail)                 \
    static const model_site model_here_ = {                                               \
        .file = __FILE__, .function = __func__, .op = (opname), .edge = #tag,             \
        .line = __LINE__, .end = (uint8_t)(whichend),                                     \
        .order = (uint8_t)ODI_ORDER(tag, whichend, strong, weaker),                       \
        .weak = (uint8_t)(weaker),                                                        \
        .failure = (uint8_t)ODI_ORDER(tag, whichend, fail, weakfail),                     \
        .weak_failure = (uint8_t)(weakfail)}

#define MODEL_LOAD(name, p, tag, strong, weaker)                                          \
    (__extension__({                                                                      \
        MODEL_SITE(name, tag, MODEL_END_LOAD, strong, weaker, strong, weaker);            \
        (MODEL_PLAIN(p))model_load((p), sizeof(*(p)), &model_here_);                      \
    }))
#define MODEL_STORE(name, p, v, tag, strong, weaker)                                      \
    (__extension__({                                                                      \
        MODEL_SITE(name, tag, MODEL_END_STORE, strong, weaker, strong, weaker);           \
        model_store((p), sizeof(*(p)), (uint64_t)(MODEL_PLAIN(p))(v), &model_here_);      \
    }))
#define MODEL_RMW(name, kind, p, v, tag, strong, weaker)                                  \
    (__extension__({                                                                      \
        MODEL_SITE(name, tag, MODEL_END_RMW, strong, weaker, strong, weaker);             \
        (MODEL_PLAIN(p))model_rmw((p), sizeof(*(p)), (kind),                              \
                                  (uint64_t)(MODEL_PLAIN(p))(v), &model_here_);           \
    }))
#define MODEL_CAS(name, p, expected, desired, tag, strong, weaker, fail, weakfail)        \
    (__extension__({                                                                      \
        MODEL_SITE(name, tag, MODEL_END_RMW, strong, weaker, fail, weakfail);             \
        uint64_t model_found_ = (uint64_t)(MODEL_PLAIN(p))*(expected);                    \
        bool model_swapped_ = model_cas((p), sizeof(*(p)), &model_found_,                 \
                                 (uint64_t)(MODEL_PLAIN(p))(desired), &model_here_);      \
        if (!model_swapped_)                                                              \
            *(expected) = (MODEL_PLAIN(p))model_found_;                                   \
        model_swapped_;                                                                   \
    }))
#define MODEL_FENCE(name, tag, strong, weaker)                                            \
    (__extension__({                                                                      \
        MODEL_SITE(name, tag, MODEL_END_FENCE, strong, weaker, strong, weaker);           \
        model_fence(&model_here_);                                                        \
    }))

#define odi_load_relaxed(p) MODEL_LOAD("load", p, none, MODEL_RELAXED, MODEL_RELAXED)
#define odi_load_acquire(p, edge) MODEL_LOAD("load", p, edge, MODEL_ACQUIRE, MODEL_RELAXED)
#define odi_load_seqcst(p, edge) MODEL_LOAD("load", p, edge, MODEL_SEQCST, MODEL_ACQUIRE)

#define odi_store_relaxed(p, v) MODEL_STORE("store", p, v, none, MODEL_RELAXED, MODEL_RELAXED)
#define odi_store_release(p, v, edge) MODEL_STORE("store", p, v, edge, MODEL_RELEASE, MODEL_RELAXED)
#define odi_store_seqcst(p, v, edge) MODEL_STORE("store", p, v, edge, MODEL_SEQCST, MODEL_RELEASE)

#define odi_add_relaxed(p, v) MODEL_RMW("add", MODEL_ADD, p, v, none, MODEL_RELAXED, MODEL_RELAXED)
#define odi_add_acquire(p, v, edge) MODEL_RMW("add", MODEL_ADD, p, v, edge, MODEL_ACQUIRE, MODEL_RELAXED)
#define odi_add_release(p, v, edge) MODEL_RMW("add", MODEL_ADD, p, v, edge, MODEL_RELEASE, MODEL_RELAXED)
#define odi_add_acqrel(p, v, edge) MODEL_RMW("add", MODEL_ADD, p, v, edge, MODEL_ACQREL, MODEL_RELAXED)
#define odi_add_seqcst(p, v, edge) MODEL_RMW("add", MODEL_ADD, p, v, edge, MODEL_SEQCST, MODEL_ACQREL)
#define odi_or_relaxed(p, v) MODEL_RMW("or", MODEL_OR, p, v, none, MODEL_RELAXED, MODEL_RELAXED)
#define odi_or_acquire(p, v, edge) MODEL_RMW("or", MODEL_OR, p, v, edge, MODEL_ACQUIRE, MODEL_RELAXED)
#define odi_or_release(p, v, edge) MODEL_RMW("or", MODEL_OR, p, v, edge, MODEL_RELEASE, MODEL_RELAXED)
#define odi_or_acqrel(p, v, edge) MODEL_RMW("or", MODEL_OR, p, v, edge, MODEL_ACQREL, MODEL_RELAXED)
#define odi_or_seqcst(p, v, edge) MODEL_RMW("or", MODEL_OR, p, v, edge, MODEL_SEQCST, MODEL_ACQREL)
#define odi_and_relaxed(p, v) MODEL_RMW("and", MODEL_AND, p, v, none, MODEL_RELAXED, MODEL_RELAXED)
#define odi_and_acquire(p, v, edge) MODEL_RMW("and", MODEL_AND, p, v, edge, MODEL_ACQUIRE, MODEL_RELAXED)
#define odi_and_release(p, v, edge) MODEL_RMW("and", MODEL_AND, p, v, edge, MODEL_RELEASE, MODEL_RELAXED)
#define odi_and_acqrel(p, v, edge) MODEL_RMW("and", MODEL_AND, p, v, edge, MODEL_ACQREL, MODEL_RELAXED)
#define odi_and_seqcst(p, v, edge) MODEL_RMW("and", MODEL_AND, p, v, edge, MODEL_SEQCST, MODEL_ACQREL)
#define odi_swap_relaxed(p, v) MODEL_RMW("swap", MODEL_SWAP, p, v, none, MODEL_RELAXED, MODEL_RELAXED)
#define odi_swap_acquire(p, v, edge) MODEL_RMW("swap", MODEL_SWAP, p, v, edge, MODEL_ACQUIRE, MODEL_RELAXED)
#define odi_swap_release(p, v, edge) MODEL_RMW("swap", MODEL_SWAP, p, v, edge, MODEL_RELEASE, MODEL_RELAXED)
#define odi_swap_acqrel(p, v, edge) MODEL_RMW("swap", MODEL_SWAP, p, v, edge, MODEL_ACQREL, MODEL_RELAXED)
#define odi_swap_seqcst(p, v, edge) MODEL_RMW("swap", MODEL_SWAP, p, v, edge, MODEL_SEQCST, MODEL_ACQREL)

#define odi_cas_relaxed(p, expected, desired)                                             \
    MODEL_CAS("cas", p, expected, desired, none, MODEL_RELAXED, MODEL_RELAXED, MODEL_RELAXED, MODEL_RELAXED)
#define odi_cas_acquire(p, expected, desired, edge)                                       \
    MODEL_CAS("cas", p, expected, desired, edge, MODEL_ACQUIRE, MODEL_RELAXED, MODEL_RELAXED, MODEL_RELAXED)
#define odi_cas_release(p, expected, desired, edge)                                       \
    MODEL_CAS("cas", p, expected, desired, edge, MODEL_RELEASE, MODEL_RELAXED, MODEL_RELAXED, MODEL_RELAXED)
#define odi_cas_acqrel(p, expected, desired, edge)                                        \
    MODEL_CAS("cas", p, expected, desired, edge, MODEL_ACQREL, MODEL_RELAXED, MODEL_RELAXED, MODEL_RELAXED)
#define odi_cas_acquire_acquire(p, expected, desired, edge)                               \
    MODEL_CAS("cas", p, expected, desired, edge, MODEL_ACQUIRE, MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELAXED)
#define odi_cas_acqrel_acquire(p, expected, desired, edge)                                \
    MODEL_CAS("cas", p, expected, desired, edge, MODEL_ACQREL, MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELAXED)
#define odi_cas_seqcst_acquire(p, expected, desired, edge)                                \
    MODEL_CAS("cas", p, expected, desired, edge, MODEL_SEQCST, MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELAXED)

#define odi_fence_seqcst(edge) MODEL_FENCE("fence", edge, MODEL_SEQCST, MODEL_ACQREL)
#define odi_fence_acqrel(edge) MODEL_FENCE("fence", edge, MODEL_ACQREL, MODEL_NO_FENCE)
#define odi_fence_acquire(edge) MODEL_FENCE("fence", edge, MODEL_ACQUIRE, MODEL_NO_FENCE)
#define odi_fence_release(edge) MODEL_FENCE("fence", edge, MODEL_RELEASE, MODEL_NO_FENCE)
/* A compiler barrier orders nothing between threads: whoever relies on it as the light side
 * of a membarrier says odi_fence_light (os/membarrier.h). */
#define odi_fence_compiler() ((void)0)

#define odi_spins_on(condition) ((condition) && model_spins_on())
#define odi_spin_pause()                                                                  \
    (__extension__({                                                                      \
        MODEL_SITE("pause", none, MODEL_END_NONE, MODEL_RELAXED, MODEL_RELAXED,           \
                   MODEL_RELAXED, MODEL_RELAXED);                                         \
        model_pause(&model_here_);                                                        \
    }))

#endif
