/* The leaves of some weight, translated once for contenders in every language; the small ones are in the header, to be inlined. */
#define _GNU_SOURCE
#include "workloads.h"

#include <sched.h>

#include "build_commands.h"

/* Leaves the calling thread `count` of its CPUs, from the `first`-th on. */
static void keep_to(int32_t first, int32_t count) {
    cpu_set_t mask;
    int32_t seen = 0;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &mask)) continue;
        if (seen < first || seen >= first + count) CPU_CLR(cpu, &mask);
        seen++;
    }
    (void)sched_setaffinity(0, sizeof mask, &mask); /* no CPU left is an error, and changes nothing */
}

void wl_limit_to_cpus(int32_t count) { keep_to(0, count); }

void wl_keep_to_cpu(int32_t which) { keep_to(which, 1); }

/* The blocks do not overlap, and it has to be said: without `restrict` clang -O3 takes the innermost loop apart before it would
 * make vectors of it, and needs three times as long as clang -O2 or gcc. */
void wl_matmul_leaf(const double *__restrict a, const double *__restrict b, double *__restrict c, size_t stride) {
    for (size_t i = 0; i < WL_MATMUL_LEAF; i++) {
        for (size_t k = 0; k < WL_MATMUL_LEAF; k++) {
            const double x = a[i * stride + k];
            for (size_t j = 0; j < WL_MATMUL_LEAF; j++) {
                c[i * stride + j] += x * b[k * stride + j];
            }
        }
    }
}

static uint32_t rotate(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

/* SHA-1 of a message of at most 55 bytes. */
static void sha1_short(const uint8_t *message, size_t length, uint8_t digest[20]) {
    uint8_t block[64] = {0};
    memcpy(block, message, length);
    block[length] = 0x80;
    block[62] = (uint8_t)(length * 8 >> 8);
    block[63] = (uint8_t)(length * 8);
    uint32_t w[80];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t h[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
#define SHA1_ROUNDS(FIRST, F, K)                                              \
    for (int i = FIRST; i < FIRST + 20; i++) {                                   \
        const uint32_t next = rotate(a, 5) + (F) + e + (K) + w[i];            \
        e = d, d = c, c = rotate(b, 30), b = a, a = next;                     \
    }
    SHA1_ROUNDS(0, d ^ (b & (c ^ d)), 0x5a827999u)
    SHA1_ROUNDS(20, b ^ c ^ d, 0x6ed9eba1u)
    SHA1_ROUNDS(40, (b & c) | (d & (b | c)), 0x8f1bbcdcu)
    SHA1_ROUNDS(60, b ^ c ^ d, 0xca62c1d6u)
#undef SHA1_ROUNDS
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
    for (int i = 0; i < 5; i++) {
        digest[4 * i] = (uint8_t)(h[i] >> 24);
        digest[4 * i + 1] = (uint8_t)(h[i] >> 16);
        digest[4 * i + 2] = (uint8_t)(h[i] >> 8);
        digest[4 * i + 3] = (uint8_t)h[i];
    }
}

wl_uts_node wl_uts_root(const wl_uts_tree *tree) {
    uint8_t message[20] = {0};
    for (int i = 0; i < 4; i++) message[16 + i] = (uint8_t)((uint32_t)tree->seed >> (24 - 8 * i));
    wl_uts_node root;
    root.depth = 0;
    sha1_short(message, sizeof message, root.state);
    return root;
}

wl_uts_node wl_uts_child(const wl_uts_node *parent, int32_t number) {
    uint8_t message[24];
    memcpy(message, parent->state, 20);
    for (int i = 0; i < 4; i++) message[20 + i] = (uint8_t)((uint32_t)number >> (24 - 8 * i));
    wl_uts_node child;
    child.depth = parent->depth + 1;
    sha1_short(message, sizeof message, child.state);
    return child;
}

int32_t wl_uts_children(const wl_uts_tree *tree, const wl_uts_node *node) {
    const uint8_t *s = node->state;
    const uint32_t bits = ((uint32_t)s[16] << 24 | (uint32_t)s[17] << 16 | (uint32_t)s[18] << 8 | s[19]) & 0x7fffffffu;
    const double u = bits / 2147483648.0;
    if (!tree->geometric) {
        if (node->depth == 0) return (int32_t)tree->b0;
        return u < tree->q ? tree->m : 0;
    }
    if (node->depth >= tree->most_depth) return 0;
    const double p = 1.0 / (1.0 + tree->b0);
    const int32_t children = (int32_t)floor(log(1.0 - u) / log(1.0 - p));
    return children > 100 ? 100 : children;
}

/* Merges two sorted runs. */
static void merge(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count, int32_t *into) {
    size_t i = 0, j = 0, k = 0;
    while (i < a_count && j < b_count) into[k++] = b[j] < a[i] ? b[j++] : a[i++];
    while (i < a_count) into[k++] = a[i++];
    while (j < b_count) into[k++] = b[j++];
}

/* The first `count` of two sorted runs' merge, from their beginnings; and the last `count`, from their
 * ends. A fork runs both at once: of equal numbers both put `a`'s before `b`'s, so what one leaves is
 * what the other takes. */
void wl_merge_front(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count, int32_t *into,
                                  size_t count) {
    size_t i = 0, j = 0, k = 0;
    while (k < count && i < a_count && j < b_count) into[k++] = b[j] < a[i] ? b[j++] : a[i++];
    while (k < count && i < a_count) into[k++] = a[i++];
    while (k < count && j < b_count) into[k++] = b[j++];
}

void wl_merge_back(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count, int32_t *into,
                                 size_t count) {
    const size_t end = a_count + b_count, start = end - count;
    size_t i = a_count, j = b_count, k = end;
    while (k > start && i > 0 && j > 0) into[--k] = b[j - 1] < a[i - 1] ? a[--i] : b[--j];
    while (k > start && i > 0) into[--k] = a[--i];
    while (k > start && j > 0) into[--k] = b[--j];
}

/* Sorts by insertion and merging, serially; `room` has as many places. */
void wl_sort_leaf(int32_t *values, int32_t *room, size_t count) {
    enum { RUN = 16 };
    for (size_t start = 0; start < count; start += RUN) {
        const size_t end = start + RUN < count ? start + RUN : count;
        for (size_t i = start + 1; i < end; i++) {
            const int32_t value = values[i];
            size_t j = i;
            for (; j > start && value < values[j - 1]; j--) values[j] = values[j - 1];
            values[j] = value;
        }
    }
    int32_t *from = values, *to = room;
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            const size_t middle = start + width < count ? start + width : count;
            const size_t end = start + 2 * width < count ? start + 2 * width : count;
            merge(from + start, middle - start, from + middle, end - middle, to + start);
        }
        int32_t *other = from;
        from = to;
        to = other;
    }
    if (from != values) memcpy(values, from, count * sizeof *values);
}

/* Splits as quicksort does: what is before the result is at most what is from it on, and neither
 * side is empty. The range has two places or more. */
size_t wl_partition(int32_t *values, size_t count) {
    const int32_t x = values[0], y = values[count / 2], z = values[count - 1];
    const int32_t pivot = x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
    size_t i = 0, j = count - 1;
    for (;;) {
        while (values[i] < pivot) i++;
        while (pivot < values[j]) j--;
        if (i >= j) return i == 0 ? 1 : i;
        const int32_t value = values[i];
        values[i++] = values[j];
        values[j--] = value;
    }
}

/* Opens, reads and sums one file up; 0 when it cannot. */
uint64_t wl_file_checksum(const wl_files *tree, int64_t i) {
    uint8_t bytes[WL_MOST_FILE_BYTES];
    char name[300];
    size_t size = 0;
    ssize_t got;
    wl_file_name(tree, i, name);
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    while (size < sizeof bytes && (got = read(file, bytes + size, sizeof bytes - size)) > 0) size += (size_t)got;
    close(file);
    return wl_file_sum(i, bytes, size);
}

/* ---- graphs ---- */

typedef struct growing {
    wl_graph *graph;
    int64_t room, edges, edge_room;
} growing;

static void *grown(void *old, int64_t *room, int64_t needed, size_t size) {
    if (needed <= *room) return old;
    *room = needed * 2;
    void *larger = realloc(old, (size_t)*room * size);
    if (larger == NULL) abort();
    return larger;
}

static int64_t add_node(growing *to) {
    wl_graph *graph = to->graph;
    graph->rows = grown(graph->rows, &to->room, graph->count + 2, sizeof *graph->rows);
    graph->rows[graph->count] = (int32_t)to->edges;
    graph->rows[graph->count + 1] = (int32_t)to->edges;
    return graph->count++;
}

/* The last node waits for `node`. */
static void wait_for(growing *to, int64_t node) {
    wl_graph *graph = to->graph;
    graph->before = grown(graph->before, &to->edge_room, to->edges + 1, sizeof *graph->before);
    graph->before[to->edges++] = (int32_t)node;
    graph->rows[graph->count] = (int32_t)to->edges;
}

/* A binary tree whose leaves come first: node leaves + i waits for nodes 2i and 2i + 1. */
static void make_tree(growing *to, int64_t n) {
    const int64_t leaves = (n + 1) / 2;
    for (int64_t i = 0; i < n; i++) {
        add_node(to);
        if (i < leaves) continue;
        wait_for(to, 2 * (i - leaves));
        wait_for(to, 2 * (i - leaves) + 1);
    }
}

static void make_sparse(growing *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        add_node(to);
        const int64_t window = i < 1000 ? i : 1000;
        for (uint64_t k = wl_random((uint64_t)i) % 4; k > 0 && window > 0; k--) {
            wait_for(to, i - 1 - (int64_t)(wl_random((uint64_t)i * 4 + k) % (uint64_t)window));
        }
    }
}

/* LU in tiles without pivots: in round k the tile (k, k), then its row and column, then all tiles behind them. */
static void make_lu(growing *to, int64_t side) {
    int64_t *last = malloc((size_t)(side * side) * sizeof *last); /* the node that wrote a tile last, or -1 */
    if (last == NULL) abort();
    for (int64_t i = 0; i < side * side; i++) last[i] = -1;
    for (int64_t k = 0; k < side; k++) {
        for (int64_t i = k; i < side; i++) {
            for (int64_t j = k; j < side; j++) {
                if (i != k && j != k) continue;
                const int64_t node = add_node(to);
                if (last[i * side + j] >= 0) wait_for(to, last[i * side + j]);
                if (i != k || j != k) wait_for(to, last[k * side + k]);
                last[i * side + j] = node;
            }
        }
        for (int64_t i = k + 1; i < side; i++) {
            for (int64_t j = k + 1; j < side; j++) {
                const int64_t node = add_node(to);
                if (last[i * side + j] >= 0) wait_for(to, last[i * side + j]);
                wait_for(to, last[i * side + k]);
                wait_for(to, last[k * side + j]);
                last[i * side + j] = node;
            }
        }
    }
    free(last);
}

static void make_build(growing *to) {
    const size_t words = sizeof wl_build_commands / sizeof *wl_build_commands;
    for (size_t at = 0; at < words; at += 1 + wl_build_commands[at]) {
        add_node(to);
        for (size_t k = 1; k <= wl_build_commands[at]; k++) wait_for(to, wl_build_commands[at + k]);
    }
}

wl_graph *wl_graph_make(wl_shape shape, int64_t n, uint64_t steps) {
    wl_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL) abort();
    growing to = {.graph = graph};
    switch (shape) {
    case WL_TREE: make_tree(&to, n); break;
    case WL_SPARSE: make_sparse(&to, n); break;
    case WL_LU: make_lu(&to, n); break;
    case WL_BUILD: make_build(&to); break;
    case WL_CHAIN:
        for (int64_t i = 0; i < n; i++) {
            add_node(&to);
            if (i > 0) wait_for(&to, i - 1);
        }
        break;
    case WL_WAVEFRONT:
        for (int64_t i = 0; i < n * n; i++) {
            add_node(&to);
            if (i % n > 0) wait_for(&to, i - 1);
            if (i >= n) wait_for(&to, i - n);
        }
        break;
    }
    graph->steps = steps;
    graph->values = calloc((size_t)graph->count, sizeof *graph->values);
    if (graph->values == NULL) abort();
    return graph;
}

void wl_graph_free(wl_graph *graph) {
    free(graph->rows);
    free(graph->before);
    free(graph->values);
    free(graph);
}
