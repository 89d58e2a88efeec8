#include "topology/recording.h"

#include "topology/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    odi_text path;
    odi_text content;
    bool denied;
} entry;

struct odi_recording {
    entry *entries; /* sorted by path */
    size_t count;
    char text[];
};

/* Byte order, but '/' before everything else: what is below a directory stands together. */
static int compare_paths(odi_text a, odi_text b)
{
    while (a.at < a.end && b.at < b.end) {
        int left = *a.at == '/' ? 0 : (unsigned char)*a.at + 1;
        int right = *b.at == '/' ? 0 : (unsigned char)*b.at + 1;

        if (left != right)
            return left - right;
        a.at++;
        b.at++;
    }
    return (a.at < a.end) - (b.at < b.end);
}

/* Equal paths stay in the order of the text, which is the order of their addresses. */
static int by_path(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int order = compare_paths(a->path, b->path);

    return order != 0 ? order : (a->path.at > b->path.at) - (a->path.at < b->path.at);
}

static bool is_header(odi_text line)
{
    return odi_text_starts(line, "== ") || odi_text_starts(line, "=- ") ||
           odi_text_starts(line, "=! ");
}

static size_t count_headers(odi_text text)
{
    odi_text line;
    size_t count = 0;

    while (odi_text_cut(&text, '\n', &line))
        count += is_header(line);
    return count;
}

static void say(char *problem, size_t capacity, const char *sentence, size_t line)
{
    if (problem != NULL && capacity > 0)
        snprintf(problem, capacity, "line %zu %s", line, sentence);
}

/* Fills in the entries; false at the first header that names no file. */
static bool index_text(odi_recording *recording, odi_text text, char *problem,
                       size_t capacity)
{
    entry *open = NULL;
    odi_text line;
    size_t number = 0;
    bool keep_last = true;

    while (odi_text_cut(&text, '\n', &line)) {
        number++;
        if (!is_header(line)) {
            if (open != NULL && !open->denied)
                open->content.end = keep_last ? text.at : line.end;
            continue;
        }
        keep_last = line.at[1] != '-';
        open = &recording->entries[recording->count++];
        open->denied = line.at[1] == '!';
        open->path.at = line.at + 3;
        open->path.end = line.end;
        open->content.at = open->content.end = text.at;
        if (open->path.at == open->path.end || *open->path.at != '/') {
            say(problem, capacity, "names a file without a leading slash", number);
            return false;
        }
    }
    return true;
}

odi_recording *odi_recording_parse(const char *text, size_t length, char *problem,
                                   size_t capacity)
{
    size_t headers = count_headers(odi_text_of(text, length));
    odi_recording *recording = malloc(sizeof *recording + length);
    entry *entries = calloc(headers > 0 ? headers : 1, sizeof *entries);

    if (recording == NULL || entries == NULL) {
        if (problem != NULL && capacity > 0)
            snprintf(problem, capacity, "no memory for a recording of %zu bytes", length);
        goto undo;
    }
    recording->entries = entries;
    recording->count = 0;
    if (length > 0)
        memcpy(recording->text, text, length);
    if (!index_text(recording, odi_text_of(recording->text, length), problem, capacity))
        goto undo;
    qsort(entries, recording->count, sizeof *entries, by_path);
    return recording;

undo:
    free(entries);
    free(recording);
    return NULL;
}

void odi_recording_free(odi_recording *recording)
{
    if (recording == NULL)
        return;
    free(recording->entries);
    free(recording);
}

/* The first entry that is not before `path`. */
static size_t find_place(const odi_recording *recording, odi_text path)
{
    size_t low = 0, high = recording->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_paths(recording->entries[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static odi_read_status read_recorded(const odi_source *source, const char *path,
                                     char *buffer, size_t capacity, size_t *length)
{
    const odi_recording *recording = source->context;
    odi_text wanted = odi_text_of(path, strlen(path));
    size_t place = find_place(recording, wanted);

    *length = 0;
    if (place == recording->count ||
        compare_paths(recording->entries[place].path, wanted) != 0)
        return ODI_READ_ABSENT;

    const entry *found = &recording->entries[place];
    if (found->denied)
        return ODI_READ_DENIED;

    size_t whole = odi_text_length(found->content);
    *length = whole < capacity ? whole : capacity;
    memcpy(buffer, found->content.at, *length);
    return whole > capacity ? ODI_READ_TRUNCATED : ODI_READ_OK;
}

static odi_read_status list_recorded(const odi_source *source, const char *path,
                                     odi_source_visit visit, void *context)
{
    const odi_recording *recording = source->context;
    odi_text directory = odi_text_of(path, strlen(path));
    odi_text before = {NULL, NULL};
    bool any = false;

    for (size_t i = find_place(recording, directory); i < recording->count; i++) {
        odi_text rest = recording->entries[i].path;
        odi_text name;
        char copy[256];

        if (!odi_text_starts(rest, path))
            break;
        rest.at += odi_text_length(directory);
        if (!odi_text_take(&rest, '/') || !odi_text_cut(&rest, '/', &name))
            continue;
        any = true;
        if (odi_text_length(name) == 0 || odi_text_length(name) >= sizeof copy)
            continue;
        if (before.at != NULL && compare_paths(before, name) == 0)
            continue;
        before = name;
        memcpy(copy, name.at, odi_text_length(name));
        copy[odi_text_length(name)] = '\0';
        if (!visit(context, copy))
            break;
    }
    return any ? ODI_READ_OK : ODI_READ_ABSENT;
}

odi_source odi_recording_source(const odi_recording *recording)
{
    odi_source source = {
        .read = read_recorded, .list = list_recorded, .affinity = NULL,
        .root = "",            .context = recording,  .live = false,
    };
    return source;
}
