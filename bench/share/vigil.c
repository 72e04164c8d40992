/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include "../peer/peer.h"

#include <vigil/channel.h>
#include <vigil/sync.h>

static vigil_mutex mutex = VIGIL_MUTEX_INIT;
static vigil_semaphore semaphore = VIGIL_SEMAPHORE_INIT(1);
static vigil_channel *channel;

static void lock(void)
{
    (void)vigil_mutex_lock(&mutex);
}

static void unlock(void)
{
    (void)vigil_mutex_unlock(&mutex);
}

static void acquire(void)
{
    (void)vigil_semaphore_acquire(&semaphore, 1, VIGIL_FOREVER, NULL);
}

static void post(void)
{
    (void)vigil_semaphore_post(&semaphore, 1);
}

static void open_channel(size_t capacity)
{
    bench_must(vigil_channel_create(&channel, sizeof(uint64_t), capacity) == 0, "a channel");
}

static void send(uint64_t message)
{
    (void)vigil_channel_send(channel, &message, VIGIL_FOREVER, NULL);
}

static uint64_t receive(void)
{
    uint64_t message = 0;
    (void)vigil_channel_receive(channel, VIGIL_FOREVER, NULL, &message);
    return message;
}

double share_green(size_t capacity, unsigned pairs, long each); /* vigil_green.c */

const struct share_peer share_peer = {lock, unlock, acquire, post, open_channel, send, receive, share_green};
