/* SPDX-License-Identifier: MIT */
/*
 * The two things that C cannot say, for x86-64.
 *
 * vgc_switch(save, to): leaves one coroutine and enters another. Callee-saved registers go to the stack that is left, the
 * stack pointer to *save; the other stack gives its own back.
 *
 * Entry stubs. Every call of the code under check that can make it wait (atomics, system calls) comes in here first. The
 * stub pushes the six callee-saved registers and notes where the stack of the caller stands. From there upwards lies all
 * that the code under check knows: two visits with equal bytes are two visits in the same state. That is how a loop without
 * progress is told from one that counts, and what the stateful search hashes. Return address: user_sp + 48.
 *
 * The engine then works on a stack of its own, one for each model thread. Otherwise what it leaves behind on the caller's would show
 * up in slots that the next function there has not written yet, and equal states would look different.
 */
#include "stacks.h"

    .text

    .globl vgc_switch
    .type vgc_switch, @function
vgc_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size vgc_switch, .-vgc_switch

/* The first return of a new coroutine lands here; the stack is aligned, and holds no return address worth having. */
    .globl vgc_coroutine_start
    .type vgc_coroutine_start, @function
vgc_coroutine_start:
    xorl %ebp, %ebp
    call vgc_coroutine_main
    ud2
    .size vgc_coroutine_start, .-vgc_coroutine_start

    .type enter, @function
enter:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, vgc_user_sp(%rip)
    movq %rsp, %r10
    movq vgc_engine_sp(%rip), %rax
    testq %rax, %rax
    cmovneq %rax, %rsp         /* outside of an execution it stays where it is */
    pushq 56(%r10)             /* the seventh argument, if there is one; and aligns */
    call *%r11
    movq vgc_user_sp(%rip), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
    .size enter, .-enter

/* access_plain(), on the engine's stack. It never waits, so nothing else is noted. The engine itself comes here too, by way of memcpy
 * and its like, and stays where it is. */
    .globl vgc_access_plain
    .type vgc_access_plain, @function
vgc_access_plain:
    movq vgc_engine_sp(%rip), %r10
    movq %r10, %rax
    subq %rsp, %rax
    cmpq $ENGINE_STACK_SIZE, %rax
    jb access_plain
    movq %rsp, vgc_plain_sp(%rip)
    movq %r10, %rsp
    subq $8, %rsp
    call access_plain
    movq vgc_plain_sp(%rip), %rsp
    ret
    .size vgc_access_plain, .-vgc_access_plain

    .macro STUB name, target
    .globl \name
    .type \name, @function
\name:
    leaq \target(%rip), %r11
    jmp enter
    .size \name, .-\name
    .endm

    .macro ATOMIC bits
    STUB __tsan_atomic\bits\()_load, vgc_atomic\bits\()_load
    STUB __tsan_atomic\bits\()_store, vgc_atomic\bits\()_store
    STUB __tsan_atomic\bits\()_exchange, vgc_atomic\bits\()_exchange
    STUB __tsan_atomic\bits\()_fetch_add, vgc_atomic\bits\()_fetch_add
    STUB __tsan_atomic\bits\()_fetch_sub, vgc_atomic\bits\()_fetch_sub
    STUB __tsan_atomic\bits\()_fetch_and, vgc_atomic\bits\()_fetch_and
    STUB __tsan_atomic\bits\()_fetch_or, vgc_atomic\bits\()_fetch_or
    STUB __tsan_atomic\bits\()_fetch_xor, vgc_atomic\bits\()_fetch_xor
    STUB __tsan_atomic\bits\()_fetch_nand, vgc_atomic\bits\()_fetch_nand
    STUB __tsan_atomic\bits\()_compare_exchange_strong, vgc_atomic\bits\()_compare_exchange_strong
    STUB __tsan_atomic\bits\()_compare_exchange_weak, vgc_atomic\bits\()_compare_exchange_weak
    STUB __tsan_atomic\bits\()_compare_exchange_val, vgc_atomic\bits\()_compare_exchange_val
    .endm

    ATOMIC 8
    ATOMIC 16
    ATOMIC 32
    ATOMIC 64
    STUB __tsan_atomic_thread_fence, vgc_atomic_thread_fence

    STUB __wrap_syscall, vgc_syscall
    STUB __wrap_pthread_create, vgc_pthread_create
    STUB __wrap_pthread_join, vgc_pthread_join
    STUB __wrap_pthread_mutex_lock, vgc_pthread_mutex_lock
    STUB __wrap_pthread_mutex_trylock, vgc_pthread_mutex_trylock
    STUB __wrap_pthread_mutex_unlock, vgc_pthread_mutex_unlock
    STUB __wrap_pthread_mutex_timedlock, vgc_pthread_mutex_timedlock
    STUB __wrap_pthread_mutex_clocklock, vgc_pthread_mutex_clocklock
    STUB __wrap_pthread_mutex_destroy, vgc_pthread_mutex_destroy
    STUB __wrap_pthread_cond_wait, vgc_pthread_cond_wait
    STUB __wrap_pthread_cond_timedwait, vgc_pthread_cond_timedwait
    STUB __wrap_pthread_cond_clockwait, vgc_pthread_cond_clockwait
    STUB __wrap_pthread_cond_signal, vgc_pthread_cond_signal
    STUB __wrap_pthread_cond_broadcast, vgc_pthread_cond_broadcast
    STUB __wrap_pthread_cond_destroy, vgc_pthread_cond_destroy
    STUB __wrap_sem_wait, vgc_sem_wait
    STUB __wrap_sem_trywait, vgc_sem_trywait
    STUB __wrap_sem_timedwait, vgc_sem_timedwait
    STUB __wrap_sem_clockwait, vgc_sem_clockwait
    STUB __wrap_sem_post, vgc_sem_post
    STUB __wrap_sem_getvalue, vgc_sem_getvalue
    STUB __wrap_sem_destroy, vgc_sem_destroy
    STUB __wrap_pthread_rwlock_rdlock, vgc_pthread_rwlock_rdlock
    STUB __wrap_pthread_rwlock_tryrdlock, vgc_pthread_rwlock_tryrdlock
    STUB __wrap_pthread_rwlock_timedrdlock, vgc_pthread_rwlock_timedrdlock
    STUB __wrap_pthread_rwlock_clockrdlock, vgc_pthread_rwlock_clockrdlock
    STUB __wrap_pthread_rwlock_wrlock, vgc_pthread_rwlock_wrlock
    STUB __wrap_pthread_rwlock_trywrlock, vgc_pthread_rwlock_trywrlock
    STUB __wrap_pthread_rwlock_timedwrlock, vgc_pthread_rwlock_timedwrlock
    STUB __wrap_pthread_rwlock_clockwrlock, vgc_pthread_rwlock_clockwrlock
    STUB __wrap_pthread_rwlock_unlock, vgc_pthread_rwlock_unlock
    STUB __wrap_pthread_rwlock_destroy, vgc_pthread_rwlock_destroy
    STUB __wrap_pthread_barrier_wait, vgc_pthread_barrier_wait
    STUB __wrap_pthread_barrier_destroy, vgc_pthread_barrier_destroy
    STUB __wrap_pthread_exit, vgc_pthread_exit
    STUB __wrap_thrd_create, vgc_thrd_create
    STUB __wrap_thrd_join, vgc_thrd_join
    STUB __wrap_thrd_exit, vgc_thrd_exit
    STUB __wrap_thrd_sleep, vgc_thrd_sleep
    STUB __wrap_mtx_lock, vgc_mtx_lock
    STUB __wrap_mtx_trylock, vgc_mtx_trylock
    STUB __wrap_mtx_timedlock, vgc_mtx_timedlock
    STUB __wrap_mtx_unlock, vgc_mtx_unlock
    STUB __wrap_mtx_destroy, vgc_mtx_destroy
    STUB __wrap_cnd_destroy, vgc_cnd_destroy
    STUB __wrap_cnd_wait, vgc_cnd_wait
    STUB __wrap_cnd_timedwait, vgc_cnd_timedwait
    STUB __wrap_cnd_signal, vgc_cnd_signal
    STUB __wrap_cnd_broadcast, vgc_cnd_broadcast
    STUB __wrap_sleep, vgc_sleep
    STUB __wrap_nanosleep, vgc_nanosleep
    STUB __wrap_clock_nanosleep, vgc_clock_nanosleep
    STUB __wrap_usleep, vgc_usleep
    STUB __wrap_read, vgc_read
    STUB __wrap_write, vgc_write
    STUB __wrap_close, vgc_close
    STUB __wrap_eventfd, vgc_eventfd
    STUB __wrap_eventfd_read, vgc_eventfd_read
    STUB __wrap_eventfd_write, vgc_eventfd_write
    STUB __wrap_epoll_create1, vgc_epoll_create1
    STUB __wrap_epoll_ctl, vgc_epoll_ctl
    STUB __wrap_epoll_wait, vgc_epoll_wait
    STUB __wrap_epoll_pwait, vgc_epoll_pwait
    STUB __wrap_epoll_pwait2, vgc_epoll_pwait2
    STUB __wrap_timerfd_create, vgc_timerfd_create
    STUB __wrap_timerfd_settime, vgc_timerfd_settime
    STUB __wrap_poll, vgc_poll
    STUB __wrap_pipe2, vgc_pipe2
    STUB __wrap_socketpair, vgc_socketpair
    STUB vgc_thread_begins, vgc_do_thread_begins
    STUB vgc_quiesce, vgc_do_quiesce
    STUB vgc_once_begin, vgc_do_once_begin
    STUB vgc_once_done, vgc_do_once_done
    STUB vgc_guard_store, vgc_do_guard_store
    STUB vgc_heap_step, vgc_do_heap_step
    STUB vgc_thread_start, vgc_do_thread_start
    STUB vgc_thread_join, vgc_do_thread_join

    .section .note.GNU-stack, "", @progbits
