/* scenario.h — how a scenario file says what it is.
 *
 *     static void owner(void) { ... }
 *     static void thief(void) { ... }
 *     static void prepare(void) { ... }
 *     static void verify(void) { ... }
 *     MODEL_SCENARIO(last_entry, prepare, verify, owner, thief)
 *
 * `prepare` runs alone before the threads, `verify` alone after the last one; both may call
 * the code under test. Two thieves are the function named twice. Global variables get their
 * initial values back before each execution.
 */
#ifndef MODEL_SCENARIO_H
#define MODEL_SCENARIO_H

#include "model/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* model_thread() is below MODEL_ROWS: the threads, then `verify`; in `prepare` it is the last. */
enum { MODEL_MAX_THREADS = 6, MODEL_ROWS = 9 };

/* What all threads have counted, each in a row of its own, so that the counting orders nothing. */
static inline unsigned model_sum(const unsigned *rows)
{
    unsigned sum = 0;

    for (unsigned row = 0; row < MODEL_ROWS; row++)
        sum += rows[row];
    return sum;
}

/* What a wait does that is bounded by itself (odi_spins_on). */
typedef enum {
    MODEL_SPINS_WAIT,  /* as if it were not: what follows its last turn is not explored */
    MODEL_SPINS_LEAVE, /* it has no turn: what one would see, the look before can have seen as well */
    MODEL_SPINS_BOTH,  /* each thread's first one leaves, or takes one turn and leaves then */
} model_spins;

typedef struct model_scenario {
    const char *name;
    const char *file;
    void (*prepare)(void); /* or NULL */
    void (*verify)(void);  /* or NULL */
    void (*threads[MODEL_MAX_THREADS])(void);
    /* Bit t: thread t may be asleep at the end (a worker with nothing to do). */
    unsigned may_sleep;
    model_spins spins;
    /* Bit t: no futex wait of thread t returns for nothing, because the scenario were too large. */
    unsigned woken_only;
    unsigned (*reached)(void); /* behind `verify`: bit i, the i-th outcome */
    const char *outcomes;      /* as they are written; NULL: none is named */
    bool has_one_end;
    struct model_scenario *next;
} model_scenario;

void model_register(model_scenario *scenario);
model_scenario *model_named(const char *name);

#define MODEL_SCENARIO_SLEEPY(name_, sleepers_, prepare_, verify_, ...)                   \
    __attribute__((constructor)) static void model_register_##name_(void)                 \
    {                                                                                     \
        static model_scenario scenario = {.name = #name_, .file = __FILE__,               \
                                          .prepare = (prepare_), .verify = (verify_),     \
                                          .threads = {__VA_ARGS__},                       \
                                          .may_sleep = (sleepers_)};                      \
        model_register(&scenario);                                                        \
    }
#define MODEL_SCENARIO(name_, prepare_, verify_, ...)                                     \
    MODEL_SCENARIO_SLEEPY(name_, 0, prepare_, verify_, __VA_ARGS__)

/* For a scenario of this file, anywhere behind it. */
#define MODEL_SPINS(name_, spins_)                                                        \
    __attribute__((constructor)) static void model_spins_##name_(void)                    \
    {                                                                                     \
        model_named(#name_)->spins = (spins_);                                            \
    }
#define MODEL_WOKEN_ONLY(name_, threads_)                                                 \
    __attribute__((constructor)) static void model_woken_only_##name_(void)               \
    {                                                                                     \
        model_named(#name_)->woken_only = (threads_);                                     \
    }

/* What the scenario must reach: each condition, asked behind `verify`, holds in one complete execution and does not in
 * another, or the scenario fails when all is explored. They are the scenario's and not a line's that may never run. */
#define MODEL_REACHES(name_, ...)                                                         \
    static unsigned model_reached_##name_(void)                                           \
    {                                                                                     \
        const bool holds_[] = {__VA_ARGS__};                                              \
        unsigned reached_ = 0;                                                            \
                                                                                          \
        for (unsigned i = 0; i < sizeof holds_; i++)                                      \
            reached_ |= (unsigned)holds_[i] << i;                                         \
        return reached_;                                                                  \
    }                                                                                     \
    __attribute__((constructor)) static void model_reaches_##name_(void)                  \
    {                                                                                     \
        model_named(#name_)->reached = model_reached_##name_;                             \
        model_named(#name_)->outcomes = #__VA_ARGS__;                                     \
    }

/* The same where every execution ends alike. */
#define MODEL_ONLY_END(name_, condition_)                                                 \
    MODEL_REACHES(name_, condition_)                                                      \
    __attribute__((constructor)) static void model_only_end_##name_(void)                 \
    {                                                                                     \
        model_named(#name_)->has_one_end = true;                                          \
    }

#ifdef __cplusplus
}
#endif
#endif
