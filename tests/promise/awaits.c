/* SPDX-License-Identifier: MIT */
/* Sleep, descriptors, children, signals, groups and guards as promises, each with a token. */
#include "promise_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define on_loop(body) on_loop_with(body, NULL)

static vigil_cancel_source *source_new(void)
{
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    return source;
}

/* ---- sleep ------------------------------------------------------------------------------------------------------- */

static uint64_t asleep_at;

static vigil_value woken(vigil_value *value, void *arg)
{
    must_equal(value->kind, VIGIL_NONE);
    must(now_ns() - asleep_at >= *(uint64_t *)arg);
    say("woken");
    return vigil_value_none();
}

static void sleep_body(void *arg)
{
    vigil_promise *p = NULL;
    asleep_at = now_ns();
    must_equal(vigil_promise_sleep(loop, (int64_t) * (uint64_t *)arg, NULL, &p), 0);
    must_equal(vigil_promise_resolve(p, vigil_value_none()), -EPERM);
    must_equal(promise_stats().in_flight, 1);
    then(p, woken, must_not_run, arg);
    drop(p);
}

static void a_sleep_is_never_too_short(void **state)
{
    (void)state;
    uint64_t delay = 3000000;
    on_loop_with(sleep_body, &delay); /* and keeps the loop alive */
    must_have_said("woken");
}

static void cancelled_sleep_body(void *arg)
{
    (void)arg;
    vigil_cancel_source *source = source_new();
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    vigil_promise *p = NULL;
    must_equal(vigil_promise_sleep(loop, 3600000000000, token, &p), 0);
    then(p, must_not_run, say_value, "sleep");
    drop(p);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    must_equal(promise_stats().in_flight, 0); /* on the owner: at once */
    say("aborted");
    p = NULL;
    must_equal(vigil_promise_sleep(loop, 1, token, &p), -ECANCELED);
    must(p == NULL);
    vigil_cancel_destroy(source);
}

static void an_aborted_sleep_is_rejected_and_its_timer_is_gone(void **state)
{
    (void)state;
    on_loop(cancelled_sleep_body); /* the loop would run for an hour otherwise */
    must_have_said("aborted sleep!-4");
}

static void *abort_soon(void *arg)
{
    must_equal(vigil_cancel_abort(arg, -EINTR, NULL), 0);
    vigil_cancel_destroy(arg);
    return NULL;
}

static pthread_t aborter;

static void abort_elsewhere_body(void *arg)
{
    (void)arg;
    vigil_cancel_source *source = source_new();
    vigil_promise *p = NULL;
    must_equal(vigil_promise_sleep(loop, 3600000000000, vigil_cancel_token_of(source), &p), 0);
    then(p, must_not_run, say_value, "sleep");
    drop(p);
    aborter = start_thread(abort_soon, source);
}

static void a_token_may_be_aborted_by_any_thread(void **state)
{
    (void)state;
    for (uint64_t i = scaled(500, 20); i > 0; i--) {
        on_loop(abort_elsewhere_body);
        join_thread(aborter);
        must_have_said("sleep!-4");
    }
}

/* The sleep ends, its token is aborted, and the loop ends, all at the same time. */
static struct meeting crowd;

static void *abort_in_a_crowd(void *arg)
{
    (void)meeting_join(&crowd);
    return abort_soon(arg);
}

static vigil_value any_outcome(vigil_value *value, void *arg)
{
    (void)arg;
    must(value->kind == VIGIL_NONE || value->status == -EINTR || value->status == -ESHUTDOWN);
    say("x");
    return vigil_value_none();
}

static void crowd_body(void *arg)
{
    vigil_cancel_source *source = source_new();
    for (int i = 0; i < 5; i++) {
        vigil_promise *p = NULL;
        must_equal(vigil_promise_sleep(loop, (int64_t)i * 1000, vigil_cancel_token_of(source), &p), 0);
        then(p, any_outcome, any_outcome, NULL);
        drop(p);
    }
    aborter = start_thread(abort_in_a_crowd, source);
    (void)meeting_join(&crowd);
    if (arg != NULL)
        must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
}

static void time_token_and_end_may_race(void **state)
{
    (void)state;
    for (uint64_t i = scaled(1000, 40); i > 0; i--) {
        crowd = (struct meeting){.size = 2};
        on_loop_with(crowd_body, i % 2 == 0 ? "shutdown" : NULL);
        join_thread(aborter);
        must_have_said("x x x x x");
    }
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static int pipes[2];

static vigil_value read_it(vigil_value *value, void *arg)
{
    char byte;
    (void)arg;
    must((value->integer & VIGIL_FD_READ) != 0);
    must_equal(read(pipes[0], &byte, 1), 1);
    must_equal(byte, 'x');
    say("read");
    return vigil_value_none();
}

static vigil_value write_it(vigil_value *value, void *arg)
{
    (void)arg;
    must((value->integer & VIGIL_FD_WRITE) != 0);
    must_equal(write(pipes[1], "x", 1), 1);
    say("write");
    return vigil_value_none();
}

static void fd_body(void *arg)
{
    (void)arg;
    vigil_promise *p = NULL;
    must_equal(vigil_promise_fd(loop, pipes[0], VIGIL_FD_READ, NULL, &p), 0);
    then(p, read_it, must_not_run, NULL);
    drop(p);
    must_equal(vigil_promise_fd(loop, pipes[1], VIGIL_FD_WRITE, NULL, &p), 0);
    then(p, write_it, must_not_run, NULL);
    drop(p);
    must_equal(vigil_promise_fd(loop, -1, VIGIL_FD_READ, NULL, &p), -EBADF);
    must_equal(promise_stats().in_flight, 2);
    vigil_cancel_source *source = source_new();
    must_equal(vigil_promise_fd(loop, pipes[0], VIGIL_FD_PRI, vigil_cancel_token_of(source), &p), 0);
    then(p, must_not_run, say_value, "pri");
    drop(p);
    must_equal(vigil_cancel_abort(source, 0, NULL), 0);
    vigil_cancel_destroy(source);
}

static void a_descriptor_that_is_ready_fulfils(void **state)
{
    (void)state;
    must_equal(pipe(pipes), 0);
    on_loop(fd_body);
    must_have_said("pri!-125 write read"); /* -ECANCELED */
    close(pipes[0]);
    close(pipes[1]);
}

static void pending_fd_body(void *arg)
{
    (void)arg;
    vigil_promise *p = NULL;
    must_equal(vigil_promise_fd(loop, pipes[0], VIGIL_FD_READ, NULL, &p), 0);
    then(p, must_not_run, say_value, "fd");
    drop(p);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
}

static void a_descriptor_that_is_waited_for_at_the_end_is_rejected(void **state)
{
    (void)state;
    must_equal(pipe(pipes), 0);
    on_loop(pending_fd_body);
    must_have_said("fd!-108");
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- children and signals ---------------------------------------------------------------------------------------- */

static vigil_value child_status(vigil_value *value, void *arg)
{
    int status = (int)value->integer;
    if (arg == NULL) {
        must(WIFEXITED(status));
        must_equal(WEXITSTATUS(status), 7);
        say("exited");
    } else {
        must(WIFSIGNALED(status));
        must_equal(WTERMSIG(status), SIGKILL);
        say("killed");
    }
    return vigil_value_none();
}

static void child_body(void *arg)
{
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        if (arg == NULL)
            _exit(7);
        for (;;)
            pause();
    }
    vigil_promise *p = NULL;
    must_equal(vigil_promise_child(loop, child, NULL, &p), 0);
    then(p, child_status, must_not_run, arg);
    drop(p);
    if (arg != NULL)
        must_equal(kill(child, SIGKILL), 0);
    else
        must_equal(vigil_promise_child(loop, getpid(), NULL, &p), -ENOENT);
}

static void the_end_of_a_child_fulfils_with_its_status(void **state)
{
    (void)state;
    on_loop(child_body);
    must_have_said("exited");
    on_loop_with(child_body, "kill");
    must_have_said("killed");
}

static void signal_body(void *arg)
{
    (void)arg;
    vigil_promise *p = NULL;
    must_equal(vigil_promise_signal(loop, SIGUSR1, NULL, &p), 0);
    then(p, say_value, must_not_run, "signal");
    drop(p);
    must_equal(vigil_promise_signal(loop, SIGKILL, NULL, &p), -EINVAL);
    must_equal(kill(getpid(), SIGUSR1), 0);
    must_equal(vigil_promise_sleep(loop, 20000000, NULL, &p), 0); /* a signal keeps no loop alive */
    drop(p);
}

static void a_signal_fulfils_with_its_number(void **state)
{
    (void)state;
    on_loop(signal_body);
    must_have_said("signal=10");
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct member {
    vigil_task task;
    _Atomic int *ran;
    int status;
};

static int member_run(vigil_task *task)
{
    struct member *member = container_of(task, struct member, task);
    atomic_fetch_add(member->ran, 1);
    return member->status;
}

static vigil_pool *pool;
static vigil_group group;
static struct member members[20];
static _Atomic int ran;

static vigil_value all_have_run(vigil_value *value, void *arg)
{
    (void)arg;
    must_equal(atomic_load(&ran), 20);
    if (vigil_value_is_error(value))
        must_equal(value->status, -EPROTO);
    say(vigil_value_is_error(value) ? "failed" : "finished");
    return vigil_value_none();
}

static void group_body(void *arg)
{
    atomic_store(&ran, 0);
    must_equal(vigil_group_init(&group, pool, VIGIL_GROUP_DETACHED), 0);
    for (size_t i = 0; i < count_of(members); i++) {
        members[i] = (struct member){.ran = &ran, .status = arg != NULL && i == 7 ? -EPROTO : 0};
        vigil_task_init(&members[i].task, member_run, NULL);
        must_equal(vigil_group_submit(&group, &members[i].task, VIGIL_NORMAL), 0);
    }
    vigil_promise *p = NULL;
    must_equal(vigil_promise_group(loop, &group, NULL, &p), 0);
    then(p, all_have_run, all_have_run, NULL);
    drop(p);
}

static void the_end_of_a_group_settles(void **state)
{
    (void)state;
    pool = pool_of(2);
    on_loop(group_body);
    must_have_said("finished");
    on_loop_with(group_body, "fail");
    must_have_said("failed");
    pool_close(pool);
}

/* ---- guards ------------------------------------------------------------------------------------------------------ */

static void guard_body(void *arg)
{
    (void)arg;
    vigil_cancel_source *source = source_new();
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    vigil_promise *p = pending();
    vigil_promise *guarded = NULL;
    must_equal(vigil_promise_guard(p, token, 3600000000000, &guarded), 0);
    then(guarded, say_value, must_not_run, "value");
    drop(guarded);
    resolve(p, counted(6));
    drop(p);
    p = pending();
    must_equal(vigil_promise_guard(p, NULL, 1000000, &guarded), 0);
    then(guarded, must_not_run, say_value, "time");
    drop(guarded);
    must_equal(vigil_promise_guard(p, token, VIGIL_FOREVER, &guarded), 0);
    then(guarded, must_not_run, say_value, "token");
    drop(guarded);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    vigil_promise *sleep = NULL;
    must_equal(vigil_promise_sleep(loop, 5000000, NULL, &sleep), 0);
    must_equal(vigil_promise_guard(sleep, NULL, VIGIL_FOREVER, &guarded), 0); /* no limit at all */
    then(guarded, say_value, must_not_run, "none");
    drop(guarded);
    drop(sleep);
    drop(p); /* pending, and guarded till its time */
    vigil_cancel_destroy(source);
}

static void a_guard_settles_as_the_promise_or_the_limit(void **state)
{
    (void)state;
    on_loop(guard_body);
    must_have_said("token!-4 value=6 time!-110 none"); /* it was settled before the abort: that counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_sleep_is_never_too_short),
        test(an_aborted_sleep_is_rejected_and_its_timer_is_gone),
        test(a_token_may_be_aborted_by_any_thread),
        test(time_token_and_end_may_race),
        test(a_descriptor_that_is_ready_fulfils),
        test(a_descriptor_that_is_waited_for_at_the_end_is_rejected),
        test(the_end_of_a_child_fulfils_with_its_status),
        test(a_signal_fulfils_with_its_number),
        test(the_end_of_a_group_settles),
        test(a_guard_settles_as_the_promise_or_the_limit),
    };
    return run_all(tests);
}
