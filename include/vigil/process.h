/* SPDX-License-Identifier: MIT */
/*
 * vigil/process.h - child processes, with their standard streams on the loop.
 *
 * A child begins clean: no signal is blocked or ignored, and no descriptor is open but its three
 * standard ones, whatever the program has forgotten to mark. It may be another user. It may lead a
 * group or a session of its own; then signals go to the whole group. A time limit ends it with
 * SIGTERM and, if that is not enough, with SIGKILL.
 *
 * The end of a child is noticed through its pidfd and nobody else's child is touched. SIGCHLD must
 * not be ignored in the program, or the system forgets its children.
 *
 * Threads: every call here is the owner's. No callback runs inside the call that asked for it.
 */
#ifndef VIGIL_PROCESS_H
#define VIGIL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/io.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_process vigil_process;

/* How a child ended. */
typedef struct vigil_process_end {
    size_t size;
    int code;       /* CLD_EXITED, CLD_KILLED or CLD_DUMPED; 0: it is not known */
    int status;     /* the exit status, or the signal; a negative errno if code is 0 */
    bool timed_out; /* its time was up, and it was asked to end */
} vigil_process_end;
#define VIGIL_PROCESS_END_INIT VG_SIZED(vigil_process_end)

/* What a standard stream of the child is. It blocks, as programs expect it, also if the program has
   made a stream of the same pipe or terminal. A socket that does not block stays as it is, and so
   does what cannot be opened again by /proc/self/fd; the library prints a line then. */
typedef enum vigil_stdio_kind {
    VIGIL_STDIO_NULL = 0, /* /dev/null */
    VIGIL_STDIO_STREAM,   /* a pipe to the program: vigil_process_stream gives its other end */
    VIGIL_STDIO_INHERIT,  /* the program's own */
    VIGIL_STDIO_FD        /* a copy of options.stdio[i].fd */
} vigil_stdio_kind;

typedef struct vigil_stdio {
    vigil_stdio_kind kind;
    int fd; /* of VIGIL_STDIO_FD; it stays the caller's */
} vigil_stdio;

/* Who a child is. All of it is set: real, effective and saved. */
typedef struct vigil_identity {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* its further groups; none if group_count is 0 */
    size_t group_count;
} vigil_identity;

/* Start from VIGIL_PROCESS_OPTIONS_INIT. */
typedef struct vigil_process_options {
    size_t size;
    const char *const *argv; /* ends at NULL; must be set */
    /* the program; without a slash it is looked for in PATH. NULL: argv[0] */
    const char *file;
    const char *const *env; /* "NAME=value", ends at NULL; NULL: as the program's own */
    const char *cwd;        /* where it runs; NULL: where the program does */
    vigil_stdio stdio[3];   /* input, output, errors */
    bool group;             /* it leads a process group of its own */
    bool session;           /* it leads a session of its own, without a terminal; implies group */
    int64_t timeout_ns;     /* how long it may run; the _INIT macro says VIGIL_FOREVER */
    int64_t grace_ns; /* from SIGTERM to SIGKILL; the _INIT macro says 5 s; 0: SIGKILL at once */
    /* Owner: it has ended. Its streams may still have something to read. May be NULL. */
    void (*on_exit)(vigil_process *process, const vigil_process_end *end, void *user);
    void *user;
    /* copies of these become its descriptors 3, 4, ...; they stay the caller's, and as they are: a
       stream's does not block. At most 64 */
    const int *fds;
    size_t fd_count;
    /* Another user, which needs the privilege to change it: else -EPERM, and nothing is started.
       The change of directory comes before. NULL: as the program. With this or a mask the child is
       started by fork(2), whose cost grows with the memory of the program */
    const vigil_identity *identity;
    const mode_t *umask; /* its mask for new files; NULL: as the program's */
} vigil_process_options;
#ifdef __cplusplus
#define VIGIL_PROCESS_OPTIONS_INIT vg_process_options_init()
#else
#define VIGIL_PROCESS_OPTIONS_INIT                                          \
    {                                                                       \
        .size = sizeof(vigil_process_options), .timeout_ns = VIGIL_FOREVER, \
        .grace_ns = INT64_C(5000000000)                                     \
    }
#endif

/* Start a child. Keeps the loop alive until it has ended. The strings are not needed afterwards.
   Owner; blocks until the program is loaded.
   0; -EINVAL; -ENOENT no such program or directory; -EACCES; -ENOEXEC; -E2BIG; -EAGAIN no more
   processes; -ENOMEM; -EMFILE; -EPERM; -ESHUTDOWN; -ECHILD; and what posix_spawn(3) answers. */
VIGIL_API int vigil_process_open(vigil_process **process, vigil_loop *loop,
                                 const vigil_process_options *options);

/* Give it back. A child that still runs goes on, without a limit, and is reaped when it ends while
   the loop lives; on_exit is not called. Streams that nobody has taken are closed. A promise that
   waits is rejected with -ECANCELED. NULL is allowed. Owner; does not block.
   0; -EPERM another thread runs the loop. */
VIGIL_API int vigil_process_close(vigil_process *process);

/* Its number. Owner; does not block. Returns the pid, also after its end. */
VIGIL_API pid_t vigil_process_pid(const vigil_process *process);

/* The other end of standard stream 0, 1 or 2, if it is VIGIL_STDIO_STREAM: from here on it is yours
   to close. Closing the input tells the child that nothing follows. Owner; does not block. Returns
   the stream; NULL there is none, or it was taken. */
VIGIL_API vigil_stream *vigil_process_stream(vigil_process *process, int number);

/* Send a signal to the child, or to its group if it leads one. Owner; does not block.
   0; -ESRCH it has ended; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_process_signal(vigil_process *process, int signo);

/* Tell it to end: SIGTERM now, and SIGKILL when grace_ns have passed and it is still there. To its
   group if it leads one. Owner; does not block.
   0; -ESRCH it has ended; -EINVAL; -ENOMEM; -EPERM; -ECHILD. */
VIGIL_API int vigil_process_stop(vigil_process *process, int64_t grace_ns);

/* How it ended. Owner; does not block.
   0 and *end, which starts from VIGIL_PROCESS_END_INIT; -EAGAIN it runs; -EINVAL. */
VIGIL_API int vigil_process_end_get(const vigil_process *process, vigil_process_end *end);

/* Let it keep the loop alive until it has ended, as it does at first. Not counted. Owner; does not
   block.
   0; -ESRCH it has ended; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_process_ref(vigil_process *process);

/* Let it no longer keep the loop alive. It is reaped if it ends while the loop runs. Not counted.
   Owner; does not block.
   0; -ESRCH it has ended; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_process_unref(vigil_process *process);

/* Its end as a promise for the status in the form of wait(2) (VIGIL_INT: WIFEXITED and the like).
   If the token is aborted the child goes on. Owner; does not block.
   0; -EINVAL; -EBUSY somebody waits already; -ENOMEM; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_exit(vigil_process *process, vigil_cancel_token *token,
                                 vigil_promise **promise);

#ifdef __cplusplus
}

inline vigil_process_options vg_process_options_init()
{
    vigil_process_options it = vg_sized<vigil_process_options>();
    it.timeout_ns = VIGIL_FOREVER;
    it.grace_ns = INT64_C(5000000000);
    return it;
}
#endif
#endif
