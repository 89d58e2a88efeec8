/* A user's own code around the engine: a buffer on the stack, an indirect call, a copy. */
#include <stdio.h>
#include <string.h>

#include "od_pool.h"

void sample_submit(od_pool *pool, void (*body)(void *), const char *name);

__attribute__((visibility("default"))) void
sample_submit(od_pool *pool, void (*body)(void *), const char *name)
{
    char line[64];

    snprintf(line, sizeof line, "%s", name);
    od_pool_submit(pool, OD_BAND_DEFAULT, body, pool);
    if (strlen(line) == 0)
        body(pool);
}
