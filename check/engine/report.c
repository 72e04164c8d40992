/* SPDX-License-Identifier: MIT */
/* Counterexamples: the trace of one execution as a table, and schedules as
 * strings. */
#include "internal.h"
#include "state.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *__real_malloc(size_t size);

struct trace_line *trace_add(uint8_t kind, const void *pc)
{
    if (G.trace_count >= MAX_STEPS * 2)
        G.trace_count--;
    struct trace_line *t = &G.trace[G.trace_count++];
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->pc = pc;
    t->thread = G.current;
    return t;
}

bool vgc_noting(void)
{
    return G.tracing;
}

void vgc_note_text(const char *format, ...)
{
    struct trace_line *t = trace_add(OP_NOTE, __builtin_return_address(0));
    va_list list;
    va_start(list, format);
    vsnprintf(t->text, sizeof t->text, format, list);
    va_end(list);
}

static const char *order_name(int order)
{
    static const char *const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return order >= 0 && order <= 5 ? names[order] : "?";
}

void value_text(uint64_t value, int size, char *text, size_t room)
{
    int64_t number =
        size == 8 ? (int64_t)value : (size == 4 ? (int32_t)value : (size == 2 ? (int16_t)value : (int64_t)value));
    if (number > -100000 && number < 100000) {
        snprintf(text, room, "%lld", (long long)number);
    } else if (size == 8 && cell_at((uintptr_t)value) != NULL) {
        text[0] = '&';
        describe_address((uintptr_t)value, text + 1, room - 1);
    } else {
        snprintf(text, room, "0x%llx", (unsigned long long)value);
    }
}

static void line_text(const struct trace_line *t, char *out, size_t room)
{
    char where[120] = "", what[96], got[96], put[96];
    if (t->pc != NULL)
        describe_pc(t->pc, where, sizeof where);
    describe_address(t->address, what, sizeof what);
    value_text(t->got, t->size, got, sizeof got);
    value_text(t->put, t->size, put, sizeof put);
    const char *extra = t->text[0] ? "; " : "";
    switch (t->kind) {
    case OP_LOAD:
        snprintf(out, room, "%s: load %s %s = %s%s%s%s", where, what, order_name(t->order), got, t->old ? " (OLD)" : "",
                 extra, t->text);
        break;
    case OP_STORE:
        snprintf(out, room, "%s: store %s %s := %s%s%s", where, what, order_name(t->order), put, extra, t->text);
        break;
    case OP_RMW:
        snprintf(out, room, "%s: rmw %s %s %s -> %s%s%s", where, what, order_name(t->order), got, put, extra, t->text);
        break;
    case OP_CAS:
        if (t->wrote)
            snprintf(out, room, "%s: cas %s %s %s -> %s%s%s", where, what, order_name(t->order), got, put, extra,
                     t->text);
        else
            snprintf(out, room, "%s: cas %s %s fails, is %s%s%s%s", where, what, order_name(t->order), got,
                     t->old ? " (OLD)" : "", extra, t->text);
        break;
    case OP_FENCE:
        snprintf(out, room, "%s: fence %s", where, order_name(t->order));
        break;
    case OP_MEMBARRIER:
        snprintf(out, room, "%s: membarrier", where);
        break;
    case OP_FUTEX_WAIT:
        snprintf(out, room, "%s: futex wait %s is %s, expected %s%s%s", where, what, got, put, extra, t->text);
        break;
    case OP_FUTEX_WAKE:
        snprintf(out, room, "%s: futex wake %s%s%s", where, what, extra, t->text);
        break;
    case OP_RESUME:
        snprintf(out, room, "%s: futex wait %s %s", where, what, t->text);
        break;
    case OP_LOCK:
        snprintf(out, room, "%s: lock %s%s%s", where, what, extra, t->text);
        break;
    case OP_TRYLOCK:
        snprintf(out, room, "%s: try %s%s%s", where, what, extra, t->text);
        break;
    case OP_UNLOCK:
        snprintf(out, room, "%s: unlock %s", where, what);
        break;
    case OP_COND_WAIT:
        snprintf(out, room, "%s: wait on condition %s%s%s", where, what, extra, t->text);
        break;
    case OP_COND_WAKE:
        snprintf(out, room, "%s: signal condition %s%s%s", where, what, extra, t->text);
        break;
    case OP_SEM_WAIT:
        snprintf(out, room, "%s: semaphore wait %s%s%s", where, what, extra, t->text);
        break;
    case OP_SEM_POST:
        snprintf(out, room, "%s: semaphore post %s", where, what);
        break;
    case OP_READ_LOCK:
        snprintf(out, room, "%s: read lock %s%s%s", where, what, extra, t->text);
        break;
    case OP_WRITE_LOCK:
        snprintf(out, room, "%s: write lock %s%s%s", where, what, extra, t->text);
        break;
    case OP_RW_UNLOCK:
        snprintf(out, room, "%s: unlock read-write lock %s", where, what);
        break;
    case OP_ONCE:
        snprintf(out, room, "%s: once %s begins, or is done", where, what);
        break;
    case OP_ONCE_DONE:
        snprintf(out, room, "%s: once %s is done", where, what);
        break;
    case OP_BARRIER:
        snprintf(out, room, "%s: arrives at barrier %s", where, what);
        break;
    case OP_DESTROY:
        snprintf(out, room, "%s: destroys %s", where, what);
        break;
    case OP_HEAP:
        snprintf(out, room, "%s: %s", where, t->text);
        break;
    case OP_QUIESCE:
        snprintf(out, room, "%s: quiesce: nobody else can move", where);
        break;
    case OP_SLEEP:
        snprintf(out, room, "%s: sleep is over", where);
        break;
    case OP_FREE:
        snprintf(out, room, "%s: free %s", where, what);
        break;
    case OP_NOTE:
        snprintf(out, room, "-- %s", t->text);
        break;
    default:
        snprintf(out, room, "%s: %s", where, t->text);
        break;
    }
}

enum {
    TABLE_WIDTH = 150,
    MIN_COLUMN = 28
};

/* Prints text in column `column` of `columns`, wrapped at the column's width.
 */
static void print_cell(int step, int column, int columns, int width, const char *text)
{
    size_t length = strlen(text), at = 0;
    bool first = true;
    while (at < length || first) {
        size_t room = (size_t)width - (first ? 0 : 2), take = length - at;
        if (take > room) {
            take = room;
            while (take > room / 2 && text[at + take] != ' ' && text[at + take - 1] != ' ')
                take--;
        }
        if (first)
            printf("%5d |", step);
        else
            printf("      |");
        for (int c = 0; c < columns; c++) {
            if (c == column)
                printf(" %s%-*.*s|", first ? "" : "  ", width - (first ? 0 : 2), (int)take, text + at);
            else
                printf(" %-*s|", width, "");
        }
        printf("\n");
        at += take;
        while (at < length && text[at] == ' ')
            at++;
        first = false;
    }
}

void print_counterexample(void)
{
    const void **pcs = map_pages(sizeof(void *) * MAX_STEPS * 2);
    for (uint32_t i = 0; i < G.trace_count; i++)
        pcs[i] = G.trace[i].pc;
    for (uint32_t i = 0; i < G.trace_count; i += 2048)
        symbols_resolve(pcs + i, G.trace_count - i < 2048 ? G.trace_count - i : 2048);
    munmap(pcs, sizeof(void *) * MAX_STEPS * 2);
    int columns = G.thread_count, width = TABLE_WIDTH / (columns > 0 ? columns : 1) - 2;
    if (width < MIN_COLUMN)
        width = MIN_COLUMN;
    printf(" step |");
    for (int c = 0; c < columns; c++)
        printf(" t%-*d|", width - 1, c);
    printf("\n------|");
    for (int c = 0; c < columns; c++) {
        for (int k = 0; k <= width; k++)
            putchar('-');
        putchar('|');
    }
    printf("\n");
    for (uint32_t i = 0; i < G.trace_count; i++) {
        char text[512];
        line_text(&G.trace[i], text, sizeof text);
        print_cell((int)i + 1, G.trace[i].thread, columns, width, text);
    }
    if (G.result->verdict != VGC_PASS)
        printf("FOUND %s: %s\n", vgc_finding_name(G.result->verdict), G.result->message);
}

/*
 * Schedules: a letter is a thread (a is t0), a number behind it says how many
 * steps in a row it makes; ".n" is the choice n that was made, with ".nxm" for
 * m equal ones in a row. Everything after the end is decided by default.
 */
char *schedule_string(void)
{
    size_t room = (size_t)G.node_count * 12 + 16, length = 0;
    char *text = __real_malloc(room);
    text[0] = 0;
    for (uint32_t i = 0; i < G.node_count;) {
        const struct node *n = &G.nodes[i];
        uint32_t run = 1;
        while (i + run < G.node_count && G.nodes[i + run].is_choice == n->is_choice &&
               G.nodes[i + run].taken == n->taken)
            run++;
        if (n->is_choice && run > 1)
            length += (size_t)snprintf(text + length, room - length, ".%dx%u", n->taken, run);
        else if (n->is_choice)
            length += (size_t)snprintf(text + length, room - length, ".%d", n->taken);
        else if (run > 1)
            length += (size_t)snprintf(text + length, room - length, "%c%u", 'a' + n->taken, run);
        else
            length += (size_t)snprintf(text + length, room - length, "%c", 'a' + n->taken);
        i += run;
    }
    return text;
}

static uint32_t number_at(const char **p)
{
    uint32_t n = 0;
    while (**p >= '0' && **p <= '9' && n < 1000000)
        n = n * 10 + (uint32_t)(*(*p)++ - '0');
    return n;
}

bool schedule_parse(const char *text)
{
    G.node_count = 0;
    for (const char *p = text; *p != 0;) {
        struct node n = {0};
        uint32_t run = 1;
        if (*p == '.') {
            p++;
            if (*p < '0' || *p > '9')
                return false;
            n.is_choice = 1;
            n.taken = (uint8_t)number_at(&p);
            if (*p == 'x') {
                p++;
                run = number_at(&p);
            }
        } else if (*p >= 'a' && *p < 'a' + MAX_THREADS) {
            n.taken = (uint8_t)(*p++ - 'a');
            if (*p >= '0' && *p <= '9')
                run = number_at(&p);
        } else {
            return false;
        }
        if (run > MAX_STEPS * 2 - G.node_count)
            return false;
        while (run-- > 0)
            G.nodes[G.node_count++] = n;
    }
    return true;
}

const char *vgc_finding_name(enum vgc_finding finding)
{
    static const char *const names[] = {"pass",           "assertion",   "deadlock",  "data race",
                                        "use after free", "double free", "leak",      "endless loop",
                                        "crash",          "misuse",      "truncated", "incomplete"};
    return (unsigned)finding < VGC_FINDINGS ? names[finding] : "?";
}

const char *vgc_mode_name(enum vgc_mode mode)
{
    static const char *const names[] = {"dpor", "full", "preempt", "stateful", "pct", "random"};
    return (unsigned)mode < VGC_MODES ? names[mode] : "?";
}
