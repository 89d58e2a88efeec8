/* memory.h — what the command asks of the C library's files and heap and Swift cannot ask itself. */
#ifndef OVERDRIVE_MEMORY_H
#define OVERDRIVE_MEMORY_H

/* A new file without a name in the directory: -1 and errno where the file system has none. */
int nameless_file(const char *directory);

/* Has all threads allocate from one heap, which is grown now by `count` pieces of `piece` bytes and never shrinks.
 * Under a limit of the address space, threads and their arenas would otherwise leave nothing for small allocations.
 * 0, or -1 where the address space has no such room. */
int grow_heap(int count, int piece);

#endif
