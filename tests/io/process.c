/* SPDX-License-Identifier: MIT */
/* A child begins clean, talks through streams, and ends when it is told to, whatever it does about it. */
#include "io_test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct child {
    vigil_loop *loop;
    vigil_process *process;
    unsigned exits;
    vigil_process_end end;
    char out[4096];
    size_t length;
    unsigned out_ends;
};

static void child_exited(vigil_process *process, const vigil_process_end *end, void *user)
{
    struct child *child = user;
    must(process == child->process);
    child->exits++;
    child->end = *end;
}

static void child_says(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct child *child = arg;
    if (length <= 0) {
        child->out_ends++;
        must_equal(vigil_stream_close(stream), 0);
        return;
    }
    must(child->length + (size_t)length < sizeof child->out);
    memcpy(child->out + child->length, data, (size_t)length);
    child->length += (size_t)length;
    child->out[child->length] = 0;
}

static vigil_process_options shell(struct child *child, const char *const *argv)
{
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    options.argv = argv;
    options.stdio[0].kind = VIGIL_STDIO_STREAM;
    options.stdio[1].kind = VIGIL_STDIO_STREAM;
    options.stdio[2].kind = VIGIL_STDIO_INHERIT;
    options.on_exit = child_exited;
    options.user = child;
    return options;
}

static void begin(struct child *child, const vigil_process_options *options)
{
    if (child->loop == NULL)
        child->loop = loop_plain();
    must_equal(vigil_process_open(&child->process, child->loop, options), 0);
    vigil_stream *out = vigil_process_stream(child->process, 1);
    if (out != NULL)
        must_equal(vigil_stream_on_data(out, child_says, child), 0);
}

/* Until it has ended, and so has its output. */
static void run_to_the_end(struct child *child)
{
    while ((child->exits == 0 && child->process != NULL) || child->out_ends == 0)
        must(vigil_loop_run(child->loop, VIGIL_RUN_ONCE) >= 0);
}

static void end(struct child *child)
{
    must_equal(vigil_process_close(child->process), 0);
    must_equal(vigil_loop_run(child->loop, VIGIL_RUN), 0); /* until it is reaped, and nothing is left */
    must_equal(vigil_loop_destroy(child->loop), 0);
}

static void it_reads_and_answers(void **state)
{
    (void)state;
    struct child child = {0};
    static const char *const argv[] = {"sh", "-c", "read line; echo \"got $line\"; cat; exit 7", NULL};
    const vigil_process_options options = shell(&child, argv);
    begin(&child, &options);
    must(vigil_process_pid(child.process) > 0);
    vigil_stream *in = vigil_process_stream(child.process, 0);
    must(in != NULL);
    must(vigil_process_stream(child.process, 0) == NULL); /* taken */
    must(vigil_process_stream(child.process, 2) == NULL); /* not a pipe */
    must_equal(vigil_stream_write(in, "one\ntwo\n", 8), 0);
    must_equal(vigil_stream_close(in), 0); /* nothing follows */
    must_equal(vigil_process_end_get(child.process, &(vigil_process_end)VIGIL_PROCESS_END_INIT), -EAGAIN);
    run_to_the_end(&child);
    must_equal(strcmp(child.out, "got one\ntwo\n"), 0);
    must_equal(child.out_ends, 1);
    must_equal(child.exits, 1);
    must_equal(child.end.code, CLD_EXITED);
    must_equal(child.end.status, 7);
    must(!child.end.timed_out);
    vigil_process_end got = VIGIL_PROCESS_END_INIT;
    must_equal(vigil_process_end_get(child.process, &got), 0);
    must_equal(got.status, 7);
    must_equal(vigil_process_signal(child.process, SIGTERM), -ESRCH);
    end(&child);
    must_equal(waitpid(-1, NULL, WNOHANG), -1); /* it was reaped */
    must_equal(errno, ECHILD);
}

static void its_end_is_a_promise(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) { /* asked before its end; behind it; aborted; given back */
        struct child child = {0};
        static const char *const argv[] = {"sh", "-c", "read line; kill -9 $$", NULL};
        const vigil_process_options options = shell(&child, argv);
        vigil_cancel_source *source;
        vigil_promise *promise = NULL;
        begin(&child, &options);
        must_equal(vigil_cancel_create(&source), 0);
        if (how != 1) {
            must_equal(vigil_promise_exit(child.process, vigil_cancel_token_of(source), &promise), 0);
            must_equal(vigil_promise_exit(child.process, NULL, &promise), -EBUSY);
            must_equal(vigil_promise_mark_handled(promise), 0);
        }
        if (how == 2)
            must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
        must_equal(vigil_stream_close(vigil_process_stream(child.process, 0)), 0);
        if (how == 3) {
            must_equal(vigil_process_close(child.process), 0);
            child.process = NULL;
        }
        run_to_the_end(&child);
        if (how == 1)
            must_equal(vigil_promise_exit(child.process, NULL, &promise), 0);
        turns(child.loop);
        const int64_t result = promise_result(promise);
        if (how >= 2)
            must_equal(result, -ECANCELED);
        else
            must(WIFSIGNALED((int)result) && WTERMSIG((int)result) == SIGKILL);
        vigil_promise_unref(promise);
        vigil_cancel_destroy(source);
        end(&child);
    }
}

static void it_begins_clean(void **state)
{
    (void)state;
    struct child child = {0};
    sigset_t usual, blocked;
    /* what the program has: an ignored signal, a blocked one, a descriptor that nobody has marked */
    must_equal(signal(SIGPIPE, SIG_IGN) != SIG_ERR, 1);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    must_equal(pthread_sigmask(SIG_BLOCK, &blocked, &usual), 0);
    const int forgotten = open("/dev/null", O_RDONLY); /* NOLINT(android-cloexec-open): that is the point */
    const int far = fcntl(forgotten, F_DUPFD, 300);
    must(forgotten >= 0 && far >= 300);
    static const char *const argv[] = {
        "sh", "-c", "pwd; echo $NAME-$HOME; ls /proc/self/fd | wc -l; exec grep -E 'Sig(Blk|Ign)' /proc/self/status",
        NULL};
    static const char *const env[] = {"NAME=value", "PATH=/usr/bin:/bin", NULL};
    vigil_process_options options = shell(&child, argv);
    options.env = env;
    options.cwd = "/";
    begin(&child, &options);
    run_to_the_end(&child);
    char ignored[32] = "", mask[32] = "", count[16] = "", name[32] = "";
    must_equal(sscanf(child.out, "/ %31s %15s SigBlk: %31s SigIgn: %31s", name, count, mask, ignored), 4);
    must_equal(strcmp(name, "value-"), 0);
    must(atoi(count) <= 4); /* three, and that of the folder */
    must_equal(strtoull(mask, NULL, 16), 0);
    must_equal(strtoull(ignored, NULL, 16) & 0x7fffffff, 0); /* 32 and 33 are the C library's own */
    must_equal(close(forgotten), 0);
    must_equal(close(far), 0);
    must_equal(pthread_sigmask(SIG_SETMASK, &usual, NULL), 0);
    must_equal(signal(SIGPIPE, SIG_DFL) != SIG_ERR, 1);
    end(&child);
}

static void one_that_ignores_sigterm_is_killed(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) { /* by its limit; by a call */
        struct child child = {0};
        static const char *const argv[] = {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done", NULL};
        vigil_process_options options = shell(&child, argv);
        options.group = true;
        if (how == 0)
            options.timeout_ns = INT64_C(200000000);
        options.grace_ns = INT64_C(20000000);
        begin(&child, &options);
        if (how == 1) {
            while (child.length == 0)
                must(vigil_loop_run(child.loop, VIGIL_RUN_ONCE) >= 0);
            must_equal(vigil_process_stop(child.process, INT64_C(20000000)), 0);
        }
        run_to_the_end(&child); /* also its sleep ends, which has the output: the whole group was told */
        must_equal(child.exits, 1);
        must_equal(child.end.timed_out, how == 0);
        must_equal(child.end.code, CLD_KILLED);
        must(child.end.status == SIGKILL || (how == 0 && child.end.status == SIGTERM)); /* before the trap was there */
        end(&child);
    }
}

static void one_that_forks_twice_and_closes_everything_is_no_trouble(void **state)
{
    (void)state;
    struct child child = {0};
    /* The grandchild keeps the output for a while; the child itself is gone at once. */
    static const char *const argv[] = {"sh", "-c", "( (read line <&3; echo late) & ) 3<&0; exec <&- >&- 2>&-; exit 3",
                                       NULL};
    const vigil_process_options options = shell(&child, argv);
    begin(&child, &options);
    while (child.exits == 0)
        must(vigil_loop_run(child.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(child.end.status, 3);
    must_equal(child.out_ends, 0); /* somebody else has it */
    vigil_stream *in = vigil_process_stream(child.process, 0);
    must_equal(vigil_stream_write(in, "go\n", 3), 0);
    must_equal(vigil_stream_close(in), 0);
    run_to_the_end(&child);
    must_equal(strcmp(child.out, "late\n"), 0);
    must_equal(child.out_ends, 1);
    end(&child);
}

static void a_session_is_its_own(void **state)
{
    (void)state;
    struct child child = {0};
    static const char *const argv[] = {"sh", "-c", "cut -d' ' -f1,5,6 /proc/$$/stat", NULL};
    vigil_process_options options = shell(&child, argv);
    options.session = true;
    begin(&child, &options);
    run_to_the_end(&child);
    int pid, group, session;
    must_equal(sscanf(child.out, "%d %d %d", &pid, &group, &session), 3);
    must_equal(group, pid);
    must_equal(session, pid);
    end(&child);
}

static void it_gets_further_descriptors_and_no_others(void **state)
{
    (void)state;
    struct child child = {0};
    static const char *const argv[] = {"sh", "-c",
                                       "read word <&4; echo \"$word\" >&3; read word <&5; echo \"$word\" >&3; "
                                       "(: <&6) 2> /dev/null || echo no sixth",
                                       NULL};
    vigil_process_options options = shell(&child, argv);
    int back[2], there[2];
    char text[32] = {0};
    must_equal(pipe2(back, O_CLOEXEC), 0);
    must_equal(pipe2(there, O_CLOEXEC), 0);
    must_equal(write(there[1], "one\ntwo\n", 8), 8);
    const int fds[] = {back[1], there[0], there[0]}; /* one twice; the numbers overlap those of the child */
    options.fds = fds;
    options.fd_count = 3;
    begin(&child, &options);
    run_to_the_end(&child);
    must_equal(child.end.code, CLD_EXITED);
    must_equal(child.end.status, 0);
    must_equal(strcmp(child.out, "no sixth\n"), 0);
    must_equal(read(back[0], text, sizeof text - 1), 8);
    must_equal(strcmp(text, "one\ntwo\n"), 0);
    end(&child);
    child.loop = loop_plain();
    options.fds = NULL;
    must_equal(vigil_process_open(&child.process, child.loop, &options), -EINVAL);
    options.fds = fds;
    options.fd_count = 65;
    must_equal(vigil_process_open(&child.process, child.loop, &options), -EINVAL);
    const int wrong[] = {1000000};
    options.fds = wrong;
    options.fd_count = 1;
    must_equal(vigil_process_open(&child.process, child.loop, &options), -EBADF);
    must_equal(vigil_loop_destroy(child.loop), 0);
    for (int i = 0; i < 2; i++) {
        must_equal(close(back[i]), 0);
        must_equal(close(there[i]), 0);
    }
}

/* The flags of a descriptor, as /proc shows them. */
static int flags_of(const char *out)
{
    const char *found = strstr(out, "flags:");
    must(found != NULL);
    return (int)strtol(found + strlen("flags:"), NULL, 8);
}

/* Give it to a child as its input, in both ways to start one. Whether the child's blocks. */
static bool blocks_in_a_child(vigil_stdio_kind kind, int fd)
{
    static const char *const argv[] = {"cat", "/proc/self/fdinfo/0", NULL};
    const mode_t mask = 077;
    int flags[2];
    for (int i = 0; i < 2; i++) {
        struct child child = {0};
        vigil_process_options options = shell(&child, argv);
        options.stdio[0] = (vigil_stdio){.kind = kind, .fd = fd};
        options.umask = i == 0 ? NULL : &mask;
        begin(&child, &options);
        run_to_the_end(&child);
        must_equal(child.end.status, 0);
        flags[i] = flags_of(child.out);
        end(&child);
        must_equal(flags[i] & O_ACCMODE, fcntl(fd, F_GETFL) & O_ACCMODE);
        must_equal((fcntl(fd, F_GETFL) & O_NONBLOCK), O_NONBLOCK); /* the program's own stays */
    }
    must_equal(flags[0] & O_NONBLOCK, flags[1] & O_NONBLOCK);
    return (flags[0] & O_NONBLOCK) == 0;
}

static void its_standard_streams_block_and_ours_do_not(void **state)
{
    (void)state;
    int ends[2], sockets[2];
    must_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    must(blocks_in_a_child(VIGIL_STDIO_FD, ends[0]));

    const int before = fcntl(0, F_DUPFD_CLOEXEC, 3);
    must_equal(dup2(ends[0], 0), 0);
    const bool inherited = blocks_in_a_child(VIGIL_STDIO_INHERIT, 0);
    must_equal(before >= 0 ? dup2(before, 0) : close(0), 0);
    if (before >= 0)
        must_equal(close(before), 0);
    must(inherited);

    const int control = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    must(control >= 0);
    must_equal(grantpt(control), 0);
    must_equal(unlockpt(control), 0);
    const int terminal = open(ptsname(control), O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    must(terminal >= 0);
    must(blocks_in_a_child(VIGIL_STDIO_FD, terminal));

    /* of a socket there is one open file: to change it would block the program */
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets), 0);
    must(!blocks_in_a_child(VIGIL_STDIO_FD, sockets[0]));
    for (int i = 0; i < 2; i++) {
        must_equal(close(ends[i]), 0);
        must_equal(close(sockets[i]), 0);
    }
    must_equal(close(terminal), 0);
    must_equal(close(control), 0);
}

/* A FIFO that nobody reads from cannot be opened for writing. The child gets a copy of what there is, without a wait. */
static void a_fifo_without_a_peer_is_passed_on_as_it_is(void **state)
{
    (void)state;
    static const char *const argv[] = {"cat", "/proc/self/fdinfo/2", NULL};
    struct child child = {0};
    char folder[] = "/tmp/vigil-fifo-XXXXXX", path[64];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/fifo", folder);
    must_equal(mkfifo(path, 0600), 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    must(reader >= 0 && writer >= 0);
    must_equal(close(reader), 0);
    vigil_process_options options = shell(&child, argv);
    options.stdio[2] = (vigil_stdio){.kind = VIGIL_STDIO_FD, .fd = writer};
    begin(&child, &options);
    run_to_the_end(&child);
    must_equal(child.end.status, 0);
    must_equal(flags_of(child.out) & O_NONBLOCK, O_NONBLOCK);
    end(&child);
    must_equal(close(writer), 0);
    must_equal(unlink(path), 0);
    must_equal(rmdir(folder), 0);
}

static void what_cannot_start_says_why(void **state)
{
    (void)state;
    struct child child = {.loop = loop_plain()};
    static const char *const nothing[] = {"/no/such/program", NULL};
    static const char *const empty[] = {NULL};
    static const char *const shell_words[] = {"sh", "-c", "exit 0", NULL};
    vigil_process_options options = shell(&child, nothing);
    must_equal(vigil_process_open(&child.process, child.loop, &options), -ENOENT);
    must(strstr(vigil_why(), "/no/such/program") != NULL);
    options.argv = shell_words;
    options.cwd = "/no/such/folder";
    must_equal(vigil_process_open(&child.process, child.loop, &options), -ENOENT);
    must(strstr(vigil_why(), "/no/such/folder") != NULL);
    options.cwd = NULL;
    options.argv = empty;
    must_equal(vigil_process_open(&child.process, child.loop, &options), -EINVAL);
    options.argv = shell_words;
    options.stdio[1] = (vigil_stdio){VIGIL_STDIO_FD, 1000000};
    must_equal(vigil_process_open(&child.process, child.loop, &options), -EBADF);
    must_equal(vigil_process_close(NULL), 0);
    must_equal(vigil_loop_destroy(child.loop), 0);
}

/* Only root may change the user; others must be refused, and nothing may have been started. */
static void it_may_be_another_user(void **state)
{
    (void)state;
    static const gid_t groups[] = {2001, 2002};
    static const char *const argv[] = {"sh", "-c", "id -u; id -g; echo $(id -G); umask; pwd; touch /proc/self/x", NULL};
    for (int how = 0; how < 3; how++) { /* without further groups; with some; the mask alone */
        struct child child = {0};
        const vigil_identity other = {
            .uid = 1234, .gid = 2345, .groups = how == 1 ? groups : NULL, .group_count = how == 1 ? 2 : 0};
        const mode_t mask = 027;
        char expected[64];
        vigil_process_options options = shell(&child, argv);
        options.stdio[0].kind = VIGIL_STDIO_NULL;
        options.stdio[2].kind = VIGIL_STDIO_NULL;
        options.identity = how < 2 ? &other : NULL;
        options.umask = &mask;
        options.cwd = "/";
        options.session = how == 1;
        if (how < 2 && getuid() != 0) {
            child.loop = loop_plain();
            must_equal(vigil_process_open(&child.process, child.loop, &options), -EPERM);
            must_equal(waitpid(-1, NULL, WNOHANG), -1);
            must_equal(vigil_loop_destroy(child.loop), 0);
            continue;
        }
        begin(&child, &options);
        if (how == 1)
            must_equal(getsid(vigil_process_pid(child.process)), vigil_process_pid(child.process));
        run_to_the_end(&child);
        (void)snprintf(expected, sizeof expected, "1234\n2345\n2345%s\n0027\n/\n", how == 1 ? " 2001 2002" : "");
        if (how < 2)
            must_equal(strcmp(child.out, expected), 0);
        else
            must(strstr(child.out, "\n0027\n/\n") != NULL);
        must_equal(child.end.code, CLD_EXITED);
        end(&child);
    }
}

/* What posix_spawn promises must hold for the other way too. */
static void another_way_to_start_is_as_clean(void **state)
{
    (void)state;
    const mode_t mask = 022;
    const int leaked = fcntl(1, F_DUPFD, 200); /* not marked */
    int ends[2];
    struct child child = {0};
    sigset_t blocked, before;
    static const char *const argv[] = {
        "sh", "-c", "ls /proc/self/fd | wc -l; echo x >&3; grep -E 'SigBlk|SigIgn' /proc/self/status", NULL};
    static const char *const nothing[] = {"/no/such/program", NULL};
    must(leaked >= 0);
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    must_equal(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
    must(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    vigil_process_options options = shell(&child, argv);
    options.umask = &mask;
    options.group = true;
    options.fds = &ends[1];
    options.fd_count = 1;
    begin(&child, &options);
    must_equal(getpgid(vigil_process_pid(child.process)), vigil_process_pid(child.process));
    run_to_the_end(&child);
    unsigned count = 0;
    unsigned long long kept = 1, ignored = 1;
    must_equal(sscanf(child.out, "%u SigBlk: %llx SigIgn: %llx", &count, &kept, &ignored), 3);
    must_equal(count, 5); /* 0, 1, 2, 3, and the one that ls reads with */
    must_equal(kept, 0);
    must_equal(ignored & 0x7fffffff, 0); /* 32 and 33 are the C library's own */
    char byte;
    must_equal(read(ends[0], &byte, 1), 1);
    options.argv = nothing;
    vigil_process *process;
    must_equal(vigil_process_open(&process, child.loop, &options), -ENOENT);
    must(strstr(vigil_why(), "/no/such/program") != NULL);
    options.argv = argv;
    options.cwd = "/no/such/folder";
    must_equal(vigil_process_open(&process, child.loop, &options), -ENOENT);
    must(signal(SIGHUP, SIG_DFL) != SIG_ERR);
    must_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    must_equal(close(ends[0]) + close(ends[1]) + close(leaked), 0);
    const vigil_identity nobody = {.uid = (uid_t)-1};
    options.identity = &nobody;
    must_equal(vigil_process_open(&process, child.loop, &options), -EINVAL);
    end(&child);
}

static void it_may_outlive_its_handle_and_the_loop(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) { /* given back, then the loop ends; the loop ends first */
        struct child child = {0};
        static const char *const argv[] = {"sh", "-c", "read line", NULL};
        const vigil_process_options options = shell(&child, argv);
        begin(&child, &options);
        const pid_t pid = vigil_process_pid(child.process);
        vigil_stream *in = vigil_process_stream(child.process, 0);
        if (how == 0)
            must_equal(vigil_process_close(child.process), 0);
        must_equal(vigil_loop_close(child.loop, VIGIL_FOREVER), 0);
        must_equal(child.exits, how);
        if (how == 1) {
            must_equal(child.end.code, 0);
            must_equal(child.end.status, -ESHUTDOWN);
            must_equal(vigil_process_close(child.process), 0);
        }
        must_equal(vigil_stream_close(in), 0);
        must_equal(vigil_loop_destroy(child.loop), 0);
        must_equal(waitpid(pid, NULL, 0), pid); /* nobody else has reaped it */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(it_reads_and_answers),
        test(its_end_is_a_promise),
        test(it_begins_clean),
        test(one_that_ignores_sigterm_is_killed),
        test(one_that_forks_twice_and_closes_everything_is_no_trouble),
        test(a_session_is_its_own),
        test(it_gets_further_descriptors_and_no_others),
        test(its_standard_streams_block_and_ours_do_not),
        test(a_fifo_without_a_peer_is_passed_on_as_it_is),
        test(what_cannot_start_says_why),
        test(it_may_be_another_user),
        test(another_way_to_start_is_as_clean),
        test(it_may_outlive_its_handle_and_the_loop),
    };
    return run_all(tests);
}
