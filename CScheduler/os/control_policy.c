/* control_policy.c — who goes on at a decision of a controlled run: a forced choice, else the policy's. The run calls
 * it with its lock held. Equal options and equal ready threads give equal decisions. */
#include "base/rng.h"
#include "os/control_run.h"

/* A thread that polls must not keep the baton for ever: after so many decisions for it, it yields. */
enum { MOST_IN_A_ROW = 200 };

void odi_control_policy_begin(od_control *control)
{
    const od_control_options *options = &control->options;
    uint32_t most = sizeof control->change_at / sizeof *control->change_at;

    control->random = odi_rng_seed(options->seed);
    control->change_count = options->changes < most ? options->changes : most;
    for (uint32_t i = 0; i < control->change_count; i++) {
        uint32_t at = odi_rng_below(&control->random, options->expected > 0 ? options->expected : 1), place = i;

        for (; place > 0 && control->change_at[place - 1] > at; place--)
            control->change_at[place] = control->change_at[place - 1];
        control->change_at[place] = at;
    }
}

int64_t odi_control_policy_priority(od_control *control)
{
    return control->options.policy == OD_CONTROL_PRIORITIES ? 1000 + (int64_t)odi_rng_below(&control->random, 1 << 30) : 0;
}

static uint32_t lowest_bit(uint64_t set)
{
    return (uint32_t)__builtin_ctzll(set);
}

/* The next ready thread after the current one, in the order of their numbers. */
static uint32_t next_in_order(const odi_baton *current, uint64_t ready)
{
    uint64_t later = current->number < 63 ? ready & (~UINT64_C(0) << (current->number + 1)) : 0;

    return lowest_bit(later != 0 ? later : ready);
}

static uint32_t choose_random(od_control *control, uint64_t ready)
{
    uint32_t nth = odi_rng_below(&control->random, (uint32_t)__builtin_popcountll(ready));

    while (nth-- > 0)
        ready &= ready - 1;
    return lowest_bit(ready);
}

static uint32_t choose_by_priority(od_control *control, odi_baton *current, uint64_t ready, bool yields)
{
    if (yields)
        current->priority = --control->lowest;
    while (control->changes_seen < control->change_count && control->change_at[control->changes_seen] <= control->decisions)
        current->priority = control->change_count - control->changes_seen++;
    uint32_t best = lowest_bit(ready);
    for (uint64_t left = ready; left != 0; left &= left - 1) {
        if (control->threads[lowest_bit(left)]->priority > control->threads[best]->priority)
            best = lowest_bit(left);
    }
    return best;
}

static uint32_t usual_choice(const odi_baton *current, uint64_t ready, bool yields)
{
    bool goes_on = !yields && ready >> current->number & 1;

    return goes_on ? current->number : next_in_order(current, ready);
}

static uint32_t choose_by_policy(od_control *control, odi_baton *current, uint64_t ready, bool yields)
{
    if (control->options.policy == OD_CONTROL_PRIORITIES)
        return choose_by_priority(control, current, ready, yields);
    if (control->options.policy == OD_CONTROL_RANDOM)
        return choose_random(control, yields ? ready & ~(UINT64_C(1) << current->number) : ready);
    return usual_choice(current, ready, yields);
}

uint32_t odi_control_policy_choose(od_control *control, const odi_baton *current, uint64_t ready, bool yields,
                                   uint8_t *usual)
{
    const od_control_options *options = &control->options;
    odi_baton *mine = control->threads[current->number];
    bool polls = control->goes_on >= MOST_IN_A_ROW;
    uint32_t chosen = choose_by_policy(control, mine, ready, yields || polls);

    *usual = (uint8_t)usual_choice(mine, ready, yields || polls);
    if (control->forced_seen < options->forced_count &&
        options->forced[control->forced_seen].decision == control->decisions) {
        uint32_t forced = options->forced[control->forced_seen++].thread;

        if (forced < OD_CONTROL_THREADS && ready >> forced & 1)
            chosen = forced;
        else if (control->report.missed == UINT32_MAX)
            control->report.missed = control->decisions;
    }
    control->goes_on = chosen == current->number ? control->goes_on + 1 : 0;
    return chosen;
}
