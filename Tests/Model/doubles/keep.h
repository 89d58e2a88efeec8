/* keep.h — reclaim/reclaim.c for scenarios without a reclaimer: what is retired stays. Their
 * read sections cost no events. */
#include "reclaim/reclaim.h"

static unsigned kept_objects;

void odi_reader_join(void) {}
void odi_reader_leave(void) {}
void odi_read_begin(void) {}
void odi_read_end(void) {}
void odi_retire(odi_retired *retired, odi_destroy *destroy) { kept_objects++; }
bool odi_reclaim_is_behind(void) { return false; }
void odi_reclaim_drain(void) {}
