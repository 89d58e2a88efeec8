// waits.cc — small programs that wait, and what the explorer has to say of each.
#include "waits.h"

#include <cstdio>
#include <cstring>

#include "machine.h"
#include "model/check.h"
#include "options.h"
#include "search.h"

namespace litmus {

namespace {

uint64_t *words; // x, y, what was seen

model_site at(const char *op, int line, model_order order = MODEL_RELAXED)
{
    return {"waits.cc", "", op, "none", line, 0, (uint8_t)order, (uint8_t)order, (uint8_t)MODEL_RELAXED,
            (uint8_t)MODEL_RELAXED};
}

// Sites are told apart by their addresses.
#define SITE(op, order) ([]() -> const model_site * { static const model_site it = at(op, __LINE__, order); return &it; }())
#define LOAD(i) (model_load(&words[i], 8, SITE("load", MODEL_ACQUIRE)))
#define STORE(i, v) model_store(&words[i], 8, (v), SITE("store", MODEL_RELEASE))
#define ADD(i, v) (model_rmw(&words[i], 8, MODEL_ADD, (v), SITE("add", MODEL_ACQREL)))
#define PAUSE() model_pause(SITE("pause", MODEL_RELAXED))

bool take(unsigned i)
{
    uint64_t is_free = 0;

    return model_cas(&words[i], 8, &is_free, 1, SITE("cas", MODEL_ACQREL));
}

void prepare() { words = static_cast<uint64_t *>(model_calloc(3, sizeof *words)); }

void store_x() { STORE(0, 1); }
void nothing() {}
void wait_for_x()
{
    while (LOAD(0) == 0)
        PAUSE();
}
// Reads something else in each round, last, that never changes.
void wait_for_x_beside_y()
{
    while (LOAD(0) == 0 && LOAD(1) == 0)
        PAUSE();
}
void x_then_y()
{
    while (LOAD(0) == 0)
        PAUSE();
    STORE(1, 1);
}
void y_then_x()
{
    while (LOAD(1) == 0)
        PAUSE();
    STORE(0, 1);
}
void hold_and_let_go()
{
    while (!take(0))
        PAUSE();
    STORE(0, 0);
}
void hold_for_ever()
{
    while (!take(0))
        PAUSE();
}
void count_while_waiting()
{
    while (LOAD(0) == 0) {
        (void)ADD(1, 1);
        PAUSE();
    }
}
void pause_on_nothing()
{
    for (;;)
        PAUSE();
}
void sleep_for_x()
{
    while (LOAD(0) == 0)
        model_futex_wait(&words[0], 0, ~0u);
}
void sleep_once_for_x()
{
    model_futex_wait(&words[0], 0, ~0u);
    model_check(LOAD(0) == 1);
}
void store_and_wake()
{
    STORE(0, 1);
    model_futex_wake(&words[0], 1, ~0u);
}
void spin_then_expect()
{
    for (int i = 0; i < 10 && model_spins_on(); i++)
        PAUSE();
    model_check(LOAD(0) == 1);
}
void see_x() { words[2] = LOAD(0); } // in a plain word
void see_x_after_it_was_y()
{
    if (LOAD(1) == 1)
        see_x();
}
void see_x_behind_y()
{
    while (LOAD(1) == 0)
        PAUSE();
    see_x();
}
void store_x_and_y()
{
    STORE(0, 1);
    STORE(1, 1);
}
unsigned x_is_seen() { return words[2] == 1; }

const struct {
    const char *name;
    void (*threads[3])();
    const char *fails; // what it says then; empty: it passes
    model_spins spins; // where it is named; otherwise MODEL_SPINS_WAIT, which is 0
    unsigned (*reached)() = nullptr;
    bool has_one_end = false;
} table[] = {
    {"a wait that is ended", {wait_for_x, store_x}, ""},
    {"a wait that nobody ends", {wait_for_x, nothing}, "waits for ever"},
    {"two that wait for each other", {x_then_y, y_then_x}, "waits for ever"},
    {"one of two is let go by a third", {x_then_y, y_then_x, store_x}, ""},
    {"a round of which only the first load was old", {wait_for_x_beside_y, store_x}, ""},
    {"a failed compare-and-swap of a lock that is let go", {hold_and_let_go, hold_and_let_go}, ""},
    {"a failed compare-and-swap of a lock that is kept", {hold_and_let_go, hold_for_ever}, "waits for ever"},
    {"a waiting round that writes", {count_while_waiting, nothing}, "writes, and the next one too"},
    {"a waiting round that reads nothing", {pause_on_nothing}, "reads nothing"},
    {"a sleep in a loop, which may return for nothing", {sleep_for_x, store_and_wake}, ""},
    {"a sleep without a loop", {sleep_once_for_x, store_and_wake}, "broken: LOAD(0) == 1"},
    {"a sleep that nobody ends", {sleep_for_x, store_x}, "lost wake-up"},
    {"what follows a bounded wait", {spin_then_expect, store_x}, "broken: LOAD(0) == 1", MODEL_SPINS_BOTH},
    {"what follows a bounded wait that leaves", {spin_then_expect, store_x}, "broken: LOAD(0) == 1", MODEL_SPINS_LEAVE},
    {"an outcome that is reached, and missed", {see_x, store_x}, "", {}, x_is_seen},
    {"an outcome that is not reached", {see_x, nothing}, "never reached: x is seen", {}, x_is_seen},
    {"an outcome whose line is never run", {see_x_after_it_was_y, store_x}, "never reached: x is seen", {}, x_is_seen},
    {"an outcome that cannot be missed", {see_x_behind_y, store_x_and_y}, "reached by every execution: x is seen", {}, x_is_seen},
    {"the only end", {see_x_behind_y, store_x_and_y}, "", {}, x_is_seen, true},
    {"not the only end", {see_x, store_x}, "not the only end: x is seen", {}, x_is_seen, true},
};

} // namespace

unsigned long check_waits()
{
    unsigned long wrong = 0;

    for (const auto &test : table) {
        model_scenario scenario = {};
        scenario.name = test.name;
        scenario.prepare = prepare;
        scenario.spins = test.spins;
        scenario.reached = test.reached;
        scenario.outcomes = test.reached != nullptr ? "x is seen" : nullptr;
        scenario.has_one_end = test.has_one_end;
        for (int t = 0; t < 3; t++)
            scenario.threads[t] = test.threads[t];
        bool passed = model::search().explore(&scenario, model::Limits()) == model::Verdict::Passed;
        const std::string said = passed ? "" : model::machine().failure();
        bool right = test.fails[0] == 0 ? passed : said.find(test.fails) != std::string::npos;
        if (!right)
            printf("WRONG    %s: %s\n", test.name, passed ? "passed" : said.c_str());
        wrong += !right;
    }
    printf("%zu programs that wait, %lu wrong\n", sizeof table / sizeof table[0], wrong);
    return wrong;
}

} // namespace litmus
