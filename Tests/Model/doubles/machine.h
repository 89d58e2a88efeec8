/* machine.h — what worker/ and pool/ ask of the machine, for the model: nothing is pinned, no
 * thread is anywhere, and memory that is short is a case for other tests. malloc and free in
 * the files included after this one are the model's. */
#include <stdlib.h>

#include "base/invariant.h"
#include "model/check.h"
#include "os/affinity.h"
#include "os/numa.h"
#include "os/process.h"
#include "topology/placement.h"

#define malloc(bytes) model_malloc(bytes)
#define calloc(count, bytes) model_calloc(count, bytes)
#define free(block) model_free(block)

odi_place odi_plan_place(const odi_plan *plan, int worker)
{
    return (odi_place){0};
}

int odi_affinity_node(void) { return -1; }
bool odi_plan_mask(const odi_plan *plan, int worker, odi_cpu_mask *mask) { return false; }
int odi_affinity_set(const odi_cpu_mask *mask) { return 0; }
void odi_process_note_placement(void) {}
void odi_numa_move(void *memory, size_t bytes, int node) {}
_Noreturn void odi_trap(const char *format, ...) { model_fail("trapped: %s", format); }
void odi_warn(const char *format, ...) {}
void odi_warn_of_hang(const char *format, ...) {}
