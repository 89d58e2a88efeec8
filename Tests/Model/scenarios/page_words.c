/* page_words.c — a thread that replaces words twice, and a reader that copies them meanwhile (observe/page_words.h).
 *
 * Whatever the reader accepts is whole.
 */
#include "observe/page_words.h"

#include "model/scenario.h"

enum { WORDS = 2 };

static odi_page_word sequence, words[WORDS];
static uint64_t met;
static bool refused;

static void write_words(void)
{
    for (uint64_t i = 1; i <= 2; i++)
        odi_page_words_write(&sequence, words, (uint64_t[WORDS]){i, i}, WORDS);
}

static void read_words(void)
{
    uint64_t copy[WORDS];

    if (odi_page_words_read(&sequence, words, copy, WORDS)) {
        model_check(copy[0] == copy[1] && copy[0] != 0);
        met = copy[0];
    } else {
        refused = true;
    }
}

static void the_last_is_there(void)
{
    uint64_t copy[WORDS];

    model_check(odi_page_words_read(&sequence, words, copy, WORDS) && copy[0] == 2 && copy[1] == 2);
}

MODEL_SCENARIO(page_read_beside_writes, NULL, the_last_is_there, write_words, read_words)
MODEL_REACHES(page_read_beside_writes, refused, met == 1, met == 2)
