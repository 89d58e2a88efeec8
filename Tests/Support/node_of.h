/* node_of.h — where a page lies. */
#ifndef SUPPORT_NODE_OF_H
#define SUPPORT_NODE_OF_H

#include <numaif.h>
#include <stdint.h>

#include "os/numa.h"

/* The node that holds the page at `address` (touch it first), or -1. */
static inline int node_of(const void *address)
{
    int node = -1;

    if (!odi_numa_available() ||
        get_mempolicy(&node, NULL, 0, (void *)(uintptr_t)address, MPOL_F_NODE | MPOL_F_ADDR) != 0)
        return -1;
    return node;
}

#endif
