/* kernel.c — refusals that the kernel itself makes: seccomp filters, and control groups. */
#include "Faults/faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "name the architecture that seccomp reports"
#endif

/* ---- the machine ---- */

int64_t waited_for_cpus(void)
{
    DIR *tasks = opendir("/proc/self/task");
    long long ran, waited, sum = 0;
    char path[sizeof "/proc/self/task//schedstat" + sizeof((struct dirent *)0)->d_name];

    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        FILE *file = task->d_name[0] != '.' ? fopen(path, "re") : NULL;

        if (file != NULL && fscanf(file, "%lld %lld", &ran, &waited) == 2)
            sum += waited;
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return sum;
}

int64_t time_limit(int64_t ns)
{
    return getenv("FAULT_PATIENT") != NULL && ns < 10 * ODI_SECOND ? 10 * ODI_SECOND : ns;
}

/* ---- seccomp ---- */

enum { MOST_CALLS = 8 };

void refuse_calls(const int *calls, int count, int error)
{
    struct sock_filter filter[5 + 2 * MOST_CALLS];
    unsigned short length = 0;

    filter[length++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                    OUR_ARCHITECTURE, 1, 0);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[length++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count && i < MOST_CALLS; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                        (uint32_t)calls[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA));
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        run_skips("no seccomp filter: %s", strerror(errno));
}

/* ---- control groups, version 1 ---- */

static void group_path(char *path, size_t capacity, const char *controller, pid_t pid,
                       const char *file)
{
    snprintf(path, capacity, "/sys/fs/cgroup/%s/overdrive-faults-%d%s%s", controller, (int)pid,
             file[0] != '\0' ? "/" : "", file);
}

void cgroup_make(const char *controller, pid_t pid)
{
    char path[160];

    group_path(path, sizeof path, controller, pid, "");
    if (mkdir(path, 0755) != 0)
        run_skips("no group in /sys/fs/cgroup/%s: %s", controller, strerror(errno));
}

static bool try_write(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    ssize_t wrote = write(file, text, strlen(text));
    int error = errno;
    close(file);
    errno = error;
    return wrote == (ssize_t)strlen(text);
}

void cgroup_write(const char *controller, pid_t pid, const char *file, const char *text)
{
    char path[200];

    group_path(path, sizeof path, controller, pid, file);
    if (!try_write(path, text))
        run_skips("cannot write \"%s\" to %s: %s", text, path, strerror(errno));
}

void cgroup_thaw(pid_t pid)
{
    char path[200];

    group_path(path, sizeof path, "freezer", pid, "freezer.state");
    (void)try_write(path, "THAWED");
}

void cgroup_remove_all(pid_t pid)
{
    static const char *const controllers[] = {"cpu", "cpuset", "freezer", "pids"};
    char path[200];

    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        group_path(path, sizeof path, controllers[i], pid, "");
        if (access(path, F_OK) != 0)
            continue;
        for (int tries = 0; rmdir(path) != 0 && errno == EBUSY && tries < 200; tries++)
            usleep(5000); /* its last thread is on its way out */
    }
}
