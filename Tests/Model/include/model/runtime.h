/* runtime.h — what the code under test calls instead of touching shared memory.
 *
 * Every call below is one event (or one read-modify-write) of the execution being explored.
 * The explorer answers a load with any value that RC11 allows, one after the other; see
 * Tests/Model/README.md. Nothing here is called by name in the engine: base/atomic.h's model
 * form and the doubles expand to it.
 */
#ifndef MODEL_RUNTIME_H
#define MODEL_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* LIGHT and HEAVY are the two sides of an asymmetric fence: see README.md, "Fences". */
typedef enum {
    MODEL_RELAXED,
    MODEL_ACQUIRE,
    MODEL_RELEASE,
    MODEL_ACQREL,
    MODEL_SEQCST,
    MODEL_LIGHT,
    MODEL_HEAVY,
    MODEL_NO_FENCE, /* a fence weakened to nothing */
} model_order;

typedef enum { MODEL_ADD, MODEL_OR, MODEL_AND, MODEL_SWAP, MODEL_CAS } model_rmw_kind;

/* Which end of an edge an operation is: the names of base/atomic.h's ODI_END_*. */
typedef enum {
    MODEL_END_NONE,
    MODEL_END_STORE,
    MODEL_END_LOAD,
    MODEL_END_RMW,
    MODEL_END_FENCE,
} model_end;

/* One place in the source that touches shared memory. Constant, one per macro expansion. */
typedef struct model_site {
    const char *file;
    const char *function;
    const char *op;   /* the operation as the source spells it */
    const char *edge; /* the memory edge's tag, "" for relaxed */
    int line;
    uint8_t end;          /* model_end */
    uint8_t order;        /* model_order; of a CAS that succeeds */
    uint8_t weak;         /* the order one step weaker, for --weaken */
    uint8_t failure;      /* of a CAS that fails */
    uint8_t weak_failure;
} model_site;

uint64_t model_load(const volatile void *word, unsigned size, const model_site *site);
void model_store(volatile void *word, unsigned size, uint64_t value, const model_site *site);
uint64_t model_rmw(volatile void *word, unsigned size, model_rmw_kind kind, uint64_t operand,
                   const model_site *site);
/* *expected becomes what was there; true when that was `*expected` before. */
bool model_cas(volatile void *word, unsigned size, uint64_t *expected, uint64_t desired,
               const model_site *site);
void model_fence(const model_site *site);
/* Whether a bounded wait takes another turn: both are explored. */
bool model_spins_on(void);
void model_pause(const model_site *site);

#ifdef __cplusplus
}
#endif
#endif
