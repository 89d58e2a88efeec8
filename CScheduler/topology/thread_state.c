#include "topology/thread_state.h"

char odi_thread_state_parse(const char *text, size_t length)
{
    size_t at = length;

    while (at > 0 && text[at - 1] != ')')
        at--;
    if (at == 0 || length - at < 2 || text[at] != ' ')
        return 0;

    char state = text[at + 1];
    if ((state < 'A' || state > 'Z') && (state < 'a' || state > 'z'))
        return 0;
    if (length - at > 2 && text[at + 2] != ' ' && text[at + 2] != '\n')
        return 0;
    return state;
}
