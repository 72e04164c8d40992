/* SPDX-License-Identifier: MIT */
/* Reading, writing and running litmus programs. This file is compiled for the
 * checker: its atomics are the ones that are tested. */
#include "litmus.h"
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vigil_check.h>

static const char *const order_names[] = {"rlx", "acq", "rel", "ar", "sc", "none", "?"};
static const char location_names[] = "xyzw";

static bool parse_order(const char *text, enum lit_order *order)
{
    for (int i = 0; i <= LIT_SLOT; i++)
        if (strncmp(text, order_names[i], strlen(order_names[i])) == 0) {
            *order = (enum lit_order)i;
            return true;
        }
    return false;
}

static bool parse_location(struct lit_program *p, char name, int *location)
{
    const char *at = name != 0 ? strchr(location_names, name) : NULL;
    if (at == NULL)
        return false;
    *location = (int)(at - location_names);
    if (*location >= p->locations)
        p->locations = *location + 1;
    return true;
}

static bool parse_statement(struct lit_program *p, const char *text, struct lit_op *op)
{
    memset(op, 0, sizeof *op);
    op->reg = -1;
    if (strncmp(text, "MB", 2) == 0) {
        op->kind = LIT_MEMBARRIER;
        return true;
    }
    const char *at = strchr(text, '@'), *equals = strchr(text, '=');
    if (at == NULL || !parse_order(at + 1, &op->order))
        return false;
    if (text[0] == 'F') {
        op->kind = LIT_FENCE;
        return true;
    }
    if (equals == NULL)
        return false;
    if (text[0] != 'r') {
        op->kind = LIT_STORE;
        op->value = atoi(equals + 1);
        return parse_location(p, text[0], &op->location);
    }
    op->reg = text[1] - '0';
    if (op->reg < 0 || op->reg >= LIT_REGISTERS)
        return false;
    if (op->reg >= p->registers)
        p->registers = op->reg + 1;
    op->kind = equals[2] == '+' ? LIT_ADD : (equals[2] == ':' ? LIT_EXCHANGE : LIT_LOAD);
    op->value = op->kind == LIT_LOAD ? 0 : atoi(equals + 3);
    return parse_location(p, equals[1], &op->location);
}

bool lit_parse(const char *text, struct lit_program *p)
{
    memset(p, 0, sizeof *p);
    p->threads = 1;
    while (*text != 0) {
        if (*text == ' ' || *text == ';') {
            text++;
        } else if (*text == '|') {
            text += 2;
            p->threads++;
        } else {
            int t = p->threads - 1;
            if (p->threads > LIT_THREADS || p->count[t] == LIT_OPS || !parse_statement(p, text, &p->op[t][p->count[t]]))
                return false;
            p->count[t]++;
            text += strcspn(text, ";|");
        }
    }
    return true;
}

void lit_print(const struct lit_program *p, char *out, size_t room)
{
    size_t n = 0;
    out[0] = 0;
    for (int t = 0; t < p->threads; t++) {
        bool first = true;
        for (int i = 0; i < p->count[t]; i++) {
            const struct lit_op *o = &p->op[t][i];
            if (o->kind == LIT_FENCE && o->order == LIT_NONE)
                continue;
            if (n + 32 > room)
                return;
            n += (size_t)snprintf(out + n, room - n, "%s", first ? (t > 0 ? " || " : "") : "; ");
            first = false;
            char l = location_names[o->location];
            const char *order = order_names[o->order];
            switch (o->kind) {
            case LIT_STORE:
                n += (size_t)snprintf(out + n, room - n, "%c=%d@%s", l, o->value, order);
                break;
            case LIT_LOAD:
                n += (size_t)snprintf(out + n, room - n, "r%d=%c@%s", o->reg, l, order);
                break;
            case LIT_ADD:
                n += (size_t)snprintf(out + n, room - n, "r%d=%c+%d@%s", o->reg, l, o->value, order);
                break;
            case LIT_EXCHANGE:
                n += (size_t)snprintf(out + n, room - n, "r%d=%c:%d@%s", o->reg, l, o->value, order);
                break;
            case LIT_FENCE:
                n += (size_t)snprintf(out + n, room - n, "F@%s", order);
                break;
            case LIT_MEMBARRIER:
                n += (size_t)snprintf(out + n, room - n, "MB");
                break;
            }
        }
    }
}

void lit_outcome_text(const struct lit_program *p, const int *registers, const int *memory, char *out)
{
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < p->registers; i++)
        n += (size_t)snprintf(out + n, LIT_TEXT - n, "%sr%d=%d", n ? " " : "", i, registers[i]);
    for (int i = 0; i < p->locations; i++)
        n += (size_t)snprintf(out + n, LIT_TEXT - n, "%s%c=%d", n ? " " : "", location_names[i], memory[i]);
}

void lit_add(struct lit_outcomes *set, const char *text)
{
    if (!lit_has(set, text) && set->count < LIT_OUTCOMES)
        snprintf(set->text[set->count++], LIT_TEXT, "%s", text);
}

bool lit_has(const struct lit_outcomes *set, const char *text)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->text[i], text) == 0)
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

void lit_sort(struct lit_outcomes *set)
{
    qsort(set->text, set->count, LIT_TEXT, by_text);
}

/* ---- under the checker ---- */

static const struct lit_program *program;
static _Atomic int memory[LIT_LOCATIONS];
static int registers[LIT_REGISTERS];

/* The order is an argument of the operation only if the compiler sees a
 * constant. */
#define WITH_ORDER(order, call)     \
    switch (order) {                \
    case LIT_RLX:                   \
        call(memory_order_relaxed); \
        break;                      \
    case LIT_ACQ:                   \
        call(memory_order_acquire); \
        break;                      \
    case LIT_REL:                   \
        call(memory_order_release); \
        break;                      \
    case LIT_AR:                    \
        call(memory_order_acq_rel); \
        break;                      \
    default:                        \
        call(memory_order_seq_cst); \
        break;                      \
    }

static void run_load(const struct lit_op *o, int *got)
{
    _Atomic int *l = &memory[o->location];
    switch (o->order) {
    case LIT_RLX:
        *got = atomic_load_explicit(l, memory_order_relaxed);
        break;
    case LIT_ACQ:
        *got = atomic_load_explicit(l, memory_order_acquire);
        break;
    default:
        *got = atomic_load_explicit(l, memory_order_seq_cst);
        break;
    }
}

static void run_store(const struct lit_op *o)
{
    _Atomic int *l = &memory[o->location];
    switch (o->order) {
    case LIT_RLX:
        atomic_store_explicit(l, o->value, memory_order_relaxed);
        break;
    case LIT_REL:
        atomic_store_explicit(l, o->value, memory_order_release);
        break;
    default:
        atomic_store_explicit(l, o->value, memory_order_seq_cst);
        break;
    }
}

static void run_op(const struct lit_op *o)
{
    int got = 0;
    _Atomic int *l = &memory[o->location];
    switch (o->kind) {
    case LIT_STORE:
        run_store(o);
        return;
    case LIT_LOAD:
        run_load(o, &got);
        break;
    case LIT_ADD:
#define CALL(order) got = atomic_fetch_add_explicit(l, o->value, order)
        WITH_ORDER(o->order, CALL)
#undef CALL
        break;
    case LIT_EXCHANGE:
#define CALL(order) got = atomic_exchange_explicit(l, o->value, order)
        WITH_ORDER(o->order, CALL)
#undef CALL
        break;
    case LIT_FENCE:
        if (o->order != LIT_NONE)
            WITH_ORDER(o->order, atomic_thread_fence)
        return;
    case LIT_MEMBARRIER:
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        return;
    }
    registers[o->reg] = got; /* each register belongs to one thread */
}

static void *run_thread(void *arg)
{
    int t = (int)(intptr_t)arg;
    for (int i = 0; i < program->count[t]; i++)
        run_op(&program->op[t][i]);
    return NULL;
}

void lit_body(void)
{
    pthread_t handle[LIT_THREADS];
    int final[LIT_LOCATIONS];
    char text[LIT_TEXT];
    program = vgc_arg();
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    for (int t = 0; t < program->threads; t++)
        handle[t] = vgc_thread_start(run_thread, (void *)(intptr_t)t);
    for (int t = 0; t < program->threads; t++)
        vgc_thread_join(handle[t]);
    for (int i = 0; i < program->locations; i++)
        final[i] = atomic_load_explicit(&memory[i], memory_order_relaxed);
    lit_outcome_text(program, registers, final, text);
    vgc_outcome("%s", text);
}
