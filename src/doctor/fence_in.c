/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "fence_in.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define REFUSE(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)

enum {
    FENCE_SECONDS = 8 /* of processor time */
};

void vg_fence_in(void)
{
    const struct rlimit seconds = {FENCE_SECONDS, FENCE_SECONDS};
    (void)setrlimit(RLIMIT_CPU, &seconds);
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_FSIZE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit bytes = {UINT64_C(4) << 30, UINT64_C(4) << 30};
    (void)setrlimit(RLIMIT_AS, &bytes);
#endif
#if defined(__x86_64__)
    static const struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the numbers of x32 */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        REFUSE(SYS_open),
        REFUSE(SYS_openat),
        REFUSE(SYS_openat2),
        REFUSE(SYS_open_by_handle_at),
        REFUSE(SYS_creat),
        REFUSE(SYS_socket),
        REFUSE(SYS_connect),
        REFUSE(SYS_sendto),
        REFUSE(SYS_execve),
        REFUSE(SYS_execveat),
        REFUSE(SYS_fork),
        REFUSE(SYS_vfork),
        REFUSE(SYS_clone),
        REFUSE(SYS_clone3),
        REFUSE(SYS_ptrace),
        REFUSE(SYS_process_vm_writev),
        REFUSE(SYS_kill),
        REFUSE(SYS_tkill),
        REFUSE(SYS_tgkill),
        REFUSE(SYS_unlink),
        REFUSE(SYS_unlinkat),
        REFUSE(SYS_rename),
        REFUSE(SYS_renameat),
        REFUSE(SYS_renameat2),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], (struct sock_filter *)filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}
