#include "topology/setting.h"

#include "topology/text.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN = 48 }; /* of a value that may be as long as the environment allows */

bool odi_setting_integer(const char *name, const char *text, size_t length, int64_t lowest,
                         int64_t highest, int64_t *value, char *problem, size_t capacity)
{
    odi_text rest = odi_text_of(text, length);
    bool negative = odi_text_take(&rest, '-');
    uint64_t magnitude;

    if (odi_text_number(&rest, &magnitude) && rest.at == rest.end &&
        magnitude <= INT64_MAX) {
        int64_t read = negative ? -(int64_t)magnitude : (int64_t)magnitude;

        if (read >= lowest && read <= highest) {
            *value = read;
            return true;
        }
    }
    if (problem != NULL && capacity > 0) {
        char shown[SHOWN];

        odi_text_print(odi_text_of(text, length), shown, sizeof shown);
        snprintf(problem, capacity,
                 "%s is \"%s\", but must be a whole number from %" PRId64 " to %" PRId64,
                 name, shown, lowest, highest);
    }
    return false;
}

bool odi_setting_choice(const char *name, const char *text, size_t length,
                        const char *const *words, int count, int *choice, char *problem,
                        size_t capacity)
{
    for (int i = 0; i < count; i++) {
        if (odi_text_equals(odi_text_of(text, length), words[i])) {
            *choice = i;
            return true;
        }
    }
    if (problem != NULL && capacity > 0) {
        char shown[SHOWN];
        char listed[192];
        size_t used = 0;

        odi_text_print(odi_text_of(text, length), shown, sizeof shown);
        listed[0] = '\0';
        for (int i = 0; i < count && used < sizeof listed; i++) {
            const char *joint = i == 0 ? "" : i == count - 1 ? " or " : ", ";
            int wrote =
                snprintf(listed + used, sizeof listed - used, "%s%s", joint, words[i]);
            used += (size_t)wrote;
        }
        snprintf(problem, capacity, "%s is \"%s\", but must be %s", name, shown, listed);
    }
    return false;
}
