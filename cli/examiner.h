/* SPDX-License-Identifier: MIT */
/* examiner.h - `vigil doctor --json` for the page: in a process of its own, so that the server goes on while it
   looks. */
#ifndef CLI_EXAMINER_H
#define CLI_EXAMINER_H

#include <stddef.h>
#include <sys/types.h>

#include <vigil/loop.h>

struct examiner;

/* NULL: no memory. */
struct examiner *examiner_create(vigil_loop *loop);
void examiner_destroy(struct examiner *examiner);

/* The result of an examination that has ended since the last call; it is valid until the next call. NULL: there is none
   yet, and an examination is in progress. *size is 0 after a failure. */
const char *examiner_ask(struct examiner *examiner, pid_t pid, size_t *size);

#endif
