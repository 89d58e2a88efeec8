#include "Random/program.h"

uint32_t chain_of(const program *it, int queue)
{
    uint32_t chain = 0;

    for (; queue != NONE; queue = it->queue[queue].target)
        chain |= bit(queue);
    return chain;
}

int root_rank_of(const program *it, int queue)
{
    while (it->queue[queue].target != NONE)
        queue = it->queue[queue].target;
    return rank_of(queue);
}

static const struct {
    const char *word;
    bool closure;
} kinds[] = {
#define RANDOM_KIND(name, word, closure) {word, closure},
    RANDOM_KINDS(RANDOM_KIND)
#undef RANDOM_KIND
};

bool is_closure(kind it)
{
    return kinds[it].closure;
}

const char *word_of(kind it)
{
    return kinds[it].word;
}

static void print_queue(const program *it, int number, FILE *file)
{
    const queue_plan *queue = &it->queue[number];

    fprintf(file, "  queue %d: ", number);
    if (queue->width == 1)
        fprintf(file, "serial");
    else if (queue->width == OD_UNLIMITED)
        fprintf(file, "concurrent");
    else
        fprintf(file, "limited to %d", queue->width);
    if (queue->target != NONE)
        fprintf(file, ", on %d", queue->target);
    if (queue->pending_limit > 0)
        fprintf(file, ", %u pending, then %s", queue->pending_limit,
                (const char *[]){"waits", "runs", "is refused"}[queue->overflow]);
    fprintf(file, "%s\n", queue->inactive ? ", inactive" : "");
}

static void print_ops(const program *it, int first, int depth, FILE *file)
{
    for (int i = first; i != NONE; i = it->op[i].next) {
        const op *each = &it->op[i];

        if (each->gone)
            continue;
        fprintf(file, "%*s%d: %s%s", 2 * depth, "", i, each->barrier ? "barrier " : "",
                word_of(each->kind));
        if (each->queue != NONE)
            fprintf(file, " queue %d", each->queue);
        if (each->group != NONE)
            fprintf(file, " %s %d",
                    each->kind == PERMIT || each->kind == PERMIT_TIMED ? "semaphore" : "group",
                    each->group);
        if (each->band != NONE)
            fprintf(file, " band %d", each->band);
        if (each->subject != NONE)
            fprintf(file, " of %d", each->subject);
        if (each->amount != 0)
            fprintf(file, " (%u)", each->amount);
        fputc('\n', file);
        print_ops(it, each->first, depth + 1, file);
    }
}

void program_print(const program *it, FILE *file)
{
    fprintf(file, "seed 0x%llx: %d workers, %d spares, %d CPUs%s%s%s\n", (unsigned long long)it->seed,
            it->workers, it->spares, it->cpus, it->may_stall ? ", may stall" : "",
            it->strict ? ", strict" : "", it->drains ? ", drained at its end" : "");
    for (int i = 0; i < it->queues; i++)
        print_queue(it, i, file);
    for (int i = 0; i < it->semaphores; i++)
        fprintf(file, "  semaphore %d: %u permits\n", i, it->permits[i]);
    for (int i = 0; i < it->threads; i++) {
        fprintf(file, "  thread %d\n", i);
        print_ops(it, it->script[i], 2, file);
    }
}

static int prune_below(program *it, int first, bool gone)
{
    int left = 0;

    for (int i = first; i != NONE; i = it->op[i].next) {
        op *each = &it->op[i];

        each->gone |= gone;
        left += !each->gone;
        left += prune_below(it, each->first, each->gone);
    }
    return left;
}

int program_prune(program *it)
{
    int left = 0;

    for (int i = 0; i < it->threads; i++)
        left += prune_below(it, it->script[i], false);
    return left;
}
