/* SPDX-License-Identifier: MIT */
/* plain.h - the floor: a plain table, and a loop that deletes what it has claimed and claims as many again, in one
   transaction. */
#ifndef BENCH_JOBS_PLAIN_H
#define BENCH_JOBS_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* What the engines need besides the library; the other engine's file has the same with another prefix. */
struct plain_result {
    uint64_t done;
    double seconds, cpu;
};

/* Run `count` jobs in batches. Without leases, priorities and history: what nobody can do faster with the same
   durability. */
struct plain_result plain_sqlite(const char *where, uint64_t count, int batch);
struct plain_result plain_pq(const char *where, uint64_t count, int batch);

/* Put rows straight into the tables of the queue: waiting ones or ended ones. */
void fill_sqlite(const char *where, uint64_t rows, bool ended);
void fill_pq(const char *where, uint64_t rows, bool ended);

/* A foreign transaction with a snapshot, open until it is given back. */
void *foreign_begin(const char *where);
void foreign_end(void *connection);

uint64_t bench_now_ns(void);
double bench_cpu_seconds(void);

#endif
