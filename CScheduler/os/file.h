/* file.h — a new file that is written from its beginning to its end. */
#ifndef ODI_OS_FILE_H
#define ODI_OS_FILE_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Creates the file for its owner alone. It follows no link and replaces nothing. -1: *error is the errno value. */
int odi_file_create(const char *path, int *error);

/* Writes all of it. 0 or an errno value. */
int odi_file_write(int file, const void *bytes, size_t count);

void odi_file_close(int file);

/* Maps a whole file, private to the process and writable. NULL: *error is the errno value, or 0 if the file is empty. */
void *odi_file_map(const char *path, size_t *bytes, int *error);
void odi_file_unmap(void *start, size_t bytes);

/* Writes the absolute path of a folder that the process may write to. 0 or an errno value. */
int odi_file_folder(const char *path, char *absolute, size_t capacity);

/* Removes a file that odi_file_create has created. */
void odi_file_remove(const char *path);

#pragma GCC visibility pop

#endif
