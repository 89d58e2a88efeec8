#include "topology/mounts.h"

/* Undoes the kernel's \ooo escapes and drops slashes from the end. False when it does not
 * fit, is not absolute, or would hold a zero byte. */
static bool decode_path(odi_text escaped, char *path)
{
    size_t length = 0;

    if (escaped.at == escaped.end || *escaped.at != '/')
        return false;
    while (escaped.at < escaped.end) {
        unsigned byte = (unsigned char)*escaped.at++;

        if (byte == '\\' && odi_text_length(escaped) >= 3) {
            unsigned octal = 0;
            int digits = 0;

            for (; digits < 3 && escaped.at[digits] >= '0' && escaped.at[digits] <= '7';
                 digits++)
                octal = octal * 8 + (unsigned)(escaped.at[digits] - '0');
            if (digits == 3 && octal < 256) {
                byte = octal;
                escaped.at += 3;
            }
        }
        if (byte == 0 || length + 1 >= ODI_PATH_LIMIT)
            return false;
        path[length++] = (char)byte;
    }
    while (length > 0 && path[length - 1] == '/')
        length--;
    path[length] = '\0';
    return true;
}

static bool climbs(odi_text path)
{
    odi_text name;

    while (odi_text_cut(&path, '/', &name)) {
        if (odi_text_equals(name, ".."))
            return true;
    }
    return false;
}

bool odi_cgroup_below(odi_text group, const char *root, odi_text *rest)
{
    while (group.at < group.end && group.end[-1] == '/')
        group.end--;
    if (!odi_text_starts(group, root))
        return false;
    group.at += strlen(root);
    if (group.at < group.end && *group.at != '/')
        return false;
    if (climbs(group))
        return false;
    *rest = group;
    return true;
}

typedef struct mount_line {
    odi_text root, point, type, options;
} mount_line;

/* id, parent, device, root, point, options, any number of tags, "-", type, what, options */
static bool read_line(odi_text line, mount_line *mount)
{
    odi_text field;

    for (int i = 0; i < 3; i++) {
        if (!odi_text_cut(&line, ' ', &field))
            return false;
    }
    if (!odi_text_cut(&line, ' ', &mount->root) || !odi_text_cut(&line, ' ', &mount->point))
        return false;
    do {
        if (!odi_text_cut(&line, ' ', &field))
            return false;
    } while (!odi_text_equals(field, "-"));
    if (!odi_text_cut(&line, ' ', &mount->type) || !odi_text_cut(&line, ' ', &field))
        return false;
    mount->options = line;
    return true;
}

static bool is_wanted(const mount_line *mount, const char *controller)
{
    odi_text options = mount->options;
    odi_text one;

    if (controller == NULL)
        return odi_text_equals(mount->type, "cgroup2");
    if (!odi_text_equals(mount->type, "cgroup"))
        return false;
    while (odi_text_cut(&options, ',', &one)) {
        if (odi_text_equals(one, controller))
            return true;
    }
    return false;
}

bool odi_cgroup_mount_find(const char *text, size_t length, const char *controller,
                           odi_text group, odi_cgroup_mount *mount)
{
    odi_text rest = odi_text_of(text, length);
    odi_text line;
    bool found = false;
    size_t found_root = 0;

    while (odi_text_cut(&rest, '\n', &line)) {
        mount_line candidate;
        char root[ODI_PATH_LIMIT];
        odi_text below;

        if (!read_line(line, &candidate) || !is_wanted(&candidate, controller) ||
            !decode_path(candidate.root, root))
            continue;

        /* The shortest root shows the most ancestors. Among equals the later line wins: it
         * may have been mounted over the earlier one. */
        bool above = odi_cgroup_below(group, root, &below);
        size_t root_length = strlen(root);
        if (found && mount->above && (!above || root_length > found_root))
            continue;

        char point[ODI_PATH_LIMIT];
        if (!decode_path(candidate.point, point))
            continue;
        memcpy(mount->point, point, strlen(point) + 1);
        memcpy(mount->root, root, root_length + 1);
        mount->above = above;
        found_root = root_length;
        found = true;
    }
    return found;
}
