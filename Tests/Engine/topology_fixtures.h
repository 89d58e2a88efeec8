/* topology_fixtures.h — recorded machines and small texts for the topology tests. */
#ifndef TOPOLOGY_FIXTURES_H
#define TOPOLOGY_FIXTURES_H

#include "Support/check.h"
#include "Support/recording.h"

/* The folder of the recorded machines: next to this file's, wherever the test runs. */
static inline void fixture_path(const char *name, char *path, size_t capacity)
{
    const char *folder = getenv("OVERDRIVE_FIXTURES");
    const char *here = __FILE__;
    const char *slash = strrchr(here, '/');

    if (folder != NULL)
        snprintf(path, capacity, "%s/%s.machine", folder, name);
    else
        snprintf(path, capacity, "%.*s/../Fixtures/machines/%s.machine",
                 slash != NULL ? (int)(slash - here) : 1, slash != NULL ? here : ".", name);
}

/* Reads a whole file into memory of its own, exactly as long as the text: a sanitizer then sees
 * every byte that is read too far. The test fails when it is not there. */
static inline char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t length = 0, got = 1;
    char *text = NULL;

    if (file == NULL)
        fail_msg("%s is not there", path);
    while (got > 0) {
        text = realloc(text, length + 4096);
        assert_non_null(text);
        got = fread(text + length, 1, 4096, file);
        length += got;
    }
    fclose(file);
    text = realloc(text, length + 1);
    text[length] = '\0';
    return text;
}

/* One recorded machine. */
static inline char *fixture_load(const char *name)
{
    char path[1024];

    fixture_path(name, path, sizeof path);
    return read_whole(path);
}

#endif
