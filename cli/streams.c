/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/words.h"
#include "say.h"

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* A listener, a child and a descriptor may wait for ever; somebody who owes us bytes or an answer should not. */
static uint64_t longest_wait(const vg_io_view *io)
{
    uint64_t longest = io->sending_ns > io->reading_ns ? io->sending_ns : io->reading_ns;
    const bool owed = io->wait == VG_IO_WAITS_START || io->wait == VG_IO_WAITS_CONNECT ||
                      io->wait == VG_IO_WAITS_ROOM || io->wait == VG_IO_WAITS_ANSWER;
    return owed && io->wait_ns > longest ? io->wait_ns : longest;
}

static int longest_first(const void *a, const void *b)
{
    const struct stream_row *x = a, *y = b;
    if (x->wait_ns != y->wait_ns)
        return x->wait_ns > y->wait_ns ? -1 : 1;
    if (x->loop->serial != y->loop->serial)
        return x->loop->serial < y->loop->serial ? -1 : 1;
    return x->io->number < y->io->number ? -1 : x->io->number > y->io->number;
}

struct stream_row *streams_list(const vg_snapshot *now, const vg_loop_view *loop, size_t *count)
{
    size_t most = 0;
    *count = 0;
    for (size_t i = 0; i < now->loop_count; i++)
        most += now->loops[i].io_count;
    struct stream_row *rows = most > 0 ? calloc(most, sizeof *rows) : NULL;
    for (size_t i = 0; rows != NULL && i < now->loop_count; i++)
        for (size_t k = 0; k < now->loops[i].io_count; k++)
            if (loop == NULL || loop == &now->loops[i])
                rows[(*count)++] =
                    (struct stream_row){&now->loops[i], &now->loops[i].ios[k], longest_wait(&now->loops[i].ios[k])};
    if (rows != NULL)
        qsort(rows, *count, sizeof *rows, longest_first);
    return rows;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

void stream_title(const vg_io_view *io, char *room, size_t size)
{
    char address[sizeof io->address + 1], name[sizeof io->name + 1], pid[24] = "";
    clean_text(address, sizeof address, io->address, sizeof io->address, false);
    clean_text(name, sizeof name, io->name, sizeof io->name, false);
    if (io->kind == VG_IO_CHILD)
        snprintf(pid, sizeof pid, "%" PRIu64, io->pid);
    snprintf(room, size, "%s%s%s%s%s%s%s", vg_io_kind_name(io->kind), address[0] != '\0' ? " " : "", address,
             pid[0] != '\0' ? " " : "", pid, name[0] != '\0' ? " " : "", name);
}

static void add(char *room, size_t size, const char *before, const char *what, uint64_t ns)
{
    const size_t used = strlen(room);
    char since[WORDS];
    snprintf(room + used, size - used, "%s%s for %s", used > 0 ? before : "", what, words_ago(since, ns));
}

void stream_words(const vg_io_view *io, char *room, size_t size)
{
    static const char *const waits[VG_IO_WAITS] = {
        [VG_IO_WAITS_START] = "waits for its handshake", [VG_IO_WAITS_CONNECT] = "waits for an answer",
        [VG_IO_WAITS_ACCEPT] = "waits for a connection", [VG_IO_WAITS_ROOM] = "accepts nothing",
        [VG_IO_WAITS_EXIT] = "waits for its end",        [VG_IO_WAITS_READY] = "waits to be ready",
        [VG_IO_WAITS_ANSWER] = "waits for an answer",
    };
    char n[2][WORDS];
    room[0] = '\0';
    if (io->wait != VG_IO_WAITS_NOT && io->wait < VG_IO_WAITS)
        add(room, size, "", waits[io->wait], io->wait_ns);
    if (io->sending)
        add(room, size, ", ", "waits for its peer to read", io->sending_ns);
    if (io->reading)
        add(room, size, ", ", "waits for its peer", io->reading_ns);
    if (room[0] == '\0')
        snprintf(room, size, "nobody waits");
    size_t used = strlen(room);
    if (io->unsent > 0)
        snprintf(room + used, size - used, "; %s unsent", words_bytes(n[0], io->unsent));
    used = strlen(room);
    if (io->kind == VG_IO_LISTENER)
        snprintf(room + used, size - used, "; %s streams open", words_count(n[0], io->streams));
    else if (io->bytes_read + io->bytes_sent > 0)
        snprintf(room + used, size - used, "; read %s, sent %s", words_bytes(n[0], io->bytes_read),
                 words_bytes(n[1], io->bytes_sent));
}

const char *stream_heading(void)
{
    return "LOOP         NUMBER     AGE  STREAM";
}

void stream_line(const struct stream_row *row, char *room, size_t size)
{
    char loop[33], title[160], words[256], age[WORDS];
    clean_text(loop, sizeof loop, row->loop->name, sizeof row->loop->name, false);
    stream_title(row->io, title, sizeof title);
    stream_words(row->io, words, sizeof words);
    snprintf(room, size, "%-12.12s %6" PRIu64 " %7s  %s: %s", loop, row->io->number, words_ago(age, row->io->age_ns),
             title, words);
}

void streams_total(const vg_loop_view *loop, char *room, size_t size)
{
    char n[4][WORDS];
    room[0] = '\0';
    if (loop->ios_opened == 0)
        return;
    snprintf(room, size, "streams and the like: %s open, %s ever; read %s, sent %s", words_count(n[0], loop->ios_open),
             words_count(n[1], loop->ios_opened), words_bytes(n[2], loop->io_bytes_read),
             words_bytes(n[3], loop->io_bytes_sent));
    const size_t used = strlen(room);
    if (loop->ios_unseen > 0)
        snprintf(room + used, size - used, "; %s of them have no line", words_count(n[0], loop->ios_unseen));
}

void streams_print(const vg_snapshot *now, const vg_loop_view *loop, size_t most)
{
    size_t count;
    struct stream_row *rows = streams_list(now, loop, &count);
    char text[512];
    streams_total(loop, text, sizeof text);
    if (text[0] != '\0')
        printf("  %s\n", text);
    for (size_t i = 0; i < count && i < most; i++) {
        char title[160], words[256], age[WORDS];
        stream_title(rows[i].io, title, sizeof title);
        stream_words(rows[i].io, words, sizeof words);
        printf("    %" PRIu64 " %s, %s old: %s\n", rows[i].io->number, title, words_ago(age, rows[i].io->age_ns),
               words);
    }
    if (count > most)
        printf("    and %zu more, which have waited less: vigil top --streams\n", count - most);
    free(rows);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void number(json_object *to, const char *key, uint64_t value)
{
    json_object_object_add(to, key, json_object_new_uint64(value));
}

json_object *streams_json(const vg_loop_view *loop)
{
    json_object *list = json_object_new_array();
    for (size_t i = 0; i < loop->io_count; i++) {
        const vg_io_view *io = &loop->ios[i];
        json_object *j = json_object_new_object();
        char clean[128];
        number(j, "id", io->number);
        json_object_object_add(j, "kind", json_object_new_string(vg_io_kind_name(io->kind)));
        clean_text(clean, sizeof clean, io->name, sizeof io->name, false);
        json_object_object_add(j, "name", json_object_new_string(clean));
        clean_text(clean, sizeof clean, io->address, sizeof io->address, false);
        json_object_object_add(j, "address", json_object_new_string(clean));
        if (io->kind == VG_IO_CHILD)
            number(j, "pid", io->pid);
        number(j, "age_ns", io->age_ns);
        json_object *waits = json_object_new_object();
        if (io->reading)
            number(waits, "read", io->reading_ns);
        if (io->sending)
            number(waits, "write", io->sending_ns);
        if (io->wait != VG_IO_WAITS_NOT)
            number(waits, vg_io_wait_name(io->wait), io->wait_ns);
        json_object_object_add(j, "waits_ns", waits);
        number(j, "bytes_read", io->bytes_read);
        number(j, "bytes_sent", io->bytes_sent);
        number(j, "unsent", io->unsent);
        if (io->kind == VG_IO_LISTENER)
            number(j, "streams", io->streams);
        json_object_array_add(list, j);
    }
    return list;
}
