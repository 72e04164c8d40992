/* SPDX-License-Identifier: MIT */
/*
 * recorder.h - the recorder from inside: what the files of this room share.
 */
#ifndef VG_RECORD_RECORDER_H
#define VG_RECORD_RECORDER_H

#include "base/mutex.h"
#include "directory.h"
#include "record.h"

#include <sys/types.h>

#include <vigil/watch.h>

enum {
    VG_PATH_ROOM = 1024,
    VG_DEAD_FILES_KEPT = 16
};

/* The fixed part of the file: header and sections. */
typedef struct vg_file_front {
    vg_file_header header;
    vg_file_block directory[VG_FILE_BLOCKS];
    vg_file_name names[VG_FILE_NAMES];
    vg_file_module modules[VG_FILE_MODULES];
    vg_file_verdict verdicts[VG_FILE_VERDICTS];
    vg_file_act acts[VG_FILE_ACTS];
} vg_file_front;

/* The file as the process holds it: by its name, not by a descriptor, which a program that closes all descriptors would pull
   away, and give to another file. It is opened again whenever it grows, and used only if it is still the same. */
typedef struct vg_file {
    char path[VG_PATH_ROOM];
    dev_t device;
    ino_t inode;
    uint64_t bytes; /* 0: there is no file */
} vg_file;

/* One place of the directory, as the process knows it. */
typedef struct vg_place {
    void *memory; /* where the block is mapped */
    size_t bytes;
    bool used;
    bool written;
    bool ring;      /* of a thread that has ended, while not used: its events are kept till the place is needed */
    bool copy_fork; /* the child of a fork gets a copy of the content, else zeros */
} vg_place;

typedef struct vg_recorder {
    vg_mutex lock; /* over everything here; its holder takes no other lock and calls no callback */
    unsigned users;
    unsigned level;       /* while there are users */
    vg_file_front *front; /* NULL: the recorder is off */
    vg_file file;
    uint64_t max_bytes;
    uint64_t ring_events;
    unsigned place_count;
    unsigned rings;
    uint64_t serials;
    unsigned long long modules_seen; /* what the loader has added and removed */
    vg_place places[VG_FILE_BLOCKS];
} vg_recorder;

extern vg_recorder vg_the_recorder;

/* What the user chose. Under the recorder's lock. */
typedef struct vg_watch_config {
    unsigned level;
    char directory[VG_PATH_ROOM];
    uint64_t max_bytes;
    uint64_t ring_events;
    void (*log)(void *user, const char *text);
    void *user;
} vg_watch_config;

extern vg_watch_config vg_the_config;

/* file.c: 0 or a negative errno */
int vg_file_make(vg_file *file, const char *directory, size_t bytes, void **memory);
int vg_file_grow(vg_file *file, size_t bytes, void **memory); /* at its end, which is at file->bytes before */
void vg_file_remove(vg_file *file);

/* record.c; under the lock */
void *vg_pages_get(size_t bytes); /* anonymous, zeroed; NULL */
size_t vg_pages_round(size_t bytes);
int vg_block_get_locked(vg_record_block *block, vg_file_block_kind kind, size_t bytes, uint64_t owner,
                        uint64_t entries);
void vg_block_put_locked(vg_record_block *block);

/* names.c; under the lock */
void vg_names_publish(vg_recorder *recorder);
void vg_modules_publish(vg_recorder *recorder);

/* ring.c; under the lock */
void vg_rings_begin(void);
void vg_rings_end(void);

#endif
