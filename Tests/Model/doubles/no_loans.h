/* no_loans.h — nobody lends a band. */
#include "worker/lend.h"

void odi_loans_forget(odi_crew *crew)
{
    (void)crew;
}
