/* SPDX-License-Identifier: MIT */
/*
 * directory.h - where recorder files are, and whether a directory can be trusted.
 */
#ifndef VG_RECORD_DIRECTORY_H
#define VG_RECORD_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VG_DIRECTORY_DETOURS = 8, /* names that are tried when the usual ones are taken */
    VG_RECORD_NAME_ROOM = 48  /* "PID-" and 16 hexadecimal digits */
};

/* The directories in which records may be, in the order in which a writer tries them: only `chosen` if it is not "", only
   $VIGIL_DIR if that is set; else $XDG_RUNTIME_DIR/vigil, /dev/shm/vigil-UID, /tmp/vigil-UID, and detours beside the last two.
   0; -ENOENT there is no such index; -ENAMETOOLONG. */
int vg_record_directory_at(const char *chosen, unsigned index, char *path, size_t room);

/* Does the list end with the first, because somebody chose it? */
bool vg_record_directory_chosen(const char *chosen);

/* The first that can be trusted, else the first. 0; -ENAMETOOLONG. */
int vg_record_directory(char *path, size_t room);

/* A descriptor of the directory; -EPERM it does not belong to the user alone. */
int vg_record_directory_open(const char *path, bool make);

/* The name of a record: "PID-NONCE". The nonce keeps processes of different PID namespaces apart. */
void vg_record_name(char *name, size_t room, uint64_t pid, uint64_t nonce);
bool vg_record_name_parse(const char *name, uint64_t *pid);

#endif
