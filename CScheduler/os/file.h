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

/* Removes a file that odi_file_create has created. */
void odi_file_remove(const char *path);

#pragma GCC visibility pop

#endif
