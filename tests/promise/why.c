/* SPDX-License-Identifier: MIT */
/*
 * Every public call that can answer -EINVAL says which argument it refused. scripts/lint-headers demands that each of them
 * stands here.
 */
#include "support.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vigil/vigil.h>

static vigil_loop *loop;
static vigil_pool *pool;

/* The call answers -EINVAL, and the sentence, which is not an old one, names the argument. */
#define refuses(call, argument)                                                            \
    do {                                                                                   \
        (void)vigil_verdict_text(NULL, NULL, 0);                                           \
        must_equal(call, -EINVAL);                                                         \
        if (strcmp(vigil_why(), "verdict is NULL") == 0)                                   \
            fail_msg("%s says nothing", #call);                                            \
        if (strstr(vigil_why(), argument) == NULL)                                         \
            fail_msg("%s says \"%s\" and not a word of %s", #call, vigil_why(), argument); \
    } while (0)

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void nop(void *arg)
{
    (void)arg;
}

static void on_timer(vigil_loop *it, vigil_timer timer, void *arg)
{
    (void)it;
    (void)timer;
    (void)arg;
}

static void on_fd(vigil_loop *it, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)it;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
}

static vigil_value work(void *arg)
{
    (void)arg;
    return vigil_value_none();
}

static vigil_value pass(vigil_value *value, void *arg)
{
    (void)arg;
    return *value;
}

static int run_task(vigil_task *task)
{
    (void)task;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_pool_create(&pool, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(vigil_pool_destroy(pool), 0);
    return 0;
}

static void pools_say_which_option(void **state)
{
    (void)state;
    vigil_pool *made = NULL;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    refuses(vigil_pool_create(NULL, &options), "pool");
    options.workers = 2000;
    refuses(vigil_pool_create(&made, &options), "options.workers");
    assert_string_equal(vigil_why(), "options.workers is 2000; the most is 1024");
    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.max_spares = 1000000;
    refuses(vigil_pool_create(&made, &options), "options.max_spares");
    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.idle = (vigil_idle_policy)9;
    refuses(vigil_pool_create(&made, &options), "options.idle");
    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.stack_size = 1;
    refuses(vigil_pool_create(&made, &options), "options.stack_size");
    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.cpu_count = 3;
    refuses(vigil_pool_create(&made, &options), "options.cpus");
    options.size = 1;
    refuses(vigil_pool_create(&made, &options), "options->size");
    struct {
        vigil_pool_options known;
        int unknown;
    } newer = {.known = VIGIL_POOL_OPTIONS_INIT, .unknown = 1};
    newer.known.size = sizeof newer;
    refuses(vigil_pool_create(&made, &newer.known), "does not know");
    must(made == NULL);
}

static void calls_of_the_pool(void **state)
{
    (void)state;
    vigil_task task = {0};
    vigil_task *none[] = {NULL};
    vigil_job job = {0};
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    refuses(vigil_pool_shutdown(NULL, 0), "pool");
    refuses(vigil_pool_close(NULL, 0), "pool");
    refuses(vigil_pool_submit(NULL, &task, VIGIL_NORMAL), "pool");
    refuses(vigil_pool_submit(pool, NULL, VIGIL_NORMAL), "task");
    refuses(vigil_pool_submit(pool, &task, VIGIL_NORMAL), "task->run");
    vigil_task_init(&task, run_task, NULL);
    refuses(vigil_pool_submit(pool, &task, (vigil_priority)7), "priority is 7");
    refuses(vigil_pool_submit_batch(pool, NULL, 1, VIGIL_NORMAL), "tasks");
    refuses(vigil_pool_submit_for(pool, NULL, VIGIL_NORMAL, 0), "task");
    refuses(vigil_task_label(NULL), "label");
    refuses(vigil_pool_submit_batch(pool, none, 1, VIGIL_NORMAL), "task");
    refuses(vigil_pool_submit_to(pool, 0, NULL, VIGIL_NORMAL), "task");
    refuses(vigil_pool_submit_after(pool, &task, VIGIL_NORMAL, -1), "delay_ns is -1");
    refuses(vigil_pool_call(pool, NULL, NULL, NULL, VIGIL_NORMAL), "fn");
    refuses(vigil_pool_call(pool, nothing, NULL, NULL, (vigil_priority)-1), "priority");
    refuses(vigil_pool_wait_idle(NULL, 0), "pool");
    refuses(vigil_pool_resize(pool, 0), "workers is 0");
    refuses(vigil_job_call(pool, NULL, NULL, NULL, &job), "fn");
    refuses(vigil_job_call(pool, nothing, NULL, NULL, NULL), "job");
    options.delay_ns = -5;
    refuses(vigil_job_call(pool, nothing, NULL, &options, &job), "options->delay_ns is -5");
    options.size = 0;
    refuses(vigil_job_call(pool, nothing, NULL, &options, &job), "options->size");
    refuses(vigil_job_wait(NULL, job, 0, NULL), "pool");
    refuses(vigil_job_poll(NULL, job, NULL), "pool");
    refuses(vigil_job_cancel(NULL, job), "pool");
    refuses(vigil_job_unref(NULL, job), "pool");
}

static int everywhere(void *arg, unsigned worker)
{
    (void)arg;
    return (int)worker;
}

static void groups_and_looks(void **state)
{
    size_t index = 0;
    vigil_awaited awaited = {.group = NULL};
    vigil_job job = {0};
    (void)state;
    vigil_group group;
    vigil_task task;
    vigil_pool_stats stats = {0};
    vigil_worker_stats worker = {0};
    vigil_audit audit = {0};
    vigil_task_init(&task, NULL, NULL);
    refuses(vigil_group_init(NULL, pool, 0), "group");
    refuses(vigil_group_init(&group, NULL, 0), "pool");
    refuses(vigil_group_init(&group, pool, 64), "flags is 64");
    must_equal(vigil_group_init(&group, pool, 0), 0);
    refuses(vigil_group_spawn(NULL, &task), "group");
    refuses(vigil_group_spawn(&group, &task), "task->run");
    refuses(vigil_group_submit(&group, NULL, VIGIL_NORMAL), "task");
    refuses(vigil_group_wait(NULL), "group");
    refuses(vigil_group_wait_for(NULL, 0), "group");
    refuses(vigil_group_cancel(NULL), "group");
    refuses(vigil_group_cancelled(NULL), "group");
    refuses(vigil_job_then_call(pool, job, NULL, NULL, NULL, &job), "fn");
    refuses(vigil_job_then_call(pool, job, nothing, NULL, NULL, NULL), "next");
    refuses(vigil_job_all_call(pool, NULL, 1, nothing, NULL, NULL, &job), "jobs");
    refuses(vigil_job_any_call(pool, &job, 0, nothing, NULL, NULL, &job), "count is 0");
    refuses(vigil_wait_any(pool, NULL, 1, 0, &index), "awaited");
    refuses(vigil_wait_any(pool, &awaited, 65, 0, &index), "count is 65");
    refuses(vigil_wait_any(pool, &awaited, 1, 0, NULL), "index");
    refuses(vigil_isolate(NULL, NULL), "fn");
    refuses(vigil_pool_broadcast_call(pool, NULL, NULL, VIGIL_NORMAL, &job), "fn");
    refuses(vigil_pool_broadcast_call(pool, everywhere, NULL, VIGIL_NORMAL, NULL), "job");
    refuses(vigil_pool_run(pool, NULL, NULL, VIGIL_NORMAL), "fn");
    refuses(vigil_pool_run(pool, nothing, NULL, (vigil_priority)9), "priority");
    refuses(vigil_join(pool, NULL, NULL, nothing, NULL), "a is NULL");
    refuses(vigil_join(pool, nothing, NULL, NULL, NULL), "b is NULL");
    refuses(vigil_pool_stats_get(pool, NULL), "stats");
    refuses(vigil_pool_stats_get(pool, &stats), "stats->size is 0");
    refuses(vigil_pool_worker_stats_get(pool, 0, NULL), "stats");
    refuses(vigil_pool_worker_stats_get(pool, 0, &worker), "stats->size");
    refuses(vigil_pool_worker_history(pool, 0, NULL, 1), "changes");
    refuses(vigil_pool_audit(pool, NULL), "audit");
    refuses(vigil_pool_audit(pool, &audit), "audit->size");
}

static int a_piece(void *arg, size_t begin, size_t end)
{
    (void)arg;
    return begin < end ? 0 : -1;
}

static void parallel_calls(void **state)
{
    (void)state;
    vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
    vigil_reducer reducer = VIGIL_REDUCER_INIT;
    const vigil_array array = {&options, 1};
    vigil_local *local = NULL;
    size_t at;
    refuses(vigil_parallel_for(NULL, 0, 1, a_piece, NULL, NULL), "pool");
    refuses(vigil_parallel_for(pool, 0, 1, NULL, NULL, NULL), "body");
    options.priority = (vigil_priority)9;
    refuses(vigil_parallel_for(pool, 0, 1, a_piece, NULL, &options), "priority");
    options.priority = VIGIL_LOW;
    options.split = (vigil_split)9;
    refuses(vigil_parallel_for(pool, 0, 1, a_piece, NULL, &options), "split");
    options.size = 1;
    refuses(vigil_parallel_for(pool, 0, 1, a_piece, NULL, &options), "size");
    refuses(vigil_parallel_for_2d(pool, NULL, 1, 1, NULL, NULL, NULL), "body");
    refuses(vigil_parallel_for_each(pool, &options, 1, 1, NULL, NULL, NULL), "fn");
    refuses(vigil_parallel_transform(pool, array, array, 1, NULL, NULL, NULL), "fn");
    refuses(vigil_parallel_reduce(pool, 0, 1, NULL, NULL, NULL, &at), "reducer");
    refuses(vigil_parallel_reduce(pool, 0, 1, &reducer, NULL, NULL, &at), "fold");
    refuses(vigil_parallel_scan(pool, 0, 1, &reducer, NULL, NULL, NULL), "result");
    refuses(vigil_parallel_find(pool, 0, 1, NULL, NULL, NULL, &at), "test");
    refuses(vigil_parallel_sort(pool, &at, 1, 1, NULL, NULL, NULL), "compare");
    refuses(vigil_parallel_sort_stable(pool, &at, 1, 1, NULL, NULL, NULL), "compare");
    refuses(vigil_local_create(&local, pool, 0, NULL, NULL), "bytes");
    refuses(vigil_local_each(NULL, NULL, NULL), "local");
}

static void graphs_and_pipelines(void **state)
{
    (void)state;
    vigil_graph *graph;
    vigil_node node;
    const vigil_stage stage = {VIGIL_STAGE_SERIAL, NULL, NULL};
    refuses(vigil_graph_create(NULL), "graph");
    must_equal(vigil_graph_create(&graph), 0);
    refuses(vigil_graph_add(graph, NULL, NULL, NULL, &node), "fn");
    refuses(vigil_graph_condition_add(graph, NULL, nothing, NULL, NULL), "node");
    refuses(vigil_graph_edge_add(graph, 0, 1), "before");
    refuses(vigil_graph_run(graph, NULL, NULL), "pool");
    refuses(vigil_graph_dot(graph, NULL, 5), "text");
    refuses(vigil_pipeline_run(pool, NULL, 1, NULL), "stages");
    refuses(vigil_pipeline_run(pool, &stage, 1, NULL), "run");
    vigil_graph_destroy(graph);
}

static void calls_of_the_loop(void **state)
{
    (void)state;
    vigil_loop *made = NULL;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    vigil_post post = {0};
    vigil_at_end end = {0};
    vigil_loop_stats stats = {0};
    refuses(vigil_loop_create(NULL, NULL), "loop");
    options.fast_path = (vigil_fast_path)5;
    refuses(vigil_loop_create(&made, &options), "options.fast_path");
    options.size = 3;
    refuses(vigil_loop_create(&made, &options), "options->size is 3");
    refuses(vigil_loop_run(NULL, VIGIL_RUN), "loop");
    refuses(vigil_loop_run(loop, (vigil_run_mode)9), "mode");
    refuses(vigil_loop_pause(NULL), "loop");
    refuses(vigil_loop_immediate(loop, NULL), "post");
    refuses(vigil_loop_post_remove(loop, NULL), "post");
    refuses(vigil_loop_shutdown(NULL, 0), "loop");
    refuses(vigil_loop_close(NULL, 0), "loop");
    refuses(vigil_loop_wait(NULL, 0), "loop");
    refuses(vigil_loop_fork(loop), "child");
    refuses(vigil_loop_call(loop, NULL, NULL, NULL), "fn");
    refuses(vigil_loop_post(loop, NULL), "post");
    refuses(vigil_loop_post(loop, &post), "post->run");
    refuses(vigil_loop_post_internal(loop, &post), "post->run");
    refuses(vigil_loop_post_from_handler(loop, &post), "post->run");
    refuses(vigil_loop_ref(NULL), "loop");
    refuses(vigil_loop_unref(loop), "ref");
    refuses(vigil_loop_at_end_add(loop, &end), "it->run");
    refuses(vigil_loop_at_end_remove(loop, NULL), "it is NULL");
    refuses(vigil_loop_tick_call(loop, NULL, NULL, NULL), "fn");
    refuses(vigil_loop_microtask_call(loop, NULL, NULL, NULL), "fn");
    refuses(vigil_loop_tick(loop, &post), "post->run");
    refuses(vigil_loop_microtask(loop, &post), "post->run");
    refuses(vigil_loop_immediate_call(loop, NULL, NULL, NULL), "fn");
    refuses(vigil_loop_defer_call(loop, NULL, NULL, NULL), "fn");
    refuses(vigil_loop_keepers(NULL, NULL, 0), "loop");
    refuses(vigil_loop_explain(NULL, NULL, 0), "loop");
    refuses(vigil_loop_shows(loop, NULL), "what");
    refuses(vigil_loop_stats_get(loop, NULL), "stats");
    refuses(vigil_loop_stats_get(loop, &stats), "stats->size");
    refuses(vigil_loop_fast_path_set(loop, (vigil_fast_path)8), "mode");
    refuses(vigil_loop_fd(NULL), "loop");
}

static void timers_and_watches(void **state)
{
    (void)state;
    vigil_timer timer = {0};
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    vigil_hook_calls calls = {0};
    refuses(vigil_timer_start(loop, 1, NULL, NULL, NULL), "fn");
    refuses(vigil_timer_start(loop, -1, on_timer, NULL, NULL), "delay_ns is -1");
    refuses(vigil_timer_start_with(loop, NULL, on_timer, NULL, NULL), "options");
    options.interval_ns = -1;
    refuses(vigil_timer_start_with(loop, &options, on_timer, NULL, NULL), "interval_ns");
    options.interval_ns = 0;
    options.flags = 64;
    refuses(vigil_timer_start_with(loop, &options, on_timer, NULL, NULL), "options->flags");
    refuses(vigil_timer_cancel(NULL, timer), "loop");
    refuses(vigil_timer_cancel_many(loop, NULL, 1), "timers");
    refuses(vigil_timer_again(loop, timer, -2), "delay_ns is -2");
    refuses(vigil_timer_again_at(NULL, timer, 0), "loop");
    refuses(vigil_timer_ref(NULL, timer), "loop");
    refuses(vigil_timer_unref(NULL, timer), "loop");
    must_equal(vigil_timer_start(loop, 1000000000, on_timer, NULL, &timer), 0);
    refuses(vigil_timer_deadline(loop, timer, NULL), "deadline_ns");
    refuses(vigil_watch_add(loop, 0, VIGIL_FD_READ, 0, NULL, NULL, NULL, NULL), "fn");
    refuses(vigil_watch_add(loop, 0, 1U << 30, 0, on_fd, NULL, NULL, NULL), "events");
    refuses(vigil_watch_modify(loop, (vigil_watch){0}, 1U << 30), "events");
    refuses(vigil_watch_remove(NULL, (vigil_watch){0}), "loop");
    refuses(vigil_watch_ref(NULL, (vigil_watch){0}), "loop");
    refuses(vigil_watch_unref(NULL, (vigil_watch){0}), "loop");
    refuses(vigil_hook_add(loop, NULL, NULL, NULL), "calls");
    refuses(vigil_hook_add(loop, &calls, NULL, NULL), "calls->size is 0");
    refuses(vigil_hook_remove(NULL, (vigil_hook){0}), "loop");
    refuses(vigil_signal_add(loop, SIGKILL, NULL, NULL, NULL), "signo");
    refuses(vigil_signal_remove(NULL, (vigil_signal){0}), "loop");
    refuses(vigil_signal_ref(NULL, (vigil_signal){0}), "loop");
    refuses(vigil_signal_unref(NULL, (vigil_signal){0}), "loop");
    refuses(vigil_child_add(loop, -1, NULL, NULL, NULL), "pid");
    refuses(vigil_child_remove(NULL, (vigil_child){0}), "loop");
    refuses(vigil_child_ref(NULL, (vigil_child){0}), "loop");
    refuses(vigil_child_unref(NULL, (vigil_child){0}), "loop");
}

static void tokens(void **state)
{
    (void)state;
    vigil_cancel_source *source = NULL;
    vigil_cancel_token *none[] = {NULL};
    vigil_cancel_handler handler = {0};
    refuses(vigil_cancel_create(NULL), "source");
    refuses(vigil_cancel_create_any(&source, NULL, 1), "tokens");
    refuses(vigil_cancel_create_any(&source, none, 1), "tokens[0]");
    refuses(vigil_cancel_create_timeout(NULL, loop, 1), "source");
    refuses(vigil_cancel_create_timeout(&source, NULL, 1), "loop");
    refuses(vigil_cancel_abort(NULL, -EIO, NULL), "source");
    refuses(vigil_cancel_add(NULL, &handler), "token");
    must_equal(vigil_cancel_create(&source), 0);
    refuses(vigil_cancel_add(vigil_cancel_token_of(source), NULL), "handler");
    refuses(vigil_cancel_add(vigil_cancel_token_of(source), &handler), "handler->fn");
    refuses(vigil_cancel_remove(NULL, &handler), "token");
    vigil_cancel_destroy(source);
}

static int start_nothing(vigil_loop *it, void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_sleep(it, 0, token, promise);
}

static void things_to_share(void **state)
{
    (void)state;
    vigil_mutex mutex = VIGIL_MUTEX_INIT;
    vigil_condition condition = VIGIL_CONDITION_INIT;
    vigil_semaphore semaphore = VIGIL_SEMAPHORE_INIT(1);
    vigil_once once = VIGIL_ONCE_INIT;
    vigil_latch latch = VIGIL_LATCH_INIT(1);
    vigil_barrier barrier = VIGIL_BARRIER_INIT(1);
    refuses(vigil_mutex_lock(NULL), "mutex");
    refuses(vigil_mutex_lock_timed(NULL, 0, NULL), "mutex");
    refuses(vigil_mutex_unlock(NULL), "mutex");
    refuses(vigil_mutex_unlock_slow(NULL), "mutex");
    refuses(vigil_rwlock_read(NULL, 0, NULL), "lock");
    refuses(vigil_rwlock_write(NULL, 0, NULL), "lock");
    refuses(vigil_rwlock_unlock(NULL), "lock");
    refuses(vigil_condition_wait(NULL, &mutex, 0, NULL), "condition");
    refuses(vigil_condition_wait(&condition, NULL, 0, NULL), "mutex");
    refuses(vigil_condition_signal(NULL), "condition");
    refuses(vigil_condition_broadcast(NULL), "condition");
    refuses(vigil_semaphore_init(NULL, 1, 1), "semaphore");
    refuses(vigil_semaphore_init(&semaphore, 2, 1), "units");
    refuses(vigil_semaphore_acquire(NULL, 1, 0, NULL), "semaphore");
    refuses(vigil_semaphore_acquire(&semaphore, UINT64_MAX, 0, NULL), "units");
    refuses(vigil_semaphore_post(NULL, 1), "semaphore");
    refuses(vigil_once_run(NULL, nothing, NULL, 0, NULL), "once");
    refuses(vigil_once_run(&once, NULL, NULL, 0, NULL), "fn");
    refuses(vigil_latch_init(NULL, 1), "latch");
    refuses(vigil_latch_down(NULL, 1), "latch");
    refuses(vigil_latch_down(&latch, 2), "by");
    refuses(vigil_latch_wait(NULL, 0, NULL), "latch");
    refuses(vigil_barrier_init(NULL, 1), "barrier");
    refuses(vigil_barrier_init(&barrier, 0), "parties");
    refuses(vigil_barrier_wait(NULL, 0, NULL), "barrier");
    vigil_channel *channel = NULL;
    vigil_channel_case cases[] = {{.channel = NULL}};
    refuses(vigil_channel_create(NULL, 1, 1), "channel");
    refuses(vigil_channel_create(&channel, 0, 1), "element");
    refuses(vigil_channel_send(NULL, "", 0, NULL), "channel");
    refuses(vigil_channel_receive(NULL, 0, NULL, cases), "channel");
    refuses(vigil_channel_close(NULL), "channel");
    vigil_promise *promise = NULL;
    vigil_retry_options never = VIGIL_RETRY_OPTIONS_INIT;
    never.attempts = 0;
    vigil_cancel_source *both = NULL;
    refuses(vigil_promise_retry(loop, NULL, NULL, NULL, &promise), "start");
    refuses(vigil_promise_retry(loop, start_nothing, NULL, NULL, NULL), "promise");
    refuses(vigil_promise_retry(loop, start_nothing, NULL, &never, &promise), "attempts");
    refuses(vigil_cancel_create_deadline(NULL, loop, 1, NULL), "source");
    refuses(vigil_cancel_create_deadline(&both, NULL, 1, NULL), "loop");
    refuses(vigil_promise_lock(loop, NULL, NULL, &promise), "mutex");
    refuses(vigil_promise_lock(loop, &mutex, NULL, NULL), "promise");
    refuses(vigil_promise_acquire(loop, NULL, 1, NULL, &promise), "semaphore");
    refuses(vigil_promise_acquire(loop, &semaphore, UINT64_MAX, NULL, &promise), "units");
    refuses(vigil_promise_send(loop, NULL, "", NULL, &promise), "channel");
    refuses(vigil_promise_receive(loop, NULL, cases, NULL, &promise), "channel");
    refuses(vigil_promise_read_lock(loop, NULL, NULL, &promise), "lock");
    refuses(vigil_promise_write_lock(loop, NULL, NULL, &promise), "lock");
    refuses(vigil_promise_condition(loop, NULL, &mutex, NULL, &promise), "condition");
    refuses(vigil_promise_latch(loop, NULL, NULL, &promise), "latch");
    refuses(vigil_promise_barrier(loop, NULL, NULL, &promise), "barrier");
    refuses(vigil_promise_once(loop, NULL, start_nothing, NULL, NULL, &promise), "once");
    refuses(vigil_promise_select(loop, NULL, 1, NULL, &promise), "cases");
    vigil_rate rate = VIGIL_RATE_INIT(1, 1, 1);
    refuses(vigil_rate_init(NULL, 1, 1, 1), "rate");
    refuses(vigil_rate_init(&rate, 0, 1, 1), "units");
    refuses(vigil_rate_init(&rate, 1, 0, 1), "per_ns");
    refuses(vigil_rate_init(&rate, 1, 1, 0), "burst");
    refuses(vigil_rate_take(NULL, 1, 0, NULL), "rate");
    refuses(vigil_rate_take(&rate, 2, 0, NULL), "burst");
    refuses(vigil_promise_rate(loop, NULL, 1, NULL, &promise), "rate");
    refuses(vigil_promise_rate(loop, &rate, 1, NULL, NULL), "promise");
    refuses(vigil_promise_pool_idle(loop, NULL, NULL, &promise), "pool");
    refuses(vigil_promise_pool_stop(loop, NULL, NULL, &promise), "pool");
    refuses(vigil_promise_select(loop, cases, 0, NULL, &promise), "count");
    refuses(vigil_channel_select(NULL, 1, 0, NULL), "cases");
    refuses(vigil_channel_select(cases, 0, 0, NULL), "count");
    refuses(vigil_channel_select(cases, 1, 0, NULL), "cases");
}

static void promises(void **state)
{
    (void)state;
    vigil_promise *p = NULL;
    vigil_promise *q = NULL;
    vigil_resolver *resolver = NULL;
    vigil_value value = vigil_value_none();
    vigil_handlers handlers = {0};
    vigil_reaction reaction = {0};
    refuses(vigil_promise_create(NULL, loop), "promise");
    refuses(vigil_promise_create(&p, NULL), "loop");
    refuses(vigil_resolver_create(NULL, &p, loop), "resolver");
    refuses(vigil_resolver_create(&resolver, NULL, loop), "promise");
    refuses(vigil_resolver_resolve(NULL, value), "resolver");
    refuses(vigil_resolver_reject(NULL, value), "resolver");
    refuses(vigil_promise_resolve(NULL, value), "promise");
    must_equal(vigil_promise_create(&p, loop), 0);
    value.kind = (vigil_kind)77;
    refuses(vigil_promise_resolve(p, value), "value.kind");
    refuses(vigil_promise_reject(NULL, value), "promise");
    refuses(vigil_promise_reject(p, vigil_value_none()), "reason.kind");
    refuses(vigil_promise_resolved(loop, value, &q), "value.kind");
    refuses(vigil_promise_try(loop, NULL, NULL, &q), "fn");
    refuses(vigil_promise_take(NULL, &value), "promise");
    refuses(vigil_promise_take(p, NULL), "value");
    refuses(vigil_promise_wait(NULL, 0, NULL), "promise");
    refuses(vigil_promise_then(NULL, pass, NULL, NULL, NULL), "promise");
    refuses(vigil_promise_then_with(p, NULL, NULL), "handlers");
    refuses(vigil_promise_then_with(p, &handlers, NULL), "handlers->size");
    refuses(vigil_promise_catch(NULL, pass, NULL, NULL), "promise");
    refuses(vigil_promise_finally(NULL, work, NULL, NULL), "promise");
    refuses(vigil_promise_reaction_add(NULL, &reaction), "promise");
    refuses(vigil_promise_reaction_add(p, &reaction), "reaction->run");
    refuses(vigil_promise_reaction_remove(p, NULL), "reaction");
    refuses(vigil_promise_mark_handled(NULL), "promise");
    refuses(vigil_promise_guard(NULL, NULL, 0, &q), "promise");
    refuses(vigil_promise_guard(p, NULL, 0, NULL), "promise");
    vigil_promise_unref(p);
}

static void combinations_and_work(void **state)
{
    (void)state;
    vigil_promise *p = NULL;
    vigil_promise *none[] = {NULL};
    vigil_limit *limit = NULL;
    vigil_group group;
    vigil_promise_hooks hooks = {0};
    vigil_promise_stats stats = {0};
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    refuses(vigil_promise_all(loop, NULL, 1, &p), "promises");
    refuses(vigil_promise_all(loop, none, 1, &p), "promises");
    refuses(vigil_promise_all_settled(loop, none, 1, &p), "promises");
    refuses(vigil_promise_race(loop, none, 1, &p), "promises");
    refuses(vigil_promise_any(loop, none, 1, &p), "promises");
    refuses(vigil_promise_hooks_set(loop, &hooks), "hooks->size");
    refuses(vigil_limit_create(&limit, loop, 0, VIGIL_LIMIT_QUEUE), "most");
    refuses(vigil_async(loop, pool, NULL, NULL, NULL, &p), "fn");
    options.priority = (vigil_priority)12;
    refuses(vigil_async(loop, pool, work, NULL, &options, &p), "options.priority");
    refuses(vigil_promise_sleep(loop, -1, NULL, &p), "delay_ns");
    refuses(vigil_promise_sleep(loop, 0, NULL, NULL), "promise");
    refuses(vigil_promise_group(loop, NULL, NULL, &p), "group");
    must_equal(vigil_group_init(&group, pool, 0), 0);
    refuses(vigil_promise_group(loop, &group, NULL, &p), "VIGIL_GROUP_DETACHED");
    refuses(vigil_promise_stats_get(loop, NULL), "stats");
    refuses(vigil_promise_stats_get(loop, &stats), "stats->size");
    refuses(vigil_frame_start(NULL, NULL, NULL), "frame");
    vigil_frame *frame = vigil_frame_alloc(sizeof *frame, loop, NULL);
    must(frame != NULL);
    refuses(vigil_frame_borrow(frame, NULL), "promise");
    refuses(vigil_frame_send(frame, NULL, ""), "channel");
    refuses(vigil_frame_receive(frame, NULL, frame), "channel");
    refuses(vigil_frame_start(frame, NULL, NULL), "steps");
}

static void the_recorder_and_the_watchdog(void **state)
{
    (void)state;
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    vigil_record_stats stats = {0};
    vigil_watchdog_options dog = VIGIL_WATCHDOG_OPTIONS_INIT;
    vigil_verdict verdict = {0};
    options.level = (vigil_record_level)9;
    refuses(vigil_record_configure(&options), "options.level is 9");
    refuses(vigil_record_stats_get(NULL), "stats");
    refuses(vigil_record_stats_get(&stats), "stats->size");
    refuses(vigil_record_name(NULL, "x"), "function");
    refuses(vigil_record_name((void (*)(void))nop, ""), "name");
    refuses(vigil_record_mark(NULL, 0), "name");
    dog.interval_ms = 1;
    refuses(vigil_watchdog_start(&dog), "options.interval_ms is 1");
    dog = (vigil_watchdog_options)VIGIL_WATCHDOG_OPTIONS_INIT;
    dog.max_spares = 65;
    refuses(vigil_watchdog_start(&dog), "options.max_spares is 65");
    refuses(vigil_watchdog_verdicts(NULL, 1), "verdicts");
    refuses(vigil_watchdog_verdicts(&verdict, 1), "verdicts[0].size");
    refuses(vigil_watchdog_stats_get(NULL), "stats");
    must_equal(vigil_verdict_text(&verdict, NULL, 1), -EINVAL);
    assert_string_equal(vigil_why(), "text is NULL");
}

static void on_read(vigil_read *read, int64_t result)
{
    (void)read;
    (void)result;
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    (void)user;
    (void)vigil_stream_close(stream);
}

static void streams(void **state)
{
    (void)state;
    int ends[2];
    vigil_promise *p = NULL;
    vigil_stream *stream = NULL;
    vigil_listener *listener = NULL;
    vigil_address address;
    vigil_read read = {.done = on_read};
    vigil_write write = {0};
    vigil_stream_stats stats = {0};
    vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    vigil_listener_options listening = VIGIL_LISTENER_OPTIONS_INIT;
    vigil_connect_options connecting = VIGIL_CONNECT_OPTIONS_INIT;
    char byte;
    refuses(vigil_address_init(&address, "here"), "here");
    refuses(vigil_address_text(NULL, &byte, 1), "address");
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    options.idle_ns = 0;
    refuses(vigil_stream_open(&stream, loop, ends[0], &options), "idle_ns");
    must_equal(vigil_stream_open(&stream, loop, ends[0], NULL), 0);
    refuses(vigil_stream_on_data(NULL, NULL, NULL), "stream");
    refuses(vigil_stream_read(stream, NULL, &byte, 1), "read");
    refuses(vigil_stream_read_exactly(stream, &read, NULL, 1), "room");
    refuses(vigil_stream_read_until(stream, &read, &byte, 0, 10), "room");
    refuses(vigil_stream_read_cancel(NULL, &read), "stream");
    refuses(vigil_stream_try_read(stream, NULL, 1), "room");
    refuses(vigil_stream_write(stream, NULL, 1), "data");
    refuses(vigil_stream_submit(stream, &write, NULL, 0), "write->done");
    refuses(vigil_stream_on_drained(NULL, NULL, NULL), "stream");
    refuses(vigil_stream_on_closed(NULL, NULL, NULL), "stream");
    refuses(vigil_stream_stats_get(stream, &stats), "stats->size");
    refuses(vigil_stream_fd(NULL), "stream");
    refuses(vigil_stream_peer(stream, NULL), "address");
    refuses(vigil_listener_open(&listener, loop, &address, &listening), "on_stream");
    listening.on_stream = on_stream;
    listening.size = 1;
    refuses(vigil_listener_open(&listener, loop, &address, &listening), "options->size");
    refuses(vigil_listener_address(NULL, &address), "listener");
    refuses(vigil_promise_connect(loop, &address, 0, NULL, NULL, &p), "addresses");
    connecting.attempt_ns = -1;
    refuses(vigil_promise_connect(loop, &address, 1, &connecting, NULL, &p), "attempt_ns");
    refuses(vigil_promise_read(stream, &byte, 1, NULL, NULL), "promise");
    refuses(vigil_promise_read_exactly(stream, NULL, 1, NULL, &p), "room");
    refuses(vigil_promise_read_until(stream, NULL, 1, 10, NULL, &p), "room");
    refuses(vigil_promise_drained(stream, NULL, NULL), "promise");
    must_equal(vigil_stream_close(stream), 0);
    must_equal(close(ends[1]), 0);
}

static void a_success_leaves_the_sentence_and_threads_have_their_own(void **state)
{
    (void)state;
    refuses(vigil_pool_resize(pool, 0), "workers");
    must_equal(vigil_loop_ref(loop), 0);
    must(strstr(vigil_why(), "workers") != NULL);
    must_equal(vigil_loop_unref(loop), 0);
}

static void *other_thread(void *arg)
{
    (void)arg;
    must_equal(strcmp(vigil_why(), ""), 0);
    must_equal(vigil_loop_wait(NULL, 0), -EINVAL);
    return NULL;
}

static void another_thread_does_not_overwrite_it(void **state)
{
    (void)state;
    pthread_t thread;
    refuses(vigil_pool_resize(pool, 0), "workers");
    must_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
    must_equal(pthread_join(thread, NULL), 0);
    must(strstr(vigil_why(), "workers") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_say_which_option),
        cmocka_unit_test(calls_of_the_pool),
        cmocka_unit_test(groups_and_looks),
        cmocka_unit_test(parallel_calls),
        cmocka_unit_test(graphs_and_pipelines),
        cmocka_unit_test(calls_of_the_loop),
        cmocka_unit_test(timers_and_watches),
        cmocka_unit_test(tokens),
        cmocka_unit_test(things_to_share),
        cmocka_unit_test(promises),
        cmocka_unit_test(combinations_and_work),
        cmocka_unit_test(streams),
        cmocka_unit_test(the_recorder_and_the_watchdog),
        cmocka_unit_test(a_success_leaves_the_sentence_and_threads_have_their_own),
        cmocka_unit_test(another_thread_does_not_overwrite_it),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
