#include "os/image.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_SEGMENTS = 32, MOST_NOTE_BYTES = 4096, NOTE_TYPE = 1 };
#define NOTE_NAME "Overdrive"

odi_image_block odi_image_own __attribute__((used));

/* The note: name and type, then the distance from itself to the block. */
__asm__(".pushsection .note.overdrive,\"a\",%note\n"
        ".balign 4\n"
        ".long 10, 8, 1\n"
        ".asciz \"" NOTE_NAME "\"\n"
        ".balign 4\n"
        ".Lodi_image_note:\n"
        ".quad odi_image_own - .Lodi_image_note\n"
        ".popsection");

int odi_image_read(int process, void *to, const void *from, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};
    ssize_t count = process_vm_readv(process, &here, 1, &there, 1, 0);

    return count == (ssize_t)bytes ? 0 : count < 0 ? errno : EFAULT;
}

static const void *at(uintptr_t address)
{
    return (const void *)address;
}

/* Finds the note among the notes of a segment, and copies its block. Returns 0 or an errno value. */
static int find_in_notes(int process, uintptr_t start, size_t bytes, size_t alignment, odi_image_block *block)
{
    char notes[MOST_NOTE_BYTES];
    Elf64_Nhdr head;
    size_t used = 0;

    bytes = bytes < sizeof notes ? bytes : sizeof notes;
    int error = odi_image_read(process, notes, at(start), bytes);
    while (error == 0 && used + sizeof head <= bytes) {
        memcpy(&head, notes + used, sizeof head);
        size_t name = used + sizeof head;
        size_t text = name + ((head.n_namesz + alignment - 1) & ~(alignment - 1));
        int64_t distance;

        if (head.n_namesz > bytes || head.n_descsz > bytes || text + head.n_descsz > bytes)
            return ENOENT;
        if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof NOTE_NAME && head.n_descsz == sizeof distance &&
            memcmp(notes + name, NOTE_NAME, sizeof NOTE_NAME) == 0) {
            memcpy(&distance, notes + text, sizeof distance);
            return odi_image_read(process, block, at(start + text + (uintptr_t)distance), sizeof *block);
        }
        used = text + ((head.n_descsz + alignment - 1) & ~(alignment - 1));
    }
    return error != 0 ? error : ENOENT;
}

/* `start`: where the first page of a file is mapped. Returns 0 or an errno value; ENOENT if it is no ELF file with a block. */
static int find_in_file(int process, uintptr_t start, odi_image_block *block)
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[MOST_SEGMENTS];
    uintptr_t bias = start;
    int error = odi_image_read(process, &head, at(start), sizeof head);

    if (error != 0)
        return error == EFAULT || error == EIO ? ENOENT : error;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof *segments || head.e_phnum > MOST_SEGMENTS ||
        odi_image_read(process, segments, at(start + head.e_phoff), head.e_phnum * sizeof *segments) != 0)
        return ENOENT;
    for (int i = 0; i < head.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
            bias = start - segments[i].p_vaddr;
    }
    error = ENOENT;
    for (int i = 0; i < head.e_phnum && error != 0; i++) {
        if (segments[i].p_type == PT_NOTE)
            error = find_in_notes(process, bias + segments[i].p_vaddr, segments[i].p_memsz, segments[i].p_align == 8 ? 8 : 4, block);
    }
    return error == 0 && block->magic == ODI_IMAGE_MAGIC ? 0 : ENOENT;
}

static int open_error(int process)
{
    return errno == ENOENT || process <= 0 ? ESRCH : errno;
}

int odi_image_find(int process, bool (*is_used)(int process, const odi_image_block *block), odi_image_block *block)
{
    char path[64], line[512];
    int result = ENOENT;

    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return open_error(process);
    while (result != EPERM && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t start;
        unsigned long long offset, file;
        odi_image_block found;

        if (strchr(line, '\n') == NULL) /* the rest of a long name */
            for (int next = 0; next != '\n' && next != EOF;)
                next = fgetc(maps);
        if (sscanf(line, "%" SCNxPTR "-%*x r%*s %llx %*s %llu", &start, &offset, &file) != 3 || offset != 0 || file == 0)
            continue;
        int error = find_in_file(process, start, &found);
        if (error == EPERM || error == ESRCH)
            result = error;
        if (error != 0)
            continue;
        if (result != 0 || is_used(process, &found))
            *block = found;
        result = 0;
        if (is_used(process, &found))
            break;
    }
    (void)fclose(maps);
    return result;
}
