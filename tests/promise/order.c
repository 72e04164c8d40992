/* SPDX-License-Identifier: MIT */
/*
 * L10: The order in which things happen, against Node's. Each row has a piece of JavaScript, the same in C, and what Node 20 says when it
 * runs the first inside setImmediate (or, where the name says so, inside the callback of a read), with
 *
 *     const say = w => out.push(w), P = () => Promise.resolve(), R = () => Promise.reject(new Error('r'));
 *     const then = (p, w) => p.then(() => say(w)), nextTick = process.nextTick;
 *     const chain = (...ws) => { let p = P(); for (const w of ws) p = p.then(() => say(w)); };
 *     process.on('unhandledRejection', () => say('unhandled')); process.on('rejectionHandled', () => say('handled'));
 */
#include "promise_test.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- the words of the snippets ----------------------------------------------------------------------------------- */

static vigil_promise *P(void)
{
    return resolved(vigil_value_none());
}

static vigil_promise *R(void)
{
    return resolved(vigil_value_error(-EIO));
}

/* p.then(fn): uses p up. */
static vigil_promise *on(vigil_promise *p, vigil_then_fn fn, void *arg)
{
    return vigil_promise_chain(p, fn, NULL, arg);
}

static vigil_promise *caught(vigil_promise *p, vigil_then_fn fn, void *arg)
{
    return vigil_promise_chain(p, NULL, fn, arg);
}

static vigil_promise *lastly(vigil_promise *p, vigil_value (*fn)(void *arg))
{
    vigil_promise *q = NULL;
    must_equal(vigil_promise_finally(p, fn, NULL, &q), 0);
    drop(p);
    return q;
}

static void chain(const char *words)
{
    static char kept[64][8];
    static unsigned next;
    vigil_promise *p = P();
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        char *word = kept[next++ % count_of(kept)];
        must(length < sizeof kept[0]);
        memcpy(word, words, length);
        word[length] = '\0';
        p = on(p, say_it, word);
        words += length + (words[length] == ' ');
    }
    drop(p);
}

static void say_plain(void *word)
{
    say(word);
}

static void tick(const char *word)
{
    must_equal(vigil_loop_tick_call(loop, say_plain, NULL, (void *)(uintptr_t)word), 0);
}

static void microtask(const char *word)
{
    must_equal(vigil_loop_microtask_call(loop, say_plain, NULL, (void *)(uintptr_t)word), 0);
}

static void immediate(vigil_call_fn fn, const char *word)
{
    must_equal(vigil_loop_immediate_call(loop, fn, NULL, (void *)(uintptr_t)word), 0);
}

static void say_timer(vigil_loop *of, vigil_timer timer, void *word)
{
    (void)of;
    (void)timer;
    say(word);
}

static vigil_value say_and_promise(vigil_value *value, void *word)
{
    (void)value;
    say(word);
    return vigil_value_promise(P());
}

static vigil_promise *gate; /* `q`, and go() resolves it */

static vigil_value go(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    resolve(gate, vigil_value_none());
    drop(gate);
    return vigil_value_none();
}

static vigil_value nothing(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    return vigil_value_none();
}

static void say_t(vigil_thenable *self, vigil_promise *promise)
{
    (void)self;
    say("t");
    resolve(promise, vigil_value_none());
    drop(promise);
}

static vigil_thenable thenable = {.then = say_t};

static vigil_value say_and_thenable(vigil_value *value, void *word)
{
    (void)value;
    say(word);
    return vigil_value_thenable(&thenable, NULL);
}

static vigil_value say_f(void *arg)
{
    (void)arg;
    say("f");
    return vigil_value_none();
}

static vigil_value say_f_and_promise(void *arg)
{
    (void)arg;
    say("f");
    return vigil_value_promise(P());
}

static vigil_value say_f_and_rejection(void *arg)
{
    (void)arg;
    say("f");
    return vigil_value_promise(R());
}

static vigil_value say_f_and_gate(void *arg)
{
    (void)arg;
    say("f");
    return vigil_value_promise(vigil_promise_ref(gate));
}

static vigil_value say_f_and_throw(void *arg)
{
    (void)arg;
    say("f");
    vigil_raise(-EIO);
}

/* ---- the snippets ------------------------------------------------------------------------------------------------ */

static void script_then_ticks_then_microtasks(void)
{
    say("a");
    tick("t1");
    drop(on(P(), say_it, "p1"));
    tick("t2");
    drop(on(P(), say_it, "p2"));
    say("b");
}

static void two_chains_take_turns(void)
{
    chain("a1 a2 a3");
    chain("b1 b2 b3");
}

static void returning_a_promise_takes_two_more(void)
{
    drop(on(on(P(), say_and_promise, "0"), say_it, "x"));
    chain("1 2 3 4 5");
}

static void resolving_with_a_promise_takes_two_more(void)
{
    vigil_promise *p = pending();
    resolve(p, vigil_value_promise(P()));
    drop(on(p, say_it, "x"));
    chain("1 2 3 4 5");
}

static void resolving_with_a_pending_promise(void)
{
    gate = pending();
    vigil_promise *p = pending();
    resolve(p, vigil_value_promise(vigil_promise_ref(gate)));
    drop(on(p, say_it, "x"));
    drop(on(P(), go, NULL));
    chain("1 2 3 4 5");
}

static void a_thenable_takes_one_more(void)
{
    vigil_promise *p = pending();
    resolve(p, vigil_value_thenable(&thenable, NULL));
    drop(on(p, say_it, "x"));
    chain("1 2 3 4 5");
}

static void returning_a_thenable(void)
{
    drop(on(on(P(), say_and_thenable, "0"), say_it, "x"));
    chain("1 2 3 4 5");
}

static void finally_takes_two_more(void)
{
    drop(on(lastly(P(), say_f), say_it, "x"));
    chain("1 2 3 4 5 6");
}

static void finally_of_a_rejection(void)
{
    drop(caught(lastly(R(), say_f), say_it, "x"));
    chain("1 2 3 4 5 6");
}

static void finally_with_a_settled_promise(void)
{
    drop(on(lastly(P(), say_f_and_promise), say_it, "x"));
    chain("1 2 3 4 5 6 7");
}

static void finally_with_a_rejected_promise(void)
{
    drop(caught(lastly(P(), say_f_and_rejection), say_it, "x"));
    chain("1 2 3 4 5 6 7");
}

static void finally_with_a_pending_promise(void)
{
    gate = pending();
    drop(on(lastly(P(), say_f_and_gate), say_it, "x"));
    drop(on(on(P(), nothing, NULL), go, NULL));
    chain("1 2 3 4 5 6 7");
}

static void finally_that_throws(void)
{
    drop(caught(lastly(P(), say_f_and_throw), say_it, "x"));
    chain("1 2 3 4");
}

static void a_rejection_passes_one_link_per_microtask(void)
{
    drop(caught(on(on(R(), must_not_run, NULL), must_not_run, NULL), say_it, "x"));
    chain("1 2 3 4 5");
}

static vigil_value say_p_tick_and_microtask(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    say("p");
    tick("t");
    microtask("m");
    return vigil_value_none();
}

static void a_tick_in_a_microtask_waits_for_all_microtasks(void)
{
    drop(on(P(), say_p_tick_and_microtask, NULL));
    chain("1 2 3");
}

static void first_tick(void *arg)
{
    (void)arg;
    say("t1");
    drop(on(P(), say_it, "p"));
    tick("t3");
}

static void a_promise_in_a_tick_waits_for_all_ticks(void)
{
    must_equal(vigil_loop_tick_call(loop, first_tick, NULL, NULL), 0);
    tick("t2");
}

static void microtasks_and_promises_share_a_queue(void)
{
    microtask("m1");
    drop(on(P(), say_it, "p1"));
    microtask("m2");
    drop(on(P(), say_it, "p2"));
}

typedef int (*combine_fn)(vigil_loop *of, vigil_promise *const *promises, size_t count, vigil_promise **promise);

/* Uses the promises up. */
static vigil_promise *combined(combine_fn fn, size_t count, vigil_promise *a, vigil_promise *b, vigil_promise *c)
{
    vigil_promise *all[] = {a, b, c};
    vigil_promise *p = NULL;
    must_equal(fn(loop, all, count, &p), 0);
    for (size_t i = 0; i < count; i++)
        drop(all[i]);
    return p;
}

static void all_comes_after_the_last_plus_one(void)
{
    drop(on(combined(vigil_promise_all, 3, P(), P(), P()), say_it, "x"));
    chain("1 2 3 4");
}

static void all_of_nothing(void)
{
    drop(on(combined(vigil_promise_all, 0, NULL, NULL, NULL), say_it, "x"));
    chain("1 2 3");
}

static void all_is_rejected_with_the_first(void)
{
    drop(caught(combined(vigil_promise_all, 3, P(), R(), P()), say_it, "x"));
    chain("1 2 3 4");
}

static void all_settled(void)
{
    drop(on(combined(vigil_promise_all_settled, 3, P(), R(), P()), say_it, "x"));
    chain("1 2 3 4");
}

static void race_is_decided_by_the_first(void)
{
    drop(on(combined(vigil_promise_race, 2, pending(), P(), NULL), say_it, "x"));
    chain("1 2 3 4");
}

static void any_skips_rejections(void)
{
    drop(on(combined(vigil_promise_any, 2, R(), P(), NULL), say_it, "x"));
    chain("1 2 3 4");
}

static void any_of_rejections(void)
{
    drop(caught(combined(vigil_promise_any, 2, R(), R(), NULL), say_it, "x"));
    chain("1 2 3 4");
}

static void any_of_nothing(void)
{
    drop(caught(combined(vigil_promise_any, 0, NULL, NULL, NULL), say_it, "x"));
    chain("1 2 3");
}

static vigil_value say_1_and_add_c(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    say("1");
    then(gate, say_it, NULL, "c");
    drop(gate);
    return vigil_value_none();
}

static void handlers_added_in_between(void)
{
    gate = pending();
    then(gate, say_it, NULL, "a");
    resolve(gate, vigil_value_none());
    then(gate, say_it, NULL, "b");
    drop(on(on(P(), say_1_and_add_c, NULL), say_it, "2"));
}

static void say_promise_and_tick(void *word)
{
    say(word);
    drop(on(P(), say_it, "p"));
    tick("t");
}

static void microtasks_between_two_immediates(void)
{
    immediate(say_promise_and_tick, "i1");
    immediate(say_plain, "i2");
}

static void say_and_immediate(void *word)
{
    say(word);
    immediate(say_plain, "i3");
}

static void an_immediate_in_an_immediate_waits_a_turn(void)
{
    immediate(say_and_immediate, "i1");
    immediate(say_plain, "i2");
}

static void timer_with_promise_and_tick(vigil_loop *of, vigil_timer timer, void *word)
{
    (void)of;
    (void)timer;
    say_promise_and_tick(word);
}

static void microtasks_between_two_timers(void)
{
    must_equal(vigil_timer_start(loop, 1000000, timer_with_promise_and_tick, "T1", NULL), 0);
    must_equal(vigil_timer_start(loop, 1000000, say_timer, "T2", NULL), 0);
}

static void immediates_before_timers_from_io(void)
{
    must_equal(vigil_timer_start(loop, 0, say_timer, "T", NULL), 0);
    immediate(say_plain, "i");
    tick("t");
    drop(on(P(), say_it, "p"));
}

static void unhandled_after_the_microtasks_before_the_rest(void)
{
    immediate(say_plain, "i");
    drop(R());
    tick("t");
    chain("1 2");
}

static vigil_value catch_c(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    then(gate, NULL, say_it, "c");
    drop(gate);
    return vigil_value_none();
}

static void handled_in_time_is_not_reported(void)
{
    gate = R();
    chain("1 2");
    drop(on(P(), catch_c, NULL));
    immediate(say_plain, "i");
}

static void the_last_link_reports(void)
{
    drop(on(on(R(), must_not_run, NULL), must_not_run, NULL));
    chain("1 2 3");
    immediate(say_plain, "i");
}

static void say_and_catch(void *word)
{
    say(word);
    then(gate, NULL, say_it, "c");
    drop(gate);
}

static void handled_later_is_reported_too(void)
{
    gate = R();
    immediate(say_and_catch, "i");
    immediate(say_plain, "j");
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define ROW(name, javascript, order)    \
    {                                   \
#name, name, javascript, order, \
    }

static const struct row {
    const char *name;
    void (*body)(void);
    const char *javascript;
    const char *order;
} rows[] = {
    ROW(script_then_ticks_then_microtasks,
        "say('a'); nextTick(say,'t1'); then(P(), 'p1'); nextTick(say,'t2'); then(P(),'p2'); say('b');",
        "a b t1 t2 p1 p2"),
    ROW(two_chains_take_turns, "chain('a1','a2','a3'); chain('b1','b2','b3');", "a1 b1 a2 b2 a3 b3"),
    ROW(returning_a_promise_takes_two_more,
        "P().then(()=>{say('0'); return P();}).then(()=>say('x')); chain('1','2','3','4','5');", "0 1 2 3 x 4 5"),
    ROW(resolving_with_a_promise_takes_two_more,
        "new Promise(r=>r(P())).then(()=>say('x')); chain('1','2','3','4','5');", "1 2 x 3 4 5"),
    ROW(resolving_with_a_pending_promise,
        "let go; const q=new Promise(r=>go=r); new Promise(r=>r(q)).then(()=>say('x')); P().then(()=>go()); "
        "chain('1','2','3','4','5');",
        "1 2 x 3 4 5"),
    ROW(a_thenable_takes_one_more,
        "new Promise(r=>r({then(f){say('t');f();}})).then(()=>say('x')); chain('1','2','3','4','5');", "t 1 x 2 3 4 5"),
    ROW(returning_a_thenable,
        "P().then(()=>{say('0'); return {then(f){say('t');f();}};}).then(()=>say('x')); chain('1','2','3','4','5');",
        "0 1 t 2 x 3 4 5"),
    ROW(finally_takes_two_more, "P().finally(()=>say('f')).then(()=>say('x')); chain('1','2','3','4','5','6');",
        "f 1 2 3 x 4 5 6"),
    ROW(finally_of_a_rejection, "R().finally(()=>say('f')).catch(()=>say('x')); chain('1','2','3','4','5','6');",
        "f 1 2 3 x 4 5 6"),
    ROW(finally_with_a_settled_promise,
        "P().finally(()=>{say('f'); return P();}).then(()=>say('x')); chain('1','2','3','4','5','6','7');",
        "f 1 2 3 x 4 5 6 7"),
    ROW(finally_with_a_rejected_promise,
        "P().finally(()=>{say('f'); return R();}).catch(()=>say('x')); chain('1','2','3','4','5','6','7');",
        "f 1 2 3 x 4 5 6 7"),
    ROW(finally_with_a_pending_promise,
        "let go; const q=new Promise(r=>go=r); P().finally(()=>{say('f'); return q;}).then(()=>say('x')); "
        "P().then(()=>{}).then(()=>go()); chain('1','2','3','4','5','6','7');",
        "f 1 2 3 4 x 5 6 7"),
    ROW(finally_that_throws, "P().finally(()=>{say('f'); throw 1;}).catch(()=>say('x')); chain('1','2','3','4');",
        "f 1 x 2 3 4"),
    ROW(a_rejection_passes_one_link_per_microtask,
        "R().then(()=>say('no')).then(()=>say('no')).catch(()=>say('x')); chain('1','2','3','4','5');", "1 2 x 3 4 5"),
    ROW(a_tick_in_a_microtask_waits_for_all_microtasks,
        "P().then(()=>{say('p'); nextTick(say,'t'); queueMicrotask(()=>say('m'));}); chain('1','2','3');",
        "p 1 m 2 3 t"),
    ROW(a_promise_in_a_tick_waits_for_all_ticks,
        "nextTick(()=>{say('t1'); then(P(),'p'); nextTick(say,'t3');}); nextTick(say,'t2');", "t1 t2 t3 p"),
    ROW(microtasks_and_promises_share_a_queue,
        "queueMicrotask(()=>say('m1')); then(P(),'p1'); queueMicrotask(()=>say('m2')); then(P(),'p2');", "m1 p1 m2 p2"),
    ROW(all_comes_after_the_last_plus_one, "Promise.all([P(),P(),P()]).then(()=>say('x')); chain('1','2','3','4');",
        "1 x 2 3 4"),
    ROW(all_of_nothing, "Promise.all([]).then(()=>say('x')); chain('1','2','3');", "x 1 2 3"),
    ROW(all_is_rejected_with_the_first, "Promise.all([P(),R(),P()]).catch(()=>say('x')); chain('1','2','3','4');",
        "1 x 2 3 4"),
    ROW(all_settled, "Promise.allSettled([P(),R(),P()]).then(()=>say('x')); chain('1','2','3','4');", "1 x 2 3 4"),
    ROW(race_is_decided_by_the_first,
        "let go; const q=new Promise(r=>go=r); Promise.race([q,P()]).then(()=>say('x')); chain('1','2','3','4');",
        "1 x 2 3 4"),
    ROW(any_skips_rejections, "Promise.any([R(),P()]).then(()=>say('x')); chain('1','2','3','4');", "1 x 2 3 4"),
    ROW(any_of_rejections, "Promise.any([R(),R()]).catch(()=>say('x')); chain('1','2','3','4');", "1 x 2 3 4"),
    ROW(any_of_nothing, "Promise.any([]).catch(()=>say('x')); chain('1','2','3');", "x 1 2 3"),
    ROW(handlers_added_in_between,
        "let go; const q=new Promise(r=>go=r); q.then(()=>say('a')); go(); q.then(()=>say('b')); "
        "P().then(()=>{say('1'); q.then(()=>say('c'));}).then(()=>say('2'));",
        "a b 1 c 2"),
    ROW(microtasks_between_two_immediates,
        "setImmediate(()=>{say('i1'); then(P(),'p'); nextTick(say,'t');}); setImmediate(()=>say('i2'));", "i1 t p i2"),
    ROW(an_immediate_in_an_immediate_waits_a_turn,
        "setImmediate(()=>{say('i1'); setImmediate(()=>say('i3'));}); setImmediate(()=>say('i2'));", "i1 i2 i3"),
    ROW(microtasks_between_two_timers,
        "setTimeout(()=>{say('T1'); then(P(),'p'); nextTick(say,'t');},1); setTimeout(()=>say('T2'),1);", "T1 t p T2"),
    ROW(immediates_before_timers_from_io,
        "setTimeout(()=>say('T'),0); setImmediate(()=>say('i')); nextTick(say,'t'); then(P(),'p');", "t p i T"),
    ROW(unhandled_after_the_microtasks_before_the_rest,
        "setImmediate(()=>say('i')); R(); nextTick(say,'t'); chain('1','2');", "t 1 2 unhandled i"),
    ROW(handled_in_time_is_not_reported,
        "const q=R(); chain('1','2'); P().then(()=>q.catch(()=>say('c'))); setImmediate(()=>say('i'));", "1 2 c i"),
    ROW(the_last_link_reports,
        "R().then(()=>say('no')).then(()=>say('no')); chain('1','2','3'); setImmediate(()=>say('i'));",
        "1 2 3 unhandled i"),
    ROW(handled_later_is_reported_too,
        "const q=R(); setImmediate(()=>{say('i'); q.catch(()=>say('c'));}); setImmediate(()=>say('j'));",
        "unhandled i c handled j"),
};

static void unhandled(void *user, const vigil_rejection *rejection)
{
    (void)user;
    (void)rejection;
    say("unhandled");
}

static void handled(void *user, const vigil_rejection *rejection)
{
    (void)user;
    (void)rejection;
    say("handled");
}

static void call_row(void *arg)
{
    const struct row *row = arg;
    vigil_promise_hooks hooks = {.size = sizeof hooks, .unhandled = unhandled, .handled = handled};
    must_equal(vigil_promise_hooks_set(loop, &hooks), 0);
    row->body();
}

static const struct row *row_of_io;

static void call_row_from_io(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)fd;
    (void)events;
    must_equal(vigil_watch_remove(of, watch), 0);
    call_row(arg);
}

static void read_first(void *arg)
{
    int *pipes = arg;
    must_equal(
        vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, call_row_from_io, NULL, (void *)(uintptr_t)row_of_io, NULL),
        0);
}

static void every_order_is_that_of_node(void **state)
{
    (void)state;
    int pipes[2];
    must_equal(pipe(pipes), 0);
    must_equal(write(pipes[1], "x", 1), 1);
    for (size_t i = 0; i < count_of(rows); i++) {
        if (strstr(rows[i].name, "from_io") != NULL) {
            row_of_io = &rows[i];
            on_loop_with(read_first, pipes);
        } else {
            on_loop_with(call_row, (void *)(uintptr_t)&rows[i]);
        }
        if (strcmp(journal, rows[i].order) != 0) {
            fprintf(stderr, "%s: %s\n  Node: %s\n  here: %s\n", rows[i].name, rows[i].javascript, rows[i].order,
                    journal);
            support_fail("the order of Node", __FILE__, __LINE__);
        }
    }
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- the budget (M1) ---------------------------------------------------------------------------------------------- */

static struct {
    unsigned ran, at_the_next_timer, at_the_next_turn;
} handlers;

static vigil_value count_handler(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    handlers.ran++;
    return vigil_value_none();
}

static void look_in_the_next_turn(void *arg)
{
    (void)arg;
    handlers.at_the_next_turn = handlers.ran;
}

static void settle_3000(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)timer;
    (void)arg;
    for (int i = 0; i < 3000; i++)
        drop(on(P(), count_handler, NULL));
    must_equal(vigil_loop_call(of, look_in_the_next_turn, NULL, NULL), 0);
}

static void look_at_the_next_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    handlers.at_the_next_timer = handlers.ran;
}

static void run_3000(vigil_microtask_mode mode)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.microtasks = mode;
    memset(&handlers, 0, sizeof handlers);
    must_equal(vigil_loop_create(&loop, &options), 0);
    must_equal(vigil_timer_start(loop, 0, settle_3000, NULL, NULL), 0);
    must_equal(vigil_timer_start(loop, 0, look_at_the_next_timer, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(handlers.ran, 3000);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void handlers_beyond_the_budget_run_at_the_start_of_the_next_turn(void **state)
{
    (void)state;
    run_3000(VIGIL_MICROTASK_BUDGET);
    must_equal(handlers.at_the_next_timer, 1024);
    must_equal(handlers.at_the_next_turn, 2048);
    run_3000(VIGIL_MICROTASK_EXHAUSTIVE);
    must_equal(handlers.at_the_next_timer, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(every_order_is_that_of_node),
        test(handlers_beyond_the_budget_run_at_the_start_of_the_next_turn),
    };
    return run_all(tests);
}
