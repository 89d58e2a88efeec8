/* hash.h — libxxhash, which hashes as fast as memory is read. */
#include <xxhash.h>
