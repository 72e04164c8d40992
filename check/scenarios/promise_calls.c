/* SPDX-License-Identifier: MIT */
/*
 * Promises on one thread: what each kind of handler makes of a value, reactions that are taken back, what is refused, rejections that nobody
 * handles, and the end of the loop in the middle of all that. There is one execution of each, so each is explored to its end; it is here because
 * what only one thread does is under check too: a value that is destroyed twice or never, memory that is used after it was freed.
 */
#include "loop_common.h"

#include <vigil/promise.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED(call, status) vgc_assert((call) == (status), "the call is refused")
#define MADE(call)            vgc_assert((call) == 0, "the call is accepted")

/* What has happened, in its order: one letter each. */
static char told[64];

static void tell(char what)
{
    const size_t length = strlen(told);
    vgc_assert(length + 1 < sizeof told, "no more is told than the scenario makes");
    told[length] = what;
}

static int destroyed;

static void destroy_text(void *text)
{
    destroyed++;
    free(text);
}

static vigil_value new_text(void)
{
    char *text = malloc(8);
    vgc_assert(text != NULL, "there is memory");
    memcpy(text, "a text", 7);
    return vigil_value_pointer(text, destroy_text);
}

static vigil_promise *root(void)
{
    vigil_promise *made = NULL;
    MADE(vigil_promise_create(&made, loop));
    return made;
}

static void is_fulfilled(vigil_promise *promise, int64_t number)
{
    vigil_value value = vigil_value_none();
    vgc_assert(vigil_promise_result(promise, &value) == VIGIL_FULFILLED && value.integer == number,
               "it is fulfilled with its number");
}

static void is_rejected(vigil_promise *promise, int status)
{
    vigil_value value = vigil_value_none();
    vgc_assert(vigil_promise_result(promise, &value) == VIGIL_REJECTED && value.status == status,
               "it is rejected with its reason");
}

/* ---- everything is done by a callback of the loop, and looked at by a second ---- */

static void (*first_part)(void);
static void (*second_part)(void);

static void do_first(void *arg)
{
    (void)arg;
    first_part();
}

static void do_second(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    second_part();
}

static void in_the_loop(void (*first)(void), void (*second)(void))
{
    vigil_timer timer;
    first_part = first;
    second_part = second;
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    MADE(vigil_loop_call(loop, do_first, NULL, NULL));
    MADE(vigil_timer_start(loop, 1000, do_second, NULL, &timer));
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vigil_promise_stats stats = VIGIL_PROMISE_STATS_INIT;
    MADE(vigil_promise_stats_get(loop, &stats));
    vgc_assert(stats.alive == 0 && stats.in_flight == 0 && stats.created > 0, "no promise is left behind");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- what handlers make of a value ---- */

enum {
    LENT,    /* the same value again */
    MOVED,   /* a pass on without a handler */
    TAKEN,   /* the handler keeps it */
    ADDED,   /* another value */
    FAILED,  /* an error */
    RAISED,  /* a raise */
    ADOPTED, /* a promise that is settled later */
    DERIVED  /* how many */
};

static vigil_promise *source, *later, *derived[DERIVED];
static int done[DERIVED];

static vigil_value handle(vigil_value *value, void *arg)
{
    vgc_assert(strcmp(value->pointer, "a text") == 0, "the value is lent");
    switch ((int)(intptr_t)arg) {
    case LENT:
        return *value;
    case ADDED:
        return vigil_value_int(7);
    case FAILED:
        return vigil_value_error(-EDOM);
    case RAISED:
        vigil_raise(-ERANGE);
    case ADOPTED:
        return vigil_value_promise(vigil_promise_ref(later));
    default: {
        vigil_value mine = vigil_value_move(value);
        vigil_value_destroy(&mine);
        vgc_assert(destroyed == 1, "a value that was moved is the handler's");
        return vigil_value_none();
    }
    }
}

static void count_done(void *arg)
{
    done[(int)(intptr_t)arg]++;
}

static void add_handlers(void)
{
    source = root();
    later = root();
    for (int i = 0; i < DERIVED; i++) {
        vigil_handlers handlers = VIGIL_HANDLERS_INIT;
        handlers.fulfilled = i == MOVED ? NULL : handle;
        handlers.arg = (void *)(intptr_t)i;
        handlers.done = count_done;
        if (i != TAKEN)
            MADE(vigil_promise_then_with(source, &handlers, &derived[i]));
    }
    vigil_handlers wrong = VIGIL_HANDLERS_INIT;
    wrong.size = 1;
    REFUSED(vigil_promise_then_with(source, &wrong, NULL), -EINVAL);
    REFUSED(vigil_promise_then_with(source, NULL, NULL), -EINVAL);
    REFUSED(vigil_promise_then_with(NULL, &wrong, NULL), -EINVAL);
    REFUSED(vigil_promise_then(NULL, NULL, NULL, NULL, NULL), -EINVAL);
    REFUSED(vigil_promise_catch(NULL, NULL, NULL, NULL), -EINVAL);
    vgc_assert(vigil_promise_chain(NULL, NULL, NULL, NULL) == NULL, "nothing is made of nothing");
    REFUSED(vigil_promise_resolve(derived[LENT], vigil_value_none()), -EPERM);
    MADE(vigil_promise_resolve(source, new_text()));
    REFUSED(vigil_promise_resolve(source, vigil_value_none()), -EALREADY);
    vgc_assert(vigil_promise_loop(source) == loop && vigil_promise_loop(NULL) == NULL, "its loop is told");
}

static void look_at_handlers(void)
{
    vigil_value value = vigil_value_none();
    for (int i = 0; i < DERIVED; i++)
        vgc_assert(done[i] == (i != TAKEN), "each argument is given back once");
    for (int i = LENT; i <= MOVED; i++)
        vgc_assert(vigil_promise_result(derived[i], &value) == VIGIL_FULFILLED && value.destroy == NULL &&
                       strcmp(value.pointer, "a text") == 0,
                   "a value that is passed on is shared");
    is_fulfilled(derived[ADDED], 7);
    is_rejected(derived[FAILED], -EDOM);
    is_rejected(derived[RAISED], -ERANGE);
    vgc_assert(vigil_promise_state_get(derived[ADOPTED]) == VIGIL_PENDING, "it waits for the other");
    MADE(vigil_promise_resolve(later, vigil_value_int(9)));
    vigil_promise_unref(later);
    vigil_promise_unref(source);
    vgc_assert(destroyed == 0, "those that share the value keep it");
    MADE(vigil_promise_then(derived[MOVED], handle, NULL, (void *)(intptr_t)TAKEN, &derived[TAKEN]));
    vigil_promise_unref(derived[LENT]);
    vigil_promise_unref(derived[MOVED]);
    vigil_promise_unref(derived[TAKEN]);
    for (int i = ADDED; i < DERIVED; i++)
        vigil_promise_unref(derived[i]);
}

static void handlers(void)
{
    in_the_loop(add_handlers, look_at_handlers);
    vgc_assert(destroyed == 1, "the value was destroyed once");
}

/* A chain, with what passes by its handlers. */
static vigil_promise *chain;

static vigil_value add_one(vigil_value *value, void *arg)
{
    tell(*(const char *)arg);
    return vigil_value_int(value->kind == VIGIL_INT ? value->integer + 1 : -value->status);
}

static vigil_value break_it(vigil_value *value, void *arg)
{
    (void)value;
    tell(*(const char *)arg);
    return vigil_value_error(-3);
}

static void make_chain(void)
{
    vigil_promise *side = NULL;
    MADE(vigil_promise_resolved(loop, vigil_value_int(1), &chain));
    MADE(vigil_promise_catch(chain, add_one, "x", &side));
    chain = vigil_promise_chain(chain, add_one, NULL, "a");
    chain = vigil_promise_chain(chain, break_it, add_one, "b");
    chain = vigil_promise_chain(chain, add_one, NULL, "x");
    chain = vigil_promise_chain(chain, NULL, add_one, "c");
    chain = vigil_promise_chain(chain, add_one, add_one, "d");
    tell('0');
    MADE(vigil_promise_then(side, add_one, NULL, "s", NULL));
    vigil_promise_unref(side);
}

static void look_at_chain(void)
{
    vgc_assert(strcmp(told, "0asbcd") == 0, "handlers run after the call that added them, and in their order");
    is_fulfilled(chain, 4);
    vigil_promise_unref(chain);
}

static void chains(void)
{
    in_the_loop(make_chain, look_at_chain);
}

/* ---- finally ---- */

enum {
    FINALLY_NONE,
    FINALLY_TEXT,   /* its value is destroyed */
    FINALLY_ERROR,  /* wins */
    FINALLY_RAISE,  /* wins */
    FINALLY_WAITS,  /* for a promise that is fulfilled later */
    FINALLY_BREAKS, /* for a promise that is rejected later: wins */
    FINALLY_NO_FN,  /* as then(NULL, NULL) */
    FINALLY_THENABLE /* an error, or what it says */,
    FINALLIES
};

static vigil_promise *finally[FINALLIES][2], *breaks;

static void settle_at_once(vigil_thenable *self, vigil_promise *of)
{
    (void)self;
    (void)vigil_promise_resolve(of, vigil_value_int(77));
    vigil_promise_unref(of);
}
static vigil_thenable at_once = {.then = settle_at_once};

static vigil_value in_finally(void *arg)
{
    switch ((int)(intptr_t)arg) {
    case FINALLY_TEXT:
        return new_text();
    case FINALLY_ERROR:
        return vigil_value_error(-EDOM);
    case FINALLY_RAISE:
        vigil_raise(-ERANGE);
    case FINALLY_WAITS:
        return vigil_value_promise(vigil_promise_ref(later));
    case FINALLY_BREAKS:
        return vigil_value_promise(vigil_promise_ref(breaks));
    case FINALLY_THENABLE:
        return vigil_value_thenable(&at_once, NULL);
    default:
        return vigil_value_none();
    }
}

static void add_finallies(void)
{
    vigil_promise *bad = NULL;
    source = root();
    later = root();
    breaks = root();
    MADE(vigil_promise_resolved(loop, vigil_value_error(-EPROTO), &bad));
    for (int i = 0; i < FINALLIES; i++) {
        vigil_value (*fn)(void *) = i == FINALLY_NO_FN ? NULL : in_finally;
        MADE(vigil_promise_finally(source, fn, (void *)(intptr_t)i, &finally[i][0]));
        MADE(vigil_promise_finally(bad, fn, (void *)(intptr_t)i, &finally[i][1]));
    }
    REFUSED(vigil_promise_finally(NULL, in_finally, NULL, NULL), -EINVAL);
    MADE(vigil_promise_resolve(source, vigil_value_int(5)));
    vigil_promise_unref(bad);
}

static void look_at_finallies(void)
{
    for (int i = 0; i < FINALLIES; i++) {
        if (i == FINALLY_WAITS || i == FINALLY_BREAKS) {
            vgc_assert(vigil_promise_state_get(finally[i][0]) == VIGIL_PENDING, "it waits for what fn returned");
            continue;
        }
        if (i == FINALLY_ERROR || i == FINALLY_RAISE) {
            is_rejected(finally[i][0], i == FINALLY_ERROR ? -EDOM : -ERANGE);
            is_rejected(finally[i][1], i == FINALLY_ERROR ? -EDOM : -ERANGE);
        } else if (i != FINALLY_THENABLE) {
            is_fulfilled(finally[i][0], 5);
            is_rejected(finally[i][1], -EPROTO);
        }
    }
    vgc_assert(destroyed == 2, "what fn returns besides is destroyed");
    MADE(vigil_promise_resolve(later, vigil_value_int(9)));
    MADE(vigil_promise_reject(breaks, vigil_value_error(-ENOEXEC)));
    vigil_promise_unref(source);
    vigil_promise_unref(later);
    vigil_promise_unref(breaks);
}

static void finallies(void)
{
    vigil_promise *kept[4];
    first_part = add_finallies;
    second_part = look_at_finallies;
    vigil_timer timer;
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    MADE(vigil_loop_call(loop, do_first, NULL, NULL));
    MADE(vigil_timer_start(loop, 1000, do_second, NULL, &timer));
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    for (int i = 0; i < 2; i++) {
        kept[i] = finally[FINALLY_WAITS][i];
        kept[2 + i] = finally[FINALLY_BREAKS][i];
    }
    is_fulfilled(kept[0], 5);
    is_rejected(kept[1], -EPROTO);
    is_rejected(kept[2], -ENOEXEC);
    is_rejected(kept[3], -ENOEXEC);
    for (int i = 0; i < FINALLIES; i++) {
        vigil_promise_unref(finally[i][0]);
        vigil_promise_unref(finally[i][1]);
    }
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* The loop ends while fn's promise is pending, and while hops are queued. */
static void finally_at_the_end(void)
{
    vigil_promise *stays[3];
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    source = root();
    later = root();
    MADE(vigil_promise_resolve(source, vigil_value_int(5)));
    MADE(vigil_promise_finally(source, in_finally, (void *)(intptr_t)FINALLY_WAITS, &stays[0]));
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
    vgc_assert(vigil_promise_state_get(stays[0]) == VIGIL_PENDING, "it waits");
    MADE(vigil_promise_finally(source, in_finally, (void *)(intptr_t)FINALLY_NONE, &stays[1]));
    MADE(vigil_promise_then(later, handle, NULL, NULL, &stays[2]));
    const bool graceful = vgc_arg() != NULL;
    if (graceful)
        vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    else
        vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop is closed");
    is_rejected(stays[0], graceful ? -ESHUTDOWN : -ECANCELED);
    if (graceful)
        is_fulfilled(stays[1], 5);
    else
        is_rejected(stays[1], -ECANCELED);
    is_rejected(later, -ESHUTDOWN);
    vgc_assert(vigil_promise_state_get(stays[2]) == VIGIL_REJECTED, "what is derived goes with it");
    REFUSED(vigil_promise_then(later, handle, NULL, NULL, NULL), -ESHUTDOWN);
    REFUSED(vigil_promise_resolve(later, vigil_value_none()), -ESHUTDOWN);
    REFUSED(vigil_promise_create(&source, loop), -ESHUTDOWN);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    for (int i = 0; i < 3; i++)
        vigil_promise_unref(stays[i]);
    vigil_promise_unref(source);
    vigil_promise_unref(later);
}

/* ---- reactions ---- */

enum {
    REACTIONS = 5
};

static vigil_reaction reactions[REACTIONS];
static int reacted[REACTIONS], dropped[REACTIONS];
static int uncaught_status;

static void react(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    const int number = (int)(reaction - reactions);
    vgc_assert(state == VIGIL_FULFILLED && value->integer == 3, "the reaction gets the value");
    reacted[number]++;
    tell((char)('0' + number));
    if (number == 3)
        vigil_raise(-EXFULL);
}

static void drop(vigil_reaction *reaction)
{
    const int number = (int)(reaction - reactions);
    dropped[number]++;
    if (number == 1)
        vigil_raise(-EIO); /* ignored, or told to the loop if it is ending */
}

static void add_reactions(vigil_promise *to)
{
    for (int i = 0; i < REACTIONS; i++) {
        reactions[i] = (vigil_reaction){.run = react, .cancel = i == 2 ? NULL : drop};
        MADE(vigil_promise_reaction_add(to, &reactions[i]));
    }
}

static void remove_reactions(void)
{
    vigil_promise *other = root();
    vigil_reaction empty = {0};
    source = root();
    REFUSED(vigil_promise_reaction_add(NULL, &reactions[0]), -EINVAL);
    REFUSED(vigil_promise_reaction_add(source, NULL), -EINVAL);
    REFUSED(vigil_promise_reaction_add(source, &empty), -EINVAL);
    REFUSED(vigil_promise_reaction_remove(NULL, &reactions[0]), -EINVAL);
    REFUSED(vigil_promise_reaction_remove(source, NULL), -EINVAL);
    REFUSED(vigil_promise_reaction_remove(source, &reactions[0]), -ENOENT);
    add_reactions(source);
    REFUSED(vigil_promise_reaction_remove(other, &reactions[1]), -ENOENT);
    MADE(vigil_promise_reaction_remove(source, &reactions[2])); /* in the middle, at the end, at the beginning */
    MADE(vigil_promise_reaction_remove(source, &reactions[4]));
    MADE(vigil_promise_reaction_remove(source, &reactions[0]));
    MADE(vigil_promise_reaction_remove(source, &reactions[1]));
    MADE(vigil_promise_reaction_remove(source, &reactions[3])); /* the last one */
    REFUSED(vigil_promise_reaction_remove(source, &reactions[3]), -ENOENT);
    add_reactions(source);
    MADE(vigil_promise_reaction_remove(source, &reactions[1]));
    MADE(vigil_promise_reaction_remove(source, &reactions[2]));
    MADE(vigil_promise_resolve(source, vigil_value_int(3)));
    REFUSED(vigil_promise_reaction_remove(source, &reactions[0]), -EBUSY);
    vigil_promise_unref(source);
    vigil_promise_unref(other);
}

static void look_at_reactions(void)
{
    vgc_assert(strcmp(told, "034") == 0, "those that were not taken back run once, in their order");
    source = root();
    add_reactions(source);
    vigil_promise_unref(source); /* nobody can settle it */
    for (int i = 0; i < REACTIONS; i++)
        vgc_assert(dropped[i] == (i != 2), "what will never come is told");
}

static void note_uncaught(void *user, const vigil_uncaught *it)
{
    (void)user;
    uncaught_status = it->status;
}

static void make_telling(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = note_uncaught;
    vgc_assert(vigil_loop_create(&loop, &options) == 0, "the loop is made");
}

static void reactions_come_and_go(void)
{
    vigil_timer timer;
    first_part = remove_reactions;
    second_part = look_at_reactions;
    make_telling();
    MADE(vigil_loop_call(loop, do_first, NULL, NULL));
    MADE(vigil_timer_start(loop, 1000, do_second, NULL, &timer));
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vgc_assert(uncaught_status == -EXFULL, "a raise in a reaction is told to the loop");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

static void close_before_reactions(void)
{
    make_telling();
    source = root();
    add_reactions(source);
    MADE(vigil_promise_resolve(source, vigil_value_int(3)));
    vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop is closed");
    for (int i = 0; i < REACTIONS; i++)
        vgc_assert(reacted[i] == 0 && dropped[i] == (i != 2), "a reaction that is queued is cancelled, once");
    vgc_assert(uncaught_status == -EIO, "a raise in a cancel is told to the loop");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vigil_promise_unref(source);
}

#define ALONE(id, function, property_text) \
    VGC_REGISTER(id, "promise_alone_" #id, function, property_text, .bound = "1 thread", .opt.max_steps = 30000)
static const int graceful = 1;
#define VALUES "a value is what the handlers make of it, and is destroyed once"
ALONE(handlers, handlers, VALUES);
ALONE(chain, chains, VALUES);
ALONE(finally, finallies, "finally changes nothing, unless it fails or waits");
ALONE(finally_close, finally_at_the_end, "what waits is rejected when the loop ends");
VGC_REGISTER(finally_end, "promise_alone_finally_end", finally_at_the_end, "what waits is rejected when the loop ends",
             .bound = "1 thread", .opt.max_steps = 30000, .arg = &graceful);
ALONE(reactions, reactions_come_and_go, "a reaction runs once, is taken back, or hears that nothing comes");
ALONE(reactions_close, close_before_reactions, "a reaction runs once, is taken back, or hears that nothing comes");

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

static vigil_promise *itself, *foreign, *of_thenable, *of_raising, *tried[2], *follows;

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
    MADE(vigil_promise_then(source, NULL, NULL, NULL, &derived[0]));
    MADE(vigil_promise_resolve(later, vigil_value_promise(derived[0])));
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
