/* roll.c — a registry whose tables grow and go. Where memory is too short for a place, the object is
 * told so and has none; all others are there, each once, until they leave. */
#include "Faults/roll.h"

#include "include/od_registry.h"

enum { EACH = 1500 }; /* so that tables grow beyond what is kept when they are empty */

typedef struct {
    int helper;
    unsigned seen; /* by its own helper */
    uint64_t place; /* 0: there was no memory */
} mark;

static od_registry *registry;
static mark marks[HELPERS][EACH];

void roll_open(run *it)
{
    (void)it;
    for (int tries = 0; (registry = od_registry_create()) == NULL; tries++)
        memory_is_short(tries, "a roster");
}

static void see(void *context, void *object)
{
    mark *one = object;

    if (one->helper == *(const int *)context)
        one->seen++;
}

void roll_call(int helper)
{
    mark *mine = marks[helper];

    for (int i = 0; i < EACH; i++) {
        mine[i] = (mark){.helper = helper};
        mine[i].place = od_registry_add(registry, &mine[i]);
    }
    od_registry_each(registry, see, &helper);
    for (int i = 0; i < EACH; i++) {
        run_expects(mine[i].seen == (mine[i].place != 0),
                    "an object %s a place was seen %u times on the registry",
                    mine[i].place != 0 ? "with" : "without", mine[i].seen);
        if (mine[i].place != 0)
            (void)od_registry_remove(registry, mine[i].place);
    }
}

void roll_close(run *it)
{
    (void)it;
    run_expects(od_registry_count(registry) == 0, "%zu objects are left on the registry",
                od_registry_count(registry));
    od_registry_release(registry);
}
