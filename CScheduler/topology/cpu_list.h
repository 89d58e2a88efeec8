/* cpu_list.h — the lists of CPUs and nodes that Linux writes: "0-3,8,16-31:2/4".
 *
 * Pure: text in, set out. Ranges may come in any order and overlap. "a-b:u/g" takes the
 * first u of every g, "a-b:s" every s-th. Blanks around the whole list are allowed.
 */
#ifndef ODI_TOPOLOGY_CPU_LIST_H
#define ODI_TOPOLOGY_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "os/affinity.h"

#pragma GCC visibility push(hidden)

typedef enum odi_list_status {
    ODI_LIST_OK,        /* possibly empty                                          */
    ODI_LIST_BEYOND,    /* fine, but ids of ODI_CPU_LIMIT and more were left out   */
    ODI_LIST_MALFORMED, /* not a list: the set is empty                            */
} odi_list_status;

odi_list_status odi_cpu_list_parse(const char *text, size_t length, odi_cpu_mask *mask);

#pragma GCC visibility pop

#endif
