/* SPDX-License-Identifier: MIT */
/*
 * A bounded buffer with one condition variable for both sides. A signal then may wake a producer where a consumer was meant, and both sides
 * sleep. Two condition variables mend it, or a broadcast.
 */
#include <vigil_check.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static int count;

enum style {
    ONE_SIGNAL,
    ONE_BROADCAST,
    TWO
};
static enum style style;

static void wake(pthread_cond_t *other)
{
    if (style == ONE_BROADCAST)
        pthread_cond_broadcast(&changed);
    else
        pthread_cond_signal(style == TWO ? other : &changed);
}

static void *put(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (count == 1)
        pthread_cond_wait(style == TWO ? &room : &changed, &mutex);
    count++;
    wake(&changed);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *get(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (count == 0)
        pthread_cond_wait(&changed, &mutex);
    count--;
    wake(&room);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void run(enum style chosen)
{
    void *(*const threads[])(void *) = {get, get, put, put};
    pthread_t handles[4];
    style = chosen;
    for (int i = 0; i < 4; i++)
        handles[i] = vgc_thread_start(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        vgc_thread_join(handles[i]);
}

VGC_SCENARIO(bounded_buffer_two_conditions, "everybody ends", .bound = "1 place, 2 producers, 2 consumers")
{
    run(TWO);
}

VGC_SCENARIO(bounded_buffer_broadcast, "everybody ends", .bound = "1 place, 2 producers, 2 consumers")
{
    run(ONE_BROADCAST);
}

VGC_SCENARIO(bounded_buffer_one_signal, "a signal that wakes the wrong side is lost", .expect = VGC_DEADLOCK)
{
    run(ONE_SIGNAL);
}
