/* The calls into Linux: affinity of any width, memory on nodes, files that fail. */
#include "Engine/topology_fixtures.h"
#include "Support/node_of.h"

#include "os/affinity.h"
#include "os/numa.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- sets of CPUs ---------------------------------------------------------------------- */

TEST(sets_of_cpus_hold_what_was_added)
{
    odi_cpu_mask mask, other;

    odi_cpu_mask_clear(&mask);
    assert_int_equal(odi_cpu_mask_next(&mask, 0), -1);
    assert_true(odi_cpu_mask_add(&mask, 0));
    assert_true(odi_cpu_mask_add(&mask, 63));
    assert_true(odi_cpu_mask_add(&mask, 64));
    assert_true(odi_cpu_mask_add(&mask, ODI_CPU_LIMIT - 1));
    assert_false(odi_cpu_mask_add(&mask, ODI_CPU_LIMIT));
    assert_false(odi_cpu_mask_add(&mask, -1));
    assert_false(odi_cpu_mask_has(&mask, -1));
    assert_false(odi_cpu_mask_has(&mask, ODI_CPU_LIMIT));
    assert_int_equal(odi_cpu_mask_count(&mask), 4);
    assert_int_equal(odi_cpu_mask_next(&mask, -5), 0);
    assert_int_equal(odi_cpu_mask_next(&mask, 1), 63);
    assert_int_equal(odi_cpu_mask_next(&mask, 65), ODI_CPU_LIMIT - 1);
    assert_int_equal(odi_cpu_mask_next(&mask, ODI_CPU_LIMIT), -1);

    other = mask;
    assert_true(odi_cpu_mask_equal(&mask, &other));
    odi_cpu_mask_add(&other, 7);
    assert_true(odi_cpu_mask_covers(&other, &mask));
    assert_false(odi_cpu_mask_covers(&mask, &other));
    odi_cpu_mask_intersect(&other, &mask);
    assert_true(odi_cpu_mask_equal(&mask, &other));
}

/* ---- affinity -------------------------------------------------------------------------- */

/* A kernel whose masks are `bytes` wide, with one CPU at `cpu`. */
typedef struct kernel {
    size_t bytes;
    size_t cpu;
    long refusal; /* when not 0 */
    int calls;
} kernel;

static long play_kernel(void *context, size_t bytes, unsigned long *words)
{
    kernel *kernel = context;

    kernel->calls++;
    if (kernel->refusal != 0)
        return -kernel->refusal;
    if (bytes < kernel->bytes)
        return -EINVAL;
    memset(words, 0, kernel->bytes);
    words[kernel->cpu / 64] |= 1ul << (kernel->cpu % 64);
    return (long)kernel->bytes;
}

TEST(kernels_of_every_width_are_understood)
{
    odi_cpu_mask mask;

    kernel narrow = {.bytes = 8, .cpu = 3};
    assert_int_equal(odi_affinity_read(play_kernel, &narrow, &mask), 0);
    assert_int_equal(odi_cpu_mask_count(&mask), 1);
    assert_true(odi_cpu_mask_has(&mask, 3));

    kernel usual = {.bytes = 1024, .cpu = 5000};
    assert_int_equal(odi_affinity_read(play_kernel, &usual, &mask), 0);
    assert_true(odi_cpu_mask_has(&mask, 5000));
    assert_int_equal(usual.calls, 1);

    kernel wide = {.bytes = 8192, .cpu = 1500};
    assert_int_equal(odi_affinity_read(play_kernel, &wide, &mask), 0);
    assert_true(odi_cpu_mask_has(&mask, 1500));
    assert_int_equal(wide.calls, 4);

    kernel beyond = {.bytes = 8192, .cpu = 60000};
    assert_int_equal(odi_affinity_read(play_kernel, &beyond, &mask), ERANGE);
    assert_int_equal(odi_cpu_mask_count(&mask), 0);

    kernel absurd = {.bytes = (size_t)1 << 30};
    assert_int_equal(odi_affinity_read(play_kernel, &absurd, &mask), EINVAL);
    kernel sandbox = {.bytes = 8, .refusal = EPERM};
    assert_int_equal(odi_affinity_read(play_kernel, &sandbox, &mask), EPERM);
    assert_int_equal(sandbox.calls, 1);
}

static void *narrow_one_thread(void *argument)
{
    odi_cpu_mask before, one, after, process;
    int cpu, node;

    assert_int_equal(odi_affinity_get(ODI_AFFINITY_CALLER, &before), 0);
    odi_cpu_mask_clear(&one);
    odi_cpu_mask_add(&one, odi_cpu_mask_next(&before, 0));
    assert_int_equal(odi_affinity_set(&one), 0);
    assert_int_equal(odi_affinity_get(ODI_AFFINITY_CALLER, &after), 0);
    assert_true(odi_cpu_mask_equal(&one, &after));
    assert_int_equal(odi_affinity_here(&cpu, &node), 0);
    assert_true(odi_cpu_mask_has(&one, cpu));
    assert_true(node >= 0);
    assert_int_equal(odi_affinity_here(NULL, NULL), 0);

    /* The process's mask is its first thread's: a narrowed worker does not change it. */
    assert_int_equal(odi_affinity_get(ODI_AFFINITY_PROCESS, &process), 0);
    assert_true(odi_cpu_mask_equal(&process, &before));

    odi_cpu_mask_clear(&one);
    assert_int_equal(odi_affinity_set(&one), EINVAL);
    odi_cpu_mask_add(&one, ODI_CPU_LIMIT - 1); /* no machine of ours has that one */
    assert_int_equal(odi_affinity_set(&one), EINVAL);
    return NULL;
}

TEST(a_thread_narrows_itself_and_nobody_else)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, narrow_one_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- memory ---------------------------------------------------------------------------- */

TEST(memory_goes_where_it_was_asked_for)
{
    enum { BYTES = 1 << 20 };
    odi_cpu_mask cpus;
    int node;

    odi_affinity_here(NULL, &node);
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    if (odi_numa_available()) {
        assert_int_equal(odi_numa_bind(memory, BYTES, node), 0);
        memset(memory, 1, BYTES);
        assert_int_equal(node_of(memory), node);
        assert_int_equal(odi_numa_distance(node, node), 10);
        assert_int_equal(odi_numa_node_cpus(node, &cpus), 0);
        assert_true(odi_cpu_mask_count(&cpus) > 0);
        assert_int_equal(odi_numa_node_cpus(ODI_NODE_LIMIT - 1, &cpus), ENOENT);
        assert_int_equal(odi_numa_node_cpus(-1, &cpus), ENOENT);
        assert_int_equal(odi_numa_bind(memory + 1, 1, node), EINVAL);
        assert_int_not_equal(odi_numa_bind(memory, BYTES, ODI_NODE_LIMIT - 1), 0); /* and it is memory still */
        memory[0] = 2;
    }
    munmap(memory, BYTES);

    assert_int_equal(odi_numa_bind(NULL, 1, -1), EINVAL);
    assert_int_equal(odi_numa_bind(NULL, 1, ODI_NODE_LIMIT), EINVAL);
    assert_int_equal(odi_numa_distance(-1, 0), 0);
}

/* ---- files ----------------------------------------------------------------------------- */

static char root[] = "/tmp/odi-source-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static odi_read_status try_read(const char *path, size_t capacity, size_t *length)
{
    odi_source source = odi_source_at(root);
    char buffer[64];

    assert_true(capacity <= sizeof buffer);
    return source.read(&source, path, buffer, capacity, length);
}

static bool count_names(void *context, const char *name)
{
    int *count = context;

    assert_true(name[0] != '.');
    return ++*count < 2;
}

TEST(files_are_read_up_to_the_buffers_end)
{
    char path[256], long_path[ODI_PATH_LIMIT + 8];
    size_t length;
    int count = 0;

    assert_non_null(mkdtemp(root));
    write_file("ten", "0123456789");
    write_file("empty", "");
    snprintf(path, sizeof path, "%s/pipe", root);
    assert_int_equal(mkfifo(path, 0600), 0);

    assert_int_equal(try_read("/ten", 64, &length), ODI_READ_OK);
    assert_int_equal(length, 10);
    errno = EINTR; /* an interruption of before is none of this read's */
    assert_int_equal(try_read("/ten", 10, &length), ODI_READ_OK);
    assert_int_equal(length, 10);
    assert_int_equal(try_read("/ten", 9, &length), ODI_READ_TRUNCATED);
    assert_int_equal(length, 9);
    assert_int_equal(try_read("/ten", 0, &length), ODI_READ_TRUNCATED);
    assert_int_equal(try_read("/empty", 64, &length), ODI_READ_OK);
    assert_int_equal(length, 0);
    assert_int_equal(try_read("/pipe", 64, &length), ODI_READ_OK);
    assert_int_equal(try_read("/none", 64, &length), ODI_READ_ABSENT);
    assert_int_equal(try_read("/ten/below", 64, &length), ODI_READ_ABSENT);
    assert_int_equal(try_read("/", 64, &length), ODI_READ_FAILED);

    memset(long_path, 'x', sizeof long_path);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    assert_int_equal(try_read(long_path, 64, &length), ODI_READ_ABSENT);

    odi_source source = odi_source_at(root);
    assert_int_equal(source.list(&source, "", count_names, &count), ODI_READ_OK);
    assert_int_equal(count, 2);
    assert_int_equal(source.list(&source, "/none", count_names, &count), ODI_READ_ABSENT);
    assert_int_equal(source.list(&source, long_path, count_names, &count), ODI_READ_ABSENT);

    odi_source live = odi_source_live();
    assert_int_equal(live.read(&live, long_path, path, sizeof path, &length), ODI_READ_ABSENT);
}

/* In a child: what it does to its limits and its user must not reach the other tests. */
static int in_child(int (*body)(void))
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int read_without_descriptors(void)
{
    struct rlimit none = {0, 0};
    odi_source source = odi_source_at(root);
    size_t length;
    int count = 0;

    setrlimit(RLIMIT_NOFILE, &none);
    if (try_read("/ten", 64, &length) != ODI_READ_FAILED || length != 0)
        return 1;
    return source.list(&source, "", count_names, &count) == ODI_READ_FAILED ? 0 : 2;
}

static int read_without_permission(void)
{
    char path[256];
    size_t length;

    snprintf(path, sizeof path, "%s/ten", root);
    if (chmod(root, 0755) != 0 || chmod(path, 0) != 0)
        return 1;
    if (geteuid() == 0 && setuid(65534) != 0)
        return 2;
    return try_read("/ten", 64, &length) == ODI_READ_DENIED ? 0 : 3;
}

TEST(failures_are_told_apart)
{
    char command[256];

    assert_int_equal(in_child(read_without_descriptors), 0);
    assert_int_equal(in_child(read_without_permission), 0);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

TEST_PROGRAM
