#include <stddef.h>
#include <stdatomic.h>

#include "od_pool.h"

void sample_submit(od_pool *pool, void (*body)(void *), const char *name);

static atomic_int runs;

static void body(void *pool)
{
    (void)pool;
    atomic_fetch_add(&runs, 1);
}

int main(void)
{
    od_pool_options options;
    od_pool *pool;

    od_pool_options_init(&options);
    options.workers = 2;
    if (od_pool_create(&options, &pool, NULL, 0) != OD_OK)
        return 1;
    for (int i = 0; i < 1000; i++)
        sample_submit(pool, body, "sample");
    return od_pool_free(pool) != OD_OK || runs != 1000;
}
