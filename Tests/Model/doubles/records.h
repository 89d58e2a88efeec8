/* records.h — the pages of job/record.c for the model: room for the first records of the table, more than a scenario
 * uses; and the list of free ones as it is shipped. */
#include "job/free_list.c"
#include "job/record.h"
#include "os/pages.h"

#include "model/check.h"

enum { MODEL_RECORDS = 64 };

void *odi_pages_reserve_uncommitted(size_t bytes) { return model_calloc(MODEL_RECORDS, sizeof(odi_record)); }
bool odi_pages_commit(void *pages, size_t bytes) { return true; }
bool odi_pages_space_is_limited(void) { return false; }
