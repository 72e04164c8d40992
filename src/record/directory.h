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
    VG_DIRECTORY_DETOURS = 8, /* tried when the usual names are taken */
    VG_RECORD_NAME_ROOM = 48  /* "PID-" and 16 hexadecimal digits */
};

/* Candidates in a writer's order: only `chosen` if not "", only $VIGIL_DIR if set; else $XDG_RUNTIME_DIR/vigil,
   /dev/shm/vigil-UID, /tmp/vigil-UID, then detours. 0; -ENOENT no such index; -ENAMETOOLONG. */
int vg_record_directory_at(const char *chosen, unsigned index, char *path, size_t room);

/* Did somebody choose the only candidate? */
bool vg_record_directory_chosen(const char *chosen);

/* The first trusted one, else the first. 0; -ENAMETOOLONG. */
int vg_record_directory(char *path, size_t room);

/* A descriptor; -EPERM: it does not belong to the user alone. */
int vg_record_directory_open(const char *path, bool make);

/* "PID-NONCE". The nonce keeps PID namespaces apart. */
void vg_record_name(char *name, size_t room, uint64_t pid, uint64_t nonce);
bool vg_record_name_parse(const char *name, uint64_t *pid);

/* Is its writer alive? Takes no lock. */
bool vg_file_is_locked(int fd);

/* Names the PID namespace of this process; 0: unknown. */
uint64_t vg_pid_namespace(void);

#endif
