/* dump.c — where everybody is, in a program that does not go on. The locks that it takes may be held for
 * ever: whoever asks does not wait long. */
#include "Random/world.h"

#include "Support/check.h"

static void dump_ops(void)
{
    for (int i = 0; i < w.program.ops; i++) {
        const entry *each = &w.entry[i];
        unsigned began = atomic_load(&each->began), ran = atomic_load(&each->ran);

        if (atomic_load(&each->acting))
            fprintf(stderr, "  at %d: %s\n", i, word_of(w.program.op[i].kind));
        if (began > 0 && !atomic_load(&each->ended) && !atomic_load(&each->discarded) &&
            is_closure(w.program.op[i].kind))
            fprintf(stderr, "  %d: %s, %s\n", i, word_of(w.program.op[i].kind),
                    ran ? "runs" : atomic_load(&each->after) ? "submitted" : "is submitted");
        if (began > atomic_load(&each->told) &&
            (w.program.op[i].kind == GROUP_NOTIFY || w.program.op[i].kind == QUEUE_NOTIFY))
            fprintf(stderr, "  %d: %s, not told\n", i, word_of(w.program.op[i].kind));
    }
}

void dump_world(void)
{
    dump_ops();
    dump_pools();
}
