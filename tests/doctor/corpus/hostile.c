/* SPDX-License-Identifier: MIT */
/*
 * hostile SEED - threads that sleep on words whose surroundings are garbage: mutexes with owners that are not there or in circles, stacks
 * that lead into themselves. Whoever looks at them must not believe, follow for ever, or fall over.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>
#include <unistd.h>

enum {
    THREADS = 24
};

static uint64_t state;
static uint32_t garbage[THREADS][32];
static atomic_int there;

static uint32_t next_word(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint32_t word = (uint32_t)(state >> 33);
    switch (word % 7) {
    case 0:
        return 2;
    case 1:
        return (uint32_t)getpid() + word / 7 % (THREADS + 2); /* a thread, perhaps */
    case 2:
        return UINT32_C(0x80000000) | (uint32_t)getpid();
    case 3:
        return word % 256;
    case 4:
        return 0;
    default:
        return word * 2;
    }
}

static void *sleep_on_garbage(void *arg)
{
    const size_t which = (size_t)arg;
    uint32_t *word = &garbage[which][8 + which % 8];
    /* The frames above lead into a circle, into nothing, and into themselves. */
    uint64_t fake[64];
    for (unsigned i = 0; i < 64; i += 2) {
        fake[i] = (uint64_t)(uintptr_t)&fake[(i * 7 + which) % 64];
        fake[i + 1] = (uint64_t)(uintptr_t)sleep_on_garbage + next_word() % 64;
    }
    __asm__ volatile("" : : "r"(fake) : "memory");
    atomic_fetch_add(&there, 1);
    for (;;)
        (void)syscall(SYS_futex, word, which % 3 == 0 ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, *word, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (size_t i = 0; i < THREADS; i++) {
        for (size_t k = 0; k < 32; k++)
            garbage[i][k] = next_word();
        /* Pointers into the same garbage, for what looks like a stdio lock. */
        const uint64_t self = (uint64_t)(uintptr_t)&garbage[i][12];
        memcpy(&garbage[i][10], &self, sizeof self);
        memcpy(&garbage[i][16], &self, sizeof self);
    }
    char name[32] = "\033[31m\\\"<b>%n%s";
    prctl(PR_SET_NAME, name);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_on_garbage, (void *)i) != 0)
            abort();
    }
    while (atomic_load(&there) < THREADS)
        sched_yield();
    printf("ready\n");
    fflush(stdout);
    (void)getchar();
    return 0;
}
