/* SPDX-License-Identifier: MIT */
/* A directory of its own for each test's recorder files, a child process to look at, and what the reader says of it. */
#ifndef VG_WATCH_TEST_H
#define VG_WATCH_TEST_H

#include "support.h"

#include "reader/reader.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vigil/loop.h>
#include <vigil/record.h>

static char own_directory[64];

static inline int begin_in_directory(void **state)
{
    (void)snprintf(own_directory, sizeof own_directory, "/tmp/vigil-test-XXXXXX");
    must(mkdtemp(own_directory) != NULL);
    must_equal(setenv("VIGIL_DIR", own_directory, 1), 0);
    must_equal(unsetenv("VIGIL_RECORD"), 0);
    must_equal(vigil_record_configure(NULL), 0);
    return support_begin(state);
}

static inline unsigned files_in_directory(void)
{
    DIR *listing = opendir(own_directory);
    must(listing != NULL);
    unsigned count = 0;
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL)
        count += entry->d_name[0] != '.';
    must_equal(closedir(listing), 0);
    return count;
}

static inline int end_in_directory(void **state)
{
    DIR *listing = opendir(own_directory);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing != NULL)
        (void)closedir(listing);
    (void)chmod(own_directory, 0700);
    (void)rmdir(own_directory);
    return support_end(state);
}

#define watch_test(function) cmocka_unit_test_setup_teardown(function, begin_in_directory, end_in_directory)

static inline vg_snapshot *snapshot_of(pid_t pid)
{
    vg_reader *reader = NULL;
    vg_snapshot *snapshot = NULL;
    must_equal(vg_reader_open_pid(&reader, pid), 0);
    must_equal(vg_reader_snapshot(reader, &snapshot), 0);
    vg_reader_close(reader);
    return snapshot;
}

/* Words that parent and child share, to tell each other how far they are. */
struct shared_words {
    struct event ready;
    struct event go;
    struct event more;
    _Atomic uint64_t number;
};

static inline struct shared_words *share_words(void)
{
    struct shared_words *words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(words != MAP_FAILED);
    return words;
}

/* Start body in a child process. */
static inline pid_t start_child(void (*body)(struct shared_words *words), struct shared_words *words)
{
    (void)fflush(NULL);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        body(words);
        _exit(0);
    }
    return child;
}

/* The support's events are futexes of one process; across processes we look. */
static inline void wait_shared(struct event *event)
{
    while (!event_is_set(event))
        yield();
}

static inline int child_status(pid_t child)
{
    int status = 0;
    must_equal(waitpid(child, &status, 0), child);
    return status;
}

#endif
