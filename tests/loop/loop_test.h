/* SPDX-License-Identifier: MIT */
/*
 * loop_test.h - what the tests of the loop share. Numbers like T3 in their comments are those of docs/loop.md.
 */
#ifndef VG_TEST_LOOP_H
#define VG_TEST_LOOP_H

#include "support.h"

#include <vigil/loop.h>

static inline vigil_loop *loop_with(const vigil_loop_options *options)
{
    vigil_loop *loop = NULL;
    must_equal(vigil_loop_create(&loop, options), 0);
    return loop;
}

static inline vigil_loop *loop_plain(void)
{
    return loop_with(NULL);
}

static inline vigil_loop *loop_that_stays(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    return loop_with(&options);
}

static inline vigil_loop_stats loop_stats(vigil_loop *loop)
{
    vigil_loop_stats stats = {.size = sizeof stats};
    must_equal(vigil_loop_stats_get(loop, &stats), 0);
    return stats;
}

/* A thread that runs a loop until it ends. */
static inline void *loop_runner(void *loop)
{
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    return NULL;
}

static inline void loop_wait_sleeping(vigil_loop *loop)
{
    while (vigil_loop_state_get(loop) != VIGIL_LOOP_SLEEPING)
        yield();
}

/* Things that happened, in order: one letter each. */
struct journal {
    char text[256];
    size_t length;
};

static inline void journal_add(struct journal *journal, char letter)
{
    must(journal->length + 1 < sizeof journal->text);
    journal->text[journal->length++] = letter;
    journal->text[journal->length] = '\0';
}

#define must_read(journal, expected) support_text((journal)->text, expected, __FILE__, __LINE__)

static inline void support_text(const char *text, const char *expected, const char *file, int line)
{
    if (strcmp(text, expected) == 0)
        return;
    fprintf(stderr, "\"%s\" is not \"%s\"\n", text, expected);
    support_fail("the order", file, line);
}

#endif
