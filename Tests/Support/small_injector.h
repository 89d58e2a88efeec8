/* small_injector.h — the source file queue/injector.c with small blocks and a small directory, so that every
 * few entries cross a boundary.
 *
 * The including test defines ODI_INJECTOR_BLOCK and ODI_INJECTOR_DIRECTORY. The functions are renamed, so
 * that they exist beside the engine's.
 */
#ifndef SUPPORT_SMALL_INJECTOR_H
#define SUPPORT_SMALL_INJECTOR_H

#include <string.h>

#include "Support/check.h"
#include "Support/counted_pages.h"

#define odi_injector_init small_init
#define odi_injector_free small_free
#define odi_injector_forked small_forked
#define odi_injector_push small_push
#define odi_injector_claim small_claim
#define odi_injector_has_claimable small_has_claimable
#include "queue/injector.c"

static odi_injector injector;

static int set_up(void **state)
{
    memset(&injector, 0xA5, sizeof injector); /* arbitrary previous content */
    odi_reader_join();
    return odi_injector_init(&injector, 0, ODI_ANY_NODE) ? 0 : -1;
}

static int tear_down(void **state)
{
    odi_reclaim_drain();
    odi_injector_free(&injector);
    odi_reader_leave();
    return atomic_load(&pages_out) == 0 ? 0 : -1;
}

#define INJECTOR_TEST(name) TEST_WITH(name, set_up, tear_down)

static inline odi_entry entry_of(uint64_t number)
{
    return (odi_entry){number + 1, ~number};
}

static inline size_t claim(odi_entry *entries, size_t most)
{
    odi_read_begin();
    size_t count = odi_injector_claim(&injector, entries, most);
    odi_read_end();
    return count;
}

#endif
