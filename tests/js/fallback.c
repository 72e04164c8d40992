/* SPDX-License-Identifier: MIT */
/* What is believed about the engine beyond its headers, and the host on an engine that cannot drain on demand. */
#include <stdlib.h>
#include <string.h>
#include <vigil/js.h>

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include "engine.h"
#include "engine_jsc_extra.h"

static char output[1024];
static void keep_output(void *user, int fd, const char *bytes, size_t length)
{
    (void)user;
    (void)fd;
    if (strlen(output) + length < sizeof output)
        strncat(output, bytes, length);
}

static void the_headerless_functions_are_there(void **state)
{
    const vg_jsc_extra *extra = vg_jsc_extra_get();
    (void)state;
    assert_non_null(extra->lock);
    assert_non_null(extra->unlock);
    assert_non_null(extra->drain);
    assert_non_null(extra->set_rejection_callback);
    assert_non_null(extra->set_time_limit);
    assert_non_null(extra->backtrace);
    assert_non_null(extra->memory);
    assert_non_null(extra->initialize_main_thread);
    assert_non_null(extra->promise_status);
}

static vg_val look(vg_engine *engine, const char *text)
{
    vg_val thrown = NULL, value = vg_eval(engine, text, strlen(text), "q.js", 1, &thrown);
    assert_null(thrown);
    return value;
}

static void microtasks_run_when_they_are_drained_and_not_before(void **state)
{
    const char *why;
    vg_engine *engine = vg_engine_new(NULL, &why);
    (void)state;
    assert_non_null(engine);
    vg_engine_enter(engine);
    look(engine, "var ran = 0; Promise.resolve().then(() => ran++).then(() => ran++)");
    assert_true(vg_to_number(engine, look(engine, "ran")) == 0);
    vg_engine_drain(engine);
    assert_true(vg_to_number(engine, look(engine, "ran")) == 2);
    vg_engine_leave(engine);
    look(engine, "Promise.resolve().then(() => ran++)");
    assert_true(vg_to_number(engine, look(engine, "ran")) == 3);
    vg_engine_free(engine);
}

static void promises_tell_their_state_and_other_objects_are_none(void **state)
{
    static const char *const others[] = {
        "({})", "[]",  "(() => {})",      "new Map()",   "new Proxy({}, {})", "new Date()",
        "1",    "'x'", "({ then() {} })", "new Error()", "Symbol()",          "new Uint8Array(1)"};
    const char *why;
    vg_engine *engine = vg_engine_new(NULL, &why);
    vg_val result = NULL;
    bool handled = true;
    (void)state;
    assert_int_equal(vg_promise_look(engine, look(engine, "new Promise(() => {})"), &result, &handled), VG_PENDING);
    assert_int_equal(vg_promise_look(engine, look(engine, "Promise.resolve(7)"), &result, &handled), VG_FULFILLED);
    assert_true(vg_to_number(engine, result) == 7);
    assert_int_equal(vg_promise_look(engine, look(engine, "var p = Promise.reject(8); p"), &result, &handled),
                     VG_REJECTED);
    assert_false(handled);
    assert_int_equal(vg_promise_look(engine, look(engine, "p.catch(() => {}); p"), &result, &handled), VG_REJECTED);
    assert_true(handled);
    assert_int_equal(
        vg_promise_look(engine, look(engine, "new (class extends Promise {})(() => {})"), &result, &handled),
        VG_PENDING);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(vg_promise_look(engine, look(engine, others[i]), &result, &handled), VG_PROMISE_UNKNOWN);
    vg_engine_free(engine);
}

static void without_a_drain_the_order_is_the_same(void **state)
{
    static const char text[] =
        "const log = (x) => console.log(x);"
        "process.nextTick(() => { log('tick'); Promise.resolve().then(() => log('micro of tick')); });"
        "Promise.resolve().then(() => { log('micro'); process.nextTick(() => log('tick of micro')); });"
        "setTimeout(() => { log('timer 1'); process.nextTick(() => log('tick of timer 1'));"
        "  Promise.resolve().then(() => log('micro of timer 1')); }, 1);"
        "setTimeout(() => { log('timer 2'); setImmediate(() => { log('immediate 1'); Promise.resolve().then(() => "
        "log('m1')); });"
        "  setImmediate(() => log('immediate 2')); }, 1);"
        "const until = Date.now() + 5; while (Date.now() < until);";
    vg_jsc_extra *extra = (vg_jsc_extra *)(uintptr_t)vg_jsc_extra_get();
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    vigil_js *js;
    (void)state;
    extra->drain = NULL;
    options.on_output = keep_output;
    assert_int_equal(vigil_js_create(&js, &options), 0);
    assert_int_equal(vigil_js_run_text(js, text, sizeof text - 1, "p.js"), 0);
    assert_int_equal(vigil_js_run(js), 0);
    assert_string_equal(
        output, "tick\nmicro\nmicro of tick\ntick of micro\ntimer 1\ntick of timer 1\nmicro of timer 1\ntimer 2\n"
                "immediate 1\nm1\nimmediate 2\n");
    vigil_js_destroy(js);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_headerless_functions_are_there),
        cmocka_unit_test(microtasks_run_when_they_are_drained_and_not_before),
        cmocka_unit_test(promises_tell_their_state_and_other_objects_are_none),
        cmocka_unit_test(without_a_drain_the_order_is_the_same),
    };
    setenv("JSC_usePollingTraps", "true", 1); /* cmocka takes over the signals that the engine would use instead */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
