/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;

static __attribute__((constructor)) void init(void)
{
    (void)sem_init(&semaphore, 0, 1);
}

static void lock(void)
{
    (void)pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

static void acquire(void)
{
    while (sem_wait(&semaphore) != 0) {
    }
}

static void post(void)
{
    (void)sem_post(&semaphore);
}

const struct share_peer share_peer = {.lock = lock, .unlock = unlock, .acquire = acquire, .post = post};
