/* overrides.c — waiters override one band at once (worker/override.c): workers are told while one of them is left, and no longer.
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "worker/override.c"

#include "model/scenario.h"

enum { WAITERS_BAND = 1, BAND = 3 };

static odi_team team; /* without sites: nobody is hinted at */

static void nothing(void) {}

static void stay(void)
{
    odi_override override = {.band = WAITERS_BAND};

    odi_override_begin(&override, &team, BAND);
}

static void pass(void)
{
    odi_override override = {.band = WAITERS_BAND};

    odi_override_begin(&override, &team, BAND);
    odi_override_end(&override);
}

static void verify_none(void) { model_check(odi_band_served_as(BAND) == BAND); }
static void verify_one(void) { model_check(odi_band_served_as(BAND) == WAITERS_BAND); }

MODEL_SCENARIO(overrides_come_and_go, nothing, verify_none, pass, pass)
MODEL_REACHES(overrides_come_and_go, model_met(0, "tell_workers") > 0, model_met(1, "tell_workers") > 0)

MODEL_SCENARIO(override_outlasts_another, nothing, verify_one, stay, pass)
MODEL_REACHES(override_outlasts_another, model_met(0, "tell_workers") > 0, model_met(1, "tell_workers") > 0)
