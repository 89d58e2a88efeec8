/* injector.h — a scenario's injector, and what takes from it into the ledger. The scenario has said how large
 * blocks and directory are, and includes queue/injector.c and its readers before this. */
#include "doubles/ledger.h"
#include "doubles/pages.h"

static odi_injector injector;

static void make_injector(void) { model_check(odi_injector_init(&injector, 0, 0)); }
static inline void push_entry(unsigned n) { model_check(odi_injector_push(&injector, ledger_entry(n))); }

static unsigned pushed; /* by push */

/* One that is refused because the directory is full keeps nothing. */
static inline void push(void)
{
    if (odi_injector_push(&injector, ledger_entry(pushed)))
        pushed++;
}

static void claim(void)
{
    odi_entry entry;
    size_t count;

    odi_reader_join();
    odi_read_begin();
    count = odi_injector_claim(&injector, &entry, 1);
    odi_read_end();
    if (count > 0)
        ledger_note(entry);
}

/* What the threads left. */
static void claim_the_rest(void)
{
    odi_entry entry;

    while (odi_injector_claim(&injector, &entry, 1) > 0)
        ledger_note(entry);
}
