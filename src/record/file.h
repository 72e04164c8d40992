/* SPDX-License-Identifier: MIT */
/*
 * file.h - the recorder's file: made, grown, removed. Under the recorder's lock.
 */
#ifndef VG_RECORD_FILE_H
#define VG_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    VG_RECORD_PATH_ROOM = 1024,
    VG_DEAD_FILES_KEPT = 16
};

/* The file as the process holds it: by its name. A program that closes all descriptors would close ours and give its number to
   another file. The file is opened again whenever it grows, and used only if it is still the same. */
typedef struct vg_file {
    char path[VG_RECORD_PATH_ROOM];
    dev_t device;
    ino_t inode;
    uint64_t bytes; /* 0: there is no file */
    bool locked;    /* its first mapping keeps a lock, which goes with the process */
} vg_file;

/* 0 or a negative errno. */
int vg_file_make(vg_file *file, const char *directory, size_t bytes, void **memory);
int vg_file_grow(vg_file *file, size_t bytes, void **memory); /* at its end, which is at file->bytes before */
void vg_file_remove(vg_file *file);

/* Does a process hold the lock of the file? Takes no lock, so it disturbs nobody. */
bool vg_file_is_locked(int fd);

/* What names the PID namespace of the calling process; 0: not known. */
uint64_t vg_pid_namespace(void);

#endif
