/* The public picture of a machine, and the recordings that it can be made from. */
#include "Engine/topology_fixtures.h"
#include "Support/machines.h"

#include "include/od_machine.h"
#include "topology/limits.h"
#include "topology/topology.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static od_machine *discover(const char *fixture)
{
    char path[1024], problem[256];

    fixture_path(fixture, path, sizeof path);
    od_machine *machine = od_machine_discover(path, problem, sizeof problem);
    if (machine == NULL)
        fail_msg("%s", problem);
    return machine;
}

TEST(a_recorded_machine_answers_every_question)
{
    od_machine *machine = discover("memory-only-node");
    od_machine_cpu cpu = {.id = 77};
    od_machine_node node = {.id = 77};
    char text[128];

    assert_false(od_machine_is_live(machine));
    assert_int_equal(od_machine_cpu_count(machine), 8);
    assert_int_equal(od_machine_core_count(machine), 8);
    assert_int_equal(od_machine_node_count(machine), 4);
    assert_true(od_machine_get_cpu(machine, 5, &cpu));
    assert_int_equal(cpu.id, 5);
    assert_int_equal(cpu.node, 1);
    assert_int_equal(cpu.core, 5);
    assert_int_equal(cpu.thread, 0);
    assert_int_equal(cpu.package, 1);
    assert_int_equal(cpu.l3, 1);
    assert_false(od_machine_get_cpu(machine, 8, &cpu));
    assert_false(od_machine_get_cpu(machine, -1, &cpu));
    assert_int_equal(cpu.id, 5);

    assert_true(od_machine_get_node(machine, 2, &node));
    assert_int_equal(node.id, 4);
    assert_int_equal(node.cpu_count, 0);
    assert_int_equal(node.core_count, 0);
    assert_int_equal(node.memory_bytes, UINT64_C(16) << 30);
    assert_true(node.whole);
    assert_false(od_machine_get_node(machine, 4, &node));
    assert_false(od_machine_get_node(machine, -1, &node));

    assert_int_equal(od_machine_distance(machine, 0, 3), 80);
    assert_int_equal(od_machine_distance(machine, 0, 4), 0);
    assert_int_equal(od_machine_distance(machine, -1, 0), 0);
    assert_int_equal(od_machine_neighbour(machine, 0, 0), 2);
    assert_int_equal(od_machine_neighbour(machine, 0, 3), -1);
    assert_int_equal(od_machine_neighbour(machine, 0, -1), -1);
    assert_int_equal(od_machine_neighbour(machine, 9, 0), -1);

    assert_int_equal(od_machine_worker_count(machine, false), 8);
    assert_true(od_machine_may_spin(machine));
    assert_int_equal(od_machine_describe(machine, false, 0, text, sizeof text), 23);
    assert_string_equal(text, "affinity 8 -> 8 workers");
    od_machine_free(machine);
    od_machine_free(NULL);
}

TEST(limits_come_with_their_groups)
{
    od_machine *machine = discover("hybrid-both-limit");
    od_machine_limits limits = od_machine_get_limits(machine);

    assert_int_equal(limits.online_count, 8);
    assert_int_equal(limits.affinity_count, 8);
    assert_int_equal(limits.cpuset_count, 6);
    assert_int_equal(limits.cpu_count, 6);
    assert_int_equal(limits.quota_us, 200000);
    assert_int_equal(limits.period_us, 100000);
    assert_string_equal(limits.quota_group, "/b");
    assert_string_equal(limits.cpuset_group, "/a");
    assert_string_equal(limits.note, "");
    od_machine_free(machine);

    machine = discover("quota-half");
    assert_false(od_machine_may_spin(machine));
    assert_int_equal(od_machine_worker_count(machine, true), 1);
    od_machine_free(machine);
}

TEST(plans_can_be_looked_at)
{
    od_machine *machine = discover("two-nodes-smt");
    int32_t nodes[16], cpus[16];
    char reason[256];

    assert_true(od_machine_plan(machine, "core", 16, nodes, cpus, reason, sizeof reason));
    assert_string_equal(reason, "core: placement was requested");
    assert_int_equal(nodes[7], 0);
    assert_int_equal(nodes[8], 1);
    assert_int_equal(cpus[0], 0);
    assert_int_equal(cpus[4], 8);
    assert_true(od_machine_plan(machine, "automatic", 16, NULL, NULL, reason, sizeof reason));
    assert_memory_equal(reason, "node: ", 6);
    assert_false(od_machine_plan(machine, "corn", 16, NULL, NULL, reason, sizeof reason));
    assert_string_equal(reason,
                        "placement is \"corn\", but must be none, node, core or automatic");
    assert_false(od_machine_plan(machine, "core", 0, NULL, NULL, reason, sizeof reason));
    assert_string_equal(reason, "0 workers were asked for, but 1 to 65536 can be planned");
    assert_false(od_machine_plan(machine, "core", 65537, NULL, NULL, NULL, 0));
    od_machine_free(machine);
}

static void check_refusal(const char *path, const char *want)
{
    char problem[256] = "";

    assert_null(od_machine_discover(path, problem, sizeof problem));
    assert_null(od_machine_discover(path, NULL, 0));
    assert_null(od_machine_discover(path, NULL, sizeof problem)); /* nowhere to say it, whatever the room */
    if (strstr(problem, want) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", problem, want);
}

TEST(roots_that_hold_no_machine_are_refused_in_one_sentence)
{
    char path[] = "/tmp/odi-machine-XXXXXX";
    int file = mkstemp(path);
    static const char wrong[] = "a comment\n== proc/self/cgroup\n0::/\n";

    assert_true(file >= 0);
    assert_int_equal(write(file, wrong, sizeof wrong - 1), (ssize_t)sizeof wrong - 1);
    check_refusal(path, "is no recorded machine: line 2 names a file without");
    assert_int_equal(ftruncate(file, (off_t)1 << 30), 0);
    check_refusal(path, "is too long for a recorded machine");
    close(file);
    unlink(path);
    check_refusal(path, "does not exist");
    check_refusal("/dev/null/x", "does not exist");
}

TEST(this_machine_is_the_default)
{
    od_machine *machine = od_machine_discover(NULL, NULL, 0);
    od_machine *again = od_machine_discover("", NULL, 0);

    assert_non_null(machine);
    assert_non_null(again);
    assert_true(od_machine_is_live(machine));
    assert_int_equal(od_machine_cpu_count(machine), od_machine_cpu_count(again));
    od_machine_free(machine);
    od_machine_free(again);

    machine = od_machine_discover("/", NULL, 0);
    assert_non_null(machine);
    assert_false(od_machine_is_live(machine));
    od_machine_free(machine);
}

/* ---- recordings ------------------------------------------------------------------------ */

typedef struct names {
    char text[256];
    int most;
} names;

static bool collect(void *context, const char *name)
{
    names *all = context;

    strcat(all->text, name);
    strcat(all->text, ";");
    return --all->most > 0;
}

TEST(recordings_behave_like_directories)
{
    odi_recording *recording = fixture_from("comment\n"
                                            "== /a/b\none\ntwo\n"
                                            "=- /a/c\nthree\n"
                                            "=! /a/d\nhidden\n"
                                            "== /a/b\nlate\n"
                                            "== /a/b-x/f\n"
                                            "== /a/b/g\nx");
    odi_source source = odi_recording_source(recording);
    char buffer[16];
    size_t length;
    names all = {.most = 100}, first = {.most = 1}, none = {.most = 1};

    assert_int_equal(source.read(&source, "/a/b", buffer, 16, &length), ODI_READ_OK);
    assert_memory_equal(buffer, "one\ntwo\n", 8);
    assert_int_equal(length, 8);
    assert_int_equal(source.read(&source, "/a/b", buffer, 3, &length), ODI_READ_TRUNCATED);
    assert_int_equal(source.read(&source, "/a/c", buffer, 16, &length), ODI_READ_OK);
    assert_int_equal(length, 5);
    assert_int_equal(source.read(&source, "/a/d", buffer, 16, &length), ODI_READ_DENIED);
    assert_int_equal(source.read(&source, "/a", buffer, 16, &length), ODI_READ_ABSENT);
    assert_int_equal(source.read(&source, "/z", buffer, 16, &length), ODI_READ_ABSENT);
    assert_int_equal(source.read(&source, "/a/b/g", buffer, 16, &length), ODI_READ_OK);
    assert_int_equal(length, 1);
    assert_int_equal(source.list(&source, "/a", collect, &all), ODI_READ_OK);
    assert_string_equal(all.text, "b;b-x;c;d;");
    assert_int_equal(source.list(&source, "/a", collect, &first), ODI_READ_OK);
    assert_string_equal(first.text, "b;");
    assert_int_equal(source.list(&source, "/a/c", collect, &none), ODI_READ_ABSENT);
    odi_recording_free(recording);
    odi_recording_free(NULL);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 1
#endif
#endif

#ifndef OWN_ALLOCATOR
#ifdef EMULATED
/* The emulator answers a limit on memory with success and gives the kernel none, because it would be
 * the emulator's own: there this program's heap refuses. */
static bool heap_refuses;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    return heap_refuses ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return heap_refuses ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return heap_refuses ? NULL : __libc_realloc(old, size);
}

static void refuse_memory(void)
{
    heap_refuses = true;
}
#else
/* No page more: every allocation beyond what the heap has in stock fails. */
static void refuse_memory(void)
{
    struct rlimit none = {0, 0};

    setrlimit(RLIMIT_DATA, &none);
}
#endif

/* More than any heap has in stock: where a limit is none, the test is to fail and not to take the
 * machine's memory. */
enum { PIECE = 16 * 1024, MOST_PIECES = 1 << 14 };

static int discover_without_memory(void)
{
    odi_source source = odi_source_live();
    odi_limits limits;
    char problem[128] = "";

    refuse_memory();
    for (int pieces = 0; malloc(PIECE) != NULL; pieces++) {
        if (pieces == MOST_PIECES)
            return 5;
    }
    odi_limits_read(&source, &limits);
    if ((limits.notes & ODI_NOTE_NO_MEMORY) == 0 || limits.cpu_count < 1 ||
        limits.affinity_count < 1)
        return 1;
    if (machine_of(64, 64, 1) != NULL)
        return 2;
    if (od_machine_discover(NULL, problem, sizeof problem) != NULL)
        return 3;
    return strcmp(problem, "this machine does not fit in memory") == 0 ? 0 : 4;
}

TEST(without_memory_affinity_still_counts)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(discover_without_memory());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

TEST_PROGRAM
