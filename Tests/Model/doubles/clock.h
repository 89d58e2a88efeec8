/* clock.h — os/clock.c for the model: time stands still, where the scenario has put it. */
#include "os/clock.h"

static int64_t clock_stands_at;

int64_t odi_clock_now(void) { return clock_stands_at; }
int64_t odi_clock_coarse(void) { return clock_stands_at; }
int64_t odi_clock_after(int64_t delay_ns) { return delay_ns; }
void odi_clock_sleep(int64_t ns) {}
