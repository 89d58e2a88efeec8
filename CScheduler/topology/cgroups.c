#include "topology/cgroups.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/setting.h"

/* A group with a longer path is not looked for. */
enum { GROUP_PATH = 1024 };

/* The kernel's own bounds are lower. */
#define MOST_US 1000000000000

typedef enum hierarchy { V2_ALL, V1_CPU, V1_CPUSET, HIERARCHIES } hierarchy;

static const char *const controllers[HIERARCHIES] = {"", "cpu", "cpuset"};

/* Our group in one hierarchy, and the mount through which most of its ancestors are seen. */
typedef struct group {
    char own[GROUP_PATH];   /* as /proc/self/cgroup names it; "" is none               */
    char root[GROUP_PATH];  /* group that is visible at the mount, named like that, no
                                   slash at its end ("" is the top)                        */
    char point[GROUP_PATH]; /* directory of the mount, no slash at its end ("" is "/") */
    bool mounted;
    bool above;                 /* our group is `root` or below it                         */
} group;

/* Too big for a stack that may be a worker's. The groups stay for the next reading. */
struct odi_cgroups {
    const odi_source *source;
    odi_limits *limits;
    group groups[HIERARCHIES];
    bool moved;                    /* we are in another group than before    */
    bool in_sight;                 /* the last reading found one mounted     */
    group mount;                   /* the line at hand, without `own`        */
    const group *here;             /* the hierarchy at hand                  */
    char path[3 * GROUP_PATH]; /* the directory where the walk stands    */
    size_t top;                    /* and up to here it is the mount's       */
    char name[2 * GROUP_PATH]; /* the group where it stands              */
};

/* ---- where our groups are ---- */

static bool lists(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == words || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* id:controllers:path, where everything after the second colon is the path, colons included,
 * but for the kernel's remark that the group was deleted. */
static void read_group(char *line, odi_cgroups *walk)
{
    static const char deleted[] = " (deleted)";
    char *names = strchr(line, ':'), *path = names != NULL ? strchr(names + 1, ':') : NULL;

    if (path == NULL || path[1] != '/' || strlen(path + 1) >= GROUP_PATH)
        return;
    *names++ = *path++ = '\0';
    size_t length = strlen(path), remark = sizeof deleted - 1;
    if (length > remark && strcmp(path + length - remark, deleted) == 0)
        path[length - remark] = '\0';
    for (hierarchy which = V2_ALL; which < HIERARCHIES; which++) {
        char *own = walk->groups[which].own;

        if ((which == V2_ALL ? *names == '\0' && strcmp(line, "0") == 0
                             : lists(names, controllers[which])) &&
            strcmp(own, path) != 0) {
            memcpy(own, path, strlen(path) + 1);
            walk->moved = true;
        }
    }
}

/* The part of `own` below `root`: "" or "/a/b". NULL when it is not there, or would be
 * reached through "..". */
static const char *below(const char *own, const char *root)
{
    size_t length = strlen(root);
    const char *rest = own + length;

    if (strncmp(own, root, length) != 0 || (*rest != '\0' && *rest != '/') ||
        strstr(rest, "/..") != NULL)
        return NULL;
    return strcmp(rest, "/") == 0 ? "" : rest;
}

/* Undoes the kernel's \ooo escapes and drops slashes from the end. False for what is not absolute. */
static bool decode(char *path)
{
    char *to = path;

    if (*path != '/')
        return false;
    for (const char *at = path; *at != '\0'; at++) {
        unsigned byte = (unsigned char)*at;

        if (byte == '\\' && isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) &&
            isdigit((unsigned char)at[3])) {
            byte = (unsigned)strtoul((char[]){at[1], at[2], at[3], '\0'}, NULL, 8);
            at += 3;
        }
        *to++ = (char)byte;
    }
    while (to > path && to[-1] == '/')
        to--;
    *to = '\0';
    return true;
}

/* id, parent, device, root, point, options, any number of tags, "-", type, what, options */
static void read_mount(char *line, odi_cgroups *walk)
{
    group *mount = &walk->mount;
    char type[16], options[256] = "";
    const char *rest = strstr(line, " - ");

    if (rest == NULL || sscanf(rest, " - %15s %*s %255s", type, options) < 1 ||
        strncmp(type, "cgroup", 6) != 0 ||
        sscanf(line, "%*s %*s %*s %1023s %1023s", mount->root, mount->point) != 2 ||
        !decode(mount->root) || !decode(mount->point))
        return;
    for (hierarchy which = V2_ALL; which < HIERARCHIES; which++) {
        group *known = &walk->groups[which];

        if (known->own[0] == '\0' || strcmp(type, which == V2_ALL ? "cgroup2" : "cgroup") != 0 ||
            (which != V2_ALL && !lists(options, controllers[which])))
            continue;
        /* The shortest root shows the most ancestors. Among equals the later line wins: it
         * may have been mounted over the earlier one. */
        bool above = below(known->own, mount->root) != NULL;
        if (known->above && (!above || strlen(mount->root) > strlen(known->root)))
            continue;
        memcpy(known->root, mount->root, sizeof known->root);
        memcpy(known->point, mount->point, sizeof known->point);
        known->above = above;
        known->mounted = true;
    }
}

static void read_lines(odi_cgroups *walk, const char *path, void (*read)(char *line, odi_cgroups *walk))
{
    FILE *file = walk->source->open(walk->source, path);
    char *line = NULL;
    size_t room = 0;

    if (file == NULL)
        return;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        read(line, walk);
    }
    free(line);
    fclose(file);
}

/* ---- what they say ---- */

/* The group where the walk stands, as a person would look for it. */
static void print_group(odi_cgroups *walk, char *text, size_t capacity)
{
    const char *root = walk->here->root;

    snprintf(walk->name, sizeof walk->name, "%s%s", strncmp(root, "/..", 3) == 0 ? "" : root,
             walk->path + walk->top);
    odi_setting_show(walk->name[0] != '\0' ? walk->name : "/", text, capacity);
}

static void note_file(odi_cgroups *walk, const char *what, const char *file)
{
    char name[ODI_GROUP_TEXT - 64];

    print_group(walk, name, sizeof name);
    odi_limits_note(walk->limits, "%s %s of %s", what, file, name);
}

/* Reads a file of the group where the walk stands, as a text or as a list. False when there is
 * nothing to parse; a file that is not there is no news: most groups lack most files. */
static bool read_here(odi_cgroups *walk, const char *file, char *text, size_t capacity,
                      odi_cpu_mask *list)
{
    size_t end = strlen(walk->path);

    snprintf(walk->path + end, sizeof walk->path - end, "/%s", file);
    int status = list != NULL ? odi_source_read_list(walk->source, walk->path, list)
                              : odi_source_read(walk->source, walk->path, text, capacity);
    walk->path[end] = '\0';
    if (status == EINVAL || status == EFBIG)
        note_file(walk, "ignored a malformed", file);
    else if (status != 0 && status != ENOENT && status != ENOTDIR)
        note_file(walk, "could not read", file);
    return status == 0;
}

/* A group's quota binds everything below it, so every level counts. v2: "200000 100000" or
 * "max 100000"; v1 has two files, and says -1 where there is no limit. */
static void read_quota(odi_cgroups *walk, hierarchy which)
{
    enum { NUMBER = 32 };
    odi_limits *limits = walk->limits;
    const char *file = which == V2_ALL ? "cpu.max" : "cpu.cfs_quota_us";
    char text[3 * NUMBER], *rest;

    if (!read_here(walk, file, text, 2 * NUMBER, NULL) || text[0] == 'm' || text[0] == '-')
        return;
    if (which == V1_CPU)
        (void)read_here(walk, "cpu.cfs_period_us", text + strlen(text), NUMBER, NULL);
    long long quota = strtoll(text, &rest, 10), period = strtoll(rest, NULL, 10);
    if (quota <= 0 || period <= 0 || quota > MOST_US || period > MOST_US) {
        note_file(walk, "ignored a malformed", file);
        return;
    }
    if (limits->quota_us == 0 || (double)quota / (double)period <
                                     (double)limits->quota_us / (double)limits->period_us) {
        limits->quota_us = quota;
        limits->period_us = period;
        print_group(walk, limits->quota_group, sizeof limits->quota_group);
    }
}

/* The nearest group that names CPUs decides: no group above it can allow less. */
static bool read_cpuset(odi_cgroups *walk, hierarchy which)
{
    char name[ODI_GROUP_TEXT];
    odi_cpu_mask cpus;

    if (!read_here(walk, which == V2_ALL ? "cpuset.cpus.effective" : "cpuset.effective_cpus",
                   NULL, 0, &cpus) ||
        odi_cpu_mask_next(&cpus, 0) < 0)
        return false;
    print_group(walk, name, sizeof name);
    odi_limits_apply_cpuset(walk->limits, &cpus, name);
    return true;
}

static void walk_up(odi_cgroups *walk, hierarchy which, bool cpusets)
{
    const group *here = walk->here = &walk->groups[which];
    const char *rest = here->above ? below(here->own, here->root) : "";
    bool quotas = which != V1_CPUSET;
    char name[ODI_GROUP_TEXT - 64], *slash;

    if (!here->above) {
        odi_setting_show(here->own, name, sizeof name);
        odi_limits_note(walk->limits, "group %s is out of sight", name);
    }
    walk->top = strlen(here->point);
    snprintf(walk->path, sizeof walk->path, "%s%s", here->point, rest);
    cpusets = cpusets && which != V1_CPU;
    do {
        if (cpusets)
            cpusets = !read_cpuset(walk, which);
        if (quotas)
            read_quota(walk, which);
        slash = strrchr(walk->path + walk->top, '/');
        if (slash != NULL)
            *slash = '\0';
    } while (slash != NULL);
}

void odi_cgroups_read(const odi_source *source, odi_cgroups **kept, odi_limits *limits,
                     bool cpusets)
{
    odi_cgroups *walk = kept != NULL ? *kept : NULL;
    bool anew = walk == NULL, any = false;

    if (anew && (walk = malloc(sizeof *walk)) == NULL) {
        odi_limits_note(limits, "no memory to read control groups");
        return;
    }
    if (kept != NULL)
        *kept = walk;
    walk->source = source;
    walk->limits = limits;
    walk->moved = anew || !walk->in_sight;
    for (hierarchy which = V2_ALL; which < HIERARCHIES && anew; which++)
        walk->groups[which].own[0] = '\0';
    read_lines(walk, "/proc/self/cgroup", read_group);
    for (hierarchy which = V2_ALL; which < HIERARCHIES && walk->moved; which++)
        walk->groups[which].mounted = walk->groups[which].above = false;
    if (walk->moved)
        read_lines(walk, "/proc/self/mountinfo", read_mount);
    for (hierarchy which = V2_ALL; which < HIERARCHIES; which++) {
        if (walk->groups[which].mounted && (cpusets || which != V1_CPUSET)) {
            walk_up(walk, which, cpusets);
            any = true;
        }
    }
    walk->in_sight = any;
    if (!any)
        odi_limits_note(limits, "no control group is in sight");
    if (kept == NULL)
        free(walk);
}
