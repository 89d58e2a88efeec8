#include "Random/watch.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Random/world.h"
#include "Support/clock.h"
#include "Support/process.h"

/* Nothing happens for so long, and all threads sleep: it hangs, or stands still. */
#define QUIET_NS SECONDS(3)
/* The pool has so long to say so: it looks for a second, after the last one that could go on. */
#define SAYS_NS SECONDS(6)
/* Whether threads sleep or not. Under a sanitizer, on a machine that has other things to do. */
#define STUCK_NS SECONDS(90)

void *share_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    return memory;
}

pid_t fork_tied(void)
{
    pid_t parent = getpid(), child = fork();

    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(EXIT_FAILURE);
    if (child < 0)
        abort();
    return child;
}

int64_t watched_cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return cpu_microseconds(&usage) * ODI_MICROSECOND;
}

/* ---- the child ---- */

static void dumps(int signal)
{
    (void)signal;
    dump_world();
    fprintf(stderr, "  (that is all)\n");
}

static int64_t cpu_here(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * ODI_SECOND + now.tv_nsec;
}

static void run_task(const task *it)
{
    static program program;

    for (uint64_t i = 0; i < it->count; i++) {
        program_generate(&program, it->first + i * it->step);
        for (int op = 0; it->gone != NULL && op < program.ops; op++)
            program.op[op].gone |= it->gone[op];
        (void)program_prune(&program);
        atomic_store(&random_shared->seed, program.seed);
        for (int times = 0; times < it->times && cpu_here() < it->cpu_ns; times++) {
            it->run(&program);
            atomic_fetch_add(&random_shared->programs, 1);
        }
        if (cpu_here() >= it->cpu_ns)
            return;
    }
}

_Noreturn static void be_the_child(const task *it, int said)
{
    struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    dup2(said, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    alarm(0);
    signal(SIGUSR1, dumps);
    self.outsider = true;
    run_task(it);
    exit(0); /* with what a sanitizer has to say about memory that is left */
}

/* ---- the parent ---- */

static bool all_sleep(pid_t child)
{
    char path[300], line[512];
    bool sleep = true;

    snprintf(path, sizeof path, "/proc/%d/task", child);
    DIR *tasks = opendir(path);
    for (struct dirent *each; tasks != NULL && sleep && (each = readdir(tasks)) != NULL;) {
        if (!isdigit((unsigned char)each->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/stat", child, each->d_name);
        FILE *file = fopen(path, "r");
        const char *state = file != NULL && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;

        sleep = state == NULL || state[2] == 'S';
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return sleep;
}

/* How much it had written when its present program was seen to begin: what an earlier one said counts for none. */
static off_t said_before;

/* The end of what it wrote, from there on. */
static void read_said(int said, verdict *it, off_t from)
{
    off_t size = lseek(said, 0, SEEK_END), room = (off_t)sizeof it->said - 1;
    ssize_t got = pread(said, it->said, (size_t)room, size - from > room ? size - room : from);

    it->said[got > 0 ? got : 0] = 0;
}

/* More jobs wait than there are threads. */
static bool may_stand_still(void)
{
    static program program;

    program_generate(&program, atomic_load(&random_shared->seed));
    return atomic_load(&random_shared->waiting) >= program.workers + program.spares;
}

static bool says_so(int said, verdict *it, int64_t patience_ns)
{
    int64_t until = odi_clock_now() + patience_ns;

    for (;;) {
        read_said(said, it, said_before);
        bool says = strstr(it->said, " is stuck: ") != NULL;
        if (says || odi_clock_now() >= until)
            return says;
        odi_clock_sleep(MILLISECONDS(50));
    }
}

static void judge_the_quiet(pid_t child, int said, verdict *it)
{
    it->outcome = FOUND;
    if (may_stand_still()) {
        if (says_so(said, it, SAYS_NS)) {
            it->outcome = STOOD_STILL;
            atomic_fetch_add(&random_shared->still, 1);
            return;
        }
        snprintf(it->why, sizeof it->why, "it is stuck, as it may, and prints no warning");
    } else
        snprintf(it->why, sizeof it->why, "it hangs: %d jobs wait", atomic_load(&random_shared->waiting));
    kill(child, SIGUSR1);
    odi_clock_sleep(MILLISECONDS(500));
}

static void judge_the_end(int status, verdict *it)
{
    it->outcome = FOUND;
    if (atomic_load(&random_shared->failed))
        snprintf(it->why, sizeof it->why, "%s", random_shared->message);
    else if (WIFSIGNALED(status))
        snprintf(it->why, sizeof it->why, "it ends by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        snprintf(it->why, sizeof it->why, "it exits with %d", WEXITSTATUS(status));
    else
        it->outcome = CLEAN;
}

/* Until the child has ended. False: nothing happens in it any more; one that may stand still has said so. */
static bool goes_on(pid_t child, int said, verdict *it, int *status)
{
    unsigned long long seen = atomic_load(&random_shared->progress), program = atomic_load(&random_shared->seed);
    int64_t since = odi_clock_now(), asleep_since = since, nap = ODI_MILLISECOND;

    while (waitpid(child, status, WNOHANG) == 0) {
        odi_clock_sleep(nap);
        nap = nap < MILLISECONDS(50) ? 2 * nap : nap;
        unsigned long long now = atomic_load(&random_shared->progress), which = atomic_load(&random_shared->seed);
        int64_t time = odi_clock_now();

        if (which != program)
            said_before = lseek(said, 0, SEEK_END);
        program = which;
        if (now != seen)
            since = asleep_since = time;
        else if (time - since > MILLISECONDS(200) && !all_sleep(child))
            asleep_since = time;
        seen = now;
        if (time - asleep_since > QUIET_NS || time - since > STUCK_NS ||
            (time - since > ODI_SECOND && may_stand_still() && says_so(said, it, 0)))
            return false;
    }
    return true;
}

verdict watch(const task *it)
{
    static verdict verdict;
    char name[] = "/tmp/random-XXXXXX";
    int said = mkstemp(name), status = 0;

    said_before = 0;
    verdict.outcome = CLEAN;
    verdict.why[0] = verdict.said[0] = 0;
    unlink(name);
    atomic_store(&random_shared->failed, 0);
    atomic_store(&random_shared->waiting, 0);
    fflush(NULL);
    pid_t child = fork_tied();
    if (child == 0)
        be_the_child(it, said);
    bool ended = goes_on(child, said, &verdict, &status);
    verdict.seed = atomic_load(&random_shared->seed);
    if (ended)
        judge_the_end(status, &verdict);
    else {
        judge_the_quiet(child, said, &verdict);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    read_said(said, &verdict, 0);
    close(said);
    return verdict;
}
