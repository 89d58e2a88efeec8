/* pages.h — os/pages.c for the model: zeroed blocks that are never used twice. */
#include <string.h>

#include "model/check.h"
#include "os/pages.h"

void *odi_pages_new(size_t bytes, int node) { return model_calloc(1, bytes); }
void odi_pages_free(void *pages, size_t bytes) { model_free(pages); }
void *odi_pages_reserve(size_t bytes) { return model_calloc(1, bytes); }
void *odi_pages_reserve_uncommitted(size_t bytes) { return bytes > 1u << 28 ? NULL : model_calloc(1, bytes); }
bool odi_pages_commit(void *pages, size_t bytes) { return true; }
bool odi_pages_space_is_limited(void) { return false; }
void odi_pages_free_reserved(void *pages, size_t bytes) { odi_pages_free(pages, bytes); }
void odi_pages_clear_reserved(void *pages, size_t bytes) { memset(pages, 0, bytes); }
