/* SPDX-License-Identifier: MIT */
/*
 * reader_io.c - what a loop has of streams and their like, from the copy of their block.
 */
#include "reader_io.h"
#include "raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vg_io_ipv4_text(char *text, size_t room, uint32_t address, unsigned port)
{
    (void)snprintf(text, room, "%u.%u.%u.%u:%u", address >> 24, address >> 16 & 0xffU, address >> 8 & 0xffU,
                   address & 0xffU, port);
}

static void show_io_address(const vg_file_io *from, vg_io_view *view)
{
    const unsigned port = (unsigned)(from->port & 0xffffU);
    char words[INET6_ADDRSTRLEN];
    uint32_t four;
    switch (from->family) {
    case VG_IO_IPV4:
        memcpy(&four, from->address, sizeof four);
        vg_io_ipv4_text(view->address, sizeof view->address, ntohl(four), port);
        break;
    case VG_IO_IPV6:
        if (inet_ntop(AF_INET6, from->address, words, sizeof words) != NULL)
            (void)snprintf(view->address, sizeof view->address, "[%s]:%u", words, port);
        break;
    case VG_IO_PATH:
        vg_copy_text(view->address, sizeof view->address, from->address, sizeof from->address);
        break;
    default:
        break;
    }
}

/* The loop's time is that of its turn: a wait that began in it seems older than the stream. */
static uint64_t io_wait_age(const vg_raw *raw, const vg_io_view *view, uint64_t since)
{
    const uint64_t age = vg_raw_age_of_ns(raw, since);
    return age < view->age_ns ? age : view->age_ns;
}

static uint64_t io_later(const vg_cell *a, const vg_cell *b)
{
    const uint64_t x = vg_raw_get(a);
    const uint64_t y = vg_raw_get(b);
    return x > y ? x : y;
}

static void show_io(const vg_raw *raw, const vg_file_io *from, vg_io_view *view)
{
    const uint64_t wait = vg_raw_get(&from->wait);
    view->number = from->number;
    view->kind = (vg_io_kind)from->kind;
    view->age_ns = vg_raw_age(raw, from->born);
    vg_copy_text(view->name, sizeof view->name, from->name, sizeof from->name);
    if (view->kind == VG_IO_CHILD)
        view->pid = from->port;
    else
        show_io_address(from, view);
    view->wait = wait < VG_IO_WAITS ? (vg_io_wait)wait : VG_IO_WAITS_NOT;
    view->wait_ns = view->wait != VG_IO_WAITS_NOT ? io_wait_age(raw, view, vg_raw_get(&from->wait_since)) : 0;
    view->reading = vg_raw_get(&from->reading) != 0;
    view->reading_ns = view->reading ? io_wait_age(raw, view, io_later(&from->reading, &from->read_at)) : 0;
    view->sending = vg_raw_get(&from->sending) != 0;
    view->sending_ns = view->sending ? io_wait_age(raw, view, io_later(&from->sending, &from->sent_at)) : 0;
    view->bytes_read = vg_raw_get(&from->bytes_read);
    view->bytes_sent = vg_raw_get(&from->bytes_sent);
    view->unsent = vg_raw_get(&from->unsent);
    view->streams = vg_raw_get(&from->streams);
}

static int io_by_number(const void *a, const void *b)
{
    const uint64_t x = ((const vg_io_view *)a)->number;
    const uint64_t y = ((const vg_io_view *)b)->number;
    return (x > y) - (x < y);
}

int vg_raw_ios(const vg_raw *raw, size_t at)
{
    const vg_file_ios *before = raw->before[at];
    const vg_file_ios *from = raw->blocks[at].memory;
    const vg_file_ios *after = raw->after[at];
    vg_loop_view *loop = NULL;
    for (size_t i = 0; i < raw->snapshot->loop_count; i++)
        if (raw->snapshot->loops[i].serial == raw->blocks[at].owner)
            loop = &raw->snapshot->loops[i];
    if (loop == NULL || loop->ios != NULL)
        return 0;
    loop->ios = calloc(VG_FILE_IOS, sizeof *loop->ios);
    if (loop->ios == NULL)
        return -ENOMEM;
    loop->ios_opened = vg_raw_get(&from->opened);
    loop->ios_open = vg_less(loop->ios_opened, vg_raw_get(&from->closed));
    loop->ios_unseen = vg_raw_get(&from->unseen);
    loop->io_bytes_read = vg_raw_get(&from->bytes_read);
    loop->io_bytes_sent = vg_raw_get(&from->bytes_sent);
    for (size_t i = 0; i < VG_FILE_IOS; i++) {
        const uint64_t writes = vg_raw_get(&before->of[i].writes);
        if (writes % 2 != 0 || vg_raw_get(&after->of[i].writes) != writes)
            continue; /* it changed during the reading */
        if (from->of[i].kind != VG_IO_NONE && from->of[i].kind < VG_IO_KINDS)
            show_io(raw, &from->of[i], &loop->ios[loop->io_count++]);
    }
    qsort(loop->ios, loop->io_count, sizeof *loop->ios, io_by_number);
    return 0;
}
