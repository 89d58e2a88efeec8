#include "topology/cgroup_walk.h"

#include "topology/cgroup_files.h"
#include "topology/cpu_list.h"
#include "topology/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A machine has some dozens of mounts, a busy container host thousands of lines of 200
 * bytes. Whoever has more than this hides its control groups from us. */
enum { MOST_MOUNT_BYTES = 4 << 20, SMALL_FILE = 128, LONGEST_NAME = 32 };

typedef enum hierarchy { V2_ALL, V1_CPU, V1_CPUSET, HIERARCHIES } hierarchy;

static const char *const controllers[HIERARCHIES] = {NULL, "cpu", "cpuset"};

typedef struct walker {
    const odi_source *source;
    odi_limits *limits;
    odi_limits_scratch *scratch;
    size_t top;  /* scratch->path up to here is the mount point: the walk ends there */
    size_t leaf; /* and up to here is our own group: the walk starts there           */
    size_t here; /* and up to here is where the walk stands                          */
} walker;

void odi_limits_note(odi_limits *limits, unsigned note, const char *format, ...)
{
    limits->notes |= note;
    if (limits->note[0] != '\0')
        return;

    va_list arguments;
    va_start(arguments, format);
    vsnprintf(limits->note, sizeof limits->note, format, arguments);
    va_end(arguments);
}

/* The group where the walk stands, as a person would look for it. Leaves nothing of use in
 * scratch->file. */
static void print_group(const walker *walk, char *text, size_t capacity)
{
    odi_limits_scratch *scratch = walk->scratch;
    const char *root = scratch->mount.root;
    char *whole = scratch->file;
    size_t length = strncmp(root, "/..", 3) == 0 ? 0 : strlen(root);
    size_t below = walk->here - walk->top;

    memcpy(whole, root, length);
    memcpy(whole + length, scratch->path + walk->top, below);
    length += below;
    if (length == 0)
        whole[length++] = '/';
    odi_text_print(odi_text_of(whole, length), text, capacity);
}

static void note_file(const walker *walk, unsigned note, const char *what, const char *file)
{
    char name[ODI_GROUP_TEXT - 64];

    print_group(walk, name, sizeof name);
    odi_limits_note(walk->limits, note, "%s %s of %s", what, file, name);
}

/* Reads a file of the group where the walk stands. False when there is nothing to parse; a
 * file that is not there is no news: most groups lack most files. */
static bool read_here(const walker *walk, const char *file, char *buffer, size_t capacity,
                      size_t *length)
{
    odi_limits_scratch *scratch = walk->scratch;

    memcpy(scratch->file, scratch->path, walk->here);
    scratch->file[walk->here] = '/';
    memcpy(scratch->file + walk->here + 1, file, strlen(file) + 1);

    odi_read_status status =
        walk->source->read(walk->source, scratch->file, buffer, capacity, length);
    if (status == ODI_READ_DENIED || status == ODI_READ_FAILED)
        note_file(walk, ODI_NOTE_UNREADABLE, "could not read", file);
    else if (status == ODI_READ_TRUNCATED)
        note_file(walk, ODI_NOTE_MALFORMED, "ignored an endless", file);
    return status == ODI_READ_OK;
}

/* One group up; false at the mount. */
static bool go_up(walker *walk)
{
    const char *path = walk->scratch->path;

    if (walk->here <= walk->top)
        return false;
    while (walk->here > walk->top && path[walk->here - 1] != '/')
        walk->here--;
    while (walk->here > walk->top && path[walk->here - 1] == '/')
        walk->here--;
    return true;
}

static odi_quota_status read_quota_v2(const walker *walk, odi_quota *quota)
{
    char text[SMALL_FILE];
    size_t length;

    if (!read_here(walk, "cpu.max", text, sizeof text, &length))
        return ODI_QUOTA_NONE;

    odi_quota_status status = odi_quota_parse_max(text, length, quota);
    if (status == ODI_QUOTA_MALFORMED)
        note_file(walk, ODI_NOTE_MALFORMED, "ignored a malformed", "cpu.max");
    return status;
}

static odi_quota_status read_quota_v1(const walker *walk, odi_quota *quota)
{
    char text[SMALL_FILE];
    size_t length;

    if (!read_here(walk, "cpu.cfs_quota_us", text, sizeof text, &length))
        return ODI_QUOTA_NONE;

    odi_quota_status status = odi_quota_parse_cfs(text, length, quota);
    if (status == ODI_QUOTA_MALFORMED)
        note_file(walk, ODI_NOTE_MALFORMED, "ignored a malformed", "cpu.cfs_quota_us");
    if (status != ODI_QUOTA_SET)
        return status;

    if (!read_here(walk, "cpu.cfs_period_us", text, sizeof text, &length)) {
        note_file(walk, ODI_NOTE_MALFORMED, "ignored a quota without", "cpu.cfs_period_us");
        return ODI_QUOTA_NONE;
    }
    status = odi_quota_parse_period(text, length, quota);
    if (status == ODI_QUOTA_MALFORMED)
        note_file(walk, ODI_NOTE_MALFORMED, "ignored a malformed", "cpu.cfs_period_us");
    return status;
}

/* A group's quota binds everything below it, so every level counts. */
static void walk_quotas(walker *walk, hierarchy which)
{
    odi_limits *limits = walk->limits;

    walk->here = walk->leaf;
    do {
        odi_quota found = {0, 0};
        odi_quota tightest = {limits->quota_us, limits->period_us};
        odi_quota_status status =
            which == V2_ALL ? read_quota_v2(walk, &found) : read_quota_v1(walk, &found);

        if (status == ODI_QUOTA_SET &&
            (limits->quota_us == 0 || odi_quota_is_tighter(found, tightest))) {
            limits->quota_us = found.quota_us;
            limits->period_us = found.period_us;
            print_group(walk, limits->quota_group, sizeof limits->quota_group);
        }
    } while (go_up(walk));
}

/* The nearest group that names CPUs decides: no group above it can allow less. */
static bool walk_cpuset(walker *walk, const char *file, odi_cpu_mask *cpuset)
{
    odi_limits_scratch *scratch = walk->scratch;

    walk->here = walk->leaf;
    do {
        size_t length;

        if (!read_here(walk, file, scratch->list, sizeof scratch->list, &length))
            continue;

        odi_list_status status = odi_cpu_list_parse(scratch->list, length, cpuset);
        if (status == ODI_LIST_MALFORMED)
            note_file(walk, ODI_NOTE_MALFORMED, "ignored a malformed", file);
        if (status == ODI_LIST_BEYOND)
            note_file(walk, ODI_NOTE_CPU_BEYOND, "left out high CPU numbers in", file);
        if (odi_cpu_mask_next(cpuset, 0) >= 0)
            return true;
    } while (go_up(walk));
    return false;
}

static bool find_cpuset(walker *walk, hierarchy which, odi_cpu_mask *cpuset)
{
    const char *effective =
        which == V2_ALL ? "cpuset.cpus.effective" : "cpuset.effective_cpus";

    return walk_cpuset(walk, effective, cpuset) || walk_cpuset(walk, "cpuset.cpus", cpuset);
}

/* Puts the walk at our group in one hierarchy; false when that is not mounted. */
static bool stand(walker *walk, odi_text mounts, hierarchy which)
{
    odi_limits_scratch *scratch = walk->scratch;
    odi_cgroup_mount *mount = &scratch->mount;
    odi_text own = odi_text_of(scratch->own[which], strlen(scratch->own[which]));
    odi_text below;

    if (own.at == own.end)
        return false;
    if (!odi_cgroup_mount_find(mounts.at, odi_text_length(mounts), controllers[which], own,
                               mount))
        return false;

    walk->top = walk->leaf = strlen(mount->point);
    memcpy(scratch->path, mount->point, walk->top);
    if (mount->above && odi_cgroup_below(own, mount->root, &below)) {
        memcpy(scratch->path + walk->top, below.at, odi_text_length(below));
        walk->leaf += odi_text_length(below);
    } else {
        char name[ODI_GROUP_TEXT - 64];

        odi_text_print(own, name, sizeof name);
        odi_limits_note(walk->limits, ODI_NOTE_GROUP_OUTSIDE, "group %s is out of sight",
                        name);
    }
    walk->here = walk->leaf;
    return walk->leaf + LONGEST_NAME < sizeof scratch->path;
}

/* Fills scratch->own. False when this process is in no group that could limit it. */
static bool find_own_groups(const odi_source *source, odi_limits_scratch *scratch)
{
    size_t length;
    bool any = false;

    source->read(source, "/proc/self/cgroup", scratch->text, sizeof scratch->text, &length);
    for (int which = 0; which < HIERARCHIES; which++) {
        odi_text path;

        scratch->own[which][0] = '\0';
        if (!odi_cgroup_find(scratch->text, length, controllers[which], &path) ||
            odi_text_length(path) >= ODI_PATH_LIMIT)
            continue;
        memcpy(scratch->own[which], path.at, odi_text_length(path));
        scratch->own[which][odi_text_length(path)] = '\0';
        any = true;
    }
    return any;
}

/* Reads mountinfo: into scratch->text if it fits, else into `*allocated`. */
static odi_text read_mounts(const odi_source *source, odi_limits_scratch *scratch,
                            char **allocated)
{
    static const char path[] = "/proc/self/mountinfo";
    size_t capacity = sizeof scratch->text;
    char *text = scratch->text;
    size_t length;

    while (source->read(source, path, text, capacity, &length) == ODI_READ_TRUNCATED &&
           capacity < MOST_MOUNT_BYTES) {
        char *larger = malloc(capacity * 4);

        if (larger == NULL)
            break;
        free(*allocated);
        *allocated = text = larger;
        capacity *= 4;
    }
    return odi_text_of(text, length);
}

/* Both versions may name CPUs only where someone mixes them by hand; then both hold. */
static bool add_cpuset(walker *walk, hierarchy which, bool known, odi_cpu_mask *cpuset)
{
    odi_cpu_mask found;

    odi_cpu_mask_clear(&found);
    if (!find_cpuset(walk, which, &found))
        return known;
    if (known)
        odi_cpu_mask_intersect(cpuset, &found);
    else
        *cpuset = found;
    print_group(walk, walk->limits->cpuset_group, sizeof walk->limits->cpuset_group);
    return true;
}

bool odi_cgroup_walk(const odi_source *source, odi_limits_scratch *scratch,
                     odi_limits *limits, odi_cpu_mask *cpuset)
{
    walker walk = {.source = source, .limits = limits, .scratch = scratch};
    bool cpuset_known = false, stood = false;
    char *allocated = NULL;

    odi_cpu_mask_clear(cpuset);
    if (find_own_groups(source, scratch)) {
        odi_text mounts = read_mounts(source, scratch, &allocated);

        for (hierarchy which = V2_ALL; which < HIERARCHIES; which++) {
            if (!stand(&walk, mounts, which))
                continue;
            stood = true;
            if (which != V1_CPU)
                cpuset_known = add_cpuset(&walk, which, cpuset_known, cpuset);
            if (which != V1_CPUSET)
                walk_quotas(&walk, which);
        }
    }
    if (!stood)
        odi_limits_note(limits, ODI_NOTE_NO_CGROUP, "no control group is in sight");
    free(allocated);
    return cpuset_known;
}
