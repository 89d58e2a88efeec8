/* mark.c — an ELF note that marks a file containing the engine. A preloaded library reads it and disables
 * itself in a program that has the note, because two engines would compete for the CPUs. */
#include <stddef.h>
#include <stdint.h>

#define OWNER "Overdrive"

typedef struct {
    uint32_t owner_bytes, content_bytes, type;
    char owner[(sizeof OWNER + 3) & ~(size_t)3];
    uint32_t version;
} note;

__attribute__((used, section(".note.overdrive"), aligned(4))) static const note mark = {
    sizeof OWNER, sizeof(uint32_t), 1, OWNER, 1};
