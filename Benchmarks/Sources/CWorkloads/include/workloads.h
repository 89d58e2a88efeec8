/* workloads.h — the leaves of the workloads, the same for contenders in C, C++ and Swift.
 *
 * What a scheduler is asked to spread (trees, loops, graphs) each contender writes in its own
 * idiom; what is computed at the leaves stands here, so that a difference between two contenders
 * is a difference between two schedulers. Leaves of some weight are functions of workloads.c, which
 * one compiler translates for all: left to each contender's own, gcc's SHA-1 took nearly twice as long as
 * clang's, and the ratios of `uts` were those of two compilers. The small ones are inline.
 */
#ifndef WORKLOADS_H
#define WORKLOADS_H

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Leaves the calling thread, and what it starts, the first `count` of its CPUs. */
void wl_limit_to_cpus(int32_t count);

/* Leaves the calling thread one of its CPUs, the `which`-th of them. */
void wl_keep_to_cpu(int32_t which);

/* ---- numbers ------------------------------------------------------------------------------- */

/* The i-th number of a fixed pseudo-random sequence (splitmix64). */
static inline uint64_t wl_random(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* An empty body that no compiler removes. */
static inline void wl_nothing(uint64_t i) {
    __asm__ volatile("" : : "r"(i));
}

/* A chain of `steps` dependent multiplications: about 1.3 ns each, the same on every machine of
 * a kind, and no memory. */
static inline uint64_t wl_spin(uint64_t seed, uint64_t steps) {
    uint64_t x = seed | 1;
    for (uint64_t i = 0; i < steps; i++) {
        x = x * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* Steps of iteration i of n in the imbalanced loop: 0 to 999, and fifty times as many in the last
 * hundredth of the range. */
static inline uint64_t wl_imbalanced_steps(uint64_t i, uint64_t n) {
    return i % 1000 * (i >= n - n / 100 ? 50 : 1);
}

static inline double wl_flops(double x) {
    return 1.5 * x * x + 0.5 * x + 2.0;
}

/* ---- nqueens ------------------------------------------------------------------------------- */

enum { WL_MOST_QUEENS = 16 };

/* Whether the queen in row `row` of the board is attacked by none above it. */
static inline bool wl_queen_is_safe(int32_t row, const int8_t *board) {
    for (int32_t i = 0; i < row; i++) {
        int32_t difference = board[i] - board[row];
        if (difference == 0 || difference == row - i || difference == i - row) return false;
    }
    return true;
}

/* ---- matrix multiplication ----------------------------------------------------------------- */

enum { WL_MATMUL_LEAF = 32 };

/* c += a·b for three blocks of 32 x 32 in matrices of `stride` columns, which do not overlap. */
void wl_matmul_leaf(const double *__restrict a, const double *__restrict b, double *__restrict c, size_t stride);

/* Small whole numbers, so that every product and sum is exact in any order. */
static inline double wl_matrix_a(size_t i, size_t j) { return (double)((i * 7 + j * 3) % 11); }
static inline double wl_matrix_b(size_t i, size_t j) { return (double)((i * 5 + j * 13) % 7); }

static inline void wl_matmul_fill(double *a, double *b, double *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = wl_matrix_a(i, j);
            b[i * n + j] = wl_matrix_b(i, j);
            c[i * n + j] = 0;
        }
    }
}

/* Weighs every element of the product with its place, modulo 2^64. */
static inline uint64_t wl_matmul_answer(const double *c, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            sum += wl_random(i) * wl_random(n + j) * (uint64_t)c[i * n + j];
        }
    }
    return sum;
}

/* What that answer must be, from the factors alone: n² steps instead of n³. */
static inline uint64_t wl_matmul_oracle(size_t n) {
    uint64_t sum = 0;
    for (size_t k = 0; k < n; k++) {
        uint64_t column = 0, row = 0;
        for (size_t i = 0; i < n; i++) column += wl_random(i) * (uint64_t)wl_matrix_a(i, k);
        for (size_t j = 0; j < n; j++) row += wl_random(n + j) * (uint64_t)wl_matrix_b(k, j);
        sum += column * row;
    }
    return sum;
}

/* ---- unbalanced tree search ---------------------------------------------------------------- */

/* A node is twenty bytes of SHA-1; its children hash it together with their number. Public
 * parameters and node counts: the UTS benchmark of Olivier and others. */
typedef struct wl_uts_node {
    uint8_t state[20];
    int32_t depth;
} wl_uts_node;

typedef struct wl_uts_tree {
    bool geometric; /* else binomial */
    double b0;      /* children of the root, or on average */
    int32_t most_depth;
    double q;  /* binomial: how likely a node has children */
    int32_t m; /* binomial: how many it has then */
    int32_t seed;
} wl_uts_tree;

/* Trees by number: 0 is small (T1 at depth 8), 1 is T1, 3 is T3, 33 is T3L; -1 is no tree. */
static inline wl_uts_tree wl_uts_named(int64_t name) {
    const bool geometric = name == 0 || name == 1;
    wl_uts_tree tree;
    tree.geometric = geometric;
    tree.b0 = geometric ? 4 : name == 3 || name == 33 ? 2000 : 0;
    tree.most_depth = name == 0 ? 8 : 10;
    tree.q = name == 3 ? 0.124875 : 0.200014;
    tree.m = name == 3 ? 8 : 5;
    tree.seed = geometric ? 19 : name == 3 ? 42 : 7;
    return tree;
}

wl_uts_node wl_uts_root(const wl_uts_tree *tree);
wl_uts_node wl_uts_child(const wl_uts_node *parent, int32_t number);
int32_t wl_uts_children(const wl_uts_tree *tree, const wl_uts_node *node);

/* Nodes of the subtree, counted by one thread. */
static inline uint64_t wl_uts_count(const wl_uts_tree *tree, const wl_uts_node *node) {
    /* A stack of its own: the binomial trees are 17,844 deep, in frames of any size. */
    size_t room = 1024, depth = 0;
    wl_uts_node *stack = (wl_uts_node *)malloc(room * sizeof *stack);
    uint64_t nodes = 0;
    if (stack == NULL) abort();
    stack[depth++] = *node;
    while (depth > 0) {
        const wl_uts_node top = stack[--depth];
        const int32_t children = wl_uts_children(tree, &top);
        nodes++;
        if (depth + (size_t)children > room) {
            room = 2 * (depth + (size_t)children);
            stack = (wl_uts_node *)realloc(stack, room * sizeof *stack);
            if (stack == NULL) abort();
        }
        for (int32_t i = 0; i < children; i++) stack[depth++] = wl_uts_child(&top, i);
    }
    free(stack);
    return nodes;
}

/* ---- integration --------------------------------------------------------------------------- */

static inline double wl_integrand(double x) { return (x * x + 1.0) * x; }

/* One step of adaptive integration by trapezoids: the areas of both halves, and whether they agree
 * with `area` closely enough. */
typedef struct wl_halves {
    double middle, height, left, right;
    bool close;
} wl_halves;

static inline wl_halves wl_halve(double x1, double y1, double x2, double y2, double area, double epsilon) {
    wl_halves h;
    const double half = (x2 - x1) / 2;
    h.middle = x1 + half;
    h.height = wl_integrand(h.middle);
    h.left = (y1 + h.height) / 2 * half;
    h.right = (h.height + y2) / 2 * half;
    h.close = fabs(h.left + h.right - area) < epsilon;
    return h;
}

/* ---- sorting ------------------------------------------------------------------------------- */

enum { WL_SORT_LEAF = 2048 };

static inline void wl_sort_fill(int32_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) values[i] = (int32_t)wl_random(i);
}

/* The first `count` of two sorted runs' merge, from their beginnings; and the last `count`, from their
 * ends. A fork runs both at once: of equal numbers both put `a`'s before `b`'s, so what one leaves is
 * what the other takes. */
void wl_merge_front(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count, int32_t *into, size_t count);
void wl_merge_back(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count, int32_t *into, size_t count);

/* Sorts by insertion and merging, serially; `room` has as many places. */
void wl_sort_leaf(int32_t *values, int32_t *room, size_t count);

/* Splits as quicksort does: what is before the result is at most what is from it on, and neither
 * side is empty. The range has two places or more. */
size_t wl_partition(int32_t *values, size_t count);

/* Weighs every value with its place; 0 when they are not in order. */
static inline uint64_t wl_sort_answer(const int32_t *values, size_t count) {
    uint64_t sum = 1;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && values[i] < values[i - 1]) return 0;
        sum += wl_random(i) * (uint64_t)(int64_t)values[i];
    }
    return sum;
}

/* ---- trees --------------------------------------------------------------------------------- */

typedef struct wl_tree_node {
    struct wl_tree_node *left, *right;
    int64_t value;
} wl_tree_node;

static inline wl_tree_node *wl_tree_lay(wl_tree_node *nodes, size_t first, size_t count) {
    if (count == 0) return NULL;
    wl_tree_node *root = &nodes[first];
    const size_t left = (count - 1) / 2;
    root->value = (int64_t)first;
    root->left = wl_tree_lay(nodes, first + 1, left);
    root->right = wl_tree_lay(nodes, first + 1 + left, count - 1 - left);
    return root;
}

/* A balanced tree of `count` nodes in one block, in the order of a walk; free() gives it back. */
static inline wl_tree_node *wl_tree_make(size_t count) {
    wl_tree_node *nodes = (wl_tree_node *)malloc(count * sizeof *nodes);
    if (nodes == NULL) abort();
    return wl_tree_lay(nodes, 0, count);
}

/* ---- files --------------------------------------------------------------------------------- */

enum { WL_FILES_PER_FOLDER = 50, WL_MOST_FILE_BYTES = 64 << 10 };

/* A tree of files of 1 to 64 KiB in a temporary folder. */
typedef struct wl_files {
    char root[256];
    int64_t count;
} wl_files;

/* The content of the i-th file; the result is its size. */
static inline size_t wl_file_fill(int64_t i, uint8_t *bytes) {
    const size_t size = 1024 + (size_t)(wl_random((uint64_t)i) % (WL_MOST_FILE_BYTES - 1024));
    for (size_t at = 0; at < size; at++) bytes[at] = (uint8_t)(((size_t)i * 31 + at * at) >> 3);
    return size;
}

/* FNV-1a, weighed with the file's number so that no two files can be swapped. */
static inline uint64_t wl_file_sum(int64_t i, const uint8_t *bytes, size_t size) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t at = 0; at < size; at++) sum = (sum ^ bytes[at]) * 0x100000001b3u;
    return sum * (2 * (uint64_t)i + 1);
}

static inline void wl_file_name(const wl_files *tree, int64_t i, char name[300]) {
    snprintf(name, 300, "%s/%d/%d", tree->root, (int)(i / WL_FILES_PER_FOLDER), (int)(i % WL_FILES_PER_FOLDER));
}

/* Opens, reads and sums one file up; 0 when it cannot. */
uint64_t wl_file_checksum(const wl_files *tree, int64_t i);

static inline void wl_files_remove(const wl_files *tree) {
    char name[300];
    for (int64_t i = 0; i < tree->count; i++) {
        wl_file_name(tree, i, name);
        unlink(name);
        if (i % WL_FILES_PER_FOLDER != WL_FILES_PER_FOLDER - 1 && i != tree->count - 1) continue;
        *strrchr(name, '/') = 0;
        rmdir(name);
    }
    rmdir(tree->root);
}

static inline bool wl_files_write(const wl_files *tree, int64_t i) {
    uint8_t bytes[WL_MOST_FILE_BYTES];
    char name[300];
    const size_t size = wl_file_fill(i, bytes);
    wl_file_name(tree, i, name);
    if (i % WL_FILES_PER_FOLDER == 0) {
        char *slash = strrchr(name, '/');
        *slash = 0;
        if (mkdir(name, 0777) != 0) return false;
        *slash = '/';
    }
    const int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return false;
    const bool written = write(file, bytes, size) == (ssize_t)size;
    return close(file) == 0 && written;
}

static inline bool wl_files_make(wl_files *tree, int64_t count) {
    const char *folder = getenv("TMPDIR");
    snprintf(tree->root, sizeof tree->root, "%s/bench-files-XXXXXX", folder != NULL && strlen(folder) < 200 ? folder : "/tmp");
    tree->count = 0;
    if (mkdtemp(tree->root) == NULL) return false;
    while (tree->count < count) {
        tree->count++;
        if (!wl_files_write(tree, tree->count - 1)) {
            wl_files_remove(tree);
            return false;
        }
    }
    return true;
}

/* What all sums of such a tree add up to, without any file. */
static inline uint64_t wl_files_oracle(int64_t count) {
    uint8_t bytes[WL_MOST_FILE_BYTES];
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const size_t size = wl_file_fill(i, bytes);
        sum += wl_file_sum(i, bytes, size);
    }
    return sum;
}

/* ---- graphs -------------------------------------------------------------------------------- */

typedef enum wl_shape { WL_CHAIN, WL_TREE, WL_WAVEFRONT, WL_SPARSE, WL_LU, WL_BUILD } wl_shape;

/* A graph whose nodes wait for nodes of lower numbers: node i waits for before[rows[i]] to before[rows[i + 1] - 1]. */
typedef struct wl_graph {
    int64_t count;
    int32_t *rows;
    int32_t *before;
    uint64_t *values;
    uint64_t steps;
} wl_graph;

/* The graph of a shape. `n` is the number of nodes, odd for a tree; of a wavefront and of LU the number of tiles a side; of a build it is not
 * read. `steps` is the work of a node. A node of WL_SPARSE waits for up to 3 of the 1,000 nodes before it. */
wl_graph *wl_graph_make(wl_shape shape, int64_t n, uint64_t steps);
void wl_graph_free(wl_graph *graph);

/* The work of a node. A value of 0 shows that a node ran too early. */
static inline void wl_graph_run(const wl_graph *graph, int64_t node) {
    uint64_t sum = (uint64_t)node;
    for (int32_t k = graph->rows[node]; k < graph->rows[node + 1]; k++) sum += graph->values[graph->before[k]];
    graph->values[node] = wl_spin(sum, graph->steps);
}

/* Clears the values, before each sample. */
static inline void wl_graph_clear(const wl_graph *graph) {
    memset(graph->values, 0, (size_t)graph->count * sizeof *graph->values);
}

static inline uint64_t wl_graph_answer(const wl_graph *graph) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < graph->count; i++) sum += graph->values[i];
    return sum;
}

#ifdef __cplusplus
}
#endif

#endif
