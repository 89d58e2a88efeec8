/* numa.h — memory that has a place.
 *
 * Owns     every use of libnuma and of the kernel's memory policies.
 * Never    lets a libnuma type out, prints, or fails a caller: what is asked for is a wish, of which
 *          nothing comes without NUMA, or where a sandbox refuses the calls.
 * Threads  any thread may call everything here.
 *
 * Nodes are kernel numbers (od_machine_node.id, not an index), below ODI_NODE_LIMIT.
 */
#ifndef ODI_OS_NUMA_H
#define ODI_OS_NUMA_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* 1024 is the most nodes that Linux can be configured for. */
enum { ODI_NODE_LIMIT = 1024 };

/* Asks that the pages of [address, address + bytes) come from `node`, and from others when it is full. Pages that already
 * exist stay where they are, so call it before the first touch. `address` must be
 * page-aligned; `bytes` is rounded up to pages. */
void odi_numa_bind(void *address, size_t bytes, int node);

/* Moves what has been touched of [address, address + bytes) to `node`, if it lies elsewhere.
 * For a few pages, such as a stack's first ones: no more than 64 are looked at. */
void odi_numa_move(void *address, size_t bytes, int node);

#pragma GCC visibility pop

#endif
