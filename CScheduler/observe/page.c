#include "observe/page.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "observe/control.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/shared.h"
#include "os/thread.h"

enum { PAGE_STACK = 256 * 1024, REST_SHARE = 100 };
#define INTERVAL_NS (200 * ODI_MILLISECOND)

void (*odi_page_fill_above)(odi_page_snapshot *snapshot);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static odi_page *page; /* written under the lock; the thread's while it runs, as the next two lines */
static odi_page_snapshot *snapshot;
static int page_file;
static odi_atomic(uint32_t) ending; /* the thread sleeps on it */

static void take_snapshot(void)
{
    memset(snapshot, 0, sizeof *snapshot);
    if (odi_page_fill_above != NULL)
        odi_page_fill_above(snapshot);
    snapshot->taken_ns = (uint64_t)odi_clock_now();
    odi_page_words_write(&page->sequence, page->words, (const uint64_t *)snapshot, ODI_PAGE_WORDS);
}

static void free_page(void)
{
    odi_control_close();
    odi_shared_free(page, sizeof *page, page_file);
    free(snapshot);
    page = NULL;
}

static bool ends(void)
{
    return odi_load_relaxed(&ending); /* relaxed: a hint; the futex compares it */
}

/* A rest may be long on a busy machine, but a request is answered within an interval. */
static void rest_until(int64_t until)
{
    while (!ends() && odi_clock_now() < until) {
        int64_t next = odi_clock_after(INTERVAL_NS);

        (void)odi_futex_wait(&ending, 0, next < until ? next : until);
        odi_control_look();
    }
}

static void publish(void *unused)
{
    (void)unused;
    while (!ends()) {
        int64_t begun = odi_clock_now();

        take_snapshot();
        int64_t rest = REST_SHARE * (odi_clock_now() - begun);
        rest_until(odi_clock_after(rest > INTERVAL_NS ? rest : INTERVAL_NS));
    }
    pthread_mutex_lock(&lock);
    free_page();
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}

/* Lock held. Returns an errno value. */
static int make_page(void)
{
    int error = ENOMEM;

    snapshot = malloc(sizeof *snapshot);
    if (snapshot == NULL)
        return error;
    page = odi_shared_new(ODI_PAGE_NAME, sizeof *page, &page_file, &error);
    if (page == NULL) {
        free(snapshot);
        return error;
    }
    page->magic = ODI_PAGE_MAGIC;
    page->version = ODI_PAGE_VERSION;
    page->bytes = sizeof *page;
    page->process = getpid();
    page->started = odi_shared_started(getpid());
    error = odi_control_open();
    if (error != 0)
        free_page();
    return error;
}

bool odi_page_publish(char *message, size_t capacity)
{
    int error = 0;

    pthread_mutex_lock(&lock);
    if (page != NULL && odi_load_relaxed(&ending)) { /* relaxed: written under the lock */
        error = EBUSY;
    } else if (page == NULL && (error = make_page()) == 0) {
        odi_store_relaxed(&ending, 0); /* relaxed: the thread's start orders it */
        error = odi_thread_start(publish, NULL, PAGE_STACK, "od-top");
        if (error != 0)
            free_page();
    }
    pthread_mutex_unlock(&lock);
    if (error != 0)
        snprintf(message, capacity, "cannot publish the page (%s). Raise the limits of memory, files and threads.", strerror(error));
    return error == 0;
}

bool odi_page_end(void)
{
    pthread_mutex_lock(&lock);
    bool was_published = page != NULL && !odi_load_relaxed(&ending); /* relaxed, both: the kernel compares it */
    odi_store_relaxed(&ending, 1);
    odi_futex_wake(&ending, 1);
    while (was_published && page != NULL && odi_load_relaxed(&ending)) /* relaxed: written under the lock */
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
    return was_published;
}

__attribute__((destructor)) static void end_at_exit(void)
{
    (void)odi_page_end();
}

static void read_environment(void)
{
    const char *value = secure_getenv("OVERDRIVE_TOP");
    char message[256] = "the value is not 0 or 1. Write OVERDRIVE_TOP=1.";

    if (value == NULL || *value == '\0' || strcmp(value, "0") == 0)
        return;
    if (strcmp(value, "1") != 0 || !odi_page_publish(message, sizeof message))
        odi_warn("OVERDRIVE_TOP: %s overdrive top cannot show this process (%s).", message, value);
}

void odi_page_from_environment(void)
{
    static pthread_once_t read = PTHREAD_ONCE_INIT;

    pthread_once(&read, read_environment);
}

/* ---- forked children ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

/* The page is the parent's. The snapshot's memory stays. */
static void after_in_child(void)
{
    if (page != NULL)
        odi_shared_free(page, sizeof *page, page_file);
    odi_control_forked();
    page = NULL;
    ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* the parent's threads may wait there */
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(before_fork, after_in_parent, after_in_child);
}
