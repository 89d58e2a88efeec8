/* numa.h — memory on a given NUMA node.
 *
 * Owns     every use of libnuma and of the kernel's memory policies.
 * Never    exposes a libnuma type, prints, or fails a caller. All requests are best effort: without
 *          NUMA, or in a sandbox that refuses the calls, they do nothing.
 * Threads  any thread may call everything here.
 *
 * Nodes are kernel numbers (od_machine_node.id, not an index), below ODI_NODE_LIMIT.
 */
#ifndef ODI_OS_NUMA_H
#define ODI_OS_NUMA_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* 1024 is the largest number of nodes for which Linux can be configured. */
enum { ODI_NODE_LIMIT = 1024 };

/* Requests that the pages of [address, address + bytes) come from `node`, or from others when it is full.
 * Existing pages stay where they are, so call this before the first touch. `address` must be page-aligned;
 * `bytes` is rounded up to pages. */
void odi_numa_bind(void *address, size_t bytes, int node);

/* Moves the touched pages of [address, address + bytes) to `node` if they are elsewhere. For a few pages,
 * such as the first pages of a stack: at most 64 are considered. */
void odi_numa_move(void *address, size_t bytes, int node);

#pragma GCC visibility pop

#endif
