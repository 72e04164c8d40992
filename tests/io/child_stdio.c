/* SPDX-License-Identifier: MIT */
/* A standard stream of a child that cannot be made to block: the child starts, and the library says so. */
#include "io_test.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <vigil/process.h>

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (strncmp(path, "/proc/", 6) != 0)
        return __real_open(path, flags, mode);
    errno = ENOENT; /* it is not mounted */
    return -1;
}

static void ended(vigil_process *process, const vigil_process_end *end, void *user)
{
    *(int *)user = end->status;
    if (vigil_process_close(process) != 0)
        _exit(2);
}

static void start_a_child(int input)
{
    static const char *const argv[] = {"true", NULL};
    vigil_process *process;
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    int status = -1;
    vigil_loop *loop = loop_plain();
    options.argv = argv;
    options.stdio[0] = (vigil_stdio){.kind = VIGIL_STDIO_FD, .fd = input};
    options.on_exit = ended;
    options.user = &status;
    if (vigil_process_open(&process, loop, &options) != 0 || vigil_loop_run(loop, VIGIL_RUN) != 0 || status != 0 ||
        vigil_loop_destroy(loop) != 0)
        _exit(1);
}

/* What a process prints that starts two children with this input. */
static void printed_for(int flags, char *text, size_t room)
{
    int ends[2], input[2], status;
    size_t used = 0;
    ssize_t got;
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    must_equal(pipe2(input, O_CLOEXEC | flags), 0);
    const pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        (void)unsetenv("VIGIL_LOG");
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[1]);
        start_a_child(input[0]);
        start_a_child(input[0]);
        _exit(0);
    }
    must_equal(close(ends[1]), 0);
    while ((got = read(ends[0], text + used, room - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = 0;
    must_equal(waitpid(child, &status, 0), child);
    must_equal(status, 0);
    must_equal(close(ends[0]), 0);
    must_equal(close(input[0]), 0);
    must_equal(close(input[1]), 0);
}

static void an_input_that_cannot_be_made_to_block_is_reported_once(void **state)
{
    char text[4096];
    (void)state;
    printed_for(O_NONBLOCK, text, sizeof text);
    must(strstr(text, "standard stream 0") != NULL);
    must(strstr(text, "/proc is mounted") != NULL);
    must(strchr(text, '\n') == text + strlen(text) - 1);
}

static void an_input_that_blocks_is_not(void **state)
{
    char text[4096];
    (void)state;
    printed_for(0, text, sizeof text);
    must_equal(text[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(an_input_that_cannot_be_made_to_block_is_reported_once),
        test(an_input_that_blocks_is_not),
    };
    return run_all(tests);
}
