/* mark.c — an ELF note by which a file that carries the engine is known from outside: what is
 * preloaded into a program that has an engine steps back, because two would share its CPUs. */
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
