/* setting.h — values that a person typed into the environment.
 *
 * Pure: the caller reads the variable (secure_getenv) and decides what a refusal means.
 */
#ifndef ODI_TOPOLOGY_SETTING_H
#define ODI_TOPOLOGY_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Reads a whole decimal number from `lowest` to `highest`, nothing around it. On false,
 * `*value` is untouched and `problem` (may be NULL) holds one sentence, such as
 * `OVERDRIVE_WORKERS: invalid value ("many"). Choose a whole number from 1 to 1024.`. */
bool odi_setting_integer(const char *name, const char *text, int lowest, int highest, int *value,
                         char *problem, size_t capacity);

/* Reads one of `count` words, exactly. On false as above:
 * `OVERDRIVE_PLACEMENT: invalid value ("cores"). Choose none, node, core or automatic.`. */
bool odi_setting_choice(const char *name, const char *text, const char *const *words, int count,
                        int *choice, char *problem, size_t capacity);

/* Copies foreign text made fit for a terminal (control bytes become '?'). One that is too long
 * keeps its end, which is what tells groups apart, and says so with "..." in front. */
void odi_setting_show(const char *text, char *buffer, size_t capacity);

#pragma GCC visibility pop

#endif
