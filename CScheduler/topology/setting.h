/* setting.h — parses values from environment variables.
 *
 * The functions have no side effects: the caller reads the variable (secure_getenv) and handles errors.
 */
#ifndef ODI_TOPOLOGY_SETTING_H
#define ODI_TOPOLOGY_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Reads a whole decimal number from `lowest` to `highest`, without surrounding characters. On false, `*value`
 * is unchanged and `problem` (may be NULL) holds one sentence. An example is `OVERDRIVE_WORKERS: invalid
 * value ("many"). Choose a whole number from 1 to 1024.`. */
bool odi_setting_integer(const char *name, const char *text, int lowest, int highest, int *value,
                         char *problem, size_t capacity);

/* Reads exactly one of `count` words. On false, as odi_setting_integer, with a sentence such as
 * `OVERDRIVE_PLACEMENT: invalid value ("cores"). Choose none, node, core or automatic.`. */
bool odi_setting_choice(const char *name, const char *text, const char *const *words, int count,
                        int *choice, char *problem, size_t capacity);

/* Copies foreign text in printable form: control bytes become '?'. A text that is too long keeps its end,
 * which distinguishes cgroups, with "..." in front. */
void odi_setting_show(const char *text, char *buffer, size_t capacity);

#pragma GCC visibility pop

#endif
