/* SPDX-License-Identifier: MIT */
/*
 * recorder_file.c - see recorder_file.h.
 */
#include "recorder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLACES_AT = 1 << 16,
    FILE_BYTES = PLACES_AT + FILE_PLACES * FILE_PLACE,
    MOST_RANGES = 8,
    FILE_NUMBER = 1000000 /* the descriptor */
};

vg_file_front recording_front;
vg_reader recording_reader;
static _Alignas(64) unsigned char places[FILE_PLACES * FILE_PLACE];

_Static_assert(sizeof(vg_file_front) <= PLACES_AT && sizeof(vg_file_front) % 8 == 0, "it fits");

/* As it was before. */
static _Alignas(64) unsigned char still_front[sizeof(vg_file_front)];
static _Alignas(64) unsigned char still_places[sizeof places];

static struct {
    const unsigned char *from, *to;
} ranges[MOST_RANGES];
static unsigned range_count;

/* ---- the recorder's side of the file ---- */

int vg_file_grow(vg_file *file, size_t bytes, void **memory)
{
    if (bytes > FILE_PLACE || file->bytes + FILE_PLACE > FILE_BYTES)
        return -ENOSPC;
    *memory = places + (file->bytes - PLACES_AT);
    file->bytes += FILE_PLACE;
    return 0;
}

int vg_file_make(vg_file *file, const char *directory, size_t bytes, void **memory)
{
    (void)directory;
    vgc_assert(bytes <= PLACES_AT, "it fits");
    *memory = &recording_front;
    file->bytes = PLACES_AT;
    return 0;
}

void vg_file_remove(vg_file *file)
{
    (void)file;
}

int vg_record_directory_at(const char *chosen, unsigned index, char *path, size_t room)
{
    (void)chosen;
    (void)snprintf(path, room, "somewhere");
    return index == 0 ? 0 : -ENOENT;
}

bool vg_file_is_locked(int fd)
{
    (void)fd;
    return true;
}

uint64_t vg_pid_namespace(void)
{
    return 1;
}

char vg_reader_process_state(const vg_reader *reader)
{
    (void)reader;
    return 0;
}

pid_t vg_reader_local_pid(const vg_reader *reader)
{
    (void)reader;
    return 0;
}

bool vg_reader_same_boot(const vg_file_header *header)
{
    (void)header;
    return false;
}

/* ---- the reader's side ---- */

static uint64_t word_at(uint64_t offset)
{
    const bool front = offset < PLACES_AT;
    const unsigned char *now = front ? (unsigned char *)&recording_front + offset : places + (offset - PLACES_AT);
    for (unsigned i = 0; i < range_count; i++)
        if (now >= ranges[i].from && now < ranges[i].to)
            return __atomic_load_n((const uint64_t *)(const void *)now, __ATOMIC_RELAXED);
    const unsigned char *before = front ? still_front + offset : still_places + (offset - PLACES_AT);
    return *(const uint64_t *)(const void *)before;
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    const bool front = (uint64_t)offset + bytes <= sizeof recording_front;
    vgc_assert(fd == FILE_NUMBER && offset % 8 == 0 && bytes % 8 == 0, "whole words of the file");
    vgc_assert(front || (offset >= PLACES_AT && (uint64_t)offset + bytes <= FILE_BYTES), "inside the file");
    uint64_t *words = to;
    for (size_t i = 0; i < bytes / 8; i++)
        words[i] = word_at((uint64_t)offset + 8 * i);
    return (ssize_t)bytes;
}

int fstat(int fd, struct stat *info)
{
    if (fd != FILE_NUMBER) /* the checker's own */
        return fstatat(fd, "", info, AT_EMPTY_PATH);
    memset(info, 0, sizeof *info);
    info->st_size = FILE_BYTES;
    return 0;
}

/* What both would like to know of the system is not to be had; the checker looks at its own program. */
int open(const char *path, int flags, ...)
{
    return strncmp(path, "/proc/", 6) == 0 && strcmp(path, "/proc/self/exe") != 0 ? -1 : openat(AT_FDCWD, path, flags);
}

/* Libraries are not the subject: there are none. */
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *info, size_t size, void *arg), void *arg)
{
    (void)visit;
    (void)arg;
    return 0;
}

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
    return 0;
}

vg_symbols *vg_symbols_load(const char *path, const uint8_t *build_id, size_t build_id_bytes)
{
    (void)path;
    (void)build_id;
    (void)build_id_bytes;
    return NULL;
}

void vg_symbols_free(vg_symbols *symbols)
{
    (void)symbols;
}

const char *vg_symbols_find(const vg_symbols *symbols, uint64_t address, uint64_t *offset)
{
    (void)symbols;
    (void)address;
    (void)offset;
    return NULL;
}

/* ---- for the scenarios ---- */

static void section(vg_file_section_kind kind, size_t offset, size_t entry, size_t entries)
{
    recording_front.header.sections[kind] =
        (vg_file_section){.offset = offset, .entry_bytes = (uint32_t)entry, .entries = (uint32_t)entries};
}

void recording_begin(void)
{
    vg_recorder *recorder = &vg_the_recorder;
    vg_file_header *header = &recording_front.header;
    recorder->users = 1;
    recorder->level = VIGIL_RECORD_EVENTS;
    recorder->front = &recording_front;
    recorder->file.bytes = PLACES_AT;
    recorder->max_bytes = FILE_BYTES;
    recorder->ring_events = FILE_RING;
    header->version = VG_FILE_VERSION;
    header->header_bytes = sizeof *header;
    header->byte_order = VG_FILE_ORDER;
    header->address_bits = 64;
    header->ring_events = FILE_RING;
    header->born_ticks = header->born_ns = 1;
    section(VG_SECTION_DIRECTORY, offsetof(vg_file_front, directory), sizeof recording_front.directory[0],
            VG_FILE_BLOCKS);
    section(VG_SECTION_NAMES, offsetof(vg_file_front, names), sizeof recording_front.names[0], VG_FILE_NAMES);
    section(VG_SECTION_MODULES, offsetof(vg_file_front, modules), sizeof recording_front.modules[0], VG_FILE_MODULES);
    section(VG_SECTION_VERDICTS, offsetof(vg_file_front, verdicts), sizeof recording_front.verdicts[0],
            VG_FILE_VERDICTS);
    section(VG_SECTION_ACTS, offsetof(vg_file_front, acts), sizeof recording_front.acts[0], VG_FILE_ACTS);
    vg_cell_set(&header->magic, VG_FILE_MAGIC);
}

void *recording_place(unsigned place)
{
    return places + place * FILE_PLACE;
}

void recording_watch(const void *from, size_t bytes)
{
    vgc_assert(range_count < MOST_RANGES && bytes % 8 == 0, "room for one more");
    ranges[range_count].from = from;
    ranges[range_count++].to = (const unsigned char *)from + bytes;
}

void recording_settle(void)
{
    memcpy(still_front, &recording_front, sizeof still_front);
    memcpy(still_places, places, sizeof still_places);
    recording_reader.fd = FILE_NUMBER;
}

vg_snapshot *recording_snapshot(void)
{
    vg_snapshot *snapshot = NULL;
    vgc_assert(vg_reader_snapshot(&recording_reader, &snapshot) == 0, "the file can be read");
    return snapshot;
}
