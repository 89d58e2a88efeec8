/* ledger.h — who got which entry: each exactly once, whole, and in order per taker.
 *
 * Entry `n` carries code n + 1 and context ~n. Every thread notes in its own row, so that the
 * ledger itself orders nothing.
 */
#include "model/scenario.h"
#include "queue/entry.h"

enum { LEDGER_ROOM = 16 };

static struct {
    unsigned entry[LEDGER_ROOM];
    unsigned count;
} ledger[MODEL_ROWS];

static odi_entry ledger_entry(unsigned n)
{
    return (odi_entry){n + 1, ~(uint64_t)n};
}

static void ledger_note(odi_entry entry)
{
    unsigned row = model_thread();

    model_check(entry.code != 0);
    model_check(entry.context == ~(entry.code - 1));
    model_check(ledger[row].count < LEDGER_ROOM);
    ledger[row].entry[ledger[row].count++] = (unsigned)entry.code - 1;
}

static inline bool ledger_has(unsigned row, unsigned n)
{
    for (unsigned i = 0; i < ledger[row].count; i++)
        if (ledger[row].entry[i] == n)
            return true;
    return false;
}

/* Entries [0, pushed) were noted exactly once, by the threads and the verifier together. */
static inline void ledger_settle_unordered(unsigned pushed)
{
    unsigned seen[LEDGER_ROOM] = {0};

    for (unsigned row = 0; row < MODEL_ROWS; row++)
        for (unsigned i = 0; i < ledger[row].count; i++) {
            model_check(ledger[row].entry[i] < pushed);
            seen[ledger[row].entry[i]]++;
        }
    for (unsigned n = 0; n < pushed; n++)
        model_check(seen[n] == 1); /* 0: lost, 2: doubled */
}

/* And each row is in order: one source, filled by one thread, drained from its old end. */
static inline void ledger_settle(unsigned pushed)
{
    ledger_settle_unordered(pushed);
    for (unsigned row = 0; row < MODEL_ROWS; row++)
        for (unsigned i = 1; i < ledger[row].count; i++)
            model_check(ledger[row].entry[i] > ledger[row].entry[i - 1]);
}
