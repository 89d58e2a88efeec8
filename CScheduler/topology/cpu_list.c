#include "topology/cpu_list.h"

#include "topology/text.h"

/* first and last are below ODI_CPU_LIMIT. By words, because a hostile list may repeat
 * "0-8191" thousands of times. */
static void add_range(odi_cpu_mask *mask, uint64_t first, uint64_t last)
{
    for (uint64_t word = first / 64; word <= last / 64; word++) {
        uint64_t bits = ~(uint64_t)0;

        if (word == first / 64)
            bits &= ~(uint64_t)0 << (first % 64);
        if (word == last / 64)
            bits &= ~(uint64_t)0 >> (63 - last % 64);
        mask->words[word] |= bits;
    }
}

static odi_list_status add_piece(odi_text piece, odi_cpu_mask *mask)
{
    uint64_t first, last, used = 1, group = 1;
    odi_list_status status = ODI_LIST_OK;

    if (!odi_text_number(&piece, &first))
        return ODI_LIST_MALFORMED;
    last = first;
    if (odi_text_take(&piece, '-')) {
        if (!odi_text_number(&piece, &last) || last < first)
            return ODI_LIST_MALFORMED;
        if (odi_text_take(&piece, ':')) {
            if (!odi_text_number(&piece, &group))
                return ODI_LIST_MALFORMED;
            if (odi_text_take(&piece, '/')) {
                used = group;
                if (!odi_text_number(&piece, &group))
                    return ODI_LIST_MALFORMED;
            }
            if (used == 0 || group == 0 || used > group)
                return ODI_LIST_MALFORMED;
        }
    }
    if (piece.at != piece.end)
        return ODI_LIST_MALFORMED;

    if (last >= ODI_CPU_LIMIT) {
        status = ODI_LIST_BEYOND;
        last = ODI_CPU_LIMIT - 1;
    }
    /* Once a group is wider than every id, its width no longer matters; cutting it keeps
     * the sum below from wrapping. */
    if (group > ODI_CPU_LIMIT)
        group = ODI_CPU_LIMIT;
    if (used >= group)
        used = group = ODI_CPU_LIMIT;
    for (; first <= last; first += group) {
        uint64_t stop = first + used - 1;
        add_range(mask, first, stop < last ? stop : last);
    }
    return status;
}

odi_list_status odi_cpu_list_parse(const char *text, size_t length, odi_cpu_mask *mask)
{
    odi_text rest = odi_text_trim(odi_text_of(text, length));
    odi_list_status status = ODI_LIST_OK;
    odi_text piece;

    odi_cpu_mask_clear(mask);
    if (rest.at < rest.end && rest.end[-1] == ',')
        return ODI_LIST_MALFORMED;
    while (odi_text_cut(&rest, ',', &piece)) {
        odi_list_status one = add_piece(piece, mask);

        if (one == ODI_LIST_MALFORMED) {
            odi_cpu_mask_clear(mask);
            return one;
        }
        if (one == ODI_LIST_BEYOND)
            status = one;
    }
    return status;
}
