/* SPDX-License-Identifier: MIT */
/*
 * Promises on one thread (promise_alone.h): what each kind of handler makes of a value, finally, and reactions that are taken back; and the end of
 * the loop in the middle of all that.
 */
#include "promise_alone.h"

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

static vigil_promise *derived[DERIVED];
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
