/* text.h — a piece of text of known length, and how to walk it.
 *
 * What the kernel writes is not terminated and may be cut anywhere, so nothing here looks
 * at a byte outside [at, end). No function fails: a walk that finds nothing is empty.
 */
#ifndef ODI_TOPOLOGY_TEXT_H
#define ODI_TOPOLOGY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC visibility push(hidden)

typedef struct odi_text {
    const char *at;
    const char *end;
} odi_text;

static inline odi_text odi_text_of(const char *bytes, size_t length)
{
    odi_text text = {bytes, bytes + length};
    return text;
}

static inline size_t odi_text_length(odi_text text)
{
    return (size_t)(text.end - text.at);
}

static inline bool odi_text_equals(odi_text text, const char *word)
{
    size_t length = strlen(word);
    return odi_text_length(text) == length && memcmp(text.at, word, length) == 0;
}

static inline bool odi_text_starts(odi_text text, const char *word)
{
    size_t length = strlen(word);
    return odi_text_length(text) >= length && memcmp(text.at, word, length) == 0;
}

static inline bool odi_text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The text without blanks at either end. */
static inline odi_text odi_text_trim(odi_text text)
{
    while (text.at < text.end && odi_text_is_blank(*text.at))
        text.at++;
    while (text.at < text.end && odi_text_is_blank(text.end[-1]))
        text.end--;
    return text;
}

/* Cuts the piece before the next `separator` off the front of `*text`. The last piece ends
 * with the text; false when there was nothing left. */
static inline bool odi_text_cut(odi_text *text, char separator, odi_text *piece)
{
    if (text->at == text->end)
        return false;

    const char *stop = memchr(text->at, separator, odi_text_length(*text));

    piece->at = text->at;
    piece->end = stop ? stop : text->end;
    text->at = stop ? stop + 1 : text->end;
    return true;
}

/* Takes decimal digits off the front. False when there is none; a number that does not fit
 * becomes UINT64_MAX, which every caller's range excludes. */
static inline bool odi_text_number(odi_text *text, uint64_t *number)
{
    uint64_t value = 0;
    bool fits = true;
    const char *start = text->at;

    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text->at - '0'), &value))
            fits = false;
    }
    if (text->at == start)
        return false;
    *number = fits ? value : UINT64_MAX;
    return true;
}

/* Takes `c` off the front if it is there. */
static inline bool odi_text_take(odi_text *text, char c)
{
    if (text->at == text->end || *text->at != c)
        return false;
    text->at++;
    return true;
}

/* Copies as much as fits, made fit for a terminal (control bytes become '?'), always
 * terminated. A text that is too long keeps its end, which is what tells groups apart, and
 * says so with "..." in front. */
void odi_text_print(odi_text text, char *buffer, size_t capacity);

#pragma GCC visibility pop

#endif
