/* setting.c — parses values of environment variables and formats the message for a bad value. */
#include "topology/setting.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 48 }; /* a value may be as long as the environment allows; this part is shown */

void odi_setting_show(const char *text, char *buffer, size_t capacity)
{
    size_t length = strlen(text), room = capacity - sizeof "...";

    snprintf(buffer, capacity, "%s%s", length < capacity ? "" : "...",
             length < capacity ? text : text + length - room);
    for (char *c = buffer; *c != '\0'; c++)
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
}

bool odi_setting_integer(const char *name, const char *text, int lowest, int highest, int *value,
                         char *problem, size_t capacity)
{
    char *end, shown[SHOWN];
    long number = strtol(text, &end, 10); /* a number that is too large becomes the largest */

    if (*end == '\0' && (isdigit((unsigned char)*text) || *text == '-') && number >= lowest && number <= highest) {
        *value = (int)number;
        return true;
    }
    odi_setting_show(text, shown, sizeof shown);
    if (problem != NULL)
        snprintf(problem, capacity, "%s: invalid value (\"%s\"). Choose a whole number from %d to %d.", name,
                 shown, lowest, highest);
    return false;
}

bool odi_setting_choice(const char *name, const char *text, const char *const *words, int count,
                        int *choice, char *problem, size_t capacity)
{
    char shown[SHOWN], listed[192];
    size_t used = 0;

    for (int i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *choice = i;
            return true;
        }
        used += (size_t)snprintf(listed + used, sizeof listed - used, "%s%s",
                                 i == 0 ? "" : i == count - 1 ? " or " : ", ", words[i]);
    }
    odi_setting_show(text, shown, sizeof shown);
    if (problem != NULL)
        snprintf(problem, capacity, "%s: invalid value (\"%s\"). Choose %s.", name, shown, listed);
    return false;
}
