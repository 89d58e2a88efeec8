/* check.h — what a scenario, or the engine in its model form, may ask of the explorer. */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fails the execution, with a trace, unless `holds`. odi_invariant ends here. */
void model_invariant(bool holds, const char *text, const char *file, int line);
#define model_check(condition) model_invariant((condition), #condition, __FILE__, __LINE__)
void model_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Executions in which `holds` is false are not looked at any further, by whatever the scenario
 * says of it: `--assumptions` lists each. A wait is a loop with odi_spin_pause instead. */
void model_assume_at(bool holds, const char *condition, const char *file, int line);
#define model_assume(condition) model_assume_at((condition), #condition, __FILE__, __LINE__)

/* For doubles/thread.h: a thread of the scenario that somebody has not started yet stays away,
 * without cutting the execution. Called directly behind the load that says so, in a loop around both. */
void model_unborn(void);

/* Every value below `count` is explored. */
unsigned model_choose(unsigned count);

/* How many operations of this name ("futex wait: sleep"), or in the function of this name, a thread has performed. */
unsigned model_met(unsigned thread, const char *what);
#define model_slept(thread) (model_met((thread), "futex wait: sleep") > 0)

/* Remembers a value of this execution. The outcomes of an exploration are the set of all
 * executions' values; `slot` is below 16. */
void model_outcome(unsigned slot, int64_t value);

/* Heap whose blocks are never used twice, so that a late access is seen for what it is. */
void *model_malloc(size_t bytes);
void *model_calloc(size_t count, size_t bytes);
void *model_aligned_alloc(size_t alignment, size_t bytes);
void model_free(void *block);

/* Forbids every access that is not already ordered before this call: an object that is
 * unreachable from here on, without being freed. */
void model_retire(void *block);

/* In `prepare`: a load of this word may come true late without harm, because what it says is
 * checked again (README.md, "Load buffering"). */
void model_hint(const volatile void *word, unsigned size);

/* The calling thread, counted from 0 in the scenario's order. */
unsigned model_thread(void);

/* Sleeps until it is woken while *word == expected; false: it was not. One 32-bit word, which
 * may be the low half of a 64-bit one. `name` is one bit, or all: a wake picks by names, the
 * longest sleeper first. Nobody left to wake it at the end: a lost wake-up. */
bool model_futex_wait(const volatile void *word, uint32_t expected, uint32_t name);
/* Whether a wait of the calling thread has ended though nobody woke it: each may once per word. */
bool model_returned_for_nothing(void);
int model_futex_wake(const volatile void *word, int count, uint32_t names);

#ifdef __cplusplus
}
#endif
#endif
