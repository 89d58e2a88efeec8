/* node_files.h — what /sys/devices/system/node/node<N> says about one node.
 *
 * Pure: text in, numbers out; no allocation.
 */
#ifndef ODI_TOPOLOGY_NODE_FILES_H
#define ODI_TOPOLOGY_NODE_FILES_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Reads `distance`: one number for each online node, in order of their ids. Returns how
 * many there are, at most `capacity` of which are stored, or -1 when the text is not such a
 * row. Numbers over 255 are stored as 255. */
int odi_distance_row_parse(const char *text, size_t length, uint8_t *row, int capacity);

/* Reads the bytes of MemTotal out of `meminfo`; 0 when it does not say. */
uint64_t odi_node_memory_parse(const char *text, size_t length);

#pragma GCC visibility pop

#endif
