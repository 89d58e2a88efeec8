/* ledger.h — counting on a record as a submitter does that was late, or whose job is never pushed. */
#ifndef TEST_LEDGER_H
#define TEST_LEDGER_H

#include "job/record.h"

/* False: the record is closed, and the caller takes the count back. */
static inline bool add_to_ledger(odi_record *record)
{
    return !(odi_add_acquire(&record->ledger, ODI_LEDGER_ONE, L5) & ODI_LEDGER_CLOSED);
}

#endif
