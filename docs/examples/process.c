/* SPDX-License-Identifier: MIT */
/* Examples of vigil/process.h, one for each function. */
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <vigil/process.h>

/* vigil_process_open: start a program with a limit */
static void it_has_ended(vigil_process *process,
                         const vigil_process_end *end, void *user)
{
    int *ends = user;
    (void)process;
    assert(end->code == CLD_EXITED || end->code == CLD_KILLED);
    ++*ends;
}

static vigil_process *start(vigil_loop *loop, const char *command,
                            int *ends)
{
    const char *words[] = {"sh", "-c", command, NULL};
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    options.argv = words;
    options.stdio[1].kind = VIGIL_STDIO_STREAM;
    options.stdio[2].kind = VIGIL_STDIO_INHERIT;
    options.group = true; /* what it starts ends with it */
    options.timeout_ns = INT64_C(60000000000);
    options.on_exit = it_has_ended;
    options.user = ends;
    vigil_process *process;
    int rc = vigil_process_open(&process, loop, &options);
    return rc == 0 ? process : NULL;
}

/* vigil_process_stream: read what it prints */
static void printed(vigil_stream *stream, const void *data,
                    int64_t length, void *arg)
{
    (void)arg;
    if (length > 0)
        assert(memcmp(data, "hello\n", 6) == 0);
    else
        (void)vigil_stream_close(stream);
}

static void read_its_output(vigil_process *process)
{
    vigil_stream *out = vigil_process_stream(process, 1);
    int rc = vigil_stream_on_data(out, printed, NULL);
    assert(rc == 0);
}

/* vigil_process_pid: its number, for a log */
static pid_t number_of(const vigil_process *process)
{
    return vigil_process_pid(process);
}

/* vigil_process_signal: make it read its configuration again */
static void hang_up(vigil_process *process)
{
    int rc = vigil_process_signal(process, SIGHUP);
    assert(rc == 0 || rc == -ESRCH);
}

/* vigil_process_stop: ask it to end, and insist after a second */
static void stop(vigil_process *process)
{
    int rc = vigil_process_stop(process, INT64_C(1000000000));
    assert(rc == 0 || rc == -ESRCH);
}

/* vigil_process_end_get: how did it end? */
static bool went_well(const vigil_process *process)
{
    vigil_process_end end = VIGIL_PROCESS_END_INIT;
    int rc = vigil_process_end_get(process, &end);
    return rc == 0 && end.code == CLD_EXITED && end.status == 0;
}

/*
 * vigil_process_unref: a helper that does not hold the program up
 * vigil_process_ref: wait for its end after all
 */
static void need_not_wait(vigil_process *process, bool wait)
{
    int rc = wait ? vigil_process_ref(process)
                  : vigil_process_unref(process);
    assert(rc == 0 || rc == -ESRCH);
}

/* vigil_promise_exit: its end as a promise */
static vigil_promise *promise_end(vigil_process *process)
{
    vigil_promise *promise;
    int rc = vigil_promise_exit(process, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_process_close: give it back */
static void forget(vigil_process *process)
{
    int rc = vigil_process_close(process);
    assert(rc == 0);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_loop *loop;
    int ends = 0;
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    vigil_process *process = start(loop, "echo hello", &ends);
    assert(process != NULL);
    assert(number_of(process) > 0);
    read_its_output(process);
    need_not_wait(process, false);
    need_not_wait(process, true);
    vigil_promise *promise = promise_end(process);
    assert(promise != NULL);
    while (ends == 0)
        (void)vigil_loop_run(loop, VIGIL_RUN_ONCE);
    assert(vigil_promise_state_get(promise) == VIGIL_FULFILLED);
    vigil_promise_unref(promise);
    assert(went_well(process));
    forget(process);
    process = start(loop, "trap '' HUP; sleep 100", &ends);
    assert(process != NULL);
    hang_up(process);
    stop(process);
    while (ends == 1)
        (void)vigil_loop_run(loop, VIGIL_RUN_ONCE);
    assert(!went_well(process));
    forget(process);
    rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 0);
    rc = vigil_loop_destroy(loop);
    assert(rc == 0);
    return 0;
}
