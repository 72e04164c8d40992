/* SPDX-License-Identifier: MIT */
#include "spool_record.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What of a job has a fixed size. The texts and the payload follow, each with its length before it. */
struct fixed {
    int64_t at_ms, limit_ms, unique_ms;
    int32_t priority, unique;
    uint32_t version, max_errors;
};

enum {
    TEXTS = 4
};
#define NO_TEXT UINT32_MAX

struct writer {
    char *bytes; /* NULL: only counts */
    size_t length;
};

static void write_bytes(struct writer *to, const void *bytes, size_t length)
{
    if (to->bytes != NULL && length > 0)
        memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void write_text(struct writer *to, const char *text)
{
    uint32_t length = text != NULL ? (uint32_t)strlen(text) : NO_TEXT;
    write_bytes(to, &length, sizeof length);
    if (text != NULL)
        write_bytes(to, text, length + 1); /* with its zero, so that readers can point into the record */
}

static void write_jobs(struct writer *to, const struct vg_jobs_new *all, size_t count, int64_t now_ms)
{
    uint64_t number = count;
    write_bytes(to, &number, sizeof number);
    for (size_t i = 0; i < count; i++) {
        const struct vg_jobs_new *job = &all[i];
        int64_t at = job->delay_ms > 0 ? now_ms + job->delay_ms : 0;
        struct fixed fixed = {.at_ms = at > job->at_ms ? at : job->at_ms,
                              .limit_ms = job->limit_ms,
                              .unique_ms = job->unique_ms,
                              .priority = job->priority,
                              .unique = job->unique,
                              .version = job->version,
                              .max_errors = job->max_errors};
        uint64_t length = job->length;
        write_bytes(to, &fixed, sizeof fixed);
        write_text(to, job->kind);
        write_text(to, job->content_type);
        write_text(to, job->key);
        write_text(to, job->tenant);
        write_bytes(to, &length, sizeof length);
        write_bytes(to, job->payload, job->length);
    }
}

uint64_t vg_jobs_spool_sum(uint64_t number, const void *body, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325U ^ number; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ ((const unsigned char *)body)[i]) * 0x100000001b3U;
    return hash;
}

void *vg_jobs_spool_pack(uint64_t number, const struct vg_jobs_new *all, size_t count, size_t *size)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    struct writer measure = {0};
    write_jobs(&measure, all, count, now_ms);
    struct vg_jobs_spool_head head = {
        .magic = VG_JOBS_SPOOL_MAGIC, .length = (uint32_t)measure.length, .number = number};
    char *record = measure.length < UINT32_MAX ? malloc(sizeof head + measure.length) : NULL;
    if (record == NULL)
        return NULL;
    struct writer to = {.bytes = record + sizeof head};
    write_jobs(&to, all, count, now_ms);
    head.sum = vg_jobs_spool_sum(number, record + sizeof head, to.length);
    memcpy(record, &head, sizeof head);
    *size = sizeof head + to.length;
    return record;
}

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static const void *read_bytes(struct reader *from, size_t length)
{
    const void *bytes = from->at;
    if (from->bad || length > from->left) {
        from->bad = true;
        return NULL;
    }
    from->at += length;
    from->left -= length;
    return bytes;
}

static void read_into(struct reader *from, void *to, size_t length)
{
    const void *bytes = read_bytes(from, length);
    memset(to, 0, length);
    if (bytes != NULL)
        memcpy(to, bytes, length);
}

static const char *read_text(struct reader *from)
{
    uint32_t length;
    read_into(from, &length, sizeof length);
    if (length == NO_TEXT)
        return NULL;
    const char *text = read_bytes(from, (size_t)length + 1);
    from->bad = from->bad || text[length] != '\0';
    return from->bad ? NULL : text;
}

struct vg_jobs_new *vg_jobs_spool_unpack(const void *body, size_t length, size_t *count)
{
    struct reader from = {.at = body, .left = length};
    uint64_t number;
    read_into(&from, &number, sizeof number);
    *count = 0;
    if (from.bad || number == 0 || number > length / sizeof(struct fixed))
        return NULL;
    struct vg_jobs_new *all = calloc(number, sizeof *all);
    if (all == NULL)
        return NULL;
    for (uint64_t i = 0; i < number; i++) {
        struct fixed fixed;
        uint64_t payload;
        read_into(&from, &fixed, sizeof fixed);
        const char *texts[TEXTS];
        for (int t = 0; t < TEXTS; t++)
            texts[t] = read_text(&from);
        read_into(&from, &payload, sizeof payload);
        all[i] = (struct vg_jobs_new){.kind = texts[0],
                                      .content_type = texts[1],
                                      .key = texts[2],
                                      .tenant = texts[3],
                                      .payload = read_bytes(&from, payload),
                                      .length = payload,
                                      .priority = fixed.priority,
                                      .at_ms = fixed.at_ms,
                                      .limit_ms = fixed.limit_ms,
                                      .unique_ms = fixed.unique_ms,
                                      .unique = fixed.unique,
                                      .version = fixed.version,
                                      .max_errors = fixed.max_errors};
        from.bad = from.bad || all[i].kind == NULL;
    }
    *count = number;
    if (!from.bad)
        return all;
    free(all);
    *count = 0;
    return NULL;
}
