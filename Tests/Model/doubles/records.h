/* records.h — the pages of job/record.c for the model: room for the first few records of the
 * table, which is as much as a scenario uses. */
#include "job/record.h"
#include "os/pages.h"

#include "model/check.h"

enum { MODEL_RECORDS = 8 };

void *odi_pages_reserve(size_t bytes) { return model_calloc(MODEL_RECORDS, sizeof(odi_record)); }
