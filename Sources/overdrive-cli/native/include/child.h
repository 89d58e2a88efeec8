/* child.h — starts the commands of `overdrive run`, for ChildProcess.swift. posix_spawn(3) can neither give a child the
 * limits that its parent had nor start it in a folder on every C library. Nothing here waits for a child. */
#ifndef OVERDRIVE_CHILD_H
#define OVERDRIVE_CHILD_H

/* A limit as the kernel has it. */
struct file_limit {
    unsigned long long soft, hard;
};

/* The state that a command starts with. */
struct child_start {
    char *const *words;
    char *const *variables;
    /* NULL stands for the folder of this process. */
    const char *folder;
    int input, output, errors;
    /* The number of open files that this process was started with: a command is given that back. */
    struct file_limit files;
};

/* Notes which signals this process was started with as ignored, as nohup(1) does that: they stay so in commands. To be
 * called before any of them is handled. */
void note_ignored_signals(void);

/* Whether this process was started with a noted signal as ignored. */
int started_ignoring(int signal);

/* Starts a command in a process group of its own: its number, or -1 and errno. */
int start_child(const struct child_start *how);

/* The limit of open files as this process was started with it, after the soft one was raised to the hard one. */
struct file_limit raise_file_limit(void);

/* The signal that has stopped a child, which stays stopped; 0 if none has. */
int stopped_by(int process);

#endif
