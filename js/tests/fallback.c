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
#include "engine_look.h"

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
    assert_non_null(extra->make_function);
    assert_non_null(extra->not_a_constructor);
    assert_non_null(extra->throw_value);
}

static vg_val look(vg_engine *engine, const char *text)
{
    vg_val thrown = NULL, value = vg_eval(engine, text, strlen(text), "q.js", 1, &thrown);
    assert_null(thrown);
    return value;
}

static void functions_know_where_they_were_written(void **state)
{
    const char *why;
    vg_engine *engine = vg_engine_new(NULL, &why);
    vg_place a, b, c;
    (void)state;
    assert_non_null(vg_jsc_extra_get()->source_code);
    vg_engine_enter(engine);
    assert_true(vg_function_place(engine, look(engine, "\n\n\nvar f = function () {\n};\nvar g = () => 1; f"), &a));
    assert_true(vg_function_place(engine, look(engine, "g"), &b));
    assert_true(vg_function_place(engine, look(engine, "(async function* () {})"), &c));
    assert_int_equal(a.line, 4);
    assert_int_equal(b.line, 6);
    assert_int_equal(c.line, 1);
    assert_ptr_equal(a.source, b.source);
    assert_ptr_not_equal(a.source, c.source);
    assert_true(a.offset < b.offset);
    /* Called by name again, it is the same place. */
    assert_true(vg_function_place(engine, look(engine, "f"), &c));
    assert_true(c.source == a.source && c.offset == a.offset);
    assert_false(vg_function_place(engine, look(engine, "Math.max"), &c));
    assert_false(vg_function_place(engine, look(engine, "f.bind()"), &c));
    assert_false(vg_function_place(engine, look(engine, "new Proxy(f, {})"), &c));
    assert_false(vg_function_place(engine, look(engine, "Array"), &c));
    assert_false(vg_function_place(engine, look(engine, "({})"), &c));
    assert_false(vg_function_place(engine, look(engine, "5"), &c));
    vg_engine_leave(engine);
    vg_engine_free(engine);
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

static double seven_and_a_half(void *host)
{
    (void)host;
    return 7.5;
}

static vg_engine *draining;
static double drain_leaf(void *host)
{
    (void)host;
    vg_engine_drain(draining);
    return -0.0;
}

/* As the engine makes its own, and, without what that takes, through the C API. */
static void leaves_give_numbers_and_may_drain(void **state)
{
    vg_jsc_extra *extra = (vg_jsc_extra *)(uintptr_t)vg_jsc_extra_get();
    const vg_jsc_extra whole = *extra;
    (void)state;
    for (int usual = 0; usual < 2; usual++) {
        const char *why;
        vg_engine *first = vg_engine_new(NULL, &why), *engine = vg_engine_new(NULL, &why);
        vg_val thrown;
        extra->make_function = usual ? NULL : whole.make_function;
        draining = engine;
        assert_true(vg_set(first, vg_global(first), "f", vg_leaf(first, "f", drain_leaf), &thrown));
        assert_true(vg_set(engine, vg_global(engine), "f", vg_leaf(engine, "f", seven_and_a_half), &thrown));
        assert_true(vg_set(engine, vg_global(engine), "drain", vg_leaf(engine, "drain", drain_leaf), &thrown));
        vg_engine_enter(engine);
        assert_true(vg_to_number(engine, look(engine, "f() + f()")) == 15);
        assert_true(
            vg_to_number(engine, look(engine, "let sum = 0; for (let i = 0; i < 20000; i++) sum += f(); sum")) ==
            150000);
        assert_true(vg_to_bool(engine, look(engine, "var ran = 0, zero; Promise.resolve().then(() => ran++);"
                                                    "zero = drain(); ran === 1 && Object.is(zero, -0)")));
        assert_true(vg_to_bool(engine, look(engine, "Promise.resolve().then(() => { throw 1; }).catch(() => ran++);"
                                                    "drain(); ran === 2")));
        assert_true(vg_to_bool(engine, look(engine, "try { new f(); false } catch (e) { e instanceof TypeError }")));
        vg_engine_leave(engine);
        assert_non_null(vg_leaf(engine, "last", seven_and_a_half));
        assert_null(vg_leaf(engine, "one too many", seven_and_a_half));
        vg_engine_free(engine);
        vg_engine_free(first);
    }
    *extra = whole;
}

/* The sum of the arguments; throws the first if it is alone. */
static vg_val sum_of(vg_call *call)
{
    double sum = 0;
    if (call->count == 1) {
        call->thrown = call->args[0];
        return NULL;
    }
    for (size_t i = 0; i < call->count; i++)
        sum += vg_to_number(call->engine, call->args[i]);
    return call->count ? vg_number(call->engine, sum) : NULL;
}

static void bound_functions_take_arguments_and_throw(void **state)
{
    vg_jsc_extra *extra = (vg_jsc_extra *)(uintptr_t)vg_jsc_extra_get(), whole = *extra;
    (void)state;
    for (int without = 0; without < 2; without++) {
        const char *why;
        vg_val thrown = NULL;
        vg_engine *engine = vg_engine_new(NULL, &why);
        if (without)
            extra->throw_value = NULL;
        assert_true(vg_set(engine, vg_global(engine), "sum", vg_bound(engine, "sum", sum_of), &thrown));
        vg_engine_enter(engine);
        assert_true(vg_to_bool(engine, look(engine, "sum() === undefined && sum(1, 2.5, '3') === 6.5")));
        assert_true(vg_to_bool(
            engine,
            look(engine, "let all = 0; for (let i = 0; i < 20000; i++) all += sum(i, 1, 2, 3); all === 200110000")));
        assert_true(vg_to_bool(
            engine,
            look(engine, "const e = new RangeError('x'); let got = 0;"
                         "for (let i = 0; i < 20000; i++) { try { sum(e); got = -1e9; } catch (x) { got += x === e; } }"
                         "got === 20000")));
        assert_true(vg_to_bool(
            engine, look(engine, "[1, 2].map((x) => sum(x, ...new Array(200).fill(1))).join() === '201,202'")));
        vg_engine_leave(engine);
        vg_engine_free(engine);
    }
    *extra = whole;
}

static void assert_text(vg_engine *engine, const char *source, const uint16_t *units, size_t length)
{
    vg_chars chars;
    assert_true(vg_chars_open(engine, look(engine, source), &chars));
    assert_int_equal(chars.length, length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(chars.wide ? chars.wide[i] : chars.narrow[i], units[i]);
    vg_chars_close(&chars);
}

static void texts_and_bytes_are_found_where_the_engine_keeps_them(void **state)
{
    static const uint16_t plain[] = {'a', 'b', 'c', 'd'}, latin[] = {0xe9, 'x', 0xff},
                          wide[] = {0x20ac, 0xd83d, 0xde00};
    const char *why;
    vg_engine *engine = vg_engine_new(NULL, &why);
    unsigned char *data;
    size_t length;
    vg_chars chars;
    (void)state;
    vg_engine_enter(engine);
    assert_text(engine, "'abcd'", plain, 4);
    assert_text(engine, "var ab = 'ab', cd = 'cd'; ab + cd", plain, 4);
    assert_text(engine, "'xabcdx'.repeat(20).slice(1, 5)", plain, 4);
    assert_text(engine, "'\\xe9x\\xff'", latin, 3);
    assert_text(engine, "'\\u20ac\\ud83d\\ude00'", wide, 3);
    assert_text(engine, "''", NULL, 0);
    assert_false(vg_chars_open(engine, look(engine, "5"), &chars));
    assert_false(vg_chars_open(engine, look(engine, "[1]"), &chars));
    assert_true(
        vg_bytes_look(engine, look(engine, "var a = new Uint8Array([9, 1, 2, 3]); a.subarray(1, 3)"), &data, &length));
    assert_int_equal(length, 2);
    assert_int_equal(data[0], 1);
    assert_true(vg_bytes_look(engine, look(engine, "new Uint16Array([258, 3])"), &data, &length));
    assert_int_equal(length, 4);
    assert_true(vg_bytes_look(
        engine,
        look(engine, "var r = new ArrayBuffer(8, { maxByteLength: 16 }), v = new Uint8Array(r); r.resize(4); v"), &data,
        &length));
    assert_int_equal(length, 4);
    assert_true(vg_bytes_look(engine, look(engine, "a.buffer.transfer(); a"), &data, &length));
    assert_int_equal(length, 0);
    assert_false(vg_bytes_look(engine, look(engine, "'text'"), &data, &length));
    assert_false(vg_bytes_look(engine, look(engine, "({})"), &data, &length));
    vg_engine_leave(engine);
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
        cmocka_unit_test(functions_know_where_they_were_written),
        cmocka_unit_test(microtasks_run_when_they_are_drained_and_not_before),
        cmocka_unit_test(leaves_give_numbers_and_may_drain),
        cmocka_unit_test(bound_functions_take_arguments_and_throw),
        cmocka_unit_test(texts_and_bytes_are_found_where_the_engine_keeps_them),
        cmocka_unit_test(promises_tell_their_state_and_other_objects_are_none),
        cmocka_unit_test(without_a_drain_the_order_is_the_same),
    };
    setenv("JSC_usePollingTraps", "true", 1); /* cmocka takes over the signals that the engine would use instead */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
