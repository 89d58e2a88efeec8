/* forms.c — the macros of the model form do what their names say, for every width. */
#include "base/atomic.h"

#include "model/scenario.h"

static odi_atomic(uint8_t) byte;
static odi_atomic(int64_t) wide = 5;
static odi_atomic(int *) pointer;
static int payload, sees;
static bool flags[2];

static void publisher(void) { payload = 7; odi_store_release(&pointer, &payload, none); }

static void reader(void)
{
    int *seen = odi_load_acquire(&pointer, none);

    sees = seen == NULL ? 0 : *seen;
}

MODEL_SCENARIO(message_passing, NULL, NULL, publisher, reader)
MODEL_REACHES(message_passing, sees == 7, sees == 0)

static void narrow(void)
{
    uint8_t old = odi_add_relaxed(&byte, 200);
    int64_t expected = 5;

    if (odi_cas_acqrel(&wide, &expected, -1, none))
        flags[0] = true;
    model_check(old == 0 || old == 200);
}

static void also_narrow(void)
{
    uint8_t old = odi_add_relaxed(&byte, 200);
    int64_t expected = 5;

    if (odi_cas_acqrel(&wide, &expected, -1, none))
        flags[1] = true;
    else
        model_check(expected == -1);
    model_check(old == 0 || old == 200);
}

static void narrow_end(void)
{
    model_check(odi_load_relaxed(&byte) == (uint8_t)400);
    model_check(odi_load_relaxed(&wide) == -1);
    model_check(flags[0] != flags[1]);
}

MODEL_SCENARIO(widths, NULL, narrow_end, narrow, also_narrow)
MODEL_REACHES(widths, flags[0])
