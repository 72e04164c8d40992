/* SPDX-License-Identifier: MIT */
/* L10: The clauses of Promises/A+, one test each, by their numbers. "Throws" is vigil_raise, or an error as the result; an object or
   function with a `then` is a vigil_thenable. What has no counterpart in C is named at its place. */
#include "promise_test.h"

#define on_loop(body) on_loop_with(body, NULL)

/* ---- 2.1 states -------------------------------------------------------------------------------------------------- */

static void pending_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    must_equal(vigil_promise_state_get(p), VIGIL_PENDING);
    resolve(p, vigil_value_int(1));
    must_equal(vigil_promise_state_get(p), VIGIL_FULFILLED);
    drop(p);
    p = pending();
    must_equal(vigil_promise_mark_handled(p), 0);
    reject(p, -EIO);
    must_equal(vigil_promise_state_get(p), VIGIL_REJECTED);
    drop(p);
}

static void clause_2_1_1_pending_may_become_fulfilled_or_rejected(void **state)
{
    (void)state;
    on_loop(pending_body);
}

static void settled_body(void *arg)
{
    bool fulfil = *(bool *)arg;
    vigil_promise *p = pending();
    must_equal(vigil_promise_mark_handled(p), 0);
    vigil_value first = fulfil ? counted(7) : vigil_value_error(-EIO);
    resolve(p, first);
    vigil_value late = counted(8);
    must_equal(vigil_promise_resolve(p, late), -EALREADY);
    must_equal(vigil_promise_reject(p, vigil_value_error(-EPERM)), -EALREADY);
    vigil_value_destroy(&late); /* it was refused, so it is still ours */
    vigil_value seen;
    must_equal(vigil_promise_result(p, &seen), fulfil ? VIGIL_FULFILLED : VIGIL_REJECTED);
    if (fulfil)
        must_equal(number_in(&seen), 7);
    else
        must_equal(seen.status, -EIO);
    drop(p);
}

static void clause_2_1_2_fulfilled_stays_and_keeps_its_value(void **state)
{
    (void)state;
    bool fulfil = true;
    on_loop_with(settled_body, &fulfil);
}

static void clause_2_1_3_rejected_stays_and_keeps_its_reason(void **state)
{
    (void)state;
    bool fulfil = false;
    on_loop_with(settled_body, &fulfil);
}

/* ---- 2.2 then ---------------------------------------------------------------------------------------------------- */

static void optional_body(void *arg)
{
    (void)arg;
    vigil_promise *p = resolved(vigil_value_int(1));
    then(p, NULL, must_not_run, NULL);
    then(p, NULL, NULL, NULL);
    drop(p);
    p = resolved(vigil_value_error(-EIO));
    vigil_promise *q = derive(p, must_not_run, NULL, NULL);
    then(q, NULL, say_value, "q");
    drop(q);
    drop(p);
}

static void clause_2_2_1_both_handlers_are_optional(void **state)
{
    (void)state;
    on_loop(optional_body);
    must_have_said("q!-5");
}

static void once_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    then(p, say_value, must_not_run, "a");
    must_have_said(""); /* 2.2.2.2: not before it is fulfilled */
    resolve(p, vigil_value_int(5));
    must_equal(vigil_promise_resolve(p, vigil_value_int(6)), -EALREADY);
    drop(p);
}

static void clause_2_2_2_fulfilled_is_called_once_after_it_with_the_value(void **state)
{
    (void)state;
    on_loop(once_body);
    must_have_said("a=5");
}

static void once_rejected_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    then(p, must_not_run, say_value, "a");
    must_have_said("");
    reject(p, -EIO);
    must_equal(vigil_promise_reject(p, vigil_value_error(-EPERM)), -EALREADY);
    drop(p);
}

static void clause_2_2_3_rejected_is_called_once_after_it_with_the_reason(void **state)
{
    (void)state;
    on_loop(once_rejected_body);
    must_have_said("a!-5");
}

static vigil_value add_another(vigil_value *value, void *arg)
{
    (void)value;
    vigil_promise *p = arg;
    then(p, say_it, NULL, "inner");
    say("handler-ends");
    drop(p);
    return vigil_value_none();
}

static void clean_stack_body(void *arg)
{
    (void)arg;
    vigil_promise *settled = resolved(vigil_value_none());
    then(settled, say_it, NULL, "settled");
    vigil_promise *p = pending();
    then(p, say_it, NULL, "pending");
    then(p, add_another, NULL, vigil_promise_ref(settled));
    resolve(p, vigil_value_none());
    say("body-ends");
    drop(settled);
    drop(p);
}

static void clause_2_2_4_handlers_run_on_a_clean_stack(void **state)
{
    (void)state;
    on_loop(clean_stack_body);
    must_have_said("body-ends settled pending handler-ends inner");
}

/* 2.2.5 (handlers are called as functions, with no `this`): C has nothing else. That nothing comes along shows in the
   types; that the argument is passed as it is, in every other test. */

static void many_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    then(p, say_it, NULL, "a");
    then(p, say_it, NULL, "b");
    resolve(p, counted(3));
    then(p, say_it, NULL, "c"); /* settled, but a and b have not run yet */
    then(p, say_value, NULL, "d");
    drop(p);
    p = pending();
    then(p, NULL, say_it, "e");
    then(p, NULL, say_value, "f");
    reject(p, -EIO);
    drop(p);
}

static void clause_2_2_6_handlers_of_one_promise_run_in_their_order(void **state)
{
    (void)state;
    on_loop(many_body);
    must_have_said("a b c d=3 e f!-5");
}

static vigil_value give_int(vigil_value *value, void *arg)
{
    (void)value;
    return vigil_value_int(*(int *)arg);
}

static vigil_value raise_it(vigil_value *value, void *arg)
{
    (void)value;
    vigil_raise(*(int *)arg);
}

static vigil_value give_error(vigil_value *value, void *arg)
{
    (void)value;
    return vigil_value_error(*(int *)arg);
}

static void derived_value_body(void *arg)
{
    static int seven = 7;
    vigil_promise *p = arg != NULL ? resolved(vigil_value_error(-EIO)) : resolved(vigil_value_int(1));
    vigil_promise *q = derive(p, give_int, give_int, &seven);
    must(q != p);
    then(q, say_value, must_not_run, "q");
    drop(q);
    drop(p);
}

static void clause_2_2_7_1_what_a_handler_returns_resolves_the_derived_promise(void **state)
{
    (void)state;
    on_loop(derived_value_body);
    must_have_said("q=7");
    on_loop_with(derived_value_body, "rejected");
    must_have_said("q=7");
}

static void derived_raise_body(void *arg)
{
    static int status = -EPROTO;
    vigil_promise *p = arg != NULL ? resolved(vigil_value_error(-EIO)) : resolved(vigil_value_int(1));
    vigil_promise *q = derive(p, raise_it, raise_it, &status);
    then(q, must_not_run, say_value, "raised");
    drop(q);
    q = derive(p, give_error, give_error, &status);
    then(q, must_not_run, say_value, "returned");
    drop(q);
    drop(p);
}

static void clause_2_2_7_2_what_a_handler_throws_rejects_the_derived_promise(void **state)
{
    (void)state;
    on_loop(derived_raise_body);
    must_have_said("raised!-71 returned!-71");
    on_loop_with(derived_raise_body, "rejected");
    must_have_said("raised!-71 returned!-71");
}

static void pass_value_body(void *arg)
{
    (void)arg;
    vigil_promise *p = resolved(counted(9));
    vigil_promise *q = derive(p, NULL, must_not_run, NULL);
    vigil_promise *r = derive(q, NULL, NULL, NULL);
    drop(p); /* the value lives on in q and r */
    drop(q);
    then(r, say_value, must_not_run, "r");
    drop(r);
}

static void clause_2_2_7_3_without_a_handler_the_value_is_passed_on(void **state)
{
    (void)state;
    on_loop(pass_value_body);
    must_have_said("r=9");
}

static void pass_reason_body(void *arg)
{
    (void)arg;
    int64_t *more = malloc(sizeof *more);
    must(more != NULL);
    *more = 4;
    atomic_fetch_add(&values_alive, 1);
    vigil_promise *p = resolved(vigil_value_error_with(-EIO, more, counted_end));
    vigil_promise *q = derive(p, must_not_run, NULL, NULL);
    drop(p);
    then(q, must_not_run, say_value, "q");
    drop(q);
}

static void clause_2_2_7_4_without_a_handler_the_reason_is_passed_on(void **state)
{
    (void)state;
    on_loop(pass_reason_body);
    must_have_said("q!-5");
}

/* ---- 2.3 the resolution procedure -------------------------------------------------------------------------------- */

static vigil_value give_promise(vigil_value *value, void *arg)
{
    (void)value;
    return vigil_value_promise(*(vigil_promise **)arg);
}

static void self_body(void *arg)
{
    static vigil_promise *q;
    (void)arg;
    vigil_promise *p = resolved(vigil_value_none());
    q = derive(p, give_promise, NULL, &q);
    then(q, must_not_run, say_value, "derived");
    drop(p); /* q's reference goes with the handler's result */
    p = pending();
    then(p, must_not_run, say_value, "root");
    resolve(p, vigil_value_promise(vigil_promise_ref(p)));
    drop(p);
}

static void clause_2_3_1_a_promise_resolved_with_itself_is_rejected(void **state)
{
    (void)state;
    on_loop(self_body);
    must_have_said("root!-35 derived!-35"); /* -EDEADLK */
}

static void settle_later(void *arg)
{
    vigil_promise *p = arg;
    say("now");
    resolve(p, counted(11));
    drop(p);
}

static void reject_later(void *arg)
{
    vigil_promise *p = arg;
    say("now");
    reject(p, -EIO);
    drop(p);
}

static void adopt_pending_body(void *arg)
{
    static vigil_promise *x;
    x = pending();
    vigil_promise *p = resolved(vigil_value_none());
    vigil_promise *q = derive(p, give_promise, NULL, &x);
    then(q, say_value, say_value, "q");
    must_equal(vigil_loop_immediate_call(loop, arg != NULL ? reject_later : settle_later, NULL, vigil_promise_ref(x)),
               0);
    drop(p);
    drop(q);
}

static void clause_2_3_2_1_an_adopted_promise_that_is_pending_keeps_it_pending(void **state)
{
    (void)state;
    on_loop(adopt_pending_body);
    must_have_said("now q=11");
}

static void clause_2_3_2_2_when_the_adopted_promise_is_fulfilled_so_is_it(void **state)
{
    (void)state;
    on_loop(adopt_pending_body);
    must_have_said("now q=11");
}

static void clause_2_3_2_3_when_the_adopted_promise_is_rejected_so_is_it(void **state)
{
    (void)state;
    on_loop_with(adopt_pending_body, "rejected");
    must_have_said("now q!-5");
}

/* ---- 2.3.3 thenables --------------------------------------------------------------------------------------------- */

struct thing {
    vigil_thenable thenable; /* first */
    int calls;
    int mode;
    vigil_promise *kept;
};

enum {
    RESOLVES,
    REJECTS,
    RESOLVES_TWICE,
    RESOLVES_AND_RAISES,
    RAISES,
    RESOLVES_LATER,
    RESOLVES_WITH_A_PROMISE,
    NEVER
};

static void thing_then(vigil_thenable *self, vigil_promise *promise)
{
    struct thing *thing = (struct thing *)self;
    thing->calls++;
    say("then");
    switch (thing->mode) {
    case RESOLVES:
        resolve(promise, vigil_value_int(21));
        break;
    case REJECTS:
        reject(promise, -EIO);
        break;
    case RESOLVES_TWICE:
        resolve(promise, vigil_value_int(21));
        must_equal(vigil_promise_resolve(promise, vigil_value_int(22)), -EALREADY);
        must_equal(vigil_promise_reject(promise, vigil_value_error(-EIO)), -EALREADY);
        break;
    case RESOLVES_AND_RAISES:
        resolve(promise, vigil_value_int(21));
        vigil_raise(-EPROTO); /* the reference is given back by the library: we did not get there */
    case RAISES:
        vigil_raise(-EPROTO);
    case RESOLVES_LATER:
        must_equal(vigil_loop_immediate_call(loop, settle_later, NULL, promise), 0);
        return;
    case RESOLVES_WITH_A_PROMISE:
        resolve(promise, vigil_value_promise(resolved(vigil_value_int(23))));
        break;
    default:
        break;
    }
    drop(promise);
}

static void thing_end(void *pointer)
{
    must_equal(((struct thing *)pointer)->calls, 1); /* 2.3.3.1: it is asked once */
    counted_end(pointer);
}

static vigil_value give_thing(vigil_value *value, void *arg)
{
    (void)value;
    struct thing *thing = calloc(1, sizeof *thing);
    must(thing != NULL);
    atomic_fetch_add(&values_alive, 1);
    thing->thenable.then = thing_then;
    thing->mode = *(int *)arg;
    return vigil_value_thenable(&thing->thenable, thing_end);
}

static void thenable_body(void *arg)
{
    vigil_promise *p = resolved(vigil_value_none());
    vigil_promise *q = derive(p, give_thing, NULL, arg);
    then(q, say_value, say_value, "q");
    drop(p);
    drop(q);
}

static void with_thing(int mode, const char *expected)
{
    on_loop_with(thenable_body, &mode);
    must_have_said(expected);
}

static void clause_2_3_3_3_1_a_thenable_that_resolves_it_with_a_value(void **state)
{
    (void)state;
    with_thing(RESOLVES, "then q=21");
    with_thing(RESOLVES_LATER, "then now q=11");
    with_thing(RESOLVES_WITH_A_PROMISE, "then q=23"); /* the procedure runs on what it is resolved with */
}

static void clause_2_3_3_3_2_a_thenable_that_rejects_it(void **state)
{
    (void)state;
    with_thing(REJECTS, "then q!-5");
}

static void clause_2_3_3_3_3_the_first_call_of_a_thenable_wins(void **state)
{
    (void)state;
    with_thing(RESOLVES_TWICE, "then q=21");
}

static void clause_2_3_3_3_4_1_a_throw_after_resolving_is_ignored(void **state)
{
    (void)state;
    with_thing(RESOLVES_AND_RAISES, "then q=21");
}

static void clause_2_3_3_3_4_2_a_throw_before_rejects_it(void **state)
{
    (void)state;
    with_thing(RAISES, "then q!-71");
}

static void a_thenable_that_never_settles_leaves_nothing_behind(void **state)
{
    (void)state;
    with_thing(NEVER, "then");
}

/* 2.3.3.2 (reading the property `then` throws) has no counterpart: it is a field of a struct. 2.3.3.4 and 2.3.4 meet here:
   whatever has no `then` is a plain value. */
static void plain_body(void *arg)
{
    (void)arg;
    vigil_value values[] = {vigil_value_none(), vigil_value_int(-1), vigil_value_real(0.5),
                            vigil_value_pointer(&journal, NULL)};
    for (size_t i = 0; i < count_of(values); i++) {
        vigil_promise *p = pending();
        resolve(p, values[i]);
        vigil_value seen;
        must_equal(vigil_promise_result(p, &seen), VIGIL_FULFILLED);
        must_equal(seen.kind, values[i].kind);
        must_equal(seen.integer, values[i].integer);
        drop(p);
    }
}

static void clause_2_3_4_anything_else_fulfils_it(void **state)
{
    (void)state;
    on_loop(plain_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(clause_2_1_1_pending_may_become_fulfilled_or_rejected),
        test(clause_2_1_2_fulfilled_stays_and_keeps_its_value),
        test(clause_2_1_3_rejected_stays_and_keeps_its_reason),
        test(clause_2_2_1_both_handlers_are_optional),
        test(clause_2_2_2_fulfilled_is_called_once_after_it_with_the_value),
        test(clause_2_2_3_rejected_is_called_once_after_it_with_the_reason),
        test(clause_2_2_4_handlers_run_on_a_clean_stack),
        test(clause_2_2_6_handlers_of_one_promise_run_in_their_order),
        test(clause_2_2_7_1_what_a_handler_returns_resolves_the_derived_promise),
        test(clause_2_2_7_2_what_a_handler_throws_rejects_the_derived_promise),
        test(clause_2_2_7_3_without_a_handler_the_value_is_passed_on),
        test(clause_2_2_7_4_without_a_handler_the_reason_is_passed_on),
        test(clause_2_3_1_a_promise_resolved_with_itself_is_rejected),
        test(clause_2_3_2_1_an_adopted_promise_that_is_pending_keeps_it_pending),
        test(clause_2_3_2_2_when_the_adopted_promise_is_fulfilled_so_is_it),
        test(clause_2_3_2_3_when_the_adopted_promise_is_rejected_so_is_it),
        test(clause_2_3_3_3_1_a_thenable_that_resolves_it_with_a_value),
        test(clause_2_3_3_3_2_a_thenable_that_rejects_it),
        test(clause_2_3_3_3_3_the_first_call_of_a_thenable_wins),
        test(clause_2_3_3_3_4_1_a_throw_after_resolving_is_ignored),
        test(clause_2_3_3_3_4_2_a_throw_before_rejects_it),
        test(a_thenable_that_never_settles_leaves_nothing_behind),
        test(clause_2_3_4_anything_else_fulfils_it),
    };
    return run_all(tests);
}
