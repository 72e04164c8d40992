/* SPDX-License-Identifier: MIT */
/* Channels: a sequential model, many to many, closing, select, timeouts and tokens, and tasks that wait. */
#include "support.h"

#include "dice.h"

#include <vigil/channel.h>

static const size_t CAPACITIES[] = {0, 1, 2, 3, 64, VIGIL_CHANNEL_UNBOUNDED};

static vigil_channel *channel_of(size_t element, size_t capacity)
{
    vigil_channel *channel = NULL;
    must_equal(vigil_channel_create(&channel, element, capacity), 0);
    return channel;
}

/* ---- one thread, beside a model ---- */

static void a_channel_does_what_its_model_does(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    for (uint64_t round = scaled(300, 30); round > 0; round--) {
        const size_t capacity = CAPACITIES[1 + roll(&dice, 5)];
        const size_t size = 1 + roll(&dice, 40);
        vigil_channel *channel = channel_of(size, capacity);
        unsigned char model[256][40];
        size_t from = 0, to = 0;
        bool closed = false;
        for (int step = 0; step < 250; step++) {
            unsigned char message[40];
            if (one_in(&dice, 60)) {
                must_equal(vigil_channel_close(channel), closed ? -EALREADY : 0);
                closed = true;
            } else if (one_in(&dice, 2)) {
                memset(message, (int)roll(&dice, 256), sizeof message);
                const int expected = closed ? -EPIPE : to - from < capacity ? 0 : -ETIMEDOUT;
                must_equal(vigil_channel_send(channel, message, 0, NULL), expected);
                if (expected == 0)
                    memcpy(model[to++], message, sizeof message);
            } else {
                const int expected = to > from ? 0 : closed ? -EPIPE : -ETIMEDOUT;
                must_equal(vigil_channel_receive(channel, 0, NULL, message), expected);
                if (expected == 0)
                    must(memcmp(model[from++], message, size) == 0);
            }
            must_equal(vigil_channel_count(channel), to - from);
        }
        vigil_channel_destroy(channel); /* perhaps with messages in it */
    }
}

/* ---- many to many ---- */

enum {
    MOST_THREADS = 4
};

struct traffic {
    vigil_channel *channel;
    uint64_t rounds;
    unsigned threads;
    _Atomic uint64_t sum, received, next_sender;
};

struct parcel {
    uint32_t sender;
    uint32_t number;
};

static void *send_parcels(void *arg)
{
    struct traffic *traffic = arg;
    struct parcel parcel = {.sender = (uint32_t)atomic_fetch_add(&traffic->next_sender, 1)};
    for (uint64_t i = 1; i <= traffic->rounds; i++) {
        parcel.number = (uint32_t)i;
        must_equal(vigil_channel_send(traffic->channel, &parcel, VIGIL_FOREVER, NULL), 0);
    }
    return NULL;
}

static void *receive_parcels(void *arg)
{
    struct traffic *traffic = arg;
    struct parcel parcel;
    uint32_t last[MOST_THREADS] = {0};
    int answer = 0;
    while ((answer = vigil_channel_receive(traffic->channel, VIGIL_FOREVER, NULL, &parcel)) == 0) {
        must(parcel.number > last[parcel.sender]); /* the order of each sender */
        last[parcel.sender] = parcel.number;
        (void)atomic_fetch_add(&traffic->sum, parcel.number);
        (void)atomic_fetch_add(&traffic->received, 1);
    }
    must_equal(answer, -EPIPE);
    return NULL;
}

static int send_in_task(void *arg)
{
    (void)send_parcels(arg);
    return 0;
}

static int receive_in_task(void *arg)
{
    (void)receive_parcels(arg);
    return 0;
}

static void each_message_arrives_once_and_in_order(void **state)
{
    (void)state;
    for (size_t c = 0; c < count_of(CAPACITIES); c++)
        for (unsigned threads = 1; threads <= MOST_THREADS; threads += 3) {
            struct traffic traffic = {.channel = channel_of(sizeof(struct parcel), CAPACITIES[c]),
                                      .rounds = scaled(4000, 200),
                                      .threads = threads};
            pthread_t senders[MOST_THREADS], receivers[MOST_THREADS];
            for (unsigned i = 0; i < threads; i++) {
                receivers[i] = start_thread(receive_parcels, &traffic);
                senders[i] = start_thread(send_parcels, &traffic);
            }
            for (unsigned i = 0; i < threads; i++)
                join_thread(senders[i]);
            must_equal(vigil_channel_close(traffic.channel), 0);
            for (unsigned i = 0; i < threads; i++)
                join_thread(receivers[i]);
            must_equal(traffic.received, threads * traffic.rounds);
            must_equal(traffic.sum, threads * traffic.rounds * (traffic.rounds + 1) / 2);
            vigil_channel_destroy(traffic.channel);
        }
}

static void tasks_wait_for_each_other_on_one_worker(void **state)
{
    (void)state;
    for (size_t c = 0; c < count_of(CAPACITIES); c++) {
        vigil_pool *pool = pool_of(1);
        struct traffic traffic = {.channel = channel_of(sizeof(struct parcel), CAPACITIES[c]),
                                  .rounds = scaled(300, 50)};
        must_equal(vigil_pool_call(pool, receive_in_task, NULL, &traffic, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_call(pool, send_in_task, NULL, &traffic, VIGIL_NORMAL), 0);
        while (atomic_load(&traffic.received) < traffic.rounds)
            yield();
        must_equal(vigil_channel_close(traffic.channel), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        pool_close(pool);
        vigil_channel_destroy(traffic.channel);
    }
}

/* ---- ends ---- */

struct waiter {
    vigil_channel *channel;
    bool send;
    int64_t timeout_ns;
    vigil_cancel_token *token;
    struct event begun;
    int answer;
};

static void *wait_on_channel(void *arg)
{
    struct waiter *waiter = arg;
    int message = 1;
    event_set(&waiter->begun);
    waiter->answer = waiter->send ? vigil_channel_send(waiter->channel, &message, waiter->timeout_ns, waiter->token)
                                  : vigil_channel_receive(waiter->channel, waiter->timeout_ns, waiter->token, &message);
    return NULL;
}

static void a_wait_ends_by_close_timeout_and_token(void **state)
{
    (void)state;
    enum {
        BY_CLOSE,
        BY_TIME,
        BY_TOKEN
    };
    for (size_t c = 0; c < count_of(CAPACITIES); c++)
        for (int by = BY_CLOSE; by <= BY_TOKEN; by++)
            for (int send = 0; send <= 1; send++) {
                if (send && CAPACITIES[c] == VIGIL_CHANNEL_UNBOUNDED)
                    continue;
                vigil_channel *channel = channel_of(sizeof(int), CAPACITIES[c]);
                for (int i = 0; send && (size_t)i < CAPACITIES[c]; i++)
                    must_equal(vigil_channel_send(channel, &i, 0, NULL), 0);
                vigil_cancel_source *source = NULL;
                must_equal(vigil_cancel_create(&source), 0);
                struct waiter waiter = {.channel = channel,
                                        .send = send,
                                        .timeout_ns = by == BY_TIME ? 100000 : VIGIL_FOREVER,
                                        .token = vigil_cancel_token_of(source)};
                const pthread_t thread = start_thread(wait_on_channel, &waiter);
                event_wait(&waiter.begun);
                if (by == BY_CLOSE)
                    must_equal(vigil_channel_close(channel), 0);
                if (by == BY_TOKEN)
                    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
                join_thread(thread);
                must_equal(waiter.answer, by == BY_CLOSE ? -EPIPE : by == BY_TIME ? -ETIMEDOUT : -ECANCELED);
                vigil_cancel_destroy(source);
                vigil_channel_destroy(channel);
            }
}

/* ---- select ---- */

struct crossing {
    vigil_channel *in[2], *out;
    uint64_t rounds;
    _Atomic uint64_t sum;
};

static void *select_both(void *arg)
{
    struct crossing *crossing = arg;
    vigil_channel *in[2] = {crossing->in[0], crossing->in[1]};
    while (in[0] != NULL || in[1] != NULL) {
        uint64_t value = 0;
        vigil_channel_case cases[] = {{.channel = in[0], .receive = &value}, {.channel = in[1], .receive = &value}};
        const int done = vigil_channel_select(cases, 2, VIGIL_FOREVER, NULL);
        must(done == 0 || done == 1);
        if (cases[done].status == 0)
            (void)atomic_fetch_add(&crossing->sum, value);
        else
            in[done] = NULL; /* closed */
    }
    return NULL;
}

static void *select_sends(void *arg)
{
    struct crossing *crossing = arg;
    for (uint64_t i = 1; i <= crossing->rounds; i++) {
        vigil_channel_case cases[] = {{.channel = crossing->in[0], .send = &i},
                                      {.channel = crossing->in[1], .send = &i}};
        const int done = vigil_channel_select(cases, 2, VIGIL_FOREVER, NULL);
        must(done == 0 || done == 1);
        must_equal(cases[done].status, 0);
    }
    return NULL;
}

static void select_does_one_of_its_cases(void **state)
{
    (void)state;
    for (size_t a = 0; a < count_of(CAPACITIES); a++) {
        struct crossing crossing = {.in = {channel_of(8, CAPACITIES[a]), channel_of(8, 0)},
                                    .rounds = scaled(1500, 100)};
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            threads[i] = start_thread(i < 2 ? select_both : select_sends, &crossing);
        join_thread(threads[2]);
        join_thread(threads[3]);
        must_equal(vigil_channel_close(crossing.in[0]), 0);
        must_equal(vigil_channel_close(crossing.in[1]), 0);
        join_thread(threads[0]);
        join_thread(threads[1]);
        must_equal(crossing.sum, crossing.rounds * (crossing.rounds + 1));
        vigil_channel_destroy(crossing.in[0]);
        vigil_channel_destroy(crossing.in[1]);
    }
}

static void a_select_that_cannot_go_on_times_out(void **state)
{
    (void)state;
    vigil_channel *full = channel_of(1, 1);
    vigil_channel *empty = channel_of(1, 0);
    char message = 'x';
    must_equal(vigil_channel_send(full, &message, 0, NULL), 0);
    vigil_channel_case cases[] = {
        {.channel = full, .send = "y"}, {.channel = NULL}, {.channel = empty, .receive = &message}};
    must_equal(vigil_channel_select(cases, 3, 0, NULL), -ETIMEDOUT);
    must_equal(vigil_channel_select(cases, 3, 100000, NULL), -ETIMEDOUT);
    must_equal(vigil_channel_receive(full, 0, NULL, &message), 0);
    must_equal(vigil_channel_select(cases, 3, 100000, NULL), 0);
    must_equal(cases[0].status, 0);
    must_equal(vigil_channel_receive(full, 0, NULL, &message), 0);
    must_equal(message, 'y');
    vigil_channel_destroy(full);
    vigil_channel_destroy(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_channel_does_what_its_model_does),
        test(each_message_arrives_once_and_in_order),
        test(tasks_wait_for_each_other_on_one_worker),
        test(a_wait_ends_by_close_timeout_and_token),
        test(select_does_one_of_its_cases),
        test(a_select_that_cannot_go_on_times_out),
    };
    return run_all(tests);
}
