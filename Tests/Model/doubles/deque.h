/* deque.h — a scenario's deque, filled with the ledger's entries and taken from by its owner. The scenario has
 * included queue/deque.c and its readers before this. */
#include "doubles/ledger.h"
#include "doubles/pages.h"

static odi_deque deque;
static unsigned pushed;

static void push(void)
{
    model_check(odi_deque_push(&deque, ledger_entry(pushed)));
    pushed++;
}

static void take(void)
{
    odi_entry entry;

    if (odi_deque_take(&deque, &entry))
        ledger_note(entry);
}
