/* recording.h — a recorded machine: its files in one text, in the format of
 * Tests/Fixtures/machines/README.md. If two files have equal names, the first counts. Other files do not
 * exist. */
#ifndef SUPPORT_RECORDING_H
#define SUPPORT_RECORDING_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/source.h"

/* One file of a recording. Its content is [at, end). */
typedef struct {
    const char *path, *at, *end;
    size_t path_length;
    bool denied;
} recorded_file;

static inline bool is_header(const char *line)
{
    return line[0] == '=' && line[1] != '\0' && strchr("=-!", line[1]) != NULL && line[2] == ' ';
}

/* Removes the next file from the front of the text. Returns false if there is none. */
static inline bool next_recorded(const char **text, recorded_file *file)
{
    const char *line = *text;

    while (*line != '\0' && !is_header(line))
        line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
    if (*line == '\0')
        return false;
    file->denied = line[1] == '!';
    file->path = line + 3;
    file->path_length = strcspn(file->path, "\n");
    file->at = file->path + file->path_length;
    file->at += *file->at == '\n';
    const char *end = file->at;
    while (*end != '\0' && !is_header(end))
        end += strcspn(end, "\n") + (end[strcspn(end, "\n")] == '\n');
    *text = end;
    file->end = end - (line[1] == '-' && end > file->at && end[-1] == '\n');
    return true;
}

/* Opens a file of the recording in the source's `context`. */
static inline FILE *open_recorded(const odi_source *source, const char *path)
{
    const char *text = source->context;
    recorded_file file;

    while (next_recorded(&text, &file)) {
        if (file.path_length != strlen(path) || memcmp(file.path, path, file.path_length) != 0)
            continue;
        errno = EACCES;
        return file.denied ? NULL : fmemopen((void *)(uintptr_t)file.at, (size_t)(file.end - file.at), "r");
    }
    errno = ENOENT;
    return NULL;
}

/* Returns a source that reads a recording, which is borrowed. */
static inline odi_source source_of(const char *recording)
{
    return (odi_source){.open = open_recorded, .root = "", .context = recording};
}

/* Writes the files of a recording below an existing directory. Returns false if a file cannot be written. */
static inline bool unpack(const char *recording, const char *directory)
{
    recorded_file file;

    while (next_recorded(&recording, &file)) {
        char path[2 * ODI_PATH_LIMIT];
        int length = snprintf(path, sizeof path, "%s%.*s", directory, (int)file.path_length, file.path);

        for (char *slash = strchr(path + strlen(directory) + 1, '/'); slash != NULL;
             slash = strchr(slash + 1, '/')) {
            *slash = '\0';
            (void)mkdir(path, 0700);
            *slash = '/';
        }
        FILE *out = length < (int)sizeof path ? fopen(path, "wx") : NULL;
        if (out == NULL && errno == EEXIST)
            continue;
        if (out == NULL)
            return false;
        fwrite(file.at, 1, (size_t)(file.end - file.at), out);
        fclose(out);
    }
    return true;
}

#endif
