#include "topology/text.h"

static bool continues_a_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

void odi_text_print(odi_text text, char *buffer, size_t capacity)
{
    static const char dots[] = "...";
    size_t out = 0;

    if (capacity == 0)
        return;
    if (odi_text_length(text) >= capacity && capacity > sizeof dots) {
        text.at = text.end - (capacity - sizeof dots);
        while (text.at < text.end && continues_a_character(*text.at))
            text.at++;
        memcpy(buffer, dots, sizeof dots - 1);
        out = sizeof dots - 1;
    }
    for (; text.at < text.end && out + 1 < capacity; text.at++) {
        unsigned char byte = (unsigned char)*text.at;
        buffer[out++] = byte < 0x20 || byte == 0x7f ? '?' : *text.at;
    }
    buffer[out] = '\0';
}
