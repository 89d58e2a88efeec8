/* The calls into Linux: affinity, memory on nodes, files that fail. */
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

static void *narrow_one_thread(void *argument)
{
    odi_cpu_mask before, one, after, process;

    assert_int_equal(odi_affinity_get(0, &before), 0);
    odi_cpu_mask_clear(&one);
    odi_cpu_mask_add(&one, odi_cpu_mask_next(&before, 0));
    assert_int_equal(odi_affinity_set(&one), 0);
    assert_int_equal(odi_affinity_get(0, &after), 0);
    assert_true(odi_cpu_mask_equal(&one, &after));
    assert_true(odi_cpu_mask_has(&one, sched_getcpu()));
    assert_true(odi_affinity_node() >= 0);

    /* The process's mask is its first thread's: a narrowed worker does not change it. */
    assert_int_equal(odi_affinity_get(getpid(), &process), 0);
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

TEST(memory_goes_where_it_was_asked_for)
{
    enum { BYTES = 1 << 20 };
    int node = odi_affinity_node();

    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    odi_numa_bind(memory, BYTES, node);
    memset(memory, 1, BYTES);
    if (numa_available() >= 0)
        assert_int_equal(node_of(memory), node);
    odi_numa_bind(memory, BYTES, ODI_NODE_LIMIT - 1); /* a wish that nobody hears: it is memory still */
    madvise(memory, BYTES, MADV_DONTNEED);
    memset(memory, 2, BYTES);
    munmap(memory, BYTES);
}

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

static char content[64];

static int try_read(const char *path, size_t capacity)
{
    odi_source source = odi_source_at(root);

    assert_true(capacity <= sizeof content);
    return odi_source_read(&source, path, content, capacity);
}

TEST(files_are_read_up_to_the_buffers_end)
{
    char path[256], long_path[ODI_PATH_LIMIT + 8];

    assert_non_null(mkdtemp(root));
    write_file("ten", "0123456789");
    write_file("empty", "");
    snprintf(path, sizeof path, "%s/pipe", root);
    assert_int_equal(mkfifo(path, 0600), 0);

    assert_int_equal(try_read("/ten", 64), 0);
    assert_string_equal(content, "0123456789");
    assert_int_equal(try_read("/ten", 11), 0);
    assert_string_equal(content, "0123456789");
    assert_int_equal(try_read("/ten", 10), EFBIG);
    assert_string_equal(content, "012345678");
    assert_int_equal(try_read("/empty", 64), 0);
    assert_string_equal(content, "");
    assert_int_equal(try_read("/pipe", 64), 0);
    assert_int_equal(try_read("/none", 64), ENOENT);
    assert_int_equal(try_read("/ten/below", 64), ENOTDIR);
    assert_int_equal(try_read("/", 64), EIO);

    memset(long_path, 'x', sizeof long_path);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    assert_int_equal(try_read(long_path, 64), ENOENT);
    odi_source live = odi_source_live();
    assert_int_equal(odi_source_read(&live, long_path, path, sizeof path), ENOENT);
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

    setrlimit(RLIMIT_NOFILE, &none);
    return try_read("/ten", 64) == EMFILE && content[0] == '\0' ? 0 : 1;
}

static int read_without_permission(void)
{
    char path[256];

    snprintf(path, sizeof path, "%s/ten", root);
    if (chmod(root, 0755) != 0 || chmod(path, 0) != 0)
        return 1;
    if (geteuid() == 0 && setuid(65534) != 0)
        return 2;
    return try_read("/ten", 64) == EACCES ? 0 : 3;
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
