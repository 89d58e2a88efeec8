/* cgroups.c — reads the limits: the affinity mask, then the quotas and cpusets from this process's cgroups up
 * to their mounts.
 *
 * It handles v1, v2 and both at once, and octal escapes. It also handles bind mounts of a part of a hierarchy
 * (containers), and roots above a cgroup namespace ("/..").
 */
#include "topology/limits.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/setting.h"

/* A cgroup with a longer path is ignored. */
enum { GROUP_PATH = 1024 };

/* The kernel's own limits are lower. */
#define MOST_US 1000000000000

typedef enum hierarchy { V2_ALL, V1_CPU, V1_CPUSET, HIERARCHIES } hierarchy;

static const char *const controllers[HIERARCHIES] = {"", "cpu", "cpuset"};

/* This process's cgroup in one hierarchy, and the mount that shows most of its ancestors. */
typedef struct group {
    char own[GROUP_PATH];   /* as in /proc/self/cgroup; "": none */
    char root[GROUP_PATH];  /* the cgroup that is visible at the mount, in that notation, without a final
                               slash ("" is the top) */
    char point[GROUP_PATH]; /* the mount's directory, without a final slash ("" is "/") */
    bool mounted;
    bool above;                 /* this process's cgroup is `root` or below it */
} group;

/* Allocated, because it is too large for a worker's stack. The cgroups are kept for the next reading. */
struct odi_cgroups {
    const odi_source *source;
    odi_limits *limits;
    group groups[HIERARCHIES];
    bool moved;                    /* the process has changed its cgroup */
    bool in_sight;                 /* the cgroups were mounted where the last reading looked */
    bool read, found;              /* the last reading read one of their files; any reading did */
    group mount;                   /* the current line, without `own` */
    const group *here;             /* the current hierarchy */
    char path[3 * GROUP_PATH]; /* the directory that the walk has reached */
    size_t top;                    /* length of the mount's part of `path` */
    char name[2 * GROUP_PATH]; /* the cgroup that the walk has reached */
};

/* Records the first unusual finding. The text must be printable. */
__attribute__((format(printf, 2, 3), cold)) static void note(odi_limits *limits, const char *format,
                                                             ...)
{
    va_list arguments;

    if (limits->note[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(limits->note, sizeof limits->note, format, arguments);
    va_end(arguments);
}

/* Whether an existing file could not be read now. */
static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Calls `read` for each line of a file, without its newline. */
static void read_lines(const odi_source *source, odi_limits *limits, const char *path,
                       void (*read)(char *line, void *context), void *context)
{
    FILE *file = source->open(source, path);
    char *line = NULL;
    size_t room = 0;

    if (file == NULL) {
        limits->incomplete |= is_shortage(errno);
        return;
    }
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        read(line, context);
    }
    free(line);
    fclose(file);
}

/* ---- finding the cgroups ---- */

static bool lists(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == words || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Parses id:controllers:path. Everything after the second colon is the path, with its colons, except the
 * kernel's remark that the cgroup was deleted. */
static void read_group(char *line, void *context)
{
    odi_cgroups *walk = context;
    static const char deleted[] = " (deleted)";
    char *names = strchr(line, ':'), *path = names != NULL ? strchr(names + 1, ':') : NULL;

    if (path == NULL || path[1] != '/')
        return;
    *names++ = *path++ = '\0';
    if (strlen(path) >= GROUP_PATH)
        *path = '\0'; /* treats the process as in no cgroup, not as in its previous one */
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

/* Returns the part of `own` below `root`: "" or "/a/b". Returns NULL if `own` is not below `root`, or only
 * through "..". */
static const char *below(const char *own, const char *root)
{
    size_t length = strlen(root);
    const char *rest = own + length;

    if (strncmp(own, root, length) != 0 || (*rest != '\0' && *rest != '/') ||
        strstr(rest, "/..") != NULL)
        return NULL;
    return strcmp(rest, "/") == 0 ? "" : rest;
}

/* Decodes the kernel's \ooo escapes and removes final slashes. Returns false if the path is not absolute. */
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

/* Parses id, parent, device, root, point, options, any number of tags, "-", type, source, options. */
static void read_mount(char *line, void *context)
{
    odi_cgroups *walk = context;
    group *mount = &walk->mount;
    char type[16], options[256] = "", end[2];
    const char *rest = strstr(line, " - ");

    if (rest == NULL || sscanf(rest, " - %15s %*s %255s", type, options) < 1 ||
        strncmp(type, "cgroup", 6) != 0 ||
        sscanf(line, "%*s %*s %*s %1023[^ ]%1[ ]%1023[^ ]%1[ ]", mount->root, end, mount->point, end) != 4 ||
        !decode(mount->root) || !decode(mount->point))
        return;
    for (hierarchy which = V2_ALL; which < HIERARCHIES; which++) {
        group *known = &walk->groups[which];

        if (known->own[0] == '\0' || strcmp(type, which == V2_ALL ? "cgroup2" : "cgroup") != 0 ||
            (which != V2_ALL && !lists(options, controllers[which])))
            continue;
        /* The shortest root shows the most ancestors. Among equals the later line wins, because it may have
         * been mounted over the earlier one. */
        bool above = below(known->own, mount->root) != NULL;
        if (known->above && (!above || strlen(mount->root) > strlen(known->root)))
            continue;
        memcpy(known->root, mount->root, sizeof known->root);
        memcpy(known->point, mount->point, sizeof known->point);
        known->above = above;
        known->mounted = true;
    }
}

/* ---- reading limits ---- */

/* Writes the cgroup that the walk has reached, in the form that a person would look for. */
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
    note(walk->limits, "%s %s of %s", what, file, name);
}

/* Reads a file of the current cgroup as a text or as a list. Returns false if there is nothing to parse. A
 * missing file is not noted, because most cgroups lack most files. */
static bool read_here(odi_cgroups *walk, const char *file, char *text, size_t capacity,
                      odi_cpu_mask *list)
{
    size_t end = strlen(walk->path);

    snprintf(walk->path + end, sizeof walk->path - end, "/%s", file);
    int status = list != NULL ? odi_source_read_list(walk->source, walk->path, list)
                              : odi_source_read(walk->source, walk->path, text, capacity);
    walk->path[end] = '\0';
    walk->read |= status == 0;
    walk->limits->incomplete |= is_shortage(status);
    if (status == EINVAL || status == EFBIG)
        note_file(walk, "ignored a malformed", file);
    else if (status != 0 && status != ENOENT && status != ENOTDIR)
        note_file(walk, "could not read", file);
    return status == 0;
}

/* Reads a quota. A cgroup's quota binds everything below it, so every level counts. v2 has "200000 100000" or
 * "max 100000"; v1 has two files, with -1 for no limit. */
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

/* Restricts the usable CPUs to the cpuset of `group`, unless none would be left. */
static void apply_cpuset(odi_limits *limits, const odi_cpu_mask *cpuset, const char *group)
{
    odi_cpu_mask both = *cpuset; /* used alone if the affinity is unknown */

    if (odi_cpu_mask_next(&limits->cpus, 0) >= 0)
        odi_cpu_mask_intersect(&both, &limits->cpus);
    if (odi_cpu_mask_next(&both, 0) < 0) {
        note(limits, "no CPU is both in the affinity mask and in the cpuset of %.120s", group);
        return;
    }
    limits->cpus = both;
    limits->cpu_count = odi_cpu_mask_count(&both);
    limits->cpuset_count = odi_cpu_mask_count(cpuset);
    snprintf(limits->cpuset_group, sizeof limits->cpuset_group, "%s", group);
}

/* The nearest cgroup that names CPUs decides, because no ancestor can allow fewer. */
static bool read_cpuset(odi_cgroups *walk, hierarchy which)
{
    char name[ODI_GROUP_TEXT];
    odi_cpu_mask cpus;

    if (!read_here(walk, which == V2_ALL ? "cpuset.cpus.effective" : "cpuset.effective_cpus",
                   NULL, 0, &cpus) ||
        odi_cpu_mask_next(&cpus, 0) < 0)
        return false;
    print_group(walk, name, sizeof name);
    apply_cpuset(walk->limits, &cpus, name);
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
        note(walk->limits, "group %s is not visible", name);
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

/* Reads every visible cgroup of this process. Sets quota_us, period_us and quota_group of `limits`, restricts
 * its CPUs to cpusets if wanted, and adds notes. `*kept` keeps the location of the cgroups for the next
 * reading. The mounts are read again only if the process has changed its cgroup, none was visible, or no file
 * can be read any longer. `kept` may be NULL. */
static void read_groups(const odi_source *source, odi_cgroups **kept, odi_limits *limits, bool cpusets)
{
    odi_cgroups *walk = kept != NULL ? *kept : NULL;
    bool anew = walk == NULL, any = false, before = !anew && walk->found;

    if (anew && (walk = malloc(sizeof *walk)) == NULL) {
        note(limits, "no memory to read control groups");
        limits->incomplete = true;
        return;
    }
    if (kept != NULL)
        *kept = walk;
    walk->source = source;
    walk->limits = limits;
    walk->moved = anew || !walk->in_sight;
    walk->found = before;
    walk->read = false;
    for (hierarchy which = V2_ALL; which < HIERARCHIES && anew; which++)
        walk->groups[which].own[0] = '\0';
    read_lines(source, limits, "/proc/self/cgroup", read_group, walk);
    for (hierarchy which = V2_ALL; which < HIERARCHIES && walk->moved; which++)
        walk->groups[which].mounted = walk->groups[which].above = false;
    if (walk->moved)
        read_lines(source, limits, "/proc/self/mountinfo", read_mount, walk);
    for (hierarchy which = V2_ALL; which < HIERARCHIES; which++) {
        if (walk->groups[which].mounted && (cpusets || which != V1_CPUSET)) {
            walk_up(walk, which, cpusets);
            any = true;
        }
    }
    walk->in_sight = any && (walk->read || !before); /* otherwise the mount has moved, or the cgroup has gone */
    walk->found |= walk->read;
    if (!any)
        note(limits, "no control group is visible");
    if (kept == NULL)
        free(walk);
}

/* ---- all limits ---- */

/* Parses the mask of /proc/self/status, which may hold CPUs that went offline. */
static void read_mask(char *line, void *context)
{
    static const char label[] = "Cpus_allowed_list:";
    odi_limits *limits = context;

    if (strncmp(line, label, sizeof label - 1) == 0 &&
        !odi_cpu_mask_parse(line + sizeof label - 1, &limits->cpus))
        note(limits, "ignored a malformed affinity mask");
}

void odi_limits_read(const odi_source *source, odi_cgroups **kept, odi_limits *limits)
{
    odi_cpu_mask online = {{0}};

    memset(limits, 0, sizeof *limits);
    limits->granted_count = source->granted;
    bool asked = source->affinity != NULL && source->affinity(source, &limits->cpus) == 0;
    bool report = kept == NULL || !asked;
    if (report &&
        odi_source_read_list(source, "/sys/devices/system/cpu/online", &online) == EINVAL)
        note(limits, "ignored a malformed list of online CPUs");
    limits->online_count = odi_cpu_mask_count(&online);
    if (!asked) {
        read_lines(source, limits, "/proc/self/status", read_mask, limits);
        if (limits->online_count > 0)
            odi_cpu_mask_intersect(&limits->cpus, &online);
    }
    limits->cpu_count = limits->affinity_count = odi_cpu_mask_count(&limits->cpus);
    if (limits->cpu_count == 0) { /* no mask is known: use the online CPUs */
        note(limits, "the affinity mask is unknown");
        limits->cpus = online;
        limits->cpu_count = limits->online_count > 0 ? limits->online_count : 1;
    }
    read_groups(source, kept, limits, report);
}
