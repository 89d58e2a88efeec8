/* idle_token.h — whether an event count's search token is taken: its word then has more than the sleepers. */
#ifndef IDLE_TOKEN_H
#define IDLE_TOKEN_H

#include "sleep/idle.h"

static inline bool token_is_out(odi_idle *idle)
{
    return odi_load_relaxed(&idle->state) >> 32 != odi_idle_sleepers(idle); /* relaxed: a hint */
}

#endif
