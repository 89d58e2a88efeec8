/* options.h — the check of a pool's options, with its message. */
#ifndef ODI_POOL_OPTIONS_H
#define ODI_POOL_OPTIONS_H

#include <stddef.h>

#include "include/od_pool.h"
#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* The public constants equal the internal ones. */

_Static_assert((int)OD_BAND_BACKGROUND == ODI_BANDS - 1, "one list of bands");

/* Returns OD_OK, or OD_INVALID with one sentence in `message` (may be NULL). */
od_status odi_options_check(const od_pool_options *options, char *message, size_t capacity);

#pragma GCC visibility pop

#endif
