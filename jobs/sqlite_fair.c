/* SPDX-License-Identifier: MIT */
/*
 * sqlite_fair.c - claims of kinds whose tenants take turns.
 *
 * The tenants of a class stand in a ring, by name; jobs without a tenant have a place in it too. A claim begins after
 * the tenant that was served last and takes one job of each in the first round, then two, then four, until it has
 * enough or has seen all: a claim that gives fewer than wanted has left nothing that may start.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite.h"

/* Tenants that gave a full share and may have more. */
struct ring {
    char **names;
    size_t count, room;
};

static int remember(struct ring *ring, const char *name)
{
    if (ring->count == ring->room) {
        size_t room = ring->room * 2 + 16;
        char **names = realloc(ring->names, room * sizeof *names);
        if (names == NULL)
            return -ENOMEM;
        ring->names = names;
        ring->room = room;
    }
    ring->names[ring->count] = strdup(name);
    return ring->names[ring->count++] != NULL ? 0 : -ENOMEM;
}

static void forget(struct ring *ring)
{
    for (size_t i = 0; i < ring->count; i++)
        free(ring->names[i]);
    free(ring->names);
}

static void bind_names(sqlite3_stmt *statement, const char *kind, const char *tenant)
{
    (void)sqlite3_bind_text(statement, 1, kind, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 2, tenant, -1, SQLITE_STATIC);
}

/* How many jobs of the tenant may start now, at most `wanted`. Negative: error. */
static int64_t tenant_allowance(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, const char *tenant,
                                int64_t wanted, double *tokens)
{
    const struct vg_jobs_kind_want *kind = &turn->want->kinds[turn->kind];
    if (kind->tenant_cap != 0) {
        sqlite3_stmt *running = vg_jobs_sqlite_get(conn, VG_SQL_TENANT_RUNNING);
        if (running == NULL)
            return -ENOTCONN;
        bind_names(running, kind->name, tenant);
        int64_t now_running = sqlite3_step(running) == SQLITE_ROW ? sqlite3_column_int64(running, 0) : kind->tenant_cap;
        (void)sqlite3_reset(running);
        int64_t room = now_running < kind->tenant_cap ? kind->tenant_cap - now_running : 0;
        wanted = wanted < room ? wanted : room;
    }
    if (kind->tenant_rate != 0) {
        sqlite3_stmt *bucket = vg_jobs_sqlite_get(conn, VG_SQL_TENANT_TOKENS);
        if (bucket == NULL)
            return -ENOTCONN;
        bind_names(bucket, kind->name, tenant);
        *tokens = kind->tenant_rate;
        if (sqlite3_step(bucket) == SQLITE_ROW) {
            int64_t passed = turn->now - sqlite3_column_int64(bucket, 1);
            *tokens = sqlite3_column_double(bucket, 0) + (double)(passed > 0 ? passed : 0) * kind->tenant_rate / 1000;
            if (*tokens > kind->tenant_rate)
                *tokens = kind->tenant_rate;
        }
        (void)sqlite3_reset(bucket);
        if ((double)wanted > *tokens)
            wanted = *tokens >= 1 ? (int64_t)*tokens : 0;
    }
    return wanted;
}

static int spend(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, const char *tenant, double tokens)
{
    sqlite3_stmt *update = vg_jobs_sqlite_get(conn, VG_SQL_TENANT_SPEND);
    if (update == NULL)
        return -ENOTCONN;
    bind_names(update, turn->want->kinds[turn->kind].name, tenant);
    (void)sqlite3_bind_double(update, 3, tokens);
    (void)sqlite3_bind_int64(update, 4, turn->now);
    return vg_jobs_sqlite_run(conn, update);
}

/* Claim at most `share` jobs of a tenant; "" is nobody. Gives how many. */
static int serve(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, const char *tenant, unsigned share)
{
    const struct vg_jobs_kind_want *kind = &turn->want->kinds[turn->kind];
    double tokens = 0;
    int64_t allowed = tenant[0] != '\0' ? tenant_allowance(conn, turn, tenant, share, &tokens) : share;
    if (allowed <= 0)
        return (int)allowed;
    sqlite3_stmt *peek = vg_jobs_sqlite_get(conn, tenant[0] != '\0' ? VG_SQL_PEEK_TENANT : VG_SQL_PEEK_NOBODY);
    if (peek == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_text(peek, 1, kind->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(peek, 2, turn->class);
    (void)sqlite3_bind_int64(peek, 3, turn->now);
    (void)sqlite3_bind_int64(peek, 4, kind->version != 0 ? kind->version : UINT_MAX);
    (void)sqlite3_bind_int64(peek, 5, allowed);
    if (tenant[0] != '\0')
        (void)sqlite3_bind_text(peek, 6, tenant, -1, SQLITE_STATIC);
    int taken = vg_jobs_sqlite_take_rows(conn, peek, turn, false);
    if (taken > 0 && tenant[0] != '\0' && kind->tenant_rate != 0) {
        int error = spend(conn, turn, tenant, tokens - taken);
        if (error != 0)
            return error;
    }
    if (taken > 0) {
        char *last = strdup(tenant);
        if (last == NULL)
            return -ENOMEM;
        free(conn->turns[turn->kind]);
        conn->turns[turn->kind] = last;
    }
    return taken;
}

/* The first tenant after this name with a waiting job; NULL with *error 0: there is none. The caller frees it. */
static char *next_tenant(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, const char *after, int *error)
{
    sqlite3_stmt *next = vg_jobs_sqlite_get(conn, VG_SQL_NEXT_TENANT);
    char *name = NULL;
    *error = next == NULL ? -ENOTCONN : 0;
    if (next == NULL)
        return NULL;
    (void)sqlite3_bind_text(next, 1, turn->want->kinds[turn->kind].name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(next, 2, turn->class);
    (void)sqlite3_bind_text(next, 3, after, -1, SQLITE_STATIC);
    if (sqlite3_step(next) == SQLITE_ROW) {
        name = strdup((const char *)sqlite3_column_text(next, 0));
        *error = name == NULL ? -ENOMEM : 0;
    }
    (void)sqlite3_reset(next);
    return name;
}

/* The first round: one job of each tenant, from the one after `last` on. */
static int first_round(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, const char *last, unsigned most,
                       struct ring *ring)
{
    unsigned left = most;
    bool wrapped = false;
    char *name = strdup(last);
    int error = name == NULL ? -ENOMEM : 0;
    while (error == 0 && left > 0) {
        char *next = next_tenant(conn, turn, name, &error);
        if (error != 0 || (next == NULL && wrapped) || (next != NULL && wrapped && strcmp(next, last) > 0)) {
            free(next);
            break;
        }
        if (next == NULL) { /* nobody's jobs stand where the ring closes */
            wrapped = true;
            next = strdup("");
        }
        free(name);
        name = next;
        int taken = name == NULL ? -ENOMEM : serve(conn, turn, name, 1);
        error = taken < 0 ? taken : taken > 0 ? remember(ring, name) : 0;
        left -= taken > 0;
    }
    free(name);
    return error != 0 ? error : (int)(most - left);
}

int vg_jobs_sqlite_claim_fair(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, unsigned most)
{
    if (conn->turns == NULL) {
        conn->turns = calloc(turn->want->kind_count, sizeof *conn->turns);
        if (conn->turns == NULL)
            return -ENOMEM;
        conn->turn_count = turn->want->kind_count;
    }
    struct ring ring = {0};
    char *last = strdup(conn->turns[turn->kind] != NULL ? conn->turns[turn->kind] : "");
    int total = last == NULL ? -ENOMEM : first_round(conn, turn, last, most, &ring);
    free(last);
    bool more = total > 0;
    for (unsigned share = 2; more && total >= 0 && (unsigned)total < most; share *= 2) {
        more = false;
        for (size_t i = 0; i < ring.count && total >= 0 && (unsigned)total < most; i++) {
            unsigned left = most - (unsigned)total;
            int taken = serve(conn, turn, ring.names[i], share < left ? share : left);
            total = taken < 0 ? taken : total + taken;
            more = more || taken > 0;
        }
    }
    forget(&ring);
    return total;
}
