/* SPDX-License-Identifier: MIT */
/*
 * reader.c - opening recorder files, and reading from them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "raw.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int vg_reader_read(const vg_reader *reader, uint64_t offset, void *memory, size_t bytes)
{
    char *at = memory;
    if (offset > INT64_MAX - bytes)
        return -EBADMSG;
    while (bytes != 0) {
        ssize_t got = pread(reader->fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -EBADMSG; /* the file ends before */
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

bool vg_reader_holds(const vg_reader *reader, uint64_t offset, uint64_t bytes)
{
    struct stat info;
    return fstat(reader->fd, &info) == 0 && bytes <= (uint64_t)info.st_size && offset <= (uint64_t)info.st_size - bytes;
}

void *vg_reader_copy(const vg_reader *reader, uint64_t offset, size_t bytes, int *error)
{
    /* Before any memory is asked for: whatever the file claims, it cannot hold more than it has. */
    *error = vg_reader_holds(reader, offset, bytes) ? 0 : -EBADMSG;
    if (*error != 0)
        return NULL;
    void *memory = malloc(bytes != 0 ? bytes : 1);
    *error = memory == NULL ? -ENOMEM : vg_reader_read(reader, offset, memory, bytes);
    if (*error != 0) {
        free(memory);
        return NULL;
    }
    return memory;
}

void vg_copy_text(char *to, size_t room, const char *from, size_t from_room)
{
    vg_text_copy(to, room, from, from_room, false);
}

void vg_copy_lines(char *to, size_t room, const char *from, size_t from_room)
{
    vg_text_copy(to, room, from, from_room, true);
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static const struct {
    size_t bytes, entries;
} known_sections[VG_SECTIONS] = {
    [VG_SECTION_DIRECTORY] = {sizeof(vg_file_block), VG_FILE_BLOCKS},
    [VG_SECTION_NAMES] = {sizeof(vg_file_name), VG_FILE_NAMES},
    [VG_SECTION_MODULES] = {sizeof(vg_file_module), VG_FILE_MODULES},
    [VG_SECTION_VERDICTS] = {sizeof(vg_file_verdict), VG_FILE_VERDICTS},
    [VG_SECTION_ACTS] = {sizeof(vg_file_act), VG_FILE_ACTS},
};

int vg_reader_header(vg_reader *reader)
{
    vg_file_header *header = &reader->header;
    uint64_t magic = 0;
    int error = vg_reader_read(reader, offsetof(vg_file_header, magic), &magic, sizeof magic);
    if (error != 0)
        return error;
    if (magic == __builtin_bswap64(VG_FILE_MAGIC))
        return -EPROTO; /* of a machine with the other byte order */
    if (magic != VG_FILE_MAGIC)
        return -EBADMSG;
    /* acquire: a header with the magic is complete; pairs with the release of the magic in life.c */
    atomic_thread_fence(memory_order_acquire);
    error = vg_reader_read(reader, 0, header, sizeof *header);
    if (error != 0)
        return error;
    if (header->version != VG_FILE_VERSION)
        return -EPROTO;
    if (header->header_bytes != sizeof *header || header->byte_order != VG_FILE_ORDER || header->address_bits != 64)
        return -EBADMSG;
    for (unsigned i = VG_SECTION_DIRECTORY; i < VG_SECTIONS; i++) {
        const vg_file_section *section = &header->sections[i];
        if (section->entry_bytes != known_sections[i].bytes || section->entries != known_sections[i].entries)
            return -EBADMSG;
    }
    if (header->ring_events == 0 || (header->ring_events & (header->ring_events - 1)) != 0 ||
        header->ring_events > UINT32_MAX)
        return -EBADMSG;
    return 0;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

int vg_reader_open_path(vg_reader **result, const char *path)
{
    vg_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return -ENOMEM;
    int error = 0;
    reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe must not make us wait */
    if (reader->fd < 0)
        error = -errno;
    struct stat info;
    if (error == 0 && fstat(reader->fd, &info) != 0)
        error = -errno;
    if (error == 0 && !S_ISREG(info.st_mode))
        error = -EBADMSG;
    if (error == 0)
        error = vg_reader_header(reader);
    if (error != 0) {
        vg_reader_close(reader);
        return error;
    }
    (void)snprintf(reader->path, sizeof reader->path, "%s", path);
    *result = reader;
    return 0;
}

void vg_reader_close(vg_reader *reader)
{
    if (reader == NULL)
        return;
    vg_reader_free_names(reader);
    if (reader->fd >= 0)
        (void)close(reader->fd);
    free(reader);
}
