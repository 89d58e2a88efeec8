/* dump.c — od_dump: the text of a dump, for a debugger, and for the signal in a program without the Swift layer. It waits
 * for no lock and allocates nothing, so any thread may call it while all others are stopped. */
#include "include/od_report.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gate/peek.h"
#include "os/clock.h"

enum { LINE_BYTES = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* only tried */
static odi_peek peek;                                    /* under the lock */

static void say(const char *line)
{
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written; /* stderr is closed: the line is lost */
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "2.31 s". */
static void put_time(char *text, size_t room, uint64_t ns)
{
    (void)snprintf(text, room, "%" PRIu64 ".%02" PRIu64 " s", ns / ODI_SECOND, ns % ODI_SECOND / (10 * ODI_MILLISECOND));
}

static void say_worker(const od_top_worker *it)
{
    static const char *const doing[] = {"idle", "runs", "waits in", "spare"};
    char line[LINE_BYTES], times[32], waiting[48] = "";

    put_time(times, sizeof times, it->doing == OD_WORKER_BLOCKS ? it->waiting_ns : it->at_most_ns);
    if (it->waiting > 0)
        (void)snprintf(waiting, sizeof waiting, ", %" PRIu64 " waiting", it->waiting);
    if (it->doing == OD_WORKER_IDLE || it->doing == OD_WORKER_SPARE) {
        (void)snprintf(line, sizeof line, "  worker %u (thread %d): %s%s\n", it->index, it->thread_id, doing[it->doing], waiting);
    } else {
        bool says = it->waits_for[0] != '\0', at = it->waits_at_id != 0;

        (void)snprintf(line, sizeof line, "  worker %u (thread %d): %s \"%s\" for %s%s%s%s%s%s%s\n", it->index, it->thread_id,
                       doing[it->doing], it->queue, times, says ? ", " : "", it->waits_for, at ? " \"" : "", it->waits_at,
                       at ? "\"" : "", waiting);
    }
    say(line);
}

static void say_queue(const od_top_queue *it)
{
    static const char *const bands[] = {"userInteractive", "userInitiated", "default", "utility", "background"};
    char line[LINE_BYTES], width[24] = "concurrent", running[40] = "";

    if (it->width == 1)
        (void)snprintf(width, sizeof width, "serial");
    else if (it->width != OD_UNLIMITED)
        (void)snprintf(width, sizeof width, "%d at a time", it->width);
    if (it->running > 0)
        (void)snprintf(running, sizeof running, ", %" PRIu64 " running", it->running);
    (void)snprintf(line, sizeof line, "  queue \"%s\" (%s, %s%s%s): %" PRIu64 " pending%s\n", it->label, width,
                   it->band < ODI_BANDS ? bands[it->band] : "?", it->suspended ? ", suspended" : "", it->active ? "" : ", inactive",
                   it->pending, running);
    say(line);
}

static void say_pool(uint32_t number)
{
    const odi_page_snapshot *snapshot = &peek.snapshot;
    const od_top_pool *pool = &snapshot->pools[number];
    char line[LINE_BYTES], spares[40] = "";
    uint64_t threads = 0, waiting = pool->waiting;
    uint32_t queues = 0;

    for (uint32_t i = 0; i < snapshot->worker_count; i++) {
        bool mine = snapshot->workers[i].pool == number;

        threads += mine && snapshot->workers[i].doing != OD_WORKER_SPARE;
        waiting += mine ? snapshot->workers[i].waiting : 0;
    }
    if (pool->spares > 0)
        (void)snprintf(spares, sizeof spares, " and %u spare%s", pool->spares, plural(pool->spares));
    (void)snprintf(line, sizeof line, "Scheduler \"%s\": %" PRIu64 " worker%s%s, %" PRIu64 " closure%s waiting\n", pool->name, threads,
                   plural(threads), spares, waiting, plural(waiting));
    say(line);
    for (uint32_t i = 0; i < snapshot->worker_count; i++) {
        if (snapshot->workers[i].pool == number)
            say_worker(&snapshot->workers[i]);
    }
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        if (snapshot->queues[i].pool != number)
            continue;
        say_queue(&snapshot->queues[i]);
        queues++;
    }
    if (queues < pool->queues) {
        (void)snprintf(line, sizeof line, "  and %u more queue%s\n", pool->queues - queues, plural(pool->queues - queues));
        say(line);
    }
}

void od_dump(void)
{
    char line[LINE_BYTES];

    if (pthread_mutex_trylock(&lock) != 0) {
        say("od_dump: another thread writes a dump. Let it continue, then call again.\n");
        return;
    }
    odi_peek_begin_here(&peek);
    if (!odi_peek_fill(&peek))
        say("od_dump: the kernel refuses process_vm_readv. Allow it in the container's seccomp profile.\n");
    else if (peek.snapshot.pool_count == 0)
        say("od_dump: no scheduler exists.\n");
    for (uint32_t pool = 0; pool < peek.snapshot.pool_count; pool++)
        say_pool(pool);
    if (peek.skipped > 0) {
        (void)snprintf(line, sizeof line, "  skipped: %u rows that could not be read\n", peek.skipped);
        say(line);
    }
    pthread_mutex_unlock(&lock);
}
