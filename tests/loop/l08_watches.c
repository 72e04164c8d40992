/* SPDX-License-Identifier: MIT */
/* L8: descriptors: several watches on one, changes from any thread while the loop is blocked, stale events, fds that were closed
   behind the loop's back. F1 to F5 are the invariants of src/loop/watch.c. */
#include "loop_test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static vigil_loop *loop;
static struct journal journal;

static void drain(int fd)
{
    char bytes[64];
    while (read(fd, bytes, sizeof bytes) > 0) {
    }
}

static void make_pair(int pair[2])
{
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
}

static void close_pair(int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

static void poke(int fd)
{
    must_equal(write(fd, "x", 1), 1);
}

struct seen {
    char letter;
    unsigned events;
    int count;
    bool read_it;
    vigil_watch watch;
    bool closed;
};

static void on_event(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    struct seen *seen = arg;
    must_equal(watch.id, seen->watch.id);
    seen->events = events;
    seen->count++;
    if (seen->letter != 0)
        journal_add(&journal, seen->letter);
    if (seen->read_it)
        drain(fd);
}

static void on_closed(void *arg)
{
    struct seen *seen = arg;
    must(!seen->closed);
    seen->closed = true;
}

static void add(struct seen *seen, int fd, unsigned events, unsigned flags)
{
    must_equal(vigil_watch_add(loop, fd, events, flags, on_event, on_closed, seen, &seen->watch), 0);
}

static void several_watches_share_an_fd(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    int pair[2];
    make_pair(pair);
    struct seen reader = {.letter = 'r'};
    struct seen writer = {.letter = 'w'};
    struct seen both = {.letter = 'b', .read_it = true};
    add(&reader, pair[0], VIGIL_FD_READ, 0);
    add(&writer, pair[0], VIGIL_FD_WRITE, 0);
    add(&both, pair[0], VIGIL_FD_READ | VIGIL_FD_WRITE, 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_read(&journal, "wb");
    must_equal(both.events, VIGIL_FD_WRITE);
    poke(pair[1]);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_read(&journal, "wbrwb");
    must_equal(reader.events, VIGIL_FD_READ);
    must_equal(writer.events, VIGIL_FD_WRITE);
    must_equal(both.events, VIGIL_FD_READ | VIGIL_FD_WRITE);
    must_equal(vigil_watch_modify(loop, both.watch, VIGIL_FD_READ), 0);
    must_equal(vigil_watch_remove(loop, writer.watch), 0);
    must_equal(vigil_watch_remove(loop, writer.watch), -ESTALE);
    must_equal(vigil_watch_modify(loop, writer.watch, 0), -ESTALE);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_read(&journal, "wbrwb");
    must(writer.closed);
    must_equal(vigil_watch_remove(loop, reader.watch), 0);
    must_equal(vigil_watch_remove(loop, both.watch), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must(reader.closed && both.closed);
    must_equal(loop_stats(loop).watches_active, 0);
    must_equal(vigil_loop_destroy(loop), 0);
    close_pair(pair);
}

static void level_repeats_and_edge_does_not(void **state)
{
    (void)state;
    loop = loop_plain();
    int pair[2];
    int other[2];
    make_pair(pair);
    make_pair(other);
    struct seen level = {0};
    struct seen edge = {0};
    add(&level, pair[0], VIGIL_FD_READ, 0);
    add(&edge, other[0], VIGIL_FD_READ, VIGIL_WATCH_EDGE);
    poke(pair[1]);
    poke(other[1]);
    for (int i = 0; i < 3; i++)
        must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(level.count, 3);
    must_equal(edge.count, 1);
    poke(other[1]);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(edge.count, 2);
    must_equal(vigil_loop_destroy(loop), 0);
    must(level.closed && edge.closed); /* the end of the loop is the end of its watches */
    close_pair(pair);
    close_pair(other);
}

/* ---- F2: removal inside callbacks -------------------------------------------------------------------------------- */

static struct seen mutual[2];

static void remove_both(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)watch;
    (void)fd;
    (void)events;
    struct seen *seen = arg;
    seen->count++;
    must_equal(vigil_watch_remove(of, mutual[0].watch), 0); /* one is itself, the other may be next in the batch */
    must_equal(vigil_watch_remove(of, mutual[1].watch), 0);
    must(!seen->closed); /* memory is safe until closed() */
}

static void a_callback_removes_itself_and_its_neighbour(void **state)
{
    (void)state;
    loop = loop_plain();
    int first[2];
    int second[2];
    make_pair(first);
    make_pair(second);
    memset(mutual, 0, sizeof mutual);
    must_equal(vigil_watch_add(loop, first[0], VIGIL_FD_READ, 0, remove_both, on_closed, &mutual[0], &mutual[0].watch),
               0);
    must_equal(vigil_watch_add(loop, second[0], VIGIL_FD_READ, 0, remove_both, on_closed, &mutual[1], &mutual[1].watch),
               0);
    poke(first[1]);
    poke(second[1]);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(mutual[0].count + mutual[1].count, 1);
    must(mutual[0].closed && mutual[1].closed);
    must_equal(vigil_loop_destroy(loop), 0);
    close_pair(first);
    close_pair(second);
}

/* ---- F4: the same number again inside a batch -------------------------------------------------------------------- */

static int old_fd;
static int new_pair[2];
static struct seen reborn;
static struct seen victim;
static struct seen culprit;

static void reopen(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)watch;
    (void)events;
    (void)arg;
    drain(fd);
    if (culprit.count++ != 0)
        return;
    /* The other fd is in this very batch. Its watch goes, it is closed, and the number comes back as another file. */
    must_equal(vigil_watch_remove(of, victim.watch), 0);
    must_equal(close(old_fd), 0);
    make_pair(new_pair);
    if (new_pair[0] != old_fd) {
        must_equal(dup2(new_pair[0], old_fd), old_fd);
        close(new_pair[0]);
        new_pair[0] = old_fd;
    }
    add(&reborn, old_fd, VIGIL_FD_READ, 0);
}

static void a_stale_event_never_reaches_the_new_file_of_the_same_number(void **state)
{
    (void)state;
    loop = loop_plain();
    int first[2];
    int second[2];
    make_pair(first);
    make_pair(second);
    old_fd = second[0];
    memset(&reborn, 0, sizeof reborn);
    memset(&victim, 0, sizeof victim);
    memset(&culprit, 0, sizeof culprit);
    reborn.read_it = true;
    must_equal(vigil_watch_add(loop, first[0], VIGIL_FD_READ, 0, reopen, NULL, NULL, &culprit.watch), 0);
    add(&victim, old_fd, VIGIL_FD_READ, 0);
    poke(first[1]); /* the culprit is ready first */
    poke(second[1]);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(culprit.count, 1);
    must_equal(victim.count, 0);
    must_equal(reborn.count, 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(reborn.count, 0);
    must(victim.closed);
    poke(new_pair[1]);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(reborn.count, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    close_pair(first);
    close(second[1]);
    close_pair(new_pair);
}

/* ---- F5: closed behind our back ---------------------------------------------------------------------------------- */

static int events_seen[16];

static void note_event(void *user, const vigil_loop_event *event)
{
    (void)user;
    must(event->text != NULL && event->size == sizeof *event);
    events_seen[event->kind]++;
}

static vigil_loop *loop_that_reports(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_event = note_event;
    memset(events_seen, 0, sizeof events_seen);
    return loop_with(&options);
}

static void a_closed_fd_is_found_out_by_modify(void **state)
{
    (void)state;
    loop = loop_that_reports();
    int pair[2];
    make_pair(pair);
    struct seen seen = {0};
    add(&seen, pair[0], VIGIL_FD_READ, 0);
    close(pair[0]);
    must_equal(vigil_watch_modify(loop, seen.watch, VIGIL_FD_WRITE), -EBADF);
    must_equal(vigil_watch_modify(loop, seen.watch, VIGIL_FD_WRITE), -ESTALE);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* and does not keep the loop alive */
    must_equal(seen.events, VIGIL_FD_GONE);
    must(seen.closed);
    must_equal(events_seen[VIGIL_LOOP_FD_GONE], 1);
    must_equal(loop_stats(loop).fds_gone, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pair[1]);
}

static void a_closed_and_reopened_fd_is_found_out_by_add(void **state)
{
    (void)state;
    loop = loop_that_reports();
    int pair[2];
    make_pair(pair);
    int number = pair[0];
    struct seen old = {0};
    struct seen fresh = {.read_it = true};
    add(&old, number, VIGIL_FD_READ, 0);
    int other[2];
    make_pair(other);
    must_equal(dup2(other[0], number), number); /* closes the old file */
    close(other[0]);
    add(&fresh, number, VIGIL_FD_READ, 0);
    poke(other[1]);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(fresh.count, 1);
    must_equal(old.events, VIGIL_FD_GONE);
    must(old.closed);
    must_equal(events_seen[VIGIL_LOOP_FD_GONE], 1);
    must_equal(vigil_loop_destroy(loop), 0);
    close(number);
    close(other[1]);
    close(pair[1]);
}

static void an_orphan_that_cannot_be_removed_is_healed(void **state)
{
    (void)state;
    loop = loop_that_reports();
    int pair[2];
    int other[2];
    make_pair(pair);
    make_pair(other);
    struct seen orphan = {0};
    struct seen healthy = {.read_it = true};
    add(&orphan, pair[0], VIGIL_FD_READ, 0);
    add(&healthy, other[0], VIGIL_FD_READ, 0);
    int twin = dup(pair[0]); /* keeps the file in the poller */
    must(twin >= 0);
    close(pair[0]);
    must_equal(vigil_watch_remove(loop, orphan.watch), 0); /* too late: the poller cannot be told */
    poke(pair[1]);
    for (int i = 0; i < 5; i++)
        must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(events_seen[VIGIL_LOOP_FD_ORPHAN], 1);
    uint64_t stale = loop_stats(loop).stale_events;
    poke(other[1]);
    for (int i = 0; i < 5; i++)
        must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(loop_stats(loop).stale_events, stale); /* it is silent now */
    must_equal(healthy.count, 1);                     /* and the others are still there */
    must_equal(orphan.count, 0);
    must_equal(vigil_loop_destroy(loop), 0);
    close(twin);
    close(pair[1]);
    close_pair(other);
}

/* F4: the orphan's number is in use again, so only the generation tells its events from those of the new file. */
static void an_orphan_never_reaches_the_new_file_of_its_number(void **state)
{
    (void)state;
    loop = loop_that_reports();
    int pair[2];
    int other[2];
    make_pair(pair);
    make_pair(other);
    int number = pair[0];
    struct seen orphan = {0};
    struct seen fresh = {.read_it = true};
    add(&orphan, number, VIGIL_FD_READ, 0);
    int twin = dup(number);
    must(twin >= 0);
    close(number);
    must_equal(vigil_watch_remove(loop, orphan.watch), 0);
    must_equal(dup2(other[0], number), number);
    add(&fresh, number, VIGIL_FD_READ, 0);
    poke(pair[1]);
    for (int i = 0; i < 5; i++)
        must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(fresh.count, 0);
    must_equal(events_seen[VIGIL_LOOP_FD_ORPHAN], 1);
    poke(other[1]);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(fresh.count, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    close(twin);
    close(number);
    close(pair[1]);
    close_pair(other);
}

static void a_hang_up_that_nobody_minds_is_reported(void **state)
{
    (void)state;
    loop = loop_that_reports();
    int pair[2];
    make_pair(pair);
    struct seen seen = {0};
    add(&seen, pair[0], 0, 0); /* hang-up comes whether asked for or not */
    close(pair[1]);
    for (int i = 0; i < 3000; i++)
        must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must(seen.events & VIGIL_FD_HANGUP);
    must_equal(events_seen[VIGIL_LOOP_HUP_STORM], 2); /* at 1024 and at 2048 */
    must_equal(vigil_loop_destroy(loop), 0);
    close(pair[0]);
}

static void what_cannot_be_watched_is_refused(void **state)
{
    (void)state;
    loop = loop_plain();
    struct seen seen = {0};
    int file = open("/proc/self/exe", O_RDONLY);
    must(file >= 0);
    must_equal(vigil_watch_add(loop, file, VIGIL_FD_READ, 0, on_event, NULL, &seen, NULL), -EOPNOTSUPP);
    close(file);
    must_equal(vigil_watch_add(loop, file, VIGIL_FD_READ, 0, on_event, NULL, &seen, NULL), -EBADF);
    must_equal(vigil_watch_add(loop, -1, VIGIL_FD_READ, 0, on_event, NULL, &seen, NULL), -EBADF);
    must_equal(vigil_watch_add(loop, 0, 4711, 0, on_event, NULL, &seen, NULL), -EINVAL);
    must_equal(vigil_watch_add(loop, 0, VIGIL_FD_READ, 4711, on_event, NULL, &seen, NULL), -EINVAL);
    must_equal(vigil_watch_add(loop, 0, VIGIL_FD_READ, 0, NULL, NULL, &seen, NULL), -EINVAL);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- from any thread, while the loop is blocked ------------------------------------------------------------------ */

struct far {
    struct tally events;
    struct event closed;
};

static void far_event(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    must(events & VIGIL_FD_READ);
    drain(fd);
    tally_add(&((struct far *)arg)->events, 1);
}

static void far_closed(void *arg)
{
    event_set(&((struct far *)arg)->closed);
}

static void watches_come_and_go_from_other_threads_while_the_loop_is_blocked(void **state)
{
    (void)state;
    loop = loop_that_stays();
    pthread_t owner = start_thread(loop_runner, loop);
    int pair[2];
    make_pair(pair);
    uint64_t rounds = scaled(2000, 50);
    for (uint64_t i = 0; i < rounds; i++) {
        struct far far = {0};
        vigil_watch watch;
        if (i % 4 == 0)
            loop_wait_sleeping(loop);
        must_equal(vigil_watch_add(loop, pair[0], 0, 0, far_event, far_closed, &far, &watch), 0);
        must_equal(vigil_watch_modify(loop, watch, VIGIL_FD_READ), 0);
        poke(pair[1]);
        tally_wait(&far.events, 1);
        must_equal(vigil_watch_remove(loop, watch), 0);
        event_wait(&far.closed); /* nothing of it runs any more: far may go */
    }
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(loop), 0);
    close_pair(pair);
}

enum {
    CHURNERS = 4
};

static void writable(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)fd;
    (void)arg;
    must_equal(events, VIGIL_FD_WRITE);
}

static void *churn(void *arg)
{
    (void)arg;
    int pair[2];
    make_pair(pair);
    uint64_t rounds = scaled(2000, 30);
    for (uint64_t i = 0; i < rounds; i++) {
        struct far far = {0};
        vigil_watch first;
        vigil_watch second;
        must_equal(vigil_watch_add(loop, pair[0], VIGIL_FD_READ, 0, far_event, far_closed, &far, &first), 0);
        must_equal(vigil_watch_add(loop, pair[0], VIGIL_FD_WRITE, VIGIL_WATCH_UNREF, writable, NULL, NULL, &second), 0);
        must_equal(vigil_watch_remove(loop, second), 0);
        poke(pair[1]);
        tally_wait(&far.events, 1);
        must_equal(vigil_watch_remove(loop, first), 0);
        event_wait(&far.closed);
    }
    close_pair(pair);
    return NULL;
}

static void many_threads_change_watches_at_once(void **state)
{
    (void)state;
    loop = loop_that_stays();
    pthread_t owner = start_thread(loop_runner, loop);
    pthread_t threads[CHURNERS];
    for (int i = 0; i < CHURNERS; i++)
        threads[i] = start_thread(churn, NULL);
    for (int i = 0; i < CHURNERS; i++)
        join_thread(threads[i]);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(several_watches_share_an_fd),
        test(level_repeats_and_edge_does_not),
        test(a_callback_removes_itself_and_its_neighbour),
        test(a_stale_event_never_reaches_the_new_file_of_the_same_number),
        test(a_closed_fd_is_found_out_by_modify),
        test(a_closed_and_reopened_fd_is_found_out_by_add),
        test(an_orphan_that_cannot_be_removed_is_healed),
        test(an_orphan_never_reaches_the_new_file_of_its_number),
        test(a_hang_up_that_nobody_minds_is_reported),
        test(what_cannot_be_watched_is_refused),
        test(watches_come_and_go_from_other_threads_while_the_loop_is_blocked),
        test(many_threads_change_watches_at_once),
    };
    return run_all(tests);
}
