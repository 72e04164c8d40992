/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "shown.h"

#include "base/clock.h"
#include "loop/struct.h"
#include "record/ring.h"

#include <vigil/record.h>

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

bool vg_shown_wanted(const vigil_loop *loop)
{
    return loop->level >= VIGIL_RECORD_COUNTERS;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool shown_begin(vg_io_shared *shared)
{
    if (shared->shown != NULL)
        return true;
    if (shared->shown_tried || !vg_shown_wanted(shared->loop))
        return false;
    shared->shown_tried = true;
    if (vg_block_get(&shared->shown_block, VG_BLOCK_IO, sizeof *shared->shown, shared->loop->block.serial,
                     VG_FILE_IOS) != 0)
        return false;
    if (shared->shown_block.extent == VG_FILE_BLOCKS) { /* the file is full: nobody would see it */
        vg_block_put(&shared->shown_block);
        return false;
    }
    memset(shared->shown_used, 0, sizeof shared->shown_used);
    shared->shown = shared->shown_block.memory;
    vg_block_show(&shared->shown_block);
    return true;
}

void vg_shown_end(vg_io_shared *shared)
{
    shared->shown_tried = false;
    if (shared->shown == NULL)
        return;
    vg_list_each_safe (link, after, &shared->members) {
        vg_io_member *member = vg_list_entry(link, vg_io_member, link);
        member->shown = NULL;
        member->counted = false; /* a table that begins later has not counted it */
    }
    shared->shown = NULL;
    vg_block_put(&shared->shown_block);
}

static vg_file_io *shown_place(vg_io_shared *shared)
{
    for (size_t i = 0; i < sizeof shared->shown_used / sizeof shared->shown_used[0]; i++) {
        uint64_t *word = &shared->shown_used[i];
        if (*word == UINT64_MAX)
            continue;
        const size_t bit = (size_t)__builtin_ctzll(~*word);
        if (i * 64 + bit >= VG_FILE_IOS)
            break;
        *word |= UINT64_C(1) << bit;
        return &shared->shown->of[i * 64 + bit];
    }
    return NULL;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* The end of a path tells more than its beginning. */
static void put_path(vg_file_io *entry, const struct sockaddr_un *name, socklen_t length)
{
    const size_t head = offsetof(struct sockaddr_un, sun_path);
    const size_t most = length > head ? length - head : 0;
    const bool abstract = most > 1 && name->sun_path[0] == '\0';
    const char *path = name->sun_path + (abstract ? 1 : 0);
    const size_t bytes = abstract ? most - 1 : strnlen(path, most);
    const size_t kept = bytes < sizeof entry->address - 2 ? bytes : sizeof entry->address - 2;
    if (bytes == 0)
        return; /* it has no name */
    entry->family = VG_IO_PATH;
    entry->address[0] = '@';
    memcpy(entry->address + (abstract ? 1 : 0), path + bytes - kept, kept);
}

static void put_address(vg_file_io *entry, const vigil_address *address)
{
    const void *at = &address->storage;
    memset(entry->address, 0, sizeof entry->address);
    entry->family = VG_IO_NO_ADDRESS;
    entry->port = 0;
    if (address->any.sa_family == AF_INET) {
        const struct sockaddr_in *four = at;
        entry->family = VG_IO_IPV4;
        entry->port = ntohs(four->sin_port);
        memcpy(entry->address, &four->sin_addr, sizeof four->sin_addr);
    } else if (address->any.sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = at;
        const bool four = IN6_IS_ADDR_V4MAPPED(&six->sin6_addr);
        entry->family = four ? VG_IO_IPV4 : VG_IO_IPV6;
        entry->port = ntohs(six->sin6_port);
        memcpy(entry->address, six->sin6_addr.s6_addr + (four ? 12 : 0), four ? 4 : 16);
    } else if (address->any.sa_family == AF_UNIX) {
        put_path(entry, at, address->length);
    }
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static void put_name(vg_file_io *entry, const char *name)
{
    memset(entry->name, 0, sizeof entry->name);
    if (name != NULL)
        memcpy(entry->name, name, strnlen(name, sizeof entry->name - 1));
}

void vg_shown_open(vg_io_shared *shared, vg_io_member *member, vg_io_kind kind, const vigil_address *address,
                   const char *name)
{
    if (!shown_begin(shared))
        return;
    vg_file_ios *all = shared->shown;
    vg_cell_add(&all->opened, 1);
    member->counted = true;
    member->shown = shown_place(shared);
    if (member->shown == NULL) {
        vg_cell_add(&all->unseen, 1);
        return;
    }
    vg_file_io entry = {.number = atomic_load_explicit(&all->opened, memory_order_relaxed), /* our own */
                        .kind = kind,
                        .born = vg_ticks()};
    if (address != NULL)
        put_address(&entry, address);
    put_name(&entry, name);
    vg_entry_put(member->shown, &entry, sizeof entry);
}

void vg_shown_open_fd(vg_io_shared *shared, vg_io_member *member, int fd, bool socket)
{
    vigil_address peer = {.length = sizeof peer.storage};
    struct stat what = {0};
    if (!vg_shown_wanted(shared->loop))
        return;
    if (!socket) {
        const vg_io_kind kind = fstat(fd, &what) == 0 && S_ISFIFO(what.st_mode) ? VG_IO_PIPE
                                : isatty(fd) == 1                               ? VG_IO_TERMINAL
                                                                                : VG_IO_OTHER;
        vg_shown_open(shared, member, kind, NULL, NULL);
        return;
    }
    const bool known = getpeername(fd, &peer.any, &peer.length) == 0;
    const sa_family_t family = known ? peer.any.sa_family : AF_UNSPEC;
    vg_shown_open(shared, member,
                  family == AF_UNIX                         ? VG_IO_UNIX
                  : family == AF_INET || family == AF_INET6 ? VG_IO_TCP
                                                            : VG_IO_OTHER,
                  known ? &peer : NULL, NULL);
}

/* What comes before the cells has changed. */
static void shown_again(vg_io_member *member, const vg_file_io *entry)
{
    const size_t head = sizeof(vg_cell);
    vg_change_begin(&member->shown->writes);
    vg_words_put((char *)member->shown + head, (const char *)entry + head, offsetof(vg_file_io, wait) - head);
    vg_change_end(&member->shown->writes);
}

void vg_shown_name(vg_io_member *member, const char *name)
{
    if (member->shown == NULL)
        return;
    vg_file_io entry;
    memcpy(&entry, member->shown, offsetof(vg_file_io, wait)); /* we are its one writer */
    put_name(&entry, name);
    shown_again(member, &entry);
}

void vg_shown_address(vg_io_member *member, const vigil_address *address)
{
    if (member->shown == NULL)
        return;
    vg_file_io entry;
    memcpy(&entry, member->shown, offsetof(vg_file_io, wait)); /* we are its one writer */
    put_address(&entry, address);
    shown_again(member, &entry);
}

void vg_shown_pid(vg_io_member *member, int64_t pid)
{
    if (member->shown == NULL)
        return;
    vg_file_io entry;
    memcpy(&entry, member->shown, offsetof(vg_file_io, wait)); /* we are its one writer */
    entry.port = (uint64_t)pid;
    shown_again(member, &entry);
}

/* Its life, for the trace. */
static void note_end(const vg_io_shared *shared, const vg_file_io *entry)
{
    const uint64_t now = vg_ticks();
    uint32_t four = 0;
    memcpy(&four, entry->address, sizeof four);
    const uint64_t peer = entry->family == VG_IO_IPV4 ? (uint64_t)ntohl(four) << 16 | (entry->port & 0xffffU) : 0;
    vg_event_put(now, vg_event_what(VG_EVENT_IO, (unsigned)entry->kind, peer),
                 shared->loop->block.serial << 32 | (entry->number & UINT32_MAX),
                 (now > entry->born ? now - entry->born : 0) & VG_EVENT_ADDRESS);
}

void vg_shown_close(vg_io_shared *shared, vg_io_member *member)
{
    const vg_file_io none = {0};
    if (shared->shown == NULL || !member->counted)
        return;
    member->counted = false;
    vg_cell_add(&shared->shown->closed, 1);
    if (member->shown == NULL) {
        vg_cell_add(&shared->shown->unseen, UINT64_MAX);
        return;
    }
    if (!shared->ended && !vg_io_forked(shared) && shared->loop->level == VIGIL_RECORD_EVENTS)
        note_end(shared, member->shown);
    const size_t place = (size_t)(member->shown - shared->shown->of);
    shared->shown_used[place / 64] &= ~(UINT64_C(1) << place % 64);
    vg_entry_put(member->shown, &none, sizeof none);
    member->shown = NULL;
}
