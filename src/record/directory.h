/* SPDX-License-Identifier: MIT */
/*
 * directory.h - where recorder files are, and whether the place can be trusted.
 */
#ifndef VG_RECORD_DIRECTORY_H
#define VG_RECORD_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

/* The runtime directory: $VIGIL_DIR, else $XDG_RUNTIME_DIR/vigil, else /dev/shm/vigil-UID, else /tmp/vigil-UID. 0; -ENAMETOOLONG. */
int vg_record_directory(char *path, size_t room);

/* The same, unless `chosen` is not "": then that. */
int vg_record_directory_for(const char *chosen, char *path, size_t room);

/* A descriptor of the directory; -EPERM it does not belong to the user alone. */
int vg_record_directory_open(const char *path, bool make);

#endif
