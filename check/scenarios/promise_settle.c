/* SPDX-License-Identifier: MIT */
/*
 * Promises on one thread (promise_alone.h): who may settle a promise and with what, what is refused, rejections that nobody handles, and calls
 * without memory.
 */
#include "promise_alone.h"

/* ---- settling ---- */

static vigil_loop *second_loop;
static int thenable_destroyed;

static void thenable_gone(void *thenable)
{
    vgc_assert(thenable != NULL, "the thenable is told");
    thenable_destroyed++;
}

static void raise_in_then(vigil_thenable *self, vigil_promise *of)
{
    (void)self;
    (void)of;
    vigil_raise(-EXFULL);
}
static vigil_thenable raises = {.then = raise_in_then};

static vigil_value answer(void *arg)
{
    if (arg == NULL)
        vigil_raise(-EDOM);
    return vigil_value_int(*(const int *)arg);
}

static void refuse_values(void)
{
    vigil_value odd = vigil_value_none();
    vigil_promise *made = NULL;
    odd.kind = (vigil_kind)99;
    REFUSED(vigil_promise_resolve(NULL, odd), -EINVAL);
    REFUSED(vigil_promise_resolve(source, odd), -EINVAL);
    REFUSED(vigil_promise_resolve(source, vigil_value_promise(NULL)), -EINVAL);
    REFUSED(vigil_promise_resolve(source, vigil_value_thenable(NULL, NULL)), -EINVAL);
    REFUSED(vigil_promise_reject(NULL, vigil_value_error(-1)), -EINVAL);
    REFUSED(vigil_promise_reject(source, vigil_value_int(1)), -EINVAL);
    REFUSED(vigil_promise_resolved(loop, odd, &made), -EINVAL);
    REFUSED(vigil_promise_resolved(loop, vigil_value_none(), NULL), -EINVAL);
    REFUSED(vigil_promise_resolved(NULL, vigil_value_none(), &made), -EINVAL);
    REFUSED(vigil_promise_try(loop, NULL, NULL, &made), -EINVAL);
    REFUSED(vigil_promise_try(NULL, answer, NULL, &made), -EINVAL);
    REFUSED(vigil_promise_create(NULL, loop), -EINVAL);
    REFUSED(vigil_promise_create(&made, NULL), -EINVAL);
    REFUSED(vigil_resolver_create(NULL, &made, loop), -EINVAL);
    REFUSED(vigil_resolver_resolve(NULL, odd), -EINVAL);
    REFUSED(vigil_resolver_reject(NULL, odd), -EINVAL);
    REFUSED(vigil_promise_mark_handled(NULL), -EINVAL);
    REFUSED(vigil_promise_wait(NULL, 0, NULL), -EINVAL);
    REFUSED(vigil_promise_wait(source, 0, NULL), -EDEADLK);
    vgc_assert(vigil_promise_state_get(NULL) == VIGIL_PENDING && vigil_promise_result(NULL, NULL) == VIGIL_PENDING,
               "no promise is pending");
    vigil_resolver_destroy(NULL);
    vigil_value_destroy(NULL);
    vigil_promise_unref(vigil_promise_ref(NULL));
}

static void settle_by_resolver(void)
{
    vigil_resolver *resolver = NULL;
    vigil_promise *made = NULL;
    for (int i = 0; i < 3; i++) {
        MADE(vigil_resolver_create(&resolver, &made, loop));
        REFUSED(vigil_promise_resolve(made, vigil_value_none()), -EPERM);
        REFUSED(vigil_resolver_reject(resolver, vigil_value_none()), -EINVAL);
        if (i == 0)
            MADE(vigil_resolver_resolve(resolver, vigil_value_int(1)));
        else if (i == 1)
            MADE(vigil_resolver_reject(resolver, vigil_value_error(-EDOM)));
        vigil_resolver_destroy(resolver);
        MADE(vigil_promise_mark_handled(made));
        if (i == 0)
            is_fulfilled(made, 1);
        else
            is_rejected(made, i == 1 ? -EDOM : -EPIPE);
        vigil_promise_unref(made);
    }
}

static vigil_promise *derived, *itself, *foreign, *of_thenable, *of_raising, *tried[2], *follows;

static void settle_in_every_way(void)
{
    static const int number = 6;
    vigil_promise *same = NULL;
    source = root();
    refuse_values();
    settle_by_resolver();
    itself = root();
    MADE(vigil_promise_resolve(itself, vigil_value_promise(vigil_promise_ref(itself))));
    is_rejected(itself, -EDEADLK);
    foreign = root();
    vigil_promise *other = NULL;
    MADE(vigil_promise_create(&other, second_loop));
    MADE(vigil_promise_resolve(foreign, vigil_value_promise(other)));
    is_rejected(foreign, -EXDEV);
    MADE(vigil_promise_resolved(loop, vigil_value_promise(vigil_promise_ref(source)), &same));
    vgc_assert(same == source, "a promise of this loop is itself");
    vigil_promise_unref(same);
    of_thenable = root();
    MADE(vigil_promise_resolve(of_thenable, vigil_value_thenable(&at_once, thenable_gone)));
    MADE(vigil_promise_resolved(loop, vigil_value_thenable(&raises, thenable_gone), &of_raising));
    MADE(vigil_promise_try(loop, answer, (void *)(uintptr_t)&number, &tried[0]));
    MADE(vigil_promise_try(loop, answer, NULL, &tried[1]));
    follows = root();
    MADE(vigil_promise_resolve(follows, vigil_value_promise(vigil_promise_ref(source))));
    REFUSED(vigil_promise_resolve(follows, vigil_value_none()), -EALREADY);
    MADE(vigil_promise_resolve(source, new_text()));
}

static void look_and_take(void)
{
    vigil_value value = vigil_value_none();
    vigil_promise *pending = root();
    is_fulfilled(of_thenable, 77);
    is_rejected(of_raising, -EXFULL);
    vgc_assert(thenable_destroyed == 2, "a thenable is given back once");
    is_fulfilled(tried[0], 6);
    is_rejected(tried[1], -EDOM);
    REFUSED(vigil_promise_take(NULL, &value), -EINVAL);
    REFUSED(vigil_promise_take(source, NULL), -EINVAL);
    REFUSED(vigil_promise_take(pending, &value), -EAGAIN);
    vgc_assert(vigil_promise_take(follows, &value) == VIGIL_FULFILLED && strcmp(value.pointer, "a text") == 0,
               "who follows another has its value, and it can be taken");
    REFUSED(vigil_promise_take(source, &value), -ENODATA);
    REFUSED(vigil_promise_take(follows, &value), -ENODATA);
    vgc_assert(destroyed == 0, "what was taken is the taker's");
    vigil_value_destroy(&value);
    vgc_assert(vigil_promise_take(tried[0], &value) == VIGIL_FULFILLED && value.integer == 6, "a number too");
    vigil_value_destroy(&value);
    value = vigil_value_promise(pending);
    vigil_value_destroy(&value); /* gives the reference back */
    vigil_promise *const all[] = {source, itself, foreign, of_thenable, of_raising, tried[0], tried[1], follows};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        vigil_promise_unref(all[i]);
}

static void settling(void)
{
    vgc_assert(vigil_loop_create(&second_loop, NULL) == 0, "another loop");
    in_the_loop(settle_in_every_way, look_and_take);
    vgc_assert(destroyed == 1, "the value was destroyed once");
    vgc_assert(vigil_loop_destroy(second_loop) == 0, "it goes");
}
ALONE(settle, settling, "a promise is settled once, by who may, and with what it was given");

/* The loop is closed while thenables and adoptions are queued. */
static void close_before_adoption(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    source = root();
    MADE(vigil_promise_resolve(source, new_text()));
    MADE(vigil_promise_resolved(loop, vigil_value_thenable(&raises, thenable_gone), &of_raising));
    follows = root();
    MADE(vigil_promise_resolve(follows, vigil_value_promise(vigil_promise_ref(source))));
    later = root();
    MADE(vigil_promise_then(source, NULL, NULL, NULL, &derived));
    MADE(vigil_promise_resolve(later, vigil_value_promise(derived)));
    vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop is closed");
    is_rejected(of_raising, -ECANCELED);
    vgc_assert(thenable_destroyed == 1, "a thenable is given back once");
    vgc_assert(vigil_promise_state_get(follows) != VIGIL_PENDING && vigil_promise_state_get(later) == VIGIL_REJECTED,
               "and those that follow another are settled");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vigil_promise_unref(source);
    vigil_promise_unref(follows);
    vigil_promise_unref(later);
    vigil_promise_unref(of_raising);
    vgc_assert(destroyed == 1, "the value was destroyed once");
}
ALONE(adopt_close, close_before_adoption, "what is on its way is settled when the loop is closed");

/* ---- rejections that nobody handles ---- */

static int user_word;

static void hear_unhandled(void *user, const vigil_rejection *it)
{
    vgc_assert(user == &user_word && it->reason.status == -EDOM, "the hook gets what it was given, and the reason");
    vgc_assert(vigil_promise_state_get(it->promise) == VIGIL_REJECTED && it->created != NULL, "and the promise");
    tell('u');
    vigil_raise(-EIO); /* is ignored */
}

static void hear_handled(void *user, const vigil_rejection *it)
{
    vgc_assert(user == &user_word && it->promise == source, "the hook gets what it was given");
    tell('h');
}

static void reject_some(void)
{
    vigil_promise_hooks hooks = VIGIL_PROMISE_HOOKS_INIT;
    hooks.size = 1;
    REFUSED(vigil_promise_hooks_set(loop, &hooks), -EINVAL);
    REFUSED(vigil_promise_hooks_set(NULL, NULL), -EINVAL);
    hooks = (vigil_promise_hooks)VIGIL_PROMISE_HOOKS_INIT;
    hooks.unhandled = hear_unhandled;
    hooks.handled = hear_handled;
    hooks.user = &user_word;
    MADE(vigil_promise_hooks_set(loop, &hooks));
    vigil_promise *marked = root(), *taken = root(), *caught = root();
    vigil_value value = vigil_value_none();
    source = root();
    MADE(vigil_promise_reject(source, vigil_value_error(-EDOM)));
    MADE(vigil_promise_reject(marked, vigil_value_error(-EDOM)));
    MADE(vigil_promise_mark_handled(marked));
    MADE(vigil_promise_reject(taken, vigil_value_error(-EDOM)));
    vgc_assert(vigil_promise_take(taken, &value) == VIGIL_REJECTED, "the reason can be taken");
    MADE(vigil_promise_reject(caught, vigil_value_error(-EDOM)));
    MADE(vigil_promise_catch(caught, add_one, "c", NULL));
    vigil_promise_unref(marked);
    vigil_promise_unref(taken);
    vigil_promise_unref(caught);
}

static void handle_late(void)
{
    vigil_promise_stats stats = VIGIL_PROMISE_STATS_INIT;
    vgc_assert(strcmp(told, "cu") == 0, "the one that nobody handles is told, after all handlers");
    MADE(vigil_promise_catch(source, add_one, "l", NULL));
    MADE(vigil_promise_mark_handled(source));
    vigil_promise_unref(source);
    MADE(vigil_promise_stats_get(loop, &stats));
    vgc_assert(stats.unhandled == 1 && stats.handled_late == 0, "it is counted");
    REFUSED(vigil_promise_stats_get(loop, NULL), -EINVAL);
    stats.size = 1;
    REFUSED(vigil_promise_stats_get(loop, &stats), -EINVAL);
    REFUSED(vigil_promise_stats_get(NULL, &stats), -EINVAL);
}

static void unhandled(void)
{
    in_the_loop(reject_some, handle_late);
    vgc_assert(strcmp(told, "culh") == 0, "and so is the handler that came late, once");
}
ALONE(unhandled, unhandled, "a rejection that nobody handles is told once, and so is a late handler");

/* Rejected, listed, and the loop is closed before anybody is told. */
static void close_before_report(void)
{
    vigil_promise_hooks hooks = VIGIL_PROMISE_HOOKS_INIT;
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    hooks.unhandled = hear_unhandled;
    hooks.user = &user_word;
    MADE(vigil_promise_hooks_set(loop, &hooks));
    source = root();
    MADE(vigil_promise_reject(source, vigil_value_error(-EDOM)));
    later = root(); /* rejected by the end, which is nobody's mistake */
    if (vgc_arg() != NULL)
        vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0 && strcmp(told, "u") == 0, "the end tells it");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_assert(strlen(told) <= 1, "nothing is told twice");
    is_rejected(source, -EDOM);
    is_rejected(later, -ESHUTDOWN);
    vigil_promise_unref(source);
    vigil_promise_unref(later);
}
ALONE(unhandled_close, close_before_report, "a rejection that nobody handles is told once at most");
static const int graceful = 1;
VGC_REGISTER(unhandled_end, "promise_alone_unhandled_end", close_before_report,
             "a rejection that nobody handles is told at the end", .bound = "1 thread", .opt.max_steps = 30000,
             .arg = &graceful);

/* ---- no memory ---- */

static vigil_value pass(vigil_value *value, void *arg)
{
    (void)arg;
    return value->kind == VIGIL_INT ? vigil_value_int(value->integer) : vigil_value_error(value->status);
}

static bool got(int answer)
{
    vgc_assert(answer == 0 || answer == -ENOMEM, "it is there, or there is no memory");
    return answer == 0;
}

static void without_memory(void)
{
    vigil_resolver *resolver = NULL;
    vigil_limit *limit = NULL;
    vigil_promise *made = NULL;
    if (vigil_loop_create(&loop, NULL) != 0)
        return;
    if (got(vigil_promise_create(&source, loop))) {
        if (got(vigil_promise_then(source, pass, NULL, NULL, &made)))
            vigil_promise_unref(made);
        vigil_promise *const both[2] = {source, source};
        if (got(vigil_promise_all(loop, both, 2, &made)))
            vigil_promise_unref(made);
        if (got(vigil_promise_guard(source, NULL, 10, &made)))
            vigil_promise_unref(made);
        MADE(vigil_promise_resolve(source, vigil_value_int(1)));
        vigil_promise_unref(source);
    }
    if (got(vigil_resolver_create(&resolver, &made, loop))) {
        vigil_resolver_destroy(resolver);
        MADE(vigil_promise_mark_handled(made));
        vigil_promise_unref(made);
    }
    if (got(vigil_promise_resolved(loop, vigil_value_int(1), &made)))
        vigil_promise_unref(made);
    if (got(vigil_promise_resolved(loop, vigil_value_thenable(&at_once, NULL), &made)))
        vigil_promise_unref(made);
    if (got(vigil_promise_sleep(loop, 1, NULL, &made)))
        vigil_promise_unref(made);
    if (got(vigil_limit_create(&limit, loop, 1, VIGIL_LIMIT_QUEUE)))
        vigil_limit_destroy(limit);
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}
VGC_REGISTER(no_memory, "promise_alone_no_memory", without_memory,
             "without memory a call is refused, and nothing leaks", .bound = "1 thread; any 1 allocation fails",
             .opt.max_steps = 30000, .opt.fail_alloc = 1);
