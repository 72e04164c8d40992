/* SPDX-License-Identifier: MIT */
/*
 * vigil/record.h - the recorder: what a process shows of itself, to itself and to others.
 *
 * Pools and loops count what they do, always. By default they also keep those counters, the states
 * of their threads, latency histograms and the last few thousand events of each thread in one file
 * that is mapped into memory, so that another process (the `vigil` command) can look at this one
 * at any time: while it runs, while it is wedged or stopped, and after it was killed. Nothing is
 * ever written out; the kernel keeps the pages.
 *
 *   Where   PID-NONCE in $VIGIL_DIR, else $XDG_RUNTIME_DIR/vigil, else /dev/shm/vigil-UID, else
 *           /tmp/vigil-UID, else, if others have taken these names, vigil-UID.1 and so on. In
 *           memory, that is, where there is such a place: a file on a disk works, but costs time
 *           when the kernel writes it out. The directory and the file belong to the user of the
 *           process; a directory that others may write to is not used; nobody else can read the
 *           file.
 *   When    the recorder is made with the first pool or loop, and goes, with its file, when the
 *           last one is destroyed. A process that is killed, crashes or exits without destroying
 *           them leaves the file behind; of these the newest 16 in the directory are kept. The
 *           child of a fork never writes to its parent's file; it gets its own with its first pool
 *           or loop, or with vigil_loop_fork.
 *   Size    about 200 KB, and for each worker 1.3 KB, 65 KB of histograms (64 workers and more
 *           share), 128 KB of events and 19 KB of its last minute; for each loop that has had a
 *           stream 48 KB, which hold 254 streams. All of it is reserved
 *           beforehand, so a disk that fills up later harms nobody. At max_bytes new objects are
 *           left out of the file (and counted); they work all the same. The same when the disk is
 *           full or cannot be written: the process runs on without the file, and says so once
 *           through the log hook.
 *   Cost    at most one look at the clock and two events for each task that is submitted. What a
 *           task spawns and then runs itself is part of that task: it is counted, not recorded.
 *
 * This is the one process-wide object of the library. VIGIL_RECORD=off|counters|events in the
 * environment decides over everything that the program says.
 */
#ifndef VIGIL_RECORD_H
#define VIGIL_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vigil_record_level {
    VIGIL_RECORD_DEFAULT = 0, /* EVENTS */
    /* no file; only the counters that vigil_pool_stats_get and vigil_loop_stats_get show */
    VIGIL_RECORD_OFF = 1,
    /* the file, with counters, states, what runs since when, and histograms */
    VIGIL_RECORD_COUNTERS = 2,
    VIGIL_RECORD_EVENTS = 3 /* and each thread's last events */
} vigil_record_level;

/* Start from VIGIL_RECORD_OPTIONS_INIT; zero means the default for every field. */
typedef struct vigil_record_options {
    size_t size; /* set by the _INIT macro */
    vigil_record_level level;
    const char *directory; /* instead of the places above; must exist or be creatable; copied */
    uint64_t max_bytes;    /* the file grows no larger; 0: 64 MB; at least 1 MB */
    /* kept of each thread, rounded up to a power of two; 0: 4096; at most 1048576 */
    unsigned ring_events;
    void (*log)(void *user,
                /* what the user should know, one line without a newline. Any thread of the
                   process, inside a call of the library; must not call it */
                const char *text);
    void *user;
} vigil_record_options;
#define VIGIL_RECORD_OPTIONS_INIT VG_SIZED(vigil_record_options)

/* Choose, before the first pool or loop, or after the last. NULL: the defaults again. Any
   thread; does not block.
   0; -EINVAL; -EBUSY there are pools or loops; -ENAMETOOLONG. */
VIGIL_API int vigil_record_configure(const vigil_record_options *options);

/* The path of the file, cut at `room`. Any thread; does not block.
   Returns the length that the whole has; -ENOENT there is none: the recorder is off, could not
   make one, or there is no pool or loop. */
VIGIL_API int vigil_record_path(char *path, size_t room);

typedef struct vigil_record_stats {
    size_t size;
    vigil_record_level level; /* in force; OFF also when there is no pool or loop */
    uint64_t file_bytes;      /* 0: there is no file */
    uint64_t left_out;        /* pools, loops and threads that the file has no room for */
    uint64_t threads;         /* that have a ring of events now */
    uint64_t events;          /* written by these */
    uint64_t dropped;         /* events of threads that have no ring */
    uint64_t names;           /* functions with a name */
} vigil_record_stats;
#define VIGIL_RECORD_STATS_INIT VG_SIZED(vigil_record_stats)

/* Fill *stats, which starts from VIGIL_RECORD_STATS_INIT. Any thread; waits for nobody but
   another such call.
   0; -EINVAL. */
VIGIL_API int vigil_record_stats_get(vigil_record_stats *stats);

/* Give a function (of a task, a callback) the name that viewers show instead of its symbol: for
   functions that serve many purposes, or have no symbol. The name is copied, and cut at 55
   bytes; a second one for a function replaces the first. Names last for the life of the process,
   whether there is a pool or loop or not. Any thread; blocks shortly.
   0; -EINVAL; -ENOSPC 1024 functions have names; -ENOMEM. */
VIGIL_API int vigil_record_name(void (*function)(void), const char *name);
#define VIGIL_RECORD_NAME(function, name) vigil_record_name((void (*)(void))(function), (name))

/* Write an event of your own into the calling thread's ring: a name, of which 14 bytes are kept,
   and a number. Any thread; does not block.
   0; -EINVAL; -ENOENT the level is not EVENTS, or there is no pool or loop; -EAGAIN it was
   dropped: this thread has no ring. */
VIGIL_API int vigil_record_mark(const char *name, uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
