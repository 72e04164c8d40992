/* SPDX-License-Identifier: MIT */
/* Examples of vigil/promise.h, one for each function. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vigil/promise.h>

static vigil_value print_value(vigil_value *value, void *arg)
{
    (void)arg;
    printf("%lld\n", (long long)value->integer);
    return vigil_value_none();
}

static vigil_value print_error(vigil_value *reason, void *arg)
{
    (void)arg;
    printf("%s\n", vigil_strerror(reason->status));
    return vigil_value_none();
}

/* vigil_value_of_kind: make a value of a kind, and nothing in it */
static vigil_value empty_pointer(void)
{
    return vigil_value_of_kind(VIGIL_POINTER);
}

/* vigil_value_none: make a value that says nothing */
static vigil_value log_it(vigil_value *value, void *arg)
{
    (void)arg;
    printf("got %lld\n", (long long)value->integer);
    return vigil_value_none();
}

/* vigil_value_int: make a number */
static vigil_value twice(vigil_value *value, void *arg)
{
    (void)arg;
    return vigil_value_int(2 * value->integer);
}

/* vigil_value_real: make a real number */
static vigil_value half(vigil_value *value, void *arg)
{
    (void)arg;
    return vigil_value_real((double)value->integer / 2);
}

/* vigil_value_pointer: make a value of a pointer */
static vigil_value copy_text(const char *text)
{
    /* free() runs when the value is no longer needed. */
    return vigil_value_pointer(strdup(text), free);
}

/* vigil_value_error: make an error */
static vigil_value small_ones_only(vigil_value *value, void *arg)
{
    (void)arg;
    if (value->integer > 1000)
        return vigil_value_error(-ERANGE); /* rejects */
    return *value;                         /* passes it on */
}

/* vigil_value_error_with: make an error that says more */
static vigil_value error_in_line(const char *line)
{
    return vigil_value_error_with(-EINVAL, strdup(line), free);
}

/* vigil_value_promise: settle as another promise does */
static vigil_value then_sleep(vigil_value *value, void *loop)
{
    vigil_promise *sleep;
    (void)value;
    if (vigil_promise_sleep(loop, 1000000, NULL, &sleep) < 0)
        return vigil_value_error(-ENOMEM);
    return vigil_value_promise(sleep); /* the reference goes along */
}

/* vigil_value_thenable: settle as something of your own does */
static void answer(vigil_thenable *self, vigil_promise *promise)
{
    (void)self;
    vigil_promise_resolve(promise, vigil_value_int(42));
    vigil_promise_unref(promise);
}

static vigil_thenable question = {.then = answer};

static vigil_value ask(void)
{
    return vigil_value_thenable(&question, NULL);
}

/* vigil_value_is_error: ask whether a value is an error */
static void print_result(const vigil_value *value)
{
    if (vigil_value_is_error(value))
        printf("%s\n", vigil_strerror(value->status));
}

/* vigil_value_move: take the value out of its promise */
struct inbox {
    vigil_value text;
};

static vigil_value keep(vigil_value *value, void *arg)
{
    struct inbox *inbox = arg;
    inbox->text = vigil_value_move(value); /* ours from here on */
    return vigil_value_none();
}

/* vigil_value_destroy: end a value that was moved or taken */
static void empty(struct inbox *inbox)
{
    vigil_value_destroy(&inbox->text);
}

/* vigil_promise_create: make a promise */
static vigil_promise *make_a_promise(vigil_loop *loop)
{
    vigil_promise *promise;
    if (vigil_promise_create(&promise, loop) < 0)
        return NULL;
    return promise; /* pending; vigil_promise_unref gives it back */
}

/*
 * vigil_resolver_create: make a promise, and the right to settle it
 * vigil_resolver_resolve: settle the promise of a resolver
 * vigil_resolver_destroy: give a resolver back
 */
static void later(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_resolver *resolver = arg;
    (void)loop;
    (void)timer;
    vigil_resolver_resolve(resolver, vigil_value_int(1));
    vigil_resolver_destroy(resolver);
}

static vigil_promise *one_in_a_millisecond(vigil_loop *loop)
{
    vigil_resolver *resolver;
    vigil_promise *promise;
    if (vigil_resolver_create(&resolver, &promise, loop) < 0)
        return NULL;
    if (vigil_timer_start(loop, 1000000, later, resolver, NULL) < 0)
        vigil_resolver_destroy(resolver); /* rejects with -EPIPE */
    return promise; /* the caller cannot settle it */
}

/* vigil_resolver_reject: reject the promise of a resolver */
static void give_up(vigil_resolver *resolver)
{
    vigil_resolver_reject(resolver, vigil_value_error(-ETIMEDOUT));
    vigil_resolver_destroy(resolver);
}

/* vigil_promise_resolve: settle a promise */
static void settle_once(vigil_promise *promise)
{
    int rc = vigil_promise_resolve(promise, vigil_value_int(21));
    assert(rc == 0);
    rc = vigil_promise_resolve(promise, vigil_value_int(22));
    assert(rc == -EALREADY);
}

/* vigil_promise_reject: reject a promise */
static void reject_it(vigil_promise *promise)
{
    vigil_promise_reject(promise, vigil_value_error(-EIO));
}

/* vigil_promise_resolved: make a promise that is settled already */
static vigil_promise *from_the_cache(vigil_loop *loop)
{
    vigil_promise *promise = NULL;
    vigil_promise_resolved(loop, vigil_value_int(7), &promise);
    return promise;
}

/* vigil_promise_try: call a function, and promise its result */
static vigil_value parse(void *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*end != '\0')
        vigil_raise(-EINVAL); /* becomes a rejection */
    return vigil_value_int(number);
}

static vigil_promise *parse_later(vigil_loop *loop, char *text)
{
    vigil_promise *promise = NULL;
    vigil_promise_try(loop, parse, text, &promise);
    return promise;
}

/*
 * vigil_promise_ref: take one more reference
 * vigil_promise_unref: give a reference back
 */
struct cache {
    vigil_promise *promise;
};

static void remember(struct cache *cache, vigil_promise *promise)
{
    cache->promise = vigil_promise_ref(promise);
}

static void forget(struct cache *cache)
{
    vigil_promise_unref(cache->promise);
}

/* vigil_promise_state_get: get the state of a promise */
static bool is_settled(vigil_promise *promise)
{
    return vigil_promise_state_get(promise) != VIGIL_PENDING;
}

/* vigil_promise_result: look at the value of a promise */
static void look(vigil_promise *promise)
{
    vigil_value value; /* borrowed */
    if (vigil_promise_result(promise, &value) == VIGIL_FULFILLED)
        printf("%lld\n", (long long)value.integer);
}

/* vigil_promise_take: take the value out of a promise */
static void take(vigil_promise *promise)
{
    vigil_value value;
    if (vigil_promise_take(promise, &value) >= 0)
        vigil_value_destroy(&value); /* it is ours */
}

/* vigil_promise_wait: wait for a promise on another thread */
static int wait_on_a_worker(void *promise)
{
    vigil_value value;
    int rc = vigil_promise_wait(promise, 1000000000, &value);
    if (rc == VIGIL_FULFILLED)
        printf("waited for %lld\n", (long long)value.integer);
    return rc < 0 ? rc : 0;
}

/* vigil_promise_loop: get the loop of a promise */
static vigil_loop *home_of(const vigil_promise *promise)
{
    return vigil_promise_loop(promise);
}

/* vigil_promise_then: add handlers */
static vigil_promise *doubled(vigil_promise *promise)
{
    vigil_promise *result = NULL;
    vigil_promise_then(promise, twice, NULL, NULL, &result);
    return result; /* a promise again */
}

/* vigil_promise_then_with: add handlers, with a function for the end */
static int print_and_free(vigil_promise *promise)
{
    vigil_handlers handlers = VIGIL_HANDLERS_INIT;
    handlers.fulfilled = print_value;
    handlers.rejected = print_error;
    handlers.arg = malloc(16);
    handlers.done = free; /* once, whatever happens */
    int rc = vigil_promise_then_with(promise, &handlers, NULL);
    if (rc < 0)
        free(handlers.arg);
    return rc;
}

/* vigil_promise_catch: add a handler for errors */
static int report_errors(vigil_promise *promise)
{
    return vigil_promise_catch(promise, print_error, NULL, NULL);
}

/* vigil_promise_finally: call a function either way */
static vigil_value hide_spinner(void *arg)
{
    *(bool *)arg = false;
    return vigil_value_none();
}

static int spin_until_settled(vigil_promise *promise, bool *spinning)
{
    *spinning = true;
    return vigil_promise_finally(promise, hide_spinner, spinning, NULL);
}

/* vigil_promise_chain: add handlers in a chain */
static void double_and_print(vigil_promise *promise)
{
    promise = vigil_promise_chain(promise, twice, NULL, NULL);
    promise = vigil_promise_chain(promise, print_value, NULL, NULL);
    promise = vigil_promise_chain(promise, NULL, print_error, NULL);
    vigil_promise_unref(promise);
}

/*
 * vigil_promise_reaction_add: add a handler in your own memory
 * vigil_promise_reaction_remove: take such a handler back
 */
struct waiter {
    vigil_reaction reaction; /* first */
    bool called;
};

static void wake(vigil_reaction *reaction, vigil_promise_state state,
                 vigil_value *value)
{
    (void)state;
    (void)value;
    ((struct waiter *)reaction)->called = true;
}

static int wait_without_memory(vigil_promise *promise,
                               struct waiter *waiter)
{
    waiter->called = false;
    waiter->reaction.run = wake;
    waiter->reaction.cancel = NULL;
    return vigil_promise_reaction_add(promise, &waiter->reaction);
}

static int change_our_mind(vigil_promise *promise,
                           struct waiter *waiter)
{
    return vigil_promise_reaction_remove(promise, &waiter->reaction);
}

/* vigil_promise_all: wait for all of several promises */
static vigil_value add_list(vigil_value *value, void *arg)
{
    int64_t sum = 0;
    (void)arg;
    for (size_t i = 0; i < value->list->count; i++)
        sum += value->list->items[i].integer;
    return vigil_value_int(sum);
}

static vigil_promise *sum_of_two(vigil_loop *loop, vigil_promise *a,
                                 vigil_promise *b)
{
    vigil_promise *both[] = {a, b}, *all;
    if (vigil_promise_all(loop, both, 2, &all) < 0)
        return NULL;
    return vigil_promise_chain(all, add_list, NULL, NULL);
}

/* vigil_promise_all_settled: wait until several are settled */
static int await_both(vigil_loop *loop, vigil_promise *a,
                      vigil_promise *b, vigil_promise **settled)
{
    vigil_promise *both[] = {a, b};
    return vigil_promise_all_settled(loop, both, 2, settled);
}

/* vigil_promise_race: settle as the first of several does */
static int first_to_settle(vigil_loop *loop, vigil_promise *a,
                           vigil_promise *b, vigil_promise **first)
{
    vigil_promise *both[] = {a, b};
    return vigil_promise_race(loop, both, 2, first);
}

/* vigil_promise_any: take the first of several that succeeds */
static int first_to_succeed(vigil_loop *loop, vigil_promise *a,
                            vigil_promise *b, vigil_promise **first)
{
    vigil_promise *both[] = {a, b};
    return vigil_promise_any(loop, both, 2, first);
}

/* vigil_promise_guard: wait for a promise, but not too long */
static int within_a_second(vigil_promise *promise,
                           vigil_cancel_token *token,
                           vigil_promise **guarded)
{
    return vigil_promise_guard(promise, token, 1000000000, guarded);
}

/* vigil_promise_hooks_set: learn of rejections that nobody handles */
static void unhandled(void *user, const vigil_rejection *rejection)
{
    (void)user;
    fprintf(stderr, "unhandled: %s\n",
            vigil_strerror(rejection->reason.status));
}

static int report_unhandled(vigil_loop *loop)
{
    vigil_promise_hooks hooks = VIGIL_PROMISE_HOOKS_INIT;
    hooks.unhandled = unhandled;
    return vigil_promise_hooks_set(loop, &hooks);
}

/* vigil_promise_mark_handled: ignore a rejection on purpose */
static void ignore_failure(vigil_promise *promise)
{
    vigil_promise_mark_handled(promise);
}

/*
 * vigil_limit_create: make a limit for calls on the pool
 * vigil_limit_destroy: give a limit back
 */
static vigil_limit *at_most_two(vigil_loop *loop)
{
    vigil_limit *limit;
    int rc = vigil_limit_create(&limit, loop, 2, VIGIL_LIMIT_QUEUE);
    return rc < 0 ? NULL : limit;
}

static void no_limit_any_more(vigil_limit *limit)
{
    vigil_limit_destroy(limit); /* calls in flight keep it */
}

/* vigil_async: run blocking work on the pool, and promise its result */
static vigil_value read_number(void *arg)
{
    return vigil_value_int(*(int *)arg); /* on a worker: may block */
}

static int read_with_a_limit(vigil_loop *loop, vigil_pool *pool,
                             vigil_limit *limit, int *number)
{
    vigil_promise *promise;
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.timeout_ns = 1000000000;
    options.limit = limit;
    int rc = vigil_async(loop, pool, read_number, number, &options,
                         &promise);
    if (rc == 0)
        double_and_print(promise); /* on the loop */
    return rc;
}

/* vigil_promise_sleep: promise that a time has passed */
static vigil_promise *pause_for_a_millisecond(vigil_loop *loop)
{
    vigil_promise *promise = NULL;
    vigil_promise_sleep(loop, 1000000, NULL, &promise);
    return promise;
}

/* vigil_promise_fd: promise that a descriptor is ready */
static vigil_promise *readable(vigil_loop *loop, int fd)
{
    vigil_promise *promise = NULL;
    vigil_promise_fd(loop, fd, VIGIL_FD_READ, NULL, &promise);
    return promise;
}

/* vigil_promise_child: promise that a child has ended */
static vigil_promise *end_of(vigil_loop *loop, pid_t child)
{
    vigil_promise *promise = NULL;
    vigil_promise_child(loop, child, NULL, &promise);
    return promise;
}

/* vigil_promise_signal: promise that a signal has come */
static vigil_promise *next_hangup(vigil_loop *loop)
{
    vigil_promise *promise = NULL;
    vigil_promise_signal(loop, SIGHUP, NULL, &promise);
    return promise;
}

/* vigil_promise_group: promise the end of a group of tasks */
static vigil_promise *end_of_group(vigil_loop *loop, vigil_group *group)
{
    vigil_promise *promise = NULL; /* the group is DETACHED */
    vigil_promise_group(loop, group, NULL, &promise);
    return promise;
}

/* vigil_promise_stats_get: count the promises of a loop */
static uint64_t promises_alive(vigil_loop *loop)
{
    vigil_promise_stats stats = VIGIL_PROMISE_STATS_INIT;
    return vigil_promise_stats_get(loop, &stats) < 0 ? 0 : stats.alive;
}

/* ---- all of them ---- */

static int nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

static vigil_promise *resolved(vigil_loop *loop, vigil_value value)
{
    vigil_promise *promise = NULL;
    assert(vigil_promise_resolved(loop, value, &promise) == 0);
    return promise;
}

int main(void)
{
    vigil_loop *loop;
    vigil_pool *pool;
    struct inbox inbox;
    struct cache cache;
    struct waiter waiter;
    bool spinning;
    int number = 21, ends[2];
    if (vigil_loop_create(&loop, NULL) < 0 ||
        vigil_pool_create(&pool, NULL) < 0)
        return 1;
    assert(report_unhandled(loop) == 0);
    assert(empty_pointer().pointer == NULL);

    vigil_promise *one = make_a_promise(loop);
    vigil_promise *two = doubled(one);
    assert(!is_settled(one) && home_of(one) == loop);
    remember(&cache, one);
    assert(print_and_free(one) == 0);
    assert(spin_until_settled(one, &spinning) == 0);
    assert(wait_without_memory(one, &waiter) == 0);
    assert(change_our_mind(one, &waiter) == 0);
    assert(wait_without_memory(one, &waiter) == 0);
    vigil_promise *sum = sum_of_two(loop, one, two), *settled, *first,
                  *winner, *guarded;
    assert(await_both(loop, one, two, &settled) == 0);
    assert(first_to_settle(loop, one, two, &first) == 0);
    assert(first_to_succeed(loop, one, two, &winner) == 0);
    assert(within_a_second(one, NULL, &guarded) == 0);
    vigil_job job;
    assert(vigil_job_call(pool, wait_on_a_worker, one, NULL, &job) ==
           0);
    settle_once(one);
    vigil_promise_unref(settled);
    vigil_promise_unref(first);
    vigil_promise_unref(winner);
    vigil_promise_unref(guarded);

    vigil_promise *bad = make_a_promise(loop);
    assert(report_errors(bad) == 0);
    reject_it(bad);
    vigil_promise *lost = make_a_promise(loop);
    ignore_failure(lost);
    reject_it(lost);
    vigil_promise *promised;
    vigil_resolver *resolver;
    assert(vigil_resolver_create(&resolver, &promised, loop) == 0);
    assert(report_errors(promised) == 0);
    give_up(resolver);

    double_and_print(one_in_a_millisecond(loop));
    double_and_print(from_the_cache(loop));
    double_and_print(parse_later(loop, "12"));
    double_and_print(parse_later(loop, "twelve"));
    double_and_print(resolved(loop, ask()));
    vigil_promise_unref(vigil_promise_chain(
        resolved(loop, error_in_line("?")), NULL, print_error, NULL));
    vigil_promise_unref(vigil_promise_chain(
        resolved(loop, copy_text("text")), keep, NULL, &inbox));
    vigil_promise *chain = resolved(loop, vigil_value_int(8));
    chain = vigil_promise_chain(chain, small_ones_only, NULL, NULL);
    chain = vigil_promise_chain(chain, log_it, NULL, NULL);
    chain = vigil_promise_chain(chain, then_sleep, NULL, loop);
    vigil_promise_unref(chain);
    vigil_promise_unref(vigil_promise_chain(
        resolved(loop, vigil_value_int(8)), half, NULL, NULL));

    vigil_limit *limit = at_most_two(loop);
    for (int i = 0; i < 4; i++)
        assert(read_with_a_limit(loop, pool, limit, &number) == 0);
    no_limit_any_more(limit);

    assert(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    vigil_promise_unref(pause_for_a_millisecond(loop));
    vigil_promise_unref(readable(loop, ends[0]));
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    vigil_promise_unref(end_of(loop, pid));
    vigil_promise_unref(next_hangup(loop));
    kill(getpid(), SIGHUP);
    vigil_group group;
    vigil_task task;
    vigil_group_init(&group, pool, VIGIL_GROUP_DETACHED);
    vigil_task_init(&task, nothing, NULL);
    assert(vigil_group_submit(&group, &task, VIGIL_NORMAL) == 0);
    vigil_promise_unref(end_of_group(loop, &group));
    assert(promises_alive(loop) > 0);

    vigil_loop_run(loop, VIGIL_RUN);
    vigil_job_wait(pool, job, VIGIL_FOREVER, NULL);
    vigil_job_unref(pool, job);
    assert(waiter.called && !spinning);
    look(sum);
    take(sum);
    vigil_value value = vigil_value_error(-EIO);
    print_result(&value);
    assert(strcmp(inbox.text.pointer, "text") == 0);
    empty(&inbox);
    forget(&cache);
    vigil_promise_unref(one);
    vigil_promise_unref(two);
    vigil_promise_unref(sum);
    vigil_promise_unref(bad);
    vigil_promise_unref(lost);
    vigil_promise_unref(promised);
    vigil_pool_destroy(pool);
    vigil_loop_destroy(loop);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
