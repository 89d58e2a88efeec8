/* setting.h — values that a person typed into the environment.
 *
 * Pure: the caller reads the variable (secure_getenv) and decides what a refusal means.
 */
#ifndef ODI_TOPOLOGY_SETTING_H
#define ODI_TOPOLOGY_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Reads a whole decimal number from `lowest` to `highest`, nothing around it. On false,
 * `*value` is untouched and `problem` (may be NULL) holds one sentence, such as
 * `OVERDRIVE_WORKERS is "many", but must be a whole number from 1 to 1024`. */
bool odi_setting_integer(const char *name, const char *text, size_t length, int64_t lowest,
                         int64_t highest, int64_t *value, char *problem, size_t capacity);

/* Reads one of `count` words, exactly. On false as above:
 * `OVERDRIVE_PLACEMENT is "cores", but must be none, node, core or automatic`. */
bool odi_setting_choice(const char *name, const char *text, size_t length,
                        const char *const *words, int count, int *choice, char *problem,
                        size_t capacity);

#pragma GCC visibility pop

#endif
