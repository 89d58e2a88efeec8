#include "topology/node_files.h"

#include "topology/text.h"

int odi_distance_row_parse(const char *text, size_t length, uint8_t *row, int capacity)
{
    odi_text rest = odi_text_trim(odi_text_of(text, length));
    int count = 0;

    while (rest.at < rest.end) {
        uint64_t number;

        if (!odi_text_number(&rest, &number) || number == 0)
            return -1;
        if (rest.at < rest.end && !odi_text_is_blank(*rest.at))
            return -1;
        while (rest.at < rest.end && odi_text_is_blank(*rest.at))
            rest.at++;
        if (count < capacity)
            row[count] = (uint8_t)(number < 255 ? number : 255);
        count++;
    }
    return count > 0 ? count : -1;
}

/* "Node 1 MemTotal:       16384 kB" */
uint64_t odi_node_memory_parse(const char *text, size_t length)
{
    odi_text rest = odi_text_of(text, length);
    odi_text line, word;

    while (odi_text_cut(&rest, '\n', &line)) {
        uint64_t bytes;

        while (odi_text_cut(&line, ' ', &word) && !odi_text_equals(word, "MemTotal:"))
            ;
        line = odi_text_trim(line);
        if (!odi_text_number(&line, &bytes) || !odi_text_equals(line, " kB"))
            continue;
        return __builtin_mul_overflow(bytes, (uint64_t)1024, &bytes) ? 0 : bytes;
    }
    return 0;
}
