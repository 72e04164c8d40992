/* SPDX-License-Identifier: MIT */
/* plain_none.c - in place of plain_pq.c where libpq is missing: the library refuses such a queue before these are
   called. */
#include <stdlib.h>

#include "plain.h"

struct plain_result plain_pq(const char *where, uint64_t count, int batch)
{
    (void)where, (void)count, (void)batch;
    exit(1);
}

void fill_pq(const char *where, uint64_t rows, bool ended)
{
    (void)where, (void)rows, (void)ended;
    exit(1);
}

void *foreign_begin(const char *where)
{
    (void)where;
    exit(1);
}

void foreign_end(void *connection)
{
    (void)connection;
}
