/* Overdrive's engine from C: forks of functions and frames, jobs on queues. */
#include <od_external.h>
#include <od_fork.h>
#include <od_pool.h>
#include <od_queue.h>

#include "harness.h"
#include "workloads.h"

static od_pool *pool;

od_pool *od_default_pool(void)
{
    return pool;
}

/* ---- trees ---- */

struct fib {
    int64_t n;
    uint64_t result;
};

static inline uint64_t fib(int64_t n); /* gcc goes by that word in whether it merges a recursion into itself */

static void fib_right(void *frame)
{
    struct fib *right = frame;

    right->result = fib(right->n);
}

static inline uint64_t fib(int64_t n)
{
    if (n < 2)
        return (uint64_t)n;
    struct fib right = {.n = n - 2};
    od_fork_slot *branch = od_fork(fib_right, &right);
    uint64_t left = fib(n - 1);
    od_join(branch, fib_right, &right);
    return left + right.result;
}

struct skynet {
    uint64_t first, leaves, sum;
};

static uint64_t skynet(uint64_t first, uint64_t leaves);

static void skynet_part(void *frame)
{
    struct skynet *part = frame;

    part->sum = skynet(part->first, part->leaves);
}

static uint64_t skynet(uint64_t first, uint64_t leaves)
{
    if (leaves == 1)
        return first;
    struct skynet parts[9];
    od_fork_slot *branches[9];
    for (uint64_t i = 0; i < 9; i++) {
        parts[i].first = first + i * (leaves / 10);
        parts[i].leaves = leaves / 10;
        branches[i] = od_fork(skynet_part, &parts[i]);
    }
    uint64_t sum = skynet(first + 9 * (leaves / 10), leaves / 10);
    for (int i = 8; i >= 0; i--) {
        od_join(branches[i], skynet_part, &parts[i]);
        sum += parts[i].sum;
    }
    return sum;
}

struct queens {
    int32_t row, n;
    int8_t board[WL_MOST_QUEENS];
    uint64_t count;
    od_fork_slot *branch;
};

static uint64_t queens(int32_t row, int32_t n, const int8_t *board);

static void queens_part(void *frame)
{
    struct queens *part = frame;

    part->count = queens(part->row, part->n, part->board);
}

static uint64_t queens(int32_t row, int32_t n, const int8_t *board)
{
    if (row == n)
        return 1;
    struct queens parts[WL_MOST_QUEENS];
    int32_t safe = 0;
    for (int8_t column = 0; column < n; column++) {
        struct queens *part = &parts[safe];
        memcpy(part->board, board, (size_t)row);
        part->board[row] = column;
        if (!wl_queen_is_safe(row, part->board))
            continue;
        part->row = row + 1;
        part->n = n;
        safe++;
    }
    if (safe == 0)
        return 0;
    for (int32_t i = 0; i < safe - 1; i++)
        parts[i].branch = od_fork(queens_part, &parts[i]);
    uint64_t count = queens(row + 1, n, parts[safe - 1].board);
    for (int32_t i = safe - 2; i >= 0; i--) {
        od_join(parts[i].branch, queens_part, &parts[i]);
        count += parts[i].count;
    }
    return count;
}

struct matmul {
    const double *a, *b;
    double *c;
    size_t n, stride;
};

static void matmul(void *frame)
{
    const struct matmul *all = frame;
    const size_t h = all->n / 2, down = h * all->stride;

    if (all->n <= WL_MATMUL_LEAF) {
        wl_matmul_leaf(all->a, all->b, all->c, all->stride);
        return;
    }
    for (size_t k = 0; k < 2; k++) { /* each quarter of c takes the k-th half of the products */
        struct matmul parts[4];
        od_fork_slot *branches[3];
        for (size_t q = 0; q < 4; q++) {
            const size_t row = q & 2 ? down : 0, column = q & 1 ? h : 0;
            parts[q] = (struct matmul){all->a + row + k * h, all->b + k * down + column,
                                       all->c + row + column, h, all->stride};
        }
        for (int q = 0; q < 3; q++)
            branches[q] = od_fork(matmul, &parts[q]);
        matmul(&parts[3]);
        for (int q = 2; q >= 0; q--)
            od_join(branches[q], matmul, &parts[q]);
    }
}

struct uts {
    const wl_uts_tree *tree;
    wl_uts_node node;
    uint64_t count;
    od_fork_slot *branch;
};

static void uts(void *frame)
{
    struct uts *top = frame;
    const int32_t children = wl_uts_children(top->tree, &top->node);
    struct uts few[8], *parts = few;

    top->count = 1;
    if (children == 0)
        return;
    if (children > 8 && (parts = malloc((size_t)children * sizeof *parts)) == NULL)
        abort();
    for (int32_t i = 0; i < children; i++) {
        parts[i].tree = top->tree;
        parts[i].node = wl_uts_child(&top->node, i);
        if (i < children - 1)
            parts[i].branch = od_fork(uts, &parts[i]);
    }
    uts(&parts[children - 1]);
    top->count += parts[children - 1].count;
    for (int32_t i = children - 2; i >= 0; i--) {
        od_join(parts[i].branch, uts, &parts[i]);
        top->count += parts[i].count;
    }
    if (parts != few)
        free(parts);
}

struct integral {
    double x1, y1, x2, y2, area, epsilon, result;
};

static void integrate(void *frame)
{
    struct integral *all = frame;
    const wl_halves h = wl_halve(all->x1, all->y1, all->x2, all->y2, all->area, all->epsilon);

    if (h.close) {
        all->result = h.left + h.right;
        return;
    }
    struct integral left = {all->x1, all->y1, h.middle, h.height, h.left, all->epsilon, 0};
    struct integral right = {h.middle, h.height, all->x2, all->y2, h.right, all->epsilon, 0};
    od_fork_slot *branch = od_fork(integrate, &right);
    integrate(&left);
    od_join(branch, integrate, &right);
    all->result = left.result + right.result;
}

struct sort {
    int32_t *values, *room;
    size_t count;
};

static void merge_back(void *frame)
{
    const struct sort *all = frame;
    const size_t h = all->count / 2;

    wl_merge_back(all->values, h, all->values + h, all->count - h, all->room, all->count - h);
}

static void copy_back(void *frame)
{
    const struct sort *all = frame;

    memcpy(all->values, all->room, all->count * sizeof *all->values);
}

static void mergesort_part(void *frame)
{
    const struct sort *all = frame;
    const size_t h = all->count / 2;

    if (all->count <= WL_SORT_LEAF) {
        wl_sort_leaf(all->values, all->room, all->count);
        return;
    }
    struct sort left = {all->values, all->room, h};
    struct sort right = {all->values + h, all->room + h, all->count - h};
    od_fork_slot *branch = od_fork(mergesort_part, &right);
    mergesort_part(&left);
    od_join(branch, mergesort_part, &right);
    branch = od_fork(merge_back, frame);
    wl_merge_front(all->values, h, all->values + h, all->count - h, all->room, h);
    od_join(branch, merge_back, frame);
    branch = od_fork(copy_back, &right);
    copy_back(&left);
    od_join(branch, copy_back, &right);
}

static void quicksort_part(void *frame)
{
    const struct sort *all = frame;

    if (all->count <= WL_SORT_LEAF) {
        wl_sort_leaf(all->values, all->room, all->count);
        return;
    }
    const size_t k = wl_partition(all->values, all->count);
    struct sort left = {all->values, all->room, k};
    struct sort right = {all->values + k, all->room + k, all->count - k};
    od_fork_slot *branch = od_fork(quicksort_part, &right);
    quicksort_part(&left);
    od_join(branch, quicksort_part, &right);
}

struct tree {
    const wl_tree_node *node;
    int64_t sum;
};

static int64_t tree_sum(const wl_tree_node *node);

static void tree_right(void *frame)
{
    struct tree *right = frame;

    right->sum = tree_sum(right->node);
}

static int64_t tree_sum(const wl_tree_node *node)
{
    if (node == NULL)
        return 0;
    struct tree right = {node->right, 0};
    od_fork_slot *branch = od_fork(tree_right, &right);
    int64_t left = tree_sum(node->left);
    od_join(branch, tree_right, &right);
    return node->value + left + right.sum;
}

/* ---- trees, measured ---- */

static uint64_t fib_once(void *n) { return fib(*(int64_t *)n); }
static void run_fib(void)
{
    int64_t n = harness_value("n", 25);
    harness_measure(NULL, fib_once, &n);
}

static uint64_t skynet_once(void *leaves) { return skynet(0, *(uint64_t *)leaves); }
static void run_skynet(void)
{
    uint64_t leaves = (uint64_t)harness_value("leaves", 100000);
    harness_measure(NULL, skynet_once, &leaves);
}

static uint64_t queens_once(void *n)
{
    const int8_t board[WL_MOST_QUEENS] = {0};
    return queens(0, *(int32_t *)n, board);
}
static void run_queens(void)
{
    int32_t n = (int32_t)harness_value("n", 10);
    harness_measure(NULL, queens_once, &n);
}

static void matmul_prepare(void *frame)
{
    struct matmul *all = frame;
    wl_matmul_fill((double *)(uintptr_t)all->a, (double *)(uintptr_t)all->b, all->c, all->n);
}
static uint64_t matmul_once(void *frame)
{
    matmul(frame);
    return 0;
}
static void run_matmul(void)
{
    const size_t n = (size_t)harness_value("n", 512), bytes = n * n * sizeof(double);
    struct matmul all = {malloc(bytes), malloc(bytes), malloc(bytes), n, n};
    if (all.a == NULL || all.b == NULL || all.c == NULL) abort();
    harness_measure(matmul_prepare, matmul_once, &all);
    printf("check %" PRIu64 "\n", wl_matmul_answer(all.c, n));
}

static uint64_t uts_once(void *tree)
{
    struct uts top = {.tree = tree, .node = wl_uts_root(tree)};
    uts(&top);
    return top.count;
}
static void run_deep_uts(void)
{
    wl_uts_tree tree = wl_uts_named(harness_value("tree", 0));
    harness_measure(NULL, uts_once, &tree);
}
static void run_uts(void)
{
    harness_deep(run_deep_uts);
}

static uint64_t integrate_once(void *frame)
{
    struct integral all = *(struct integral *)frame;
    uint64_t bits;
    integrate(&all);
    memcpy(&bits, &all.result, sizeof bits);
    return bits;
}
static void run_integrate(void)
{
    const double to = (double)harness_value("to", 100);
    struct integral all = {0, wl_integrand(0), to, wl_integrand(to), 0,
                           1.0 / (double)harness_value("per_epsilon", 10000000), 0};
    harness_measure(NULL, integrate_once, &all);
}

static void sort_prepare(void *frame)
{
    const struct sort *all = frame;
    wl_sort_fill(all->values, all->count);
}
static uint64_t mergesort_once(void *frame)
{
    mergesort_part(frame);
    return 0;
}
static uint64_t quicksort_once(void *frame)
{
    quicksort_part(frame);
    return 0;
}
static void run_sort(uint64_t (*once)(void *))
{
    const size_t n = (size_t)harness_value("n", 1000000);
    struct sort all = {malloc(n * sizeof(int32_t)), malloc(n * sizeof(int32_t)), n};
    if (all.values == NULL || all.room == NULL) abort();
    harness_measure(sort_prepare, once, &all);
    printf("check %" PRIu64 "\n", wl_sort_answer(all.values, n));
}
static void run_mergesort(void) { run_sort(mergesort_once); }
static void run_quicksort(void) { run_sort(quicksort_once); }

static uint64_t tree_once(void *tree) { return (uint64_t)tree_sum(tree); }
static void run_tree(void)
{
    wl_tree_node *tree = wl_tree_make((size_t)harness_value("nodes", 1023));
    harness_measure(NULL, tree_once, tree);
    free(tree);
}

/* ---- jobs ---- */

static od_queue *queue;
static od_group *group;
static uint64_t ran;

static void nothing(void *context) { (void)context; }
static void add_one(void *context)
{
    (void)context;
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void make_queue(int32_t width)
{
    queue = od_queue_create(pool, OD_BAND_DEFAULT, width, "bench");
    group = od_group_create();
    if (queue == NULL || group == NULL) abort();
}

static uint64_t flood_outside(void *function)
{
    const int64_t n = harness_value("n", 100000);
    void (*body)(void *) = *(void (**)(void *))function;
    for (int64_t i = 0; i < n; i++) od_queue_async(queue, group, OD_QUEUE_BAND, body, NULL);
    od_group_wait(group, INT64_MAX);
    return 0;
}

static void flood(void *function)
{
    const int64_t n = harness_value("n", 100000);
    void (*body)(void *) = *(void (**)(void *))function;
    for (int64_t i = 0; i < n; i++) od_queue_async(queue, group, OD_QUEUE_BAND, body, NULL);
}
static uint64_t flood_inside(void *function)
{
    od_queue_async(queue, group, OD_QUEUE_BAND, flood, function);
    od_group_wait(group, INT64_MAX);
    return 0;
}

static void run_flood(uint64_t (*once)(void *))
{
    void (*body)(void *) = nothing, (*counting)(void *) = add_one;
    if (harness_value("submitters", 1) != 1) exit(69); /* not written */
    make_queue(OD_UNLIMITED);
    harness_measure(NULL, once, &body);
    once(&counting);
    printf("check %" PRIu64 "\n", ran);
}
static void run_outside(void) { run_flood(flood_outside); }
static void run_inside(void) { run_flood(flood_inside); }

static void count_plainly(void *context) { ++*(uint64_t *)context; }
static uint64_t serial_once(void *context)
{
    const int64_t n = harness_value("n", 100000);
    uint64_t count = 0;
    (void)context;
    for (int64_t i = 0; i < n; i++) od_queue_async(queue, group, OD_QUEUE_BAND, count_plainly, &count);
    od_group_wait(group, INT64_MAX);
    return count;
}
static void run_serial(void)
{
    make_queue(1);
    harness_measure(NULL, serial_once, NULL);
}

static const harness_entry entries[] = {
    {"fib", run_fib}, {"skynet", run_skynet}, {"nqueens", run_queens}, {"matmul", run_matmul},
    {"uts", run_uts}, {"integrate", run_integrate}, {"mergesort", run_mergesort},
    {"quicksort", run_quicksort}, {"tree-sum", run_tree}, {"spawn-outside", run_outside},
    {"spawn-inside", run_inside}, {"serial-queue", run_serial},
};

int main(int argc, char **argv)
{
    od_pool_options options;
    char message[256];

    od_pool_options_init(&options);
    options.name = "bench";
    harness_argc = argc;
    harness_argv = argv;
    options.workers = harness_workers();
    if (od_pool_create(&options, &pool, message, sizeof message) != OD_OK) {
        fprintf(stderr, "overdrive-c: %s\n", message);
        return 71;
    }
    return harness_main(argc, argv, entries, sizeof entries / sizeof *entries);
}
