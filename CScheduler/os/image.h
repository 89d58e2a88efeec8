/* image.h — reads the memory of a process, which does nothing for it and does not stop.
 *
 * Every program that has the engine carries an ELF note, which names the address of one block. The block has the engine's
 * version and its roots. A stripped program keeps the note. The kernel decides who may read: see ptrace(2).
 */
#ifndef ODI_OS_IMAGE_H
#define ODI_OS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct {
    uint64_t magic;
    uint32_t version;
    uint32_t layout; /* differs if the engine's structures do */
    const void *pools, *queues;
} odi_image_block;

#define ODI_IMAGE_MAGIC UINT64_C(0x65676d692d64766f) /* "ovd-imge" */

/* This program's block. The layer above fills it when the program starts. */
extern odi_image_block odi_image_own;

/* Copies memory of a process. Returns 0 or an errno value; EFAULT if the process has no such memory. */
int odi_image_read(int process, void *to, const void *from, size_t bytes);

/* Copies the block of a process. If the process has the engine twice, `is_used` chooses. Returns 0 or an errno value: ESRCH if
 * there is no such process, EPERM or EACCES if the kernel forbids the reads, ENOENT if the process has no block. */
int odi_image_find(int process, bool (*is_used)(int process, const odi_image_block *block), odi_image_block *block);

#pragma GCC visibility pop

#endif
