/* SPDX-License-Identifier: MIT */
/* Who owns a value when: every destructor runs exactly once, whoever looked, took, moved, passed on or came too late. on_loop_with
   looks at the end that no value and no promise is left; the address sanitizer looks for the rest. */
#include "promise_test.h"

#define on_loop(body) on_loop_with(body, NULL)

static vigil_value take_it_out(vigil_value *value, void *arg)
{
    vigil_value mine = vigil_value_move(value);
    must_equal(number_in(&mine), 5);
    say(arg);
    vigil_value_destroy(&mine);
    return vigil_value_none();
}

static void several_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    then(p, say_value, NULL, "a");
    then(p, say_value, NULL, "b");
    resolve(p, counted(5));
    drop(p);
}

static void several_handlers_borrow_one_value(void **state)
{
    (void)state;
    on_loop(several_body);
    must_have_said("a=5 b=5");
}

static void move_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    then(p, take_it_out, NULL, "taken");
    then(p, say_value, NULL, "empty");
    resolve(p, counted(5));
    drop(p);
}

static void a_moved_value_is_the_handlers_and_none_stays_behind(void **state)
{
    (void)state;
    on_loop(move_body);
    must_have_said("taken empty");
}

static vigil_value return_it(vigil_value *value, void *arg)
{
    (void)arg;
    return *value;
}

static vigil_value return_it_moved(vigil_value *value, void *arg)
{
    (void)arg;
    return vigil_value_move(value);
}

static void return_body(void *arg)
{
    (void)arg;
    vigil_promise *p = resolved(counted(5));
    vigil_promise *q = derive(p, return_it, NULL, NULL);
    then(q, say_value, NULL, "lent");
    then(p, say_value, NULL, "still");
    drop(q);
    drop(p);
    p = resolved(counted(5));
    q = derive(p, return_it_moved, NULL, NULL);
    then(q, say_value, NULL, "moved");
    then(p, say_value, NULL, "gone");
    drop(q);
    drop(p);
}

static void a_handler_may_return_the_value_that_it_was_lent(void **state)
{
    (void)state;
    on_loop(return_body);
    must(strstr(journal, "still=5") != NULL);
    must(strstr(journal, "lent=5") != NULL);
    must(strstr(journal, "moved=5") != NULL);
    must(strstr(journal, "gone") != NULL && strstr(journal, "gone=") == NULL);
}

static void unseen_body(void *arg)
{
    (void)arg;
    drop(resolved(counted(1))); /* nobody looks */
    vigil_promise *p = pending();
    resolve(p, counted(2));
    vigil_value late = counted(3);
    must_equal(vigil_promise_resolve(p, late), -EALREADY); /* still ours */
    vigil_value_destroy(&late);
    drop(p);
    p = pending();
    then(p, NULL, must_not_run, NULL); /* passed on, to nobody */
    resolve(p, counted(4));
    drop(p);
}

static void a_value_that_nobody_looks_at_is_destroyed(void **state)
{
    (void)state;
    on_loop(unseen_body);
}

/* ---- take and result --------------------------------------------------------------------------------------------- */

static void take_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    vigil_value value;
    must_equal(vigil_promise_take(p, &value), -EAGAIN);
    must_equal(vigil_promise_result(p, &value), VIGIL_PENDING);
    resolve(p, counted(5));
    must_equal(vigil_promise_result(p, &value), VIGIL_FULFILLED);
    must_equal(number_in(&value), 5);
    must(value.destroy == NULL); /* borrowed: to end it does nothing */
    vigil_value_destroy(&value);
    must_equal(vigil_promise_take(p, &value), VIGIL_FULFILLED);
    must_equal(number_in(&value), 5);
    vigil_value other;
    must_equal(vigil_promise_take(p, &other), -ENODATA);
    must_equal(vigil_promise_result(p, &other), VIGIL_FULFILLED);
    must_equal(other.kind, VIGIL_NONE);
    drop(p);
    must_equal(number_in(&value), 5); /* it outlives the promise */
    vigil_value_destroy(&value);
    must_equal(value.kind, VIGIL_NONE);
}

static void a_value_can_be_taken_once(void **state)
{
    (void)state;
    on_loop(take_body);
}

static vigil_promise *shared[2];

static void take_shared(void *arg)
{
    (void)arg;
    vigil_value value;
    must_equal(vigil_promise_take(shared[1], &value), VIGIL_FULFILLED);
    must_equal(number_in(&value), 6);
    vigil_value_destroy(&value);
    must_equal(vigil_promise_take(shared[0], &value), -ENODATA);
    drop(shared[0]);
    drop(shared[1]);
}

static void share_body(void *arg)
{
    (void)arg;
    shared[0] = resolved(counted(6));
    shared[1] = derive(shared[0], NULL, NULL, NULL);
    must_equal(vigil_loop_immediate_call(loop, take_shared, NULL, NULL), 0);
}

static void promises_that_pass_a_value_on_share_it(void **state)
{
    (void)state;
    on_loop(share_body);
}

/* ---- done -------------------------------------------------------------------------------------------------------- */

struct job {
    int ran, done;
};

static vigil_value job_run(vigil_value *value, void *arg)
{
    (void)value;
    struct job *job = arg;
    must_equal(job->done, 0); /* not before the handler */
    job->ran++;
    return vigil_value_none();
}

static vigil_value job_raise(vigil_value *value, void *arg)
{
    (void)job_run(value, arg);
    vigil_raise(-EIO);
}

static void job_done(void *arg)
{
    ((struct job *)arg)->done++;
}

static void with_job(vigil_promise *p, vigil_then_fn fulfilled, vigil_then_fn rejected, struct job *job)
{
    vigil_handlers handlers = VIGIL_HANDLERS_INIT;
    handlers.fulfilled = fulfilled;
    handlers.rejected = rejected;
    handlers.arg = job;
    handlers.done = job_done;
    must_equal(vigil_promise_then_with(p, &handlers, NULL), 0);
}

static struct job jobs[6];

static void done_body(void *arg)
{
    (void)arg;
    memset(jobs, 0, sizeof jobs);
    vigil_promise *good = resolved(vigil_value_none());
    vigil_promise *bad = resolved(vigil_value_error(-EIO));
    with_job(good, job_run, NULL, &jobs[0]);
    with_job(bad, job_run, NULL, &jobs[1]); /* its handler does not run */
    with_job(bad, NULL, job_run, &jobs[2]);
    with_job(good, job_raise, NULL, &jobs[3]);
    vigil_promise *never = pending();
    with_job(never, job_run, job_run, &jobs[4]);
    drop(never); /* now nobody can settle it */
    must_equal(jobs[4].done, 1);
    drop(good);
    drop(bad);
}

static void done_is_called_once_whether_or_not_a_handler_ran(void **state)
{
    (void)state;
    on_loop(done_body);
    const int ran[] = {1, 0, 1, 1, 0};
    for (int i = 0; i < 5; i++) {
        must_equal(jobs[i].ran, ran[i]);
        must_equal(jobs[i].done, 1);
    }
}

/* ---- promises that nobody can settle ----------------------------------------------------------------------------- */

static void abandoned_body(void *arg)
{
    (void)arg;
    vigil_promise *root = pending();
    vigil_promise *last = vigil_promise_ref(root);
    for (uint64_t i = scaled(1000000, 10000); i > 0; i--)
        last = vigil_promise_chain(last, must_not_run, must_not_run, NULL);
    drop(last);
    drop(root); /* a long chain goes at once, and not by recursion */
    must_equal(promise_stats().alive, 0);
    root = pending();
    last = derive(root, must_not_run, must_not_run, NULL);
    drop(root);
    must_equal(vigil_promise_state_get(last), VIGIL_PENDING); /* used by us, and pending for ever */
    then(last, must_not_run, must_not_run, NULL);
    must_equal(promise_stats().alive, 2);
    drop(last);
    must_equal(promise_stats().alive, 0);
}

static void a_chain_that_nobody_can_settle_is_freed(void **state)
{
    (void)state;
    on_loop(abandoned_body);
}

static void abandoned_adoption_body(void *arg)
{
    (void)arg;
    vigil_promise *outer = pending();
    resolve(outer, vigil_value_promise(pending())); /* with one that nobody else has */
    then(outer, must_not_run, must_not_run, NULL);
    drop(outer);
}

static void a_promise_that_adopts_an_abandoned_one_is_freed(void **state)
{
    (void)state;
    on_loop(abandoned_adoption_body);
}

/* ---- resolvers --------------------------------------------------------------------------------------------------- */

static void resolver_body(void *arg)
{
    (void)arg;
    vigil_promise *p = NULL;
    vigil_resolver *resolver = NULL;
    must_equal(vigil_resolver_create(&resolver, &p, loop), 0);
    then(p, say_value, must_not_run, "a");
    must_equal(vigil_promise_resolve(p, vigil_value_none()), -EPERM);
    must_equal(vigil_promise_reject(p, vigil_value_error(-EIO)), -EPERM);
    must_equal(vigil_resolver_reject(resolver, vigil_value_int(1)), -EINVAL);
    must_equal(vigil_resolver_resolve(resolver, vigil_value_int(3)), 0);
    must_equal(vigil_resolver_reject(resolver, vigil_value_error(-EIO)), -EALREADY);
    vigil_resolver_destroy(resolver);
    drop(p);
    must_equal(vigil_resolver_create(&resolver, &p, loop), 0);
    then(p, must_not_run, say_value, "b");
    vigil_resolver_destroy(resolver); /* unused */
    drop(p);
    p = resolved(vigil_value_none());
    vigil_promise *q = derive(p, NULL, NULL, NULL);
    must_equal(vigil_promise_resolve(q, vigil_value_none()), -EPERM); /* that is its handler's */
    drop(q);
    drop(p);
}

static void only_the_resolver_settles_its_promise(void **state)
{
    (void)state;
    on_loop(resolver_body);
    must_have_said("a=3 b!-32"); /* -EPIPE */
}

/* ---- try --------------------------------------------------------------------------------------------------------- */

static vigil_value give_7(void *arg)
{
    say(arg);
    return counted(7);
}

static vigil_value raise_now(void *arg)
{
    say(arg);
    vigil_raise(-EPROTO);
}

static void try_body(void *arg)
{
    (void)arg;
    vigil_promise *p = NULL;
    must_equal(vigil_promise_try(loop, give_7, "called", &p), 0);
    must_have_said("called"); /* here and now */
    then(p, say_value, must_not_run, "a");
    drop(p);
    must_equal(vigil_promise_try(loop, raise_now, "called", &p), 0);
    then(p, must_not_run, say_value, "b");
    drop(p);
}

static void try_calls_at_once_and_catches(void **state)
{
    (void)state;
    on_loop(try_body);
    must_have_said("called called a=7 b!-71");
}

/* ---- reactions in one's own memory ------------------------------------------------------------------------------- */

struct own {
    vigil_reaction reaction; /* first */
    int ran, cancelled;
    int64_t number;
};

static void own_run(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    struct own *own = (struct own *)reaction;
    own->ran++;
    must_equal(state, VIGIL_FULFILLED);
    own->number = number_in(value);
}

static void own_cancel(vigil_reaction *reaction)
{
    ((struct own *)reaction)->cancelled++;
}

static struct own own[4];

static void reaction_body(void *arg)
{
    (void)arg;
    memset(own, 0, sizeof own);
    for (size_t i = 0; i < count_of(own); i++) {
        own[i].reaction.run = own_run;
        own[i].reaction.cancel = own_cancel;
    }
    vigil_promise *p = pending();
    must_equal(vigil_promise_reaction_add(p, &own[0].reaction), 0);
    must_equal(vigil_promise_reaction_add(p, &own[1].reaction), 0);
    must_equal(vigil_promise_reaction_add(p, &own[2].reaction), 0);
    must_equal(vigil_promise_reaction_remove(p, &own[3].reaction), -ENOENT);
    must_equal(vigil_promise_reaction_remove(p, &own[2].reaction), 0); /* the last */
    must_equal(vigil_promise_reaction_remove(p, &own[0].reaction), 0); /* the first */
    must_equal(vigil_promise_reaction_remove(p, &own[0].reaction), -ENOENT);
    must_equal(vigil_promise_reaction_add(p, &own[0].reaction), 0);
    resolve(p, counted(8));
    must_equal(vigil_promise_reaction_remove(p, &own[0].reaction), -EBUSY);
    drop(p);
    p = pending();
    must_equal(vigil_promise_reaction_add(p, &own[3].reaction), 0);
    drop(p); /* it will never come */
    must_equal(own[3].cancelled, 1);
}

static void a_reaction_in_ones_own_memory_runs_once_or_is_cancelled(void **state)
{
    (void)state;
    on_loop(reaction_body);
    const int ran[] = {1, 1, 0, 0};
    for (size_t i = 0; i < count_of(own); i++) {
        must_equal(own[i].ran, ran[i]);
        must_equal(own[i].number, ran[i] * 8);
        must_equal(own[i].cancelled, i == 3);
    }
}

/* ---- bad calls --------------------------------------------------------------------------------------------------- */

static void bad_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    must_equal(vigil_promise_create(&p, NULL), -EINVAL);
    must_equal(vigil_promise_create(NULL, loop), -EINVAL);
    must_equal(vigil_promise_resolve(NULL, vigil_value_none()), -EINVAL);
    must_equal(vigil_promise_resolve(p, vigil_value_promise(NULL)), -EINVAL);
    must_equal(vigil_promise_resolve(p, vigil_value_thenable(NULL, NULL)), -EINVAL);
    must_equal(vigil_promise_resolve(p, vigil_value_of_kind((vigil_kind)99)), -EINVAL);
    must_equal(vigil_promise_reject(p, vigil_value_int(-5)), -EINVAL);
    must_equal(vigil_promise_then(NULL, NULL, NULL, NULL, NULL), -EINVAL);
    must_equal(vigil_promise_then_with(p, NULL, NULL), -EINVAL);
    vigil_handlers handlers = {.size = 3};
    must_equal(vigil_promise_then_with(p, &handlers, NULL), -EINVAL);
    must_equal(vigil_promise_reaction_add(p, NULL), -EINVAL);
    must_equal(vigil_promise_wait(p, 0, NULL), -EDEADLK); /* this is the owner */
    must_equal(vigil_promise_try(loop, NULL, NULL, &p), -EINVAL);
    must(vigil_promise_chain(NULL, NULL, NULL, NULL) == NULL);
    must_equal(vigil_promise_state_get(p), VIGIL_PENDING); /* nothing of this has done anything */
    vigil_promise_unref(NULL);
    must(vigil_promise_ref(NULL) == NULL);
    vigil_value_destroy(NULL);
    drop(p);
}

static void bad_calls_are_refused_and_change_nothing(void **state)
{
    (void)state;
    on_loop(bad_body);
}

static void two_loops_body(void *arg)
{
    vigil_loop *other = arg;
    vigil_promise *theirs = NULL;
    must_equal(vigil_promise_create(&theirs, other), 0);
    vigil_promise *ours = pending();
    then(ours, must_not_run, say_value, "ours");
    resolve(ours, vigil_value_promise(vigil_promise_ref(theirs)));
    vigil_promise *all = NULL;
    must_equal(vigil_promise_all(loop, &theirs, 1, &all), -EXDEV);
    drop(ours);
    drop(theirs);
}

static void a_promise_of_another_loop_is_not_adopted(void **state)
{
    (void)state;
    vigil_loop *other = NULL;
    must_equal(vigil_loop_create(&other, NULL), 0);
    on_loop_with(two_loops_body, other);
    must_have_said("ours!-18"); /* -EXDEV */
    must_equal(vigil_loop_run(other, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(several_handlers_borrow_one_value),
        test(a_moved_value_is_the_handlers_and_none_stays_behind),
        test(a_handler_may_return_the_value_that_it_was_lent),
        test(a_value_that_nobody_looks_at_is_destroyed),
        test(a_value_can_be_taken_once),
        test(promises_that_pass_a_value_on_share_it),
        test(done_is_called_once_whether_or_not_a_handler_ran),
        test(a_chain_that_nobody_can_settle_is_freed),
        test(a_promise_that_adopts_an_abandoned_one_is_freed),
        test(only_the_resolver_settles_its_promise),
        test(try_calls_at_once_and_catches),
        test(a_reaction_in_ones_own_memory_runs_once_or_is_cancelled),
        test(bad_calls_are_refused_and_change_nothing),
        test(a_promise_of_another_loop_is_not_adopted),
    };
    return run_all(tests);
}
