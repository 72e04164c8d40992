/* SPDX-License-Identifier: MIT */
/*
 * How promises, and what belongs to them, come and go on several threads: the memory of a promise is used again at once, the first
 * promise of a loop is made by two threads and against the loop's end, a result is looked at without waiting, a limit and a cancel
 * token are given back by whoever is last.
 *
 * Properties: whoever frees or uses again has seen the last touch of all others; who sees the new thing sees what its maker wrote;
 * and what says that something is over is believed: a promise is settled then.
 */
#include "loop_common.h"

#include <vigil/cancel.h>
#include <vigil/pool.h>
#include <vigil/promise.h>

static vigil_promise *promise;
static int payload; /* plainly written before something is said, and read by who heard it */

/* ---- used again ---- */

static bool owner_too(void) /* besides the thread that settles */
{
    return vgc_arg() != NULL;
}

static void make_on_owner(void *arg)
{
    (void)arg;
    vgc_assert(vigil_promise_create(&promise, loop) == 0, "a promise is made");
    if (owner_too())
        (void)vigil_promise_ref(promise);
}

static void use_again(void)
{
    vigil_promise *another = NULL;
    if (vigil_promise_create(&another, loop) == 0) {
        (void)vigil_promise_resolve(another, vigil_value_int(1));
        vigil_promise_unref(another);
    }
}

static void *resolve_and_let_go(void *arg)
{
    (void)arg;
    (void)vigil_promise_resolve(promise, vigil_value_int(0));
    vigil_promise_unref(promise);
    return NULL;
}

static void let_go_on_owner(void *arg)
{
    (void)arg;
    if (owner_too())
        vigil_promise_unref(promise);
    use_again();
}

static void use_again_and_end(void *arg)
{
    (void)arg;
    use_again();
    vgc_assert(vigil_loop_unref(loop) == 0, "nothing keeps the loop any more");
}

/* It knows nothing of the thread that settles: what comes through its posts orders nothing between that one and the owner. */
static void *post_both(void *arg)
{
    (void)arg;
    vgc_assert(vigil_loop_call(loop, let_go_on_owner, NULL, NULL) == 0, "a post is accepted");
    vgc_assert(vigil_loop_call(loop, use_again_and_end, NULL, NULL) == 0, "and another");
    return NULL;
}

static void used_again(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    vgc_assert(vigil_loop_ref(loop) == 0, "somebody keeps the loop");
    vgc_assert(vigil_loop_call(loop, make_on_owner, NULL, NULL) == 0, "a post is accepted");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) == 1, "a turn");
    pthread_t threads[2] = {vgc_thread_start(resolve_and_let_go, NULL), vgc_thread_start(post_both, NULL)};
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* The other way round: the owner lets go first, a thread is the last, and threads use the memory again. */
static void settle_and_let_go(void *arg)
{
    (void)arg;
    (void)vigil_promise_resolve(promise, vigil_value_int(0));
    vigil_promise_unref(promise);
    vgc_assert(vigil_loop_unref(loop) == 0, "nothing keeps the loop any more");
}

static void *let_go_and_use_again(void *arg)
{
    (void)arg;
    vigil_promise_unref(promise);
    use_again();
    return NULL;
}

static void used_again_elsewhere(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    vgc_assert(vigil_loop_ref(loop) == 0, "somebody keeps the loop");
    vgc_assert(vigil_promise_create(&promise, loop) == 0, "a promise is made, on no owner");
    (void)vigil_promise_ref(promise);
    (void)vigil_promise_ref(promise);
    vgc_assert(vigil_loop_call(loop, settle_and_let_go, NULL, NULL) == 0, "a post is accepted");
    pthread_t threads[2] = {vgc_thread_start(let_go_and_use_again, NULL), vgc_thread_start(let_go_and_use_again, NULL)};
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* A promise that waits for another that nobody will ever settle, while its last user goes elsewhere. */
static vigil_promise *derived;

static vigil_value never(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    vgc_assert(false, "what is never settled has no handlers to call");
    return vigil_value_none();
}

static void make_chain(void *arg)
{
    (void)arg;
    vgc_assert(vigil_promise_create(&promise, loop) == 0, "a promise is made");
    vgc_assert(vigil_promise_then(promise, never, NULL, NULL, &derived) == 0, "and one that is derived from it");
}

static void *let_go_of_derived(void *arg)
{
    (void)arg;
    vigil_promise_unref(derived);
    return NULL;
}

static void *let_go_of_promise(void *arg)
{
    (void)arg;
    vigil_promise_unref(promise);
    return NULL;
}

static void drop_source(void *arg)
{
    (void)arg;
    vigil_promise_unref(promise);
    use_again();
    use_again();
}

static void *post_drop(void *arg)
{
    (void)arg;
    vgc_assert(vigil_loop_call(loop, drop_source, NULL, NULL) == 0, "a post is accepted");
    vgc_assert(vigil_loop_call(loop, use_again_and_end, NULL, NULL) == 0, "and another");
    return NULL;
}

static void orphaned(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    vgc_assert(vigil_loop_ref(loop) == 0, "somebody keeps the loop");
    vgc_assert(vigil_loop_call(loop, make_chain, NULL, NULL) == 0, "a post is accepted");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) == 1, "a turn");
    pthread_t threads[2] = {vgc_thread_start(let_go_of_derived, NULL), vgc_thread_start(post_drop, NULL)};
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- the first of its loop ---- */

static void *make_one(void *arg)
{
    vigil_promise *mine = NULL;
    (void)arg;
    int rc = vigil_promise_create(&mine, loop);
    vgc_assert(rc == 0 || rc == -ESHUTDOWN, "a promise is made, or the loop has ended");
    if (rc == 0)
        vigil_promise_unref(mine);
    return NULL;
}

static void *count_and_make_one(void *arg)
{
    vigil_promise_stats stats = {.size = sizeof stats};
    vgc_assert(vigil_promise_stats_get(loop, &stats) == 0 && stats.created <= 1 && stats.alive <= stats.created,
               "what is counted makes sense");
    return make_one(arg);
}

static void first_of_two(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(make_one, NULL),
                            vgc_thread_start(count_and_make_one, NULL)};
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    for (int i = 0; i < 3; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- a look at the result ---- */

static void *say_it(void *arg)
{
    (void)arg;
    payload = 1;
    (void)vigil_promise_resolve(promise, vigil_value_int(7));
    vigil_promise_unref(promise);
    return NULL;
}

static void *look_at_it(void *arg)
{
    vigil_value value = vigil_value_none();
    vigil_promise *another = NULL;
    (void)arg;
    if (vigil_promise_result(promise, &value) == VIGIL_FULFILLED)
        vgc_assert(value.integer == 7 && payload == 1, "with its value, and what was written before it");
    int rc = vigil_promise_create(&another, loop);
    if (rc == 0)
        vigil_promise_unref(another);
    else
        vgc_assert(rc == -ESHUTDOWN && vigil_promise_state_get(promise) != VIGIL_PENDING,
                   "a loop that has ended has settled every promise");
    vigil_promise_unref(promise);
    return NULL;
}

static void looked_at(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vgc_assert(vigil_promise_create(&promise, loop) == 0, "a promise is made");
    (void)vigil_promise_ref(promise);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(say_it, NULL),
                            vgc_thread_start(look_at_it, NULL)};
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    for (int i = 0; i < 3; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- two let go at once ---- */

static void gone_with_the_last(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    vgc_assert(vigil_loop_ref(loop) == 0, "somebody keeps the loop");
    vgc_assert(vigil_promise_create(&promise, loop) == 0, "a promise is made");
    derived = vigil_promise_ref(promise);
    pthread_t threads[2] = {vgc_thread_start(let_go_of_derived, NULL), vgc_thread_start(let_go_of_promise, NULL)};
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) == 1, "a turn");
    vigil_promise_stats stats = {.size = sizeof stats};
    vgc_assert(vigil_promise_stats_get(loop, &stats) == 0 && stats.created == 1, "the books can be read");
    vgc_assert(stats.alive == 0, "a promise that nobody can settle any more is freed");
    vgc_assert(vigil_loop_unref(loop) == 0 && vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- a limit ---- */

static vigil_limit *limit;

static vigil_value call_it(void *arg)
{
    (void)arg;
    return vigil_value_int(1);
}

static void *let_go_of_limit(void *arg)
{
    (void)arg;
    vigil_limit_destroy(limit);
    return NULL;
}

static void limited(void)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_async_options how = VIGIL_ASYNC_OPTIONS_INIT;
    vigil_pool *workers = NULL;
    options.workers = 1;
    options.idle = VIGIL_IDLE_PARK;
    options.fences = VIGIL_FENCE_SYMMETRIC;
    vgc_assert(vigil_pool_create(&workers, &options) == 0, "a pool is made");
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    vgc_assert(vigil_limit_create(&limit, loop, 1, VIGIL_LIMIT_QUEUE) == 0, "a limit is made");
    how.limit = limit;
    vgc_assert(vigil_async(loop, workers, call_it, NULL, &how, &promise) == 0, "the call is accepted");
    vigil_promise_unref(promise);
    pthread_t other = vgc_thread_start(let_go_of_limit, NULL);
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vgc_thread_join(other);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_assert(vigil_pool_shutdown(workers, VIGIL_FOREVER) == 0 && vigil_pool_destroy(workers) == 0,
               "and the pool after it");
}

/* ---- the argument of a call ---- */

static bool ends_early(void) /* the token is aborted while the call may run */
{
    return vgc_arg() != NULL;
}

static int argument; /* plainly used by the function on the worker, by the handler on the loop, and by done */
static int argument_done;

static vigil_value use_argument(void *arg)
{
    (*(int *)arg)++;
    return vigil_value_int(1);
}

static vigil_value argument_handled(vigil_value *value, void *arg)
{
    (void)value;
    vgc_assert(argument_done == 0, "done does not come before the handler");
    if (!ends_early())
        vgc_assert(*(int *)arg == 1, "the function's work is seen");
    return vigil_value_none();
}

static void argument_over(void *arg)
{
    *(int *)arg = -1;
    argument_done++;
}

static void one_done(void)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_async_options how = VIGIL_ASYNC_OPTIONS_INIT;
    vigil_pool *workers = NULL;
    vigil_cancel_source *early = NULL;
    argument = 0;
    argument_done = 0;
    options.workers = 1;
    options.idle = VIGIL_IDLE_PARK;
    options.fences = VIGIL_FENCE_SYMMETRIC;
    vgc_assert(vigil_pool_create(&workers, &options) == 0, "a pool is made");
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    how.done = argument_over;
    if (ends_early()) {
        vgc_assert(vigil_cancel_create(&early) == 0, "a source is made");
        how.token = vigil_cancel_token_of(early);
    }
    vgc_assert(vigil_async(loop, workers, use_argument, &argument, &how, &promise) == 0, "the call is accepted");
    vgc_assert(vigil_promise_then(promise, argument_handled, argument_handled, &argument, NULL) == 0,
               "a handler is added");
    vigil_promise_unref(promise);
    if (early != NULL) {
        (void)vigil_cancel_abort(early, -EIO, "over");
        vigil_cancel_destroy(early);
    }
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_assert(vigil_pool_shutdown(workers, VIGIL_FOREVER) == 0 && vigil_pool_destroy(workers) == 0,
               "and the pool after it");
    vgc_assert(argument_done == 1 && argument == -1, "done is called once, at the end");
}

/* ---- a cancel token ---- */

static vigil_cancel_source *source;
static vigil_cancel_token *token;

static void *abort_it(void *arg)
{
    (void)arg;
    payload = 1;
    vgc_assert(vigil_cancel_abort(source, -EIO, "over") == 0, "it is aborted");
    vigil_cancel_destroy(source);
    return NULL;
}

static void *ask_it(void *arg)
{
    (void)arg;
    if (vigil_cancel_status(token) != 0)
        vgc_assert(payload == 1, "what was written before the abort is seen with it");
    vigil_cancel_unref(token);
    return NULL;
}

static void cancelled_by_another(void)
{
    vgc_assert(vigil_cancel_create(&source) == 0, "a source is made");
    token = vigil_cancel_ref(vigil_cancel_token_of(source));
    pthread_t threads[2] = {vgc_thread_start(abort_it, NULL), vgc_thread_start(ask_it, NULL)};
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
}

/* ---- a source made of another ---- */

static vigil_cancel_source *dependant;
static vigil_cancel_token *kept_token; /* of the dependant; NULL: nobody keeps it */
static int dependant_calls;
static vigil_cancel_handler on_dependant;

static void count_dependant(vigil_cancel_handler *handler, int status)
{
    (void)handler;
    vgc_assert(status == -EIO && vigil_cancel_status(kept_token) == -EIO, "the handler hears of the parent's abort");
    vgc_assert(payload == 1, "what was written before the abort is seen with it");
    dependant_calls++;
}

static void *drop_dependant(void *arg)
{
    (void)arg;
    vigil_cancel_destroy(dependant);
    return NULL;
}

/* arg: a token keeps the dependant, so its handler must be called; else it may go while its parent aborts. */
static void aborted_with_its_parent(void)
{
    const bool keep = vgc_arg() != NULL;
    payload = 0;
    dependant_calls = 0;
    vgc_assert(vigil_cancel_create(&source) == 0, "a source is made");
    vigil_cancel_token *parent = vigil_cancel_token_of(source);
    vgc_assert(vigil_cancel_create_any(&dependant, &parent, 1) == 0, "a dependant is made");
    kept_token = keep ? vigil_cancel_ref(vigil_cancel_token_of(dependant)) : NULL;
    on_dependant = (vigil_cancel_handler){.fn = count_dependant};
    if (keep)
        vgc_assert(vigil_cancel_add(kept_token, &on_dependant) == 0, "a handler is added");
    pthread_t threads[2] = {vgc_thread_start(abort_it, NULL), vgc_thread_start(drop_dependant, NULL)};
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(dependant_calls == (keep ? 1 : 0), "the handler of a dependant is called once");
    vigil_cancel_unref(kept_token);
}

#define LIVES(id, function, property_text, size, ...)                                                  \
    VGC_REGISTER(id, "promise_" #id, function, property_text, .bound = (size), .opt.max_steps = 30000, \
                 .opt.mode = VGC_PCT, .opt.runs = 1000, ##__VA_ARGS__)

#define AGAIN "the memory of a promise is used again after the last touch of everybody"

static const bool yes = true;
LIVES(again, used_again, AGAIN, "1 thread settles and lets go, the owner uses again");
LIVES(again_both, used_again, AGAIN, "1 thread settles; it and the owner let go, the owner uses again", .arg = &yes);
LIVES(again_away, used_again_elsewhere, AGAIN, "the owner and 2 threads let go, the threads use again");
LIVES(orphan, orphaned, AGAIN, "what a dropped promise would have settled; 1 thread lets go of it");
LIVES(both_go, gone_with_the_last, "what nobody can settle any more is freed", "2 threads let go at once");
LIVES(first, first_of_two, "the first promise of a loop, against its end", "2 threads make one; against shutdown");
LIVES(look, looked_at, "a result comes with its value, and the end of a loop has settled all",
      "1 settles, 1 looks; against shutdown");
LIVES(done, one_done, "one done, after the last use of the argument", "1 call, 1 handler");
LIVES(done_early, one_done, "one done, after the last use of the argument",
      "1 call that may run on, 1 handler, 1 abort", .arg = &yes);
LIVES(limit, limited, "a limit goes with its last user", "1 call, 1 thread lets go");
VGC_REGISTER(cancel, "promise_cancel", cancelled_by_another,
             "a token goes with its last user, and tells what came before",
             .bound = "1 aborts and drops, 1 asks and lets go");
VGC_REGISTER(cancel_any, "promise_cancel_any", aborted_with_its_parent,
             "a dependant is aborted with its parent, and its handler is called once",
             .bound = "1 aborts and drops the parent, 1 drops the dependant, which a token keeps", .arg = &yes);
VGC_REGISTER(cancel_any_gone, "promise_cancel_any_gone", aborted_with_its_parent,
             "a dependant may go while its parent aborts",
             .bound = "1 aborts and drops the parent, 1 drops the dependant");
