/* The recorder: the last events of every thread come into a file on request, at a trap and at a hang. A conversion makes a
 * trace of it that Tests/Trace/check accepts, or says in one sentence why not. */
#include <sys/stat.h>

#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "include/od_submit.h"
#include "include/od_sync.h"
#include "include/od_trace.h"
#include "observe/recorder.h"
#include "observe/recording.h"
#include "observe/trace.h"
#include "os/clock.h"

CHILDREN_MAY_START_THREADS

static char folder[] = "/tmp/od-recorder-XXXXXX";

static void remove_all(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}

/* Makes the folder, once. */
static const char *new_folder(void)
{
    static bool made;

    if (!made && (mkdtemp(folder) == NULL || atexit(remove_all) != 0))
        abort();
    made = true;
    return folder;
}

/* Starts the recorder of a child. */
static void record_for(int64_t most_ns)
{
    char message[1024];

    child_expects(odi_recorder_start(folder, most_ns, message, sizeof message));
}

/* Asserts that the folder has one file, converts and removes it. `wanted`: for Tests/Trace/check; `text`: what the trace has. */
static void assert_recording(const char *wanted, const char *text)
{
    char command[1024], from[256], to[256], message[1024];

    snprintf(command, sizeof command, "ls %s/*.odrec", folder);
    FILE *list = popen(command, "r");
    assert_non_null(fgets(from, sizeof from, list));
    from[strcspn(from, "\n")] = '\0';
    char more[8];
    assert_null(fgets(more, sizeof more, list));
    pclose(list);
    snprintf(to, sizeof to, "%s/trace", folder);
    assert_int_equal(od_recording_convert(from, to, message, sizeof message), OD_RECORDING_CONVERTED);
    assert_string_equal(message, "");
    snprintf(command, sizeof command, "Tests/Trace/check %s %s && grep -aqF '%s' %s", to, wanted, text, to);
    assert_int_equal(system(command), 0);
    unlink(from);
    unlink(to);
}

/* Jobs with captures that no other pending one has. */
static void add_some(od_queue *queue, int jobs)
{
    static char captures[4096];

    for (int job = 0; job < jobs; job++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, no_job, &captures[job]);
}

/* ---- what is recorded ---- */

static void save_after_some(void *unused)
{
    char text[4200];

    (void)unused;
    record_for(ODI_SECOND * 30);
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "recorded\n");
    for (int round = 0; round < 20; round++) {
        od_queue *other = od_queue_create(pool, OD_BAND_DEFAULT, 1, round % 4 < 2 ? "short" : "shorter");
        add_some(other, 10);
        end_queue(other);
    }
    add_some(queue, 100);
    child_expects(od_queue_wait(queue, HANG_NS));
    child_expects(od_recording_save("asked", text, sizeof text));
    child_expects(access(text, R_OK) == 0);
    struct stat status;
    child_expects(stat(text, &status) == 0 && (status.st_mode & 0777) == 0600);
}

TEST(a_recording_has_the_closures_and_labels_of_the_last_seconds)
{
    (void)new_folder();
    assert_child_succeeds(save_after_some, NULL);
    assert_recording("submitted=300 started=300 arrows=300 slices:recorded?=100 slices:short=100 slices:shorter=100", "recorded: asked");
}

static void trace_beside(void *unused)
{
    char text[4200], message[1024], file[256], command[512];

    (void)unused;
    record_for(ODI_SECOND * 30);
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "both");
    add_some(queue, 50);
    child_expects(od_queue_wait(queue, HANG_NS));
    snprintf(file, sizeof file, "%s/beside", folder);
    child_expects(od_trace_start(file, 0, 0, message, sizeof message));
    add_some(queue, 100);
    child_expects(od_queue_wait(queue, HANG_NS));
    child_expects(od_trace_stop(NULL));
    snprintf(command, sizeof command, "Tests/Trace/check %s submitted=100 slices:both=100 && rm %s", file, file);
    child_expects(system(command) == 0);
    add_some(queue, 25);
    child_expects(od_queue_wait(queue, HANG_NS));
    child_expects(od_recording_save("", text, sizeof text));
}

TEST(a_trace_and_the_recorder_have_the_same_events)
{
    (void)new_folder();
    assert_child_succeeds(trace_beside, NULL);
    assert_recording("submitted=175 started=175 slices:both=175", "");
}

static void save_after_a_second(void *unused)
{
    char text[4200];

    (void)unused;
    record_for(ODI_SECOND / 2);
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "old");
    add_some(queue, 4000);
    child_expects(od_queue_wait(queue, HANG_NS));
    odi_clock_sleep(ODI_SECOND);
    add_some(queue, 5);
    child_expects(od_queue_wait(queue, HANG_NS));
    child_expects(od_recording_save("", text, sizeof text));
    snprintf(text, sizeof text, "test $(cat %s/*.odrec | wc -c) -lt 100000", folder);
    child_expects(system(text) == 0 || UNDER_TSAN);
}

TEST(a_recording_leaves_out_older_seconds)
{
    (void)new_folder();
    assert_child_succeeds(save_after_a_second, NULL);
    assert_recording("", "old");
}

/* ---- traps and hangs ---- */

static od_queue *first, *second;

static void sync_on(void *other)
{
    odi_clock_sleep(ODI_MILLISECOND * 20);
    od_scope scope;
    od_queue_sync_begin(other, &scope);
    od_queue_sync_end(&scope);
}

static void deadlock(void *unused)
{
    (void)unused;
    record_for(ODI_SECOND * 30);
    od_pool *pool = pool_of(2);
    first = od_queue_create(pool, OD_BAND_DEFAULT, 1, "first");
    second = od_queue_create(pool, OD_BAND_DEFAULT, 1, "second");
    od_queue_async(first, NULL, OD_QUEUE_BAND, sync_on, second);
    od_queue_async(second, NULL, OD_QUEUE_BAND, sync_on, first);
    odi_clock_sleep(ODI_SECOND * 30);
}

TEST(a_trap_writes_a_recording_that_names_the_deadlock)
{
    (void)new_folder();
    assert_child_traps(deadlock, NULL, "recorder: the last seconds are in /tmp/od-recorder-");
    assert_recording("", "recorded: TaskQueue.sync: a circle of serial queues");
}

static void trap_elsewhere(void *unused)
{
    (void)unused;
    record_for(ODI_SECOND * 30);
    od_recording_trapped("Task.wait: a sentence of another layer.");
}

TEST(a_trap_of_another_layer_writes_a_recording)
{
    (void)new_folder();
    assert_child_succeeds(trap_elsewhere, NULL);
    assert_recording("submitted=0", "recorded: Task.wait: a sentence of another layer.");
}

static void sleep_long(void *unused)
{
    (void)unused;
    odi_clock_sleep(ODI_SECOND * 5);
}

static void get_stuck(void *unused)
{
    (void)unused;
    record_for(ODI_SECOND * 30);
    od_pool_options options;
    od_pool_options_init(&options);
    options.workers = 1;
    options.spare_workers = 0;
    od_pool *pool;
    char message[256];
    child_expects(od_pool_create(&options, &pool, message, sizeof message) == OD_OK);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "held");
    od_queue_async(queue, NULL, OD_QUEUE_BAND, sleep_long, NULL);
    odi_clock_sleep(ODI_MILLISECOND * 20);
    add_some(queue, 1);
    odi_clock_sleep(ODI_SECOND * 3);
}

TEST(a_pool_that_is_stuck_writes_a_recording)
{
    (void)new_folder();
    assert_child_succeeds(get_stuck, NULL);
    assert_recording("", "is stuck: closures are pending");
}

/* ---- refusals ---- */

static void save_without_a_recorder(void *unused)
{
    char text[1024];

    (void)unused;
    child_expects(!od_recording_save("", text, sizeof text));
    child_expects(strstr(text, "nothing is recorded") != NULL);
    child_expects(!odi_recorder_start("/no/such", ODI_SECOND, text, sizeof text));
    child_expects(strstr(text, "/no/such: No such file") != NULL);
    child_expects(!odi_recorder_start("/dev/null", ODI_SECOND, text, sizeof text));
    child_expects(strstr(text, "/dev/null: Not a directory") != NULL);
    child_expects(!odi_traces());
}

TEST(a_process_without_a_recorder_says_so)
{
    assert_child_succeeds(save_without_a_recorder, NULL);
}

static void fill_the_disk(void *unused)
{
    char text[4200];
    struct rlimit none = {1000, 1000};

    (void)unused;
    record_for(ODI_SECOND);
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "");
    add_some(queue, 10);
    child_expects(od_queue_wait(queue, HANG_NS));
    setrlimit(RLIMIT_FSIZE, &none);
    child_expects(!od_recording_save("", text, sizeof text));
    child_expects(strstr(text, "cannot write the recording (/tmp/od-recorder-") != NULL && strstr(text, "File too large") != NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(od_recording_save("", text, sizeof text) || strstr(text, "nothing is recorded") == NULL);
    int status;
    child_expects(waitpid(child, &status, 0) == child && status == 0);
}

TEST(a_full_disk_leaves_a_sentence_and_no_file)
{
    (void)new_folder();
    assert_child_succeeds(fill_the_disk, NULL);
    assert_int_not_equal(rmdir(folder), -1);
    assert_int_equal(mkdir(folder, 0700), 0);
}

static const char *converted(const char *from, od_recording_status wanted)
{
    static char message[1024];
    char to[256];

    snprintf(to, sizeof to, "%s/trace", folder);
    assert_int_equal(od_recording_convert(from, to, message, sizeof message), wanted);
    unlink(to);
    return message;
}

TEST(a_damaged_recording_is_refused_or_converted_as_far_as_it_goes)
{
    char file[256];
    unsigned char bytes[1 << 17];

    (void)new_folder();
    assert_child_succeeds(save_after_some, NULL);
    snprintf(file, sizeof file, "mv %s/*.odrec %s/whole", folder, folder);
    assert_int_equal(system(file), 0);
    snprintf(file, sizeof file, "%s/whole", folder);
    FILE *whole = fopen(file, "r");
    size_t size = fread(bytes, 1, sizeof bytes, whole);
    fclose(whole);
    unlink(file);
    size_t sizes[] = {0, 100, sizeof(odi_recording_header) + 50, size - 3, size - 200};
    od_recording_status wanted[] = {OD_RECORDING_INVALID, OD_RECORDING_INVALID, OD_RECORDING_INVALID, OD_RECORDING_CONVERTED,
                                    OD_RECORDING_CONVERTED};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        FILE *part = fopen(file, "w");
        fwrite(bytes, 1, sizes[i], part);
        fclose(part);
        const char *message = converted(file, wanted[i]);
        assert_non_null(strstr(message, i < 2 ? "no recording" : "breaks off"));
    }
    /* Any byte may be wrong. */
    uint32_t random = 1;
    for (int round = 0; round < UNLESS_SANITIZED(300, 60); round++) {
        FILE *wrong = fopen(file, "w");
        for (int i = 0; i < 8; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[random / 256 % (i % 2 ? size : sizeof(odi_recording_header))] = (unsigned char)random;
            if (round % 2)
                memcpy(bytes, ODI_RECORDING_MAGIC, 8);
            ((odi_recording_header *)(void *)bytes)->version = ODI_RECORDING_VERSION;
        }
        fwrite(bytes, 1, size, wrong);
        fclose(wrong);
        char message[1024], to[256];
        snprintf(to, sizeof to, "%s/trace", folder);
        (void)od_recording_convert(file, to, message, sizeof message);
        unlink(to);
    }
    bytes[0] = 'o';
    memcpy(bytes, ODI_RECORDING_MAGIC, 8);
    bytes[8] = 7;
    FILE *newer = fopen(file, "w");
    fwrite(bytes, 1, size, newer);
    fclose(newer);
    assert_non_null(strstr(converted(file, OD_RECORDING_INVALID), "unknown version"));
    unlink(file);
    assert_non_null(strstr(converted("/no/such/file", OD_RECORDING_UNREADABLE), "/no/such/file: No such file"));
}

/* ---- beside writers ---- */

static atomic_bool done;

static void *write_and_leave(void *unused)
{
    (void)unused;
    for (int i = 0; i < UNLESS_SANITIZED(60000, 20000); i++)
        odi_trace(ODI_TRACE_STEAL, ODI_TRACE_NO_BAND, NULL, (uint64_t)i);
    return NULL;
}

static void *save_again(void *unused)
{
    char text[4200];

    (void)unused;
    while (!atomic_load(&done)) {
        child_expects(od_recording_save("", text, sizeof text));
        unlink(text);
    }
    return NULL;
}

static void save_beside(void *unused)
{
    char text[4200];
    pthread_t saver;

    (void)unused;
    record_for(ODI_SECOND * 30);
    child_expects(pthread_create(&saver, NULL, save_again, NULL) == 0);
    for (int round = 0; round < 3; round++)
        run_on_threads(8, write_and_leave);
    atomic_store(&done, true);
    pthread_join(saver, NULL);
    child_expects(od_recording_save("", text, sizeof text));
}

TEST(recordings_beside_threads_that_write_and_end_are_sound)
{
    (void)new_folder();
    assert_child_succeeds(save_beside, NULL);
    assert_recording("submitted=0", "");
}

TEST_PROGRAM
