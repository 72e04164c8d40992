/* SPDX-License-Identifier: MIT */
/*
 * Channels. Properties: each message arrives once, with what its sender did before; nobody sleeps beside a message, or beside room;
 * a close ends every wait; a waiter that leaves takes no wake with it; blocks of an unbounded channel are freed once.
 *
 * Each wait ends in two forms: with everybody at rest, and with the end racing the wake.
 */
#include <vigil_check.h>

#include <errno.h>
#include <vigil/channel.h>

static vigil_channel *channel, *second;
static int payload[8]; /* plain: written before the send of its number, read after the receive */
static int received;

static void make(vigil_channel **to, size_t capacity)
{
    vgc_assert(vigil_channel_create(to, sizeof(int), capacity) == 0, "made");
}

static size_t capacity_of_scenario(void)
{
    return (size_t)(uintptr_t)vgc_arg();
}

static void *send_number(void *arg)
{
    const int number = (int)(intptr_t)arg;
    payload[number] = number;
    vgc_assert(vigil_channel_send(channel, &number, VIGIL_FOREVER, NULL) == 0, "sent");
    return NULL;
}

static void *send_two(void *arg)
{
    (void)send_number(arg);
    (void)send_number((void *)((intptr_t)arg + 1));
    return NULL;
}

static int receive_number(void)
{
    int number = 0;
    vgc_assert(vigil_channel_receive(channel, VIGIL_FOREVER, NULL, &number) == 0, "received");
    vgc_assert(payload[number] == number, "what the sender did is seen");
    return number;
}

static void *receive_one(void *arg)
{
    *(int *)arg = receive_number();
    return NULL;
}

static void *receive_two(void *arg)
{
    *(int *)arg = receive_number();
    *(int *)arg += receive_number();
    return NULL;
}

/* ---- messages ---- */

static void one_to_one(void)
{
    make(&channel, capacity_of_scenario());
    pthread_t sender = vgc_thread_start(send_two, (void *)1);
    int sum = receive_number();
    sum += receive_number();
    vgc_assert(sum == 3, "both have arrived");
    vgc_thread_join(sender);
    vigil_channel_destroy(channel);
}

#define ONE(id, capacity)                                                                                        \
    VGC_REGISTER(id, #id, one_to_one, "nobody sleeps beside a message, or beside room", .bound = "1 x 2, 1 x 2", \
                 .arg = (const void *)(uintptr_t)(capacity), .opt.mode = VGC_PCT, .opt.runs = 20000)
ONE(share_channel_hand_one, 0);
ONE(share_channel_ring_one, 1);
ONE(share_channel_ring_wide, 2);
ONE(share_channel_list_one, VIGIL_CHANNEL_UNBOUNDED);

static void two_to_two(void)
{
    int sums[2] = {0, 0};
    make(&channel, capacity_of_scenario());
    pthread_t a = vgc_thread_start(send_two, (void *)1);
    pthread_t b = vgc_thread_start(send_two, (void *)3);
    pthread_t c = vgc_thread_start(receive_two, &sums[0]);
    (void)receive_two(&sums[1]);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_thread_join(c);
    vgc_assert(sums[0] + sums[1] == 10, "each has arrived once");
    vigil_channel_destroy(channel);
}

#define TWO(id, capacity)                                                                                              \
    VGC_REGISTER(id, #id, two_to_two, "each message arrives once, and nobody is left asleep", .bound = "2 x 2, 2 x 2", \
                 .arg = (const void *)(uintptr_t)(capacity), .opt.mode = VGC_PCT, .opt.runs = 20000)
TWO(share_channel_hand_two, 0);
TWO(share_channel_ring_two, 1);
TWO(share_channel_list_two, VIGIL_CHANNEL_UNBOUNDED);

static void receivers_at_rest(void)
{
    int got[2] = {0, 0};
    make(&channel, capacity_of_scenario());
    pthread_t a = vgc_thread_start(receive_one, &got[0]);
    pthread_t b = vgc_thread_start(receive_one, &got[1]);
    vgc_quiesce();
    (void)send_two((void *)1);
    vgc_quiesce();
    vgc_assert(got[0] + got[1] == 3, "each message has woken a receiver");
    vgc_thread_join(a);
    vgc_thread_join(b);
    vigil_channel_destroy(channel);
}

#define REST(id, capacity)                                                                                    \
    VGC_REGISTER(id, #id, receivers_at_rest, "each message wakes a receiver", .bound = "2 receivers at rest", \
                 .arg = (const void *)(uintptr_t)(capacity), .opt.mode = VGC_PCT, .opt.runs = 10000)
REST(share_channel_hand_rest, 0);
REST(share_channel_ring_rest, 2);
REST(share_channel_list_rest, VIGIL_CHANNEL_UNBOUNDED);

static void senders_at_rest(void)
{
    make(&channel, 1);
    payload[5] = 5;
    int number = 5;
    vgc_assert(vigil_channel_send(channel, &number, 0, NULL) == 0, "sent");
    pthread_t a = vgc_thread_start(send_number, (void *)1);
    pthread_t b = vgc_thread_start(send_number, (void *)2);
    vgc_quiesce();
    int sum = receive_number();
    vgc_quiesce();
    vgc_assert(vigil_channel_count(channel) == 1, "room has woken a sender");
    sum += receive_number();
    sum += receive_number();
    vgc_assert(sum == 8, "each has arrived");
    vgc_thread_join(a);
    vgc_thread_join(b);
    vigil_channel_destroy(channel);
}
VGC_REGISTER(share_channel_room, "share_channel_room", senders_at_rest, "room wakes a sender",
             .bound = "2 senders at rest", .opt.mode = VGC_PCT, .opt.runs = 10000);

/* ---- ends ---- */

static void *receive_until_closed(void *arg)
{
    int number = 0;
    int answer = 0;
    while ((answer = vigil_channel_receive(channel, VIGIL_FOREVER, NULL, &number)) == 0) {
        vgc_assert(payload[number] == number, "what the sender did is seen");
        ++*(int *)arg;
    }
    vgc_assert(answer == -EPIPE, "closed");
    return NULL;
}

static void *send_unless_closed(void *arg)
{
    (void)arg;
    const int number = 1;
    payload[1] = 1;
    const int answer = vigil_channel_send(channel, &number, VIGIL_FOREVER, NULL);
    vgc_assert(answer == 0 || answer == -EPIPE, "sent or closed");
    return (void *)(intptr_t)(answer == 0);
}

static void close_races(void)
{
    int got = 0;
    make(&channel, capacity_of_scenario());
    pthread_t receiver = vgc_thread_start(receive_until_closed, &got);
    pthread_t sender = vgc_thread_start(send_unless_closed, NULL);
    vgc_assert(vigil_channel_close(channel) == 0, "closed");
    const intptr_t sent = (intptr_t)vgc_thread_join(sender);
    vgc_thread_join(receiver);
    vgc_assert(got == (int)sent, "what was sent was received");
    vigil_channel_destroy(channel);
}

#define CLOSE(id, capacity)                                                                                     \
    VGC_REGISTER(id, #id, close_races, "a close ends every wait and loses no message", .bound = "1 x 1, 1 x 1", \
                 .arg = (const void *)(uintptr_t)(capacity), .opt.mode = VGC_PCT, .opt.runs = 20000)
CLOSE(share_channel_hand_close, 0);
CLOSE(share_channel_ring_close, 1);
CLOSE(share_channel_list_close, VIGIL_CHANNEL_UNBOUNDED);

static void *receive_for_a_moment(void *arg)
{
    int number = 0;
    const int answer = vigil_channel_receive(channel, 1000, NULL, &number);
    vgc_assert(answer == 0 || answer == -ETIMEDOUT, "received or too late");
    *(int *)arg = answer == 0;
    return NULL;
}

static void timeout_races(void)
{
    int early = 0, got = 0;
    make(&channel, capacity_of_scenario());
    pthread_t a = vgc_thread_start(receive_for_a_moment, &early);
    pthread_t b = vgc_thread_start(receive_one, &got);
    (void)send_number((void *)1);
    vgc_thread_join(a);
    if (early != 0)
        (void)send_number((void *)2);
    vgc_thread_join(b);
    vgc_assert(got == 1 + early, "a receiver that left took no wake with it");
    vigil_channel_destroy(channel);
}

#define LATE(id, capacity)                                                                             \
    VGC_REGISTER(id, #id, timeout_races, "a receiver that leaves takes no wake with it",               \
                 .bound = "2 receivers, 1 with a timeout", .arg = (const void *)(uintptr_t)(capacity), \
                 .opt.mode = VGC_PCT, .opt.runs = 20000, .opt.early_timeouts = 1)
LATE(share_channel_hand_late, 0);
LATE(share_channel_ring_late, 1);
LATE(share_channel_list_late, VIGIL_CHANNEL_UNBOUNDED);

/* ---- select ---- */

static void *select_one(void *arg)
{
    (void)arg;
    int number = 0;
    vigil_channel_case cases[] = {{.channel = channel, .receive = &number}, {.channel = second, .receive = &number}};
    const int done = vigil_channel_select(cases, 2, VIGIL_FOREVER, NULL);
    vgc_assert(done >= 0 && cases[done].status == 0 && number == done + 1, "one of them");
    received |= 1 << done;
    return NULL;
}

static void *send_to_second(void *arg)
{
    (void)arg;
    const int number = 2;
    vgc_assert(vigil_channel_send(second, &number, VIGIL_FOREVER, NULL) == 0, "sent");
    return NULL;
}

static void select_both(void)
{
    make(&channel, capacity_of_scenario());
    make(&second, capacity_of_scenario());
    pthread_t a = vgc_thread_start(send_to_second, NULL);
    pthread_t b = vgc_thread_start(send_number, (void *)1);
    (void)select_one(NULL);
    (void)select_one(NULL);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(received == 3, "each once");
    vigil_channel_destroy(channel);
    vigil_channel_destroy(second);
}

static void select_beside_receiver(void)
{
    int got = 0, number = 2;
    make(&channel, 1);
    make(&second, 1);
    pthread_t a = vgc_thread_start(select_one, NULL);
    pthread_t b = vgc_thread_start(receive_one, &got);
    vgc_assert(vigil_channel_send(second, &number, 0, NULL) == 0, "sent");
    (void)send_number((void *)1);
    /* A select that was woken for the first channel, and took from the second, wakes the receiver in its place. */
    vgc_thread_join(a);
    if (received == 1)
        (void)send_number((void *)1);
    vgc_thread_join(b);
    vgc_assert(got == 1, "the receiver has a message");
    vigil_channel_destroy(channel);
    vigil_channel_destroy(second);
}

static void select_against_select(void)
{
    const int number = 1;
    make(&channel, 0);
    make(&second, 0);
    pthread_t a = vgc_thread_start(select_one, NULL);
    vigil_channel_case cases[] = {{.channel = channel, .send = &number}, {.channel = NULL}};
    payload[1] = 1;
    vgc_assert(vigil_channel_select(cases, 2, VIGIL_FOREVER, NULL) == 0 && cases[0].status == 0, "handed over");
    vgc_thread_join(a);
    vgc_assert(received == 1, "once");
    vigil_channel_destroy(channel);
    vigil_channel_destroy(second);
}

VGC_REGISTER(share_select_hand, "share_select_hand", select_both, "a select takes one message, and loses none",
             .bound = "2 channels", .opt.mode = VGC_PCT, .opt.runs = 10000);
VGC_REGISTER(share_select_ring, "share_select_ring", select_both, "a select takes one message, and loses none",
             .bound = "2 channels", .arg = (const void *)(uintptr_t)1, .opt.mode = VGC_PCT, .opt.runs = 10000);
VGC_REGISTER(share_select_beside, "share_select_beside", select_beside_receiver,
             "a select passes on a wake that it does not use", .bound = "1 select, 1 receiver", .opt.mode = VGC_PCT,
             .opt.runs = 20000);
VGC_REGISTER(share_select_pair, "share_select_pair", select_against_select, "two selects meet", .bound = "2 selects",
             .opt.mode = VGC_PCT, .opt.runs = 10000);
