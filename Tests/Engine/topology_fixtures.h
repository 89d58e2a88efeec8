/* topology_fixtures.h — recorded machines and small texts for the topology tests. */
#ifndef TOPOLOGY_FIXTURES_H
#define TOPOLOGY_FIXTURES_H

#include "Support/check.h"

#include "os/source.h"
#include "topology/recording.h"

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

/* Reads one recorded machine; the test fails when it is not there. */
static inline odi_recording *fixture_load(const char *name)
{
    enum { ROOM = 1 << 20 };
    odi_source files = odi_source_live();
    char path[1024], problem[256] = "could not be read";
    char *text = malloc(ROOM);
    odi_recording *recording = NULL;
    size_t length;

    fixture_path(name, path, sizeof path);
    if (files.read(&files, path, text, ROOM, &length) == ODI_READ_OK)
        recording = odi_recording_parse(text, length, problem, sizeof problem);
    free(text);
    if (recording == NULL)
        fail_msg("%s: %s", path, problem);
    return recording;
}

/* A recording given as a literal. */
static inline odi_recording *fixture_from(const char *text)
{
    odi_recording *recording = odi_recording_parse(text, strlen(text), NULL, 0);

    assert_non_null(recording);
    return recording;
}

/* A copy in memory of its own, exactly as long as the text: a sanitizer then sees every
 * byte that is read too far. */
static inline char *exact_copy(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);

    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

#endif
