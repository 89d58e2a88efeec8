/* options.c — default options of a pool, their check, and the environment variables that change them. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/thread.h"
#include "pool/options.h"
#include "topology/placement.h"
#include "topology/setting.h"

#define MOST_STACK ((size_t)64 << 30)

void od_pool_options_init(od_pool_options *options)
{
    *options = (od_pool_options){
        .name = "overdrive",
        .placement = OD_PLACEMENT_AUTOMATIC,
        .spare_workers = -1,
    };
}

static od_status refuse(char *message, size_t capacity, const char *sentence, long long value)
{
    if (message != NULL)
        snprintf(message, capacity, sentence, value);
    return OD_INVALID;
}

od_status odi_options_check(const od_pool_options *options, char *message, size_t capacity)
{
    if (options->workers < 0 || options->workers > ODI_MOST_WORKERS)
        return refuse(message, capacity,
                      "workers: out of range (%lld). Choose 1 to 1024, or leave it out to follow the "
                      "machine's limits.", options->workers);
    if ((int)options->placement < OD_PLACEMENT_NONE ||
        (int)options->placement > OD_PLACEMENT_AUTOMATIC)
        return refuse(message, capacity,
                      "placement: unknown value (%lld). Choose none, node, core or automatic.",
                      (long long)options->placement);
    if (options->stack_bytes != 0 &&
        (options->stack_bytes < ODI_STACK_MINIMUM || options->stack_bytes > MOST_STACK))
        return refuse(message, capacity,
                      "stackSize: out of range (%lld bytes). Choose 65536 bytes to 64 GiB; it is address space, "
                      "touched lazily.", (long long)options->stack_bytes);
    if (options->spare_workers < -1 || options->spare_workers > ODI_MOST_SPARES)
        return refuse(message, capacity,
                      "spareWorkers: out of range (%lld). Choose 0 to 1024.",
                      options->spare_workers);
    return OD_OK;
}

od_status od_pool_options_from_environment(od_pool_options *options, char *message,
                                           size_t capacity)
{
    const char *workers = secure_getenv("OVERDRIVE_WORKERS");
    const char *placement = secure_getenv("OVERDRIVE_PLACEMENT");
    const char *spares = secure_getenv("OVERDRIVE_SPARES");
    od_status status = OD_OK;

    if (workers != NULL && !odi_setting_integer("OVERDRIVE_WORKERS", workers, 1, ODI_MOST_WORKERS,
                                                &options->workers, message, capacity))
        status = OD_INVALID;
    if (spares != NULL && !odi_setting_integer("OVERDRIVE_SPARES", spares, 0, ODI_MOST_SPARES,
                                               &options->spare_workers, message, capacity))
        status = OD_INVALID;
    if (placement != NULL && !odi_placement_parse("OVERDRIVE_PLACEMENT", placement,
                                                  &options->placement, message, capacity))
        status = OD_INVALID;
    return status;
}
