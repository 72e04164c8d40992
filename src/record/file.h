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

/* The process holds its file by name: programs close all descriptors. It is opened again to grow, and used only if
   it is still the same. */
typedef struct vg_file {
    char path[VG_RECORD_PATH_ROOM];
    dev_t device;
    ino_t inode;
    uint64_t bytes; /* 0: there is no file */
    bool locked;    /* its first mapping keeps the lock */
} vg_file;

/* 0 or a negative errno. */
int vg_file_make(vg_file *file, const char *directory, size_t bytes, void **memory);
int vg_file_grow(vg_file *file, size_t bytes, void **memory); /* at its end, which is at file->bytes before */
void vg_file_remove(vg_file *file);

#endif
