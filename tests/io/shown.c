/* SPDX-License-Identifier: MIT */
/* What viewers see of streams, listeners, connections in the making and children: from the file, as they see it. */
#include "io_test.h"
#include "watch_test.h"

#include <sys/resource.h>
#include <vigil/descriptor.h>

static const vg_loop_view *only_loop(const vg_snapshot *seen)
{
    must_equal(seen->loop_count, 1);
    return &seen->loops[0];
}

static const vg_io_view *of_kind(const vg_loop_view *loop, vg_io_kind kind)
{
    const vg_io_view *found = NULL;
    for (size_t i = 0; i < loop->io_count; i++)
        if (loop->ios[i].kind == kind)
            found = &loop->ios[i];
    must(found != NULL);
    return found;
}

static void ignore_data(vigil_stream *stream, const void *data, int64_t got, void *arg)
{
    struct pair *pair = arg;
    (void)stream;
    (void)data;
    pair->last = got;
    pair->calls++;
}

static void a_stream_shows_its_name_its_bytes_and_its_reader(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    must_equal(vigil_stream_name(pair.stream, NULL), -EINVAL);
    must_equal(vigil_stream_name(pair.stream, "a name that is longer than there is room for"), 0);
    vg_snapshot *seen = snapshot_of(getpid());
    const vg_io_view *io = of_kind(only_loop(seen), VG_IO_UNIX);
    must_equal(io->number, 1);
    must(strcmp(io->name, "a name that is longer than ther") == 0);
    must(!io->reading && !io->sending);
    must_equal(io->wait, VG_IO_WAITS_NOT);
    vg_snapshot_free(seen);

    must_equal(vigil_stream_on_data(pair.stream, ignore_data, &pair), 0);
    must_equal(write(pair.peer, "hello", 5), 5);
    while (pair.calls == 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(vigil_stream_write(pair.stream, "welcome", 7), 0);
    must_equal(vigil_stream_name(pair.stream, "short"), 0);
    seen = snapshot_of(getpid());
    io = of_kind(only_loop(seen), VG_IO_UNIX);
    must(strcmp(io->name, "short") == 0);
    must(io->reading && !io->sending);
    must_equal(io->bytes_read, 5);
    must_equal(io->unsent, 7);
    must(io->reading_ns <= io->age_ns);
    vg_snapshot_free(seen);

    char text[8];
    while (recv(pair.peer, text, sizeof text, MSG_DONTWAIT) < 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(vigil_stream_on_data(pair.stream, NULL, NULL), 0);
    seen = snapshot_of(getpid());
    io = of_kind(only_loop(seen), VG_IO_UNIX);
    must(!io->reading);
    must_equal(io->bytes_sent, 7);
    must_equal(io->unsent, 0);
    must_equal(only_loop(seen)->io_bytes_read, 5);
    must_equal(only_loop(seen)->io_bytes_sent, 7);
    vg_snapshot_free(seen);

    must_equal(vigil_stream_close(pair.stream), 0);
    while (pair.closed == 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_NOWAIT) >= 0);
    seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->io_count, 0);
    must_equal(only_loop(seen)->ios_open, 0);
    must_equal(only_loop(seen)->ios_opened, 1); /* totals stay */
    must_equal(only_loop(seen)->io_bytes_read, 5);
    vg_snapshot_free(seen);
    must_equal(close(pair.peer), 0);
    must_equal(vigil_loop_destroy(pair.loop), 0);
}

static void a_stream_whose_peer_does_not_read_waits_to_write(void **state)
{
    (void)state;
    static char much[1 << 22];
    struct pair pair;
    pair_open(&pair);
    must(vigil_stream_write(pair.stream, much, sizeof much) >= 0);
    must(vigil_loop_run(pair.loop, VIGIL_RUN_NOWAIT) >= 0);
    vg_snapshot *seen = snapshot_of(getpid());
    const vg_io_view *io = of_kind(only_loop(seen), VG_IO_UNIX);
    must(io->sending && !io->reading);
    must(io->unsent > 0);
    must_equal(io->unsent + io->bytes_sent, sizeof much);
    vg_snapshot_free(seen);
    must_equal(vigil_stream_reset(pair.stream), 0);
    must_equal(close(pair.peer), 0);
    must_equal(vigil_loop_destroy(pair.loop), 0);
}

struct door {
    vigil_stream *streams[2];
    unsigned count;
};

static void takes(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct door *door = user;
    (void)listener;
    door->streams[door->count++] = stream;
}

static void a_listener_shows_that_it_accepts_or_is_full(void **state)
{
    (void)state;
    struct door door = {0};
    vigil_loop *loop = loop_plain();
    vigil_listener *listener;
    vigil_promise *promise;
    vigil_address address;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    char words[VIGIL_ADDRESS_TEXT];
    options.on_stream = takes;
    options.user = &door;
    options.most = 1;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, loop, &address, &options), 0);
    must_equal(vigil_listener_address(listener, &address), 0);
    must(vigil_address_text(&address, words, sizeof words) >= 0);
    must_equal(vigil_promise_connect(loop, &address, 1, NULL, NULL, &promise), 0);
    vg_snapshot *seen = snapshot_of(getpid());
    must_equal(of_kind(only_loop(seen), VG_IO_LISTENER)->wait, VG_IO_WAITS_ACCEPT);
    must(strcmp(of_kind(only_loop(seen), VG_IO_LISTENER)->address, words) == 0);
    must_equal(of_kind(only_loop(seen), VG_IO_CONNECT)->wait, VG_IO_WAITS_CONNECT);
    must(strcmp(of_kind(only_loop(seen), VG_IO_CONNECT)->address, words) == 0);
    vg_snapshot_free(seen);

    const unsigned bound = 1;
    while (vigil_promise_state_get(promise) == VIGIL_PENDING || door.count < bound)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->ios_open, 3); /* the connection in the making has become a stream */
    const vg_io_view *io = of_kind(only_loop(seen), VG_IO_LISTENER);
    must_equal(io->streams, 1);
    must_equal(of_kind(only_loop(seen), VG_IO_TCP)->wait, VG_IO_WAITS_NOT);
    unsigned to_the_door = 0;
    for (size_t i = 0; i < only_loop(seen)->io_count; i++)
        to_the_door += only_loop(seen)->ios[i].kind == VG_IO_TCP && strcmp(only_loop(seen)->ios[i].address, words) == 0;
    must_equal(to_the_door, 1); /* the other has the client's port */
    vg_snapshot_free(seen);

    /* The listener looks once more, finds that it is full, and waits for room. */
    vigil_promise *second;
    must_equal(vigil_promise_connect(loop, &address, 1, NULL, NULL, &second), 0);
    bool full = false;
    while (!full) {
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        seen = snapshot_of(getpid());
        full = of_kind(only_loop(seen), VG_IO_LISTENER)->wait == VG_IO_WAITS_ROOM;
        vg_snapshot_free(seen);
    }
    must_equal(vigil_stream_close(door.streams[0]), 0);
    while (door.count < 2)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(vigil_stream_close(door.streams[1]), 0);
    vigil_promise_unref(promise);
    vigil_promise_unref(second);
    must_equal(vigil_listener_close(listener), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_child_shows_its_program_and_waits_for_its_end(void **state)
{
    (void)state;
    static const char *const words[] = {"/bin/cat", NULL};
    vigil_loop *loop = loop_plain();
    vigil_process *process;
    vigil_promise *promise;
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    options.argv = words;
    options.stdio[0].kind = VIGIL_STDIO_STREAM;
    must_equal(vigil_process_open(&process, loop, &options), 0);
    vg_snapshot *seen = snapshot_of(getpid());
    const vg_io_view *io = of_kind(only_loop(seen), VG_IO_CHILD);
    must(strcmp(io->name, "cat") == 0);
    must_equal(io->pid, vigil_process_pid(process));
    must_equal(io->wait, VG_IO_WAITS_EXIT);
    must_equal(of_kind(only_loop(seen), VG_IO_PIPE)->wait, VG_IO_WAITS_NOT);
    vg_snapshot_free(seen);
    must_equal(vigil_promise_exit(process, NULL, &promise), 0);
    must_equal(vigil_stream_close(vigil_process_stream(process, 0)), 0);
    while (vigil_promise_state_get(promise) == VIGIL_PENDING)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    seen = snapshot_of(getpid());
    must_equal(of_kind(only_loop(seen), VG_IO_CHILD)->wait, VG_IO_WAITS_NOT);
    vg_snapshot_free(seen);
    vigil_promise_unref(promise);
    must_equal(vigil_process_close(process), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void note_ready(vigil_ready *ready, int64_t result)
{
    (void)ready;
    must_equal(result, -ECANCELED);
}

static void a_descriptor_shows_its_name_and_its_wait(void **state)
{
    (void)state;
    int ends[2];
    vigil_descriptor *descriptor;
    vigil_ready ready = {.done = note_ready};
    vigil_loop *loop = loop_plain();
    must_equal(pipe(ends), 0);
    must_equal(vigil_descriptor_open(&descriptor, loop, ends[0], NULL), 0);
    must_equal(vigil_descriptor_name(descriptor, "inotify"), 0);
    vg_snapshot *seen = snapshot_of(getpid());
    const vg_io_view *io = of_kind(only_loop(seen), VG_IO_DESCRIPTOR);
    must(strcmp(io->name, "inotify") == 0);
    must_equal(io->wait, VG_IO_WAITS_NOT);
    vg_snapshot_free(seen);
    must_equal(vigil_descriptor_await(descriptor, &ready, VIGIL_FD_READ), 0);
    seen = snapshot_of(getpid());
    io = of_kind(only_loop(seen), VG_IO_DESCRIPTOR);
    must_equal(io->wait, VG_IO_WAITS_READY);
    must(io->wait_ns <= io->age_ns);
    vg_snapshot_free(seen);
    must_equal(vigil_descriptor_await_cancel(descriptor, &ready), 0);
    seen = snapshot_of(getpid());
    must_equal(of_kind(only_loop(seen), VG_IO_DESCRIPTOR)->wait, VG_IO_WAITS_NOT);
    vg_snapshot_free(seen);
    must_equal(vigil_descriptor_await(descriptor, &ready, VIGIL_FD_READ), 0);
    must_equal(vigil_descriptor_close(descriptor), 0);
    turns(loop);
    seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->io_count, 0);
    must_equal(only_loop(seen)->ios_opened, 1);
    vg_snapshot_free(seen);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(close(ends[1]), 0);
}

static void a_query_is_shown_until_its_end(void **state)
{
    (void)state;
    vigil_shown query, left = {0};
    vigil_loop *loop = loop_plain();
    vigil_shown_end(NULL);
    vigil_shown_end(&left); /* zeros: nothing is shown */
    must_equal(vigil_shown_begin(&query, loop, "select 1"), 0);
    vg_snapshot *seen = snapshot_of(getpid());
    const vg_io_view *io = of_kind(only_loop(seen), VG_IO_QUERY);
    must(strcmp(io->name, "select 1") == 0);
    must_equal(io->wait, VG_IO_WAITS_ANSWER);
    vg_snapshot_free(seen);
    vigil_shown_end(&query);
    vigil_shown_end(&query);
    seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->io_count, 0);
    vg_snapshot_free(seen);
    must_equal(vigil_shown_begin(&left, loop, "left"), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* it does not keep the loop */
    must_equal(vigil_loop_destroy(loop), 0);
    vigil_shown_end(&left);
}

static void more_than_the_table_holds_are_counted(void **state)
{
    (void)state;
    enum {
        MORE = 3,
        ALL = VG_FILE_IOS + MORE
    };
    static vigil_stream *streams[ALL];
    struct rlimit limit;
    must_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    must_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    vigil_loop *loop = loop_plain();
    int ends[2];
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    for (size_t i = 0; i < ALL; i++) {
        const int one = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
        must(one >= 0);
        must_equal(vigil_stream_open(&streams[i], loop, one, NULL), 0);
    }
    vg_snapshot *seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->io_count, VG_FILE_IOS);
    must_equal(only_loop(seen)->ios_open, ALL);
    must_equal(only_loop(seen)->ios_unseen, MORE);
    vg_snapshot_free(seen);
    must_equal(vigil_stream_name(streams[ALL - 1], "nobody sees it"), 0);

    /* A place that is free again is the next one's. */
    must_equal(vigil_stream_close(streams[70]), 0);
    must_equal(vigil_stream_close(streams[ALL - 1]), 0);
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    const int one = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
    must_equal(vigil_stream_open(&streams[70], loop, one, NULL), 0);
    must_equal(vigil_stream_name(streams[70], "seen"), 0);
    seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->io_count, VG_FILE_IOS);
    must_equal(only_loop(seen)->ios_unseen, MORE - 1);
    must(strcmp(only_loop(seen)->ios[VG_FILE_IOS - 1].name, "seen") == 0); /* it has the highest number */
    vg_snapshot_free(seen);
    for (size_t i = 0; i < ALL - 1; i++)
        must_equal(vigil_stream_close(streams[i]), 0);
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->io_count, 0);
    must_equal(only_loop(seen)->ios_unseen, 0);
    vg_snapshot_free(seen);
    must_equal(close(ends[0]), 0);
    must_equal(close(ends[1]), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void with_the_recorder_off_nothing_is_kept(void **state)
{
    (void)state;
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    struct pair pair;
    options.level = VIGIL_RECORD_OFF;
    must_equal(vigil_record_configure(&options), 0);
    pair_open(&pair);
    must_equal(vigil_stream_name(pair.stream, "unseen"), 0);
    must_equal(files_in_directory(), 0);
    must_equal(vigil_stream_close(pair.stream), 0);
    must_equal(close(pair.peer), 0);
    must_equal(vigil_loop_destroy(pair.loop), 0);
    must_equal(vigil_record_configure(NULL), 0);
}

/* A stream that outlives its loop, and the loop's table. */
static void a_stream_may_be_given_back_after_its_loop(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    must_equal(vigil_loop_destroy(pair.loop), 0);
    must_equal(vigil_stream_name(pair.stream, "late"), -ESHUTDOWN);
    must_equal(vigil_stream_close(pair.stream), 0);
    must_equal(close(pair.peer), 0);
}

static struct pair forked;

static void child_moves_the_loop(struct shared_words *words)
{
    struct pair next;
    must_equal(vigil_loop_fork(forked.loop), 0);
    must_equal(vigil_stream_name(forked.stream, "the parent's"), 0); /* shown there only */
    const vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    pair_open_with(&next, forked.loop, &options);
    must_equal(vigil_stream_name(next.stream, "the child's"), 0);
    must_equal(vigil_stream_on_data(forked.stream, ignore_data, &forked), 0);
    vg_snapshot *seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->io_count, 1);
    must(strcmp(only_loop(seen)->ios[0].name, "the child's") == 0);
    vg_snapshot_free(seen);
    must_equal(vigil_stream_close(forked.stream), 0);
    seen = snapshot_of(getpid());
    must_equal(only_loop(seen)->ios_unseen, 0); /* it was never in this table */
    vg_snapshot_free(seen);
    must_equal(vigil_stream_close(next.stream), 0);
    must_equal(vigil_loop_destroy(forked.loop), 0);
    event_set(&words->ready);
}

static void child_closes_what_is_its_parents(struct shared_words *words)
{
    must_equal(vigil_stream_close(forked.stream), 0);
    event_set(&words->ready);
}

/* What the streams share outlives the last of them in a child, too. */
static void child_closes_and_moves_the_loop(struct shared_words *words)
{
    must_equal(vigil_stream_close(forked.stream), 0);
    must_equal(vigil_loop_fork(forked.loop), 0);
    struct pair next;
    const vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    pair_open_with(&next, forked.loop, &options);
    must_equal(vigil_stream_close(next.stream), 0);
    must_equal(vigil_loop_destroy(forked.loop), 0);
    event_set(&words->ready);
}

static void child_destroys_the_loop_first(struct shared_words *words)
{
    must_equal(vigil_loop_destroy(forked.loop), 0);
    must_equal(vigil_stream_close(forked.stream), 0);
    event_set(&words->ready);
}

static void child_closes_and_destroys(struct shared_words *words)
{
    must_equal(vigil_stream_close(forked.stream), 0);
    must_equal(vigil_loop_destroy(forked.loop), 0);
    event_set(&words->ready);
}

static void a_forked_child_writes_nothing_into_its_parents_table(void **state)
{
    (void)state;
    void (*const bodies[])(struct shared_words *) = {child_moves_the_loop, child_closes_what_is_its_parents,
                                                     child_closes_and_moves_the_loop, child_destroys_the_loop_first,
                                                     child_closes_and_destroys};
    for (size_t i = 0; i < count_of(bodies); i++) {
        struct shared_words *words = share_words();
        const vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
        pair_open_with(&forked, loop_plain(), &options);
        must_equal(vigil_stream_name(forked.stream, "here"), 0);
        must_equal(child_status(start_child(bodies[i], words)), 0);
        must(event_is_set(&words->ready));
        vg_snapshot *seen = snapshot_of(getpid());
        must_equal(only_loop(seen)->io_count, 1);
        must(strcmp(only_loop(seen)->ios[0].name, "here") == 0);
        must(!only_loop(seen)->ios[0].reading);
        vg_snapshot_free(seen);
        must_equal(vigil_stream_close(forked.stream), 0);
        must_equal(close(forked.peer), 0);
        must_equal(vigil_loop_destroy(forked.loop), 0);
        must_equal(munmap(words, sizeof *words), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(a_stream_shows_its_name_its_bytes_and_its_reader),
        watch_test(a_stream_whose_peer_does_not_read_waits_to_write),
        watch_test(a_listener_shows_that_it_accepts_or_is_full),
        watch_test(a_child_shows_its_program_and_waits_for_its_end),
        watch_test(a_descriptor_shows_its_name_and_its_wait),
        watch_test(a_query_is_shown_until_its_end),
        watch_test(more_than_the_table_holds_are_counted),
        watch_test(with_the_recorder_off_nothing_is_kept),
        watch_test(a_stream_may_be_given_back_after_its_loop),
        watch_test(a_forked_child_writes_nothing_into_its_parents_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
