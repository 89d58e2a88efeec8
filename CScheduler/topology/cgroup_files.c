#include "topology/cgroup_files.h"

/* The whole text is one number, blanks around it allowed. */
static bool whole_number(odi_text text, int64_t *number)
{
    uint64_t value;

    text = odi_text_trim(text);
    if (!odi_text_number(&text, &value) || text.at != text.end || value > INT64_MAX)
        return false;
    *number = (int64_t)value;
    return true;
}

odi_quota_status odi_quota_parse_max(const char *text, size_t length, odi_quota *quota)
{
    odi_text rest = odi_text_trim(odi_text_of(text, length));
    odi_text amount;
    odi_quota read;

    if (!odi_text_cut(&rest, ' ', &amount))
        return ODI_QUOTA_MALFORMED;
    if (odi_text_equals(amount, "max"))
        return ODI_QUOTA_NONE;
    if (!whole_number(amount, &read.quota_us) || !whole_number(rest, &read.period_us) ||
        read.quota_us == 0 || read.period_us == 0)
        return ODI_QUOTA_MALFORMED;
    *quota = read;
    return ODI_QUOTA_SET;
}

odi_quota_status odi_quota_parse_cfs(const char *text, size_t length, odi_quota *quota)
{
    odi_text rest = odi_text_trim(odi_text_of(text, length));
    bool negative = odi_text_take(&rest, '-');
    int64_t value;

    if (!whole_number(rest, &value))
        return ODI_QUOTA_MALFORMED;
    if (negative)
        return ODI_QUOTA_NONE;
    if (value == 0)
        return ODI_QUOTA_MALFORMED;
    quota->quota_us = value;
    return ODI_QUOTA_SET;
}

odi_quota_status odi_quota_parse_period(const char *text, size_t length, odi_quota *quota)
{
    int64_t value;

    if (!whole_number(odi_text_of(text, length), &value) || value == 0)
        return ODI_QUOTA_MALFORMED;
    quota->period_us = value;
    return ODI_QUOTA_SET;
}

bool odi_quota_is_tighter(odi_quota a, odi_quota b)
{
    __int128 left = (__int128)a.quota_us * b.period_us;
    __int128 right = (__int128)b.quota_us * a.period_us;

    return left < right;
}

static bool names_controller(odi_text controllers, const char *wanted)
{
    odi_text one;

    while (odi_text_cut(&controllers, ',', &one)) {
        if (odi_text_equals(one, wanted))
            return true;
    }
    return false;
}

bool odi_cgroup_find(const char *text, size_t length, const char *controller,
                     odi_text *path)
{
    static const char deleted[] = " (deleted)";
    odi_text rest = odi_text_of(text, length);
    odi_text line;

    while (odi_text_cut(&rest, '\n', &line)) {
        odi_text hierarchy, controllers;

        /* After the second colon everything is the path, colons included. A missing colon
         * leaves the path empty, which the check for '/' refuses. */
        if (!odi_text_cut(&line, ':', &hierarchy) ||
            !odi_text_cut(&line, ':', &controllers))
            continue;
        if (line.at == line.end || *line.at != '/')
            continue;
        if (controller == NULL) {
            if (!odi_text_equals(hierarchy, "0") || controllers.at != controllers.end)
                continue;
        } else if (!names_controller(controllers, controller)) {
            continue;
        }

        size_t remark = sizeof deleted - 1;
        if (odi_text_length(line) > remark &&
            memcmp(line.end - remark, deleted, remark) == 0)
            line.end -= remark;
        *path = line;
        return true;
    }
    return false;
}
