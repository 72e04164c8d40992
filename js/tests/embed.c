/* SPDX-License-Identifier: MIT */
/* The embedding API as a C program uses it. */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vigil/js.h>

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

static char output[4096];

static void keep_output(void *user, int fd, const char *bytes, size_t length)
{
    (void)user;
    (void)fd;
    if (strlen(output) + length < sizeof output)
        strncat(output, bytes, length);
}

static vigil_js *make(void)
{
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    vigil_js *js = NULL;
    options.on_output = keep_output;
    output[0] = 0;
    assert_int_equal(vigil_js_create(&js, &options), 0);
    return js;
}

static vigil_js_value eval(vigil_js *js, const char *text)
{
    vigil_js_value value = NULL;
    assert_int_equal(vigil_js_eval(js, text, strlen(text), "test.js", &value), 0);
    return value;
}

static void bad_options_and_arguments_are_refused(void **state)
{
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    vigil_js *js = NULL;
    (void)state;
    assert_int_equal(vigil_js_create(NULL, NULL), -EINVAL);
    options.size = 0;
    assert_int_equal(vigil_js_create(&js, &options), -EINVAL);
    options.size = sizeof options + 1;
    assert_int_equal(vigil_js_create(&js, &options), -EINVAL);
    assert_int_equal(vigil_js_destroy(NULL), 0);
    js = make();
    assert_int_equal(vigil_js_eval(js, NULL, 0, "x", NULL), -EINVAL);
    assert_int_equal(vigil_js_call(js, vigil_js_number(js, 1), NULL, 0, NULL, NULL), -EINVAL);
    assert_int_equal(vigil_js_set(js, vigil_js_number(js, 1), "x", vigil_js_null(js)), -EINVAL);
    assert_null(vigil_js_get(js, vigil_js_undefined(js), "x"));
    assert_int_equal(vigil_js_destroy(js), 0);
}

static void a_thrown_error_has_message_stack_file_and_line(void **state)
{
    static const char text[] = "\n\nfunction f() { throw new TypeError('no'); }\nf();";
    vigil_js *js = make();
    vigil_js_error error = {.size = sizeof error};
    (void)state;
    assert_int_equal(vigil_js_error_get(js, &error), -ENOENT);
    assert_int_equal(vigil_js_eval(js, text, sizeof text - 1, "/a/b.js", NULL), -EIO);
    assert_int_equal(vigil_js_error_get(js, &error), 0);
    assert_string_equal(error.message, "TypeError: no");
    assert_non_null(strstr(error.stack, "at f (/a/b.js:3:"));
    assert_string_equal(error.file, "/a/b.js");
    assert_int_equal(error.line, 3);
    vigil_js_destroy(js);
}

static void a_syntax_error_has_a_place(void **state)
{
    static const char text[] = "let a = 1;\nlet b = ;\n";
    vigil_js *js = make();
    vigil_js_error error = {.size = sizeof error};
    (void)state;
    assert_int_equal(vigil_js_eval(js, text, sizeof text - 1, "/a/syntax.js", NULL), -EIO);
    assert_int_equal(vigil_js_error_get(js, &error), 0);
    assert_non_null(strstr(error.message, "SyntaxError"));
    assert_string_equal(error.file, "/a/syntax.js");
    assert_int_equal(error.line, 2);
    vigil_js_destroy(js);
}

static void *call_from_elsewhere(void *arg)
{
    vigil_js *js = arg;
    assert_int_equal(vigil_js_eval(js, "1", 1, "/x.js", NULL), -EPERM);
    assert_int_equal(vigil_js_run_text(js, "1", 1, "/x.js"), -EPERM);
    assert_int_equal(vigil_js_run_file(js, "/x.js"), -EPERM);
    assert_int_equal(vigil_js_run(js), -EPERM);
    assert_int_equal(vigil_js_call(js, NULL, NULL, 0, NULL, NULL), -EPERM);
    return NULL;
}

static void calls_from_another_thread_are_refused(void **state)
{
    vigil_js *js = make();
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, call_from_elsewhere, js), 0);
    pthread_join(thread, NULL);
    assert_true(vigil_js_to_number(js, eval(js, "6 * 7")) == 42);
    vigil_js_destroy(js);
}

static vigil_js_value add(vigil_js_frame *frame)
{
    double sum = *(double *)frame->data;
    for (size_t i = 0; i < frame->count; i++)
        sum += vigil_js_to_number(frame->js, frame->args[i]);
    if (sum != sum)
        frame->thrown = vigil_js_make_error(frame->js, "not a number");
    return vigil_js_number(frame->js, sum);
}

static void c_functions_are_called_and_may_throw(void **state)
{
    vigil_js *js = make();
    double base = 100;
    (void)state;
    vigil_js_set(js, vigil_js_global(js), "add", vigil_js_function(js, "add", add, &base));
    assert_true(vigil_js_to_number(js, eval(js, "add(1, 2)")) == 103);
    char *text =
        vigil_js_to_text(js, eval(js, "try { add('x') } catch (e) { e.message + typeof add + add.name }"), NULL);
    assert_string_equal(text, "not a numberfunctionadd");
    free(text);
    vigil_js_destroy(js);
}

/* Resident bytes. */
static size_t memory(void)
{
    size_t pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &pages, &resident), 2);
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void functions_that_nobody_holds_are_freed(void **state)
{
    vigil_js *js = make();
    double base = 1;
    size_t before = 0;
    (void)state;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 5000; i++)
            assert_non_null(vigil_js_function(js, "add", add, &base));
        eval(js, "new Array(300000).fill(0).length"); /* something to collect for */
        if (round == 9)
            before = memory();
    }
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
    /* 450 000 more functions, of 32 bytes each in C alone. */
    assert_true(memory() < before + ((size_t)8 << 20));
#else
    (void)before;
#endif
    vigil_js_destroy(js);
}

static int finalized;
static void count_final(void *pointer)
{
    finalized++;
    free(pointer);
}
static void *construct_counter(vigil_js_frame *frame)
{
    double *value;
    if (frame->count > 0 && vigil_js_type_of(frame->js, frame->args[0]) != VIGIL_JS_NUMBER) {
        frame->thrown = vigil_js_make_error(frame->js, "a number is expected");
        return NULL;
    }
    value = malloc(sizeof *value);
    *value = frame->count > 0 ? vigil_js_to_number(frame->js, frame->args[0]) : 0;
    return value;
}
static vigil_js_value counter_next(vigil_js_frame *frame)
{
    double *value = vigil_js_instance_data(frame->js, frame->data, frame->self);
    if (!value) {
        frame->thrown = vigil_js_make_error(frame->js, "not a Counter");
        return NULL;
    }
    return vigil_js_number(frame->js, (*value)++);
}

static void c_classes_have_instances_subclasses_and_finalizers(void **state)
{
    static const vigil_js_method methods[] = {{"next", counter_next}, {NULL, NULL}};
    vigil_js *js = make();
    vigil_js_class *class = NULL;
    (void)state;
    finalized = 0;
    assert_int_equal(vigil_js_class_create(&class, js, "Counter", methods, construct_counter, count_final), 0);
    char *text = vigil_js_to_text(
        js,
        eval(js, "const c = new Counter(5); c.next(); class D extends Counter { twice() { return "
                 "this.next() + this.next(); } } let r = [c.next(), c instanceof Counter, new D(1).twice()];"
                 "try { Counter(1) } catch (e) { r.push(e instanceof TypeError) }"
                 "try { new Counter('x') } catch (e) { r.push(e.message) }"
                 "try { Counter.prototype.next.call({}) } catch (e) { r.push(e.message) } r.join()"),
        NULL);
    assert_string_equal(text, "6,true,3,true,a number is expected,not a Counter");
    free(text);
    vigil_js_destroy(js);
    assert_int_equal(finalized, 2);
}

static int freed;
static void count_freed(void *data, void *arg)
{
    (void)arg;
    freed++;
    free(data);
}

static void bytes_are_shared_without_a_copy(void **state)
{
    vigil_js *js = make();
    unsigned char *mine = calloc(1, 8), *theirs = NULL;
    size_t length = 0;
    vigil_js_value bytes, view;
    (void)state;
    freed = 0;
    bytes = vigil_js_bytes(js, mine, 8, count_freed, NULL);
    vigil_js_set(js, vigil_js_global(js), "bytes", bytes);
    eval(js, "bytes[3] = 7");
    assert_int_equal(mine[3], 7);
    view = eval(js, "new Uint8Array([1, 2, 3, 4]).subarray(1, 3)");
    assert_true(vigil_js_to_bytes(js, view, &theirs, &length));
    assert_int_equal(length, 2);
    assert_int_equal(theirs[0], 2);
    assert_false(vigil_js_to_bytes(js, vigil_js_object(js), &theirs, &length));
    vigil_js_destroy(js);
    assert_int_equal(freed, 1);
}

static void the_checkpoint_follows_a_call_from_c(void **state)
{
    vigil_js *js = make();
    (void)state;
    eval(js,
         "let log = []; process.nextTick(() => log.push('tick')); Promise.resolve().then(() => log.push('micro')); 0");
    char *text = vigil_js_to_text(js, eval(js, "log.join()"), NULL);
    assert_string_equal(text, "tick,micro");
    free(text);
    vigil_js_destroy(js);
}

static vigil_js_value make_text(vigil_js *js, void *arg)
{
    return vigil_js_text(js, arg, strlen(arg));
}
typedef struct settling {
    vigil_js_promise *promise;
    vigil_js_port *port;
    char text[16];
} settling;
static void posted(vigil_js *js, void *arg)
{
    vigil_js_value function = vigil_js_get(js, vigil_js_global(js), "posted");
    vigil_js_value value = vigil_js_text(js, arg, strlen(arg));
    vigil_js_call(js, function, NULL, 1, &value, NULL);
}
static void *settle(void *arg)
{
    settling *it = arg;
    assert_int_equal(vigil_js_port_call(it->port, posted, NULL, it->text), 0);
    assert_int_equal(vigil_js_promise_settle(it->promise, it->text[0] != '1', make_text, NULL, it->text), 0);
    vigil_js_port_close(it->port);
    return NULL;
}

static void promises_are_settled_and_work_is_posted_from_other_threads(void **state)
{
    enum {
        COUNT = 8
    };
    vigil_js *js = make();
    pthread_t threads[COUNT];
    settling its[COUNT];
    (void)state;
    eval(js, "var got = [], count = 0; globalThis.posted = () => count++;"
             "globalThis.expect = (p) => p.then((v) => got.push(v), (e) => got.push('!' + e)); 0");
    for (int i = 0; i < COUNT; i++) {
        vigil_js_value promise, function = vigil_js_get(js, vigil_js_global(js), "expect");
        assert_int_equal(vigil_js_promise_create(&its[i].promise, js, &promise), 0);
        assert_int_equal(vigil_js_call(js, function, NULL, 1, &promise, NULL), 0);
        its[i].text[0] = (char)('0' + i);
        its[i].text[1] = 0;
        assert_int_equal(vigil_js_port_open(&its[i].port, js), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, settle, &its[i]), 0);
    }
    eval(js, "process.on('exit', () => console.log(got.sort().join() + ' ' + count)); 0");
    assert_int_equal(vigil_js_run(js), 0);
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    assert_string_equal(output, "!1,0,2,3,4,5,6,7 8\n");
    vigil_js_destroy(js);
}

static char settled[64];
static void note_settled(vigil_js *js, bool fulfilled, vigil_js_value value, void *arg)
{
    char *text = vigil_js_to_text(js, value, NULL);
    (void)arg;
    strcat(strcat(settled, fulfilled ? "+" : "-"), text ? text : "?");
    free(text);
}

static int dropped;
static void count_dropped(void *arg)
{
    (void)arg;
    dropped++;
}

static void c_waits_for_promises(void **state)
{
    static const char *const sources[] = {"Promise.resolve(1)",
                                          "new Promise((resolve) => setTimeout(resolve, 1, 'later'))",
                                          "new Promise((_, no) => setTimeout(no, 1, 'no'))",
                                          "'plain'",
                                          "({ then(yes, no) { no('thenable'); } })",
                                          "({ get then() { throw 'getter'; } })"};
    vigil_js *js = make();
    vigil_js_value value;
    (void)state;
    settled[0] = 0;
    dropped = 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        assert_int_equal(vigil_js_eval(js, sources[i], strlen(sources[i]), "q.js", &value), 0);
        assert_int_equal(vigil_js_await_call(js, value, note_settled, count_dropped, NULL), 0);
    }
    assert_int_equal(vigil_js_run(js), 0);
    assert_string_equal(settled, "+1+plain-thenable-getter+later-no");
    assert_int_equal(vigil_js_await_call(js, NULL, note_settled, NULL, NULL), -EINVAL);
    assert_int_equal(vigil_js_await_call(js, value, NULL, NULL, NULL), -EINVAL);
    vigil_js_destroy(js);
    assert_int_equal(dropped, 0);
    /* A promise that nobody settles. */
    js = make();
    assert_int_equal(vigil_js_eval(js, "new Promise(() => {})", 21, "q.js", &value), 0);
    assert_int_equal(vigil_js_await_call(js, value, note_settled, count_dropped, NULL), 0);
    vigil_js_destroy(js);
    assert_int_equal(dropped, 1);
}

static vigil_js_value twice(vigil_js_frame *frame)
{
    return vigil_js_number(frame->js, 2 * vigil_js_to_number(frame->js, frame->args[0]));
}

static void scripts_import_modules_of_the_program(void **state)
{
    static const char text[] =
        "import db, { twice, name } from 'app:db';\n"
        "import * as all from 'app:db';\n"
        "import { createRequire } from 'node:module';\n"
        "const again = await import('app:db'), require = createRequire('/');\n"
        "console.log(twice(21), name, db.name, all.twice === twice, again === all, require('app:db') === db);\n"
        "try { await import('app:none'); } catch (error) { console.log(error.code); }\n";
    vigil_js *js = make();
    vigil_js_value module = vigil_js_object(js);
    (void)state;
    assert_int_equal(vigil_js_set(js, module, "twice", vigil_js_function(js, "twice", twice, NULL)), 0);
    assert_int_equal(vigil_js_set(js, module, "name", vigil_js_text(js, "base", 4)), 0);
    assert_int_equal(vigil_js_module(js, "app:db", module), 0);
    assert_int_equal(vigil_js_module(js, "db", module), -EINVAL);
    assert_int_equal(vigil_js_module(js, "node:fs", module), -EINVAL);
    assert_int_equal(vigil_js_module(js, "app:db", NULL), -EINVAL);
    assert_int_equal(vigil_js_run_text(js, text, sizeof text - 1, "main.mjs"), 0);
    assert_int_equal(vigil_js_run(js), 0);
    assert_string_equal(output, "42 base base true true true\nERR_UNSUPPORTED_ESM_URL_SCHEME\n");
    vigil_js_destroy(js);
}

static void what_comes_too_late_is_dropped(void **state)
{
    vigil_js *js = make();
    vigil_js_promise *promise;
    vigil_js_value value;
    vigil_js_port *port = NULL;
    assert_int_equal(vigil_js_port_open(&port, js), 0);
    (void)state;
    dropped = 0;
    assert_int_equal(vigil_js_promise_create(&promise, js, &value), 0);
    vigil_js_destroy(js);
    assert_int_equal(vigil_js_promise_settle(promise, true, NULL, count_dropped, NULL), 0);
    assert_int_equal(vigil_js_port_call(port, posted, count_dropped, NULL), 0);
    vigil_js_port_close(port);
    assert_int_equal(dropped, 2);
}

static void a_program_runs_to_its_exit_code_on_a_loop_of_the_embedder(void **state)
{
    static const char text[] = "setTimeout(() => { console.log('timer'); process.exitCode = 5; }, 1);"
                               "process.once('beforeExit', () => setImmediate(() => console.log('again')));";
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    vigil_loop *loop;
    vigil_js *js;
    int code = 0;
    (void)state;
    output[0] = 0;
    options.on_output = keep_output;
    assert_int_equal(vigil_loop_create(&loop, NULL), 0);
    options.loop = loop;
    assert_int_equal(vigil_js_create(&js, &options), 0);
    assert_int_equal(vigil_js_run_text(js, text, sizeof text - 1, "p.js"), 0);
    assert_int_equal(vigil_js_run(js), 5);
    assert_true(vigil_js_ended(js, &code));
    assert_int_equal(code, 5);
    assert_int_equal(vigil_js_run_text(js, text, 1, "p.js"), -ECANCELED);
    assert_string_equal(output, "timer\nagain\n");
    assert_int_equal(vigil_js_destroy(js), 0);
    assert_int_equal(vigil_loop_destroy(loop), 0);
}

static void several_hosts_share_nothing(void **state)
{
    vigil_js *a = make(), *b = make();
    (void)state;
    eval(a, "globalThis.mine = 1");
    assert_int_equal(vigil_js_type_of(b, vigil_js_get(b, vigil_js_global(b), "mine")), VIGIL_JS_UNDEFINED);
    vigil_js_destroy(a);
    assert_true(vigil_js_to_number(b, eval(b, "1 + 1")) == 2);
    vigil_js_destroy(b);
}

static bool end_it(void *user, const vigil_js_stall *stall)
{
    strncpy(user, stall->where, 63);
    return true;
}

static void a_stall_is_named_and_ended_and_the_host_lives_on(void **state)
{
    static const char text[] =
        "function endless() { for (;;); } setTimeout(endless, 1); setTimeout(() => console.log('next'), 2);";
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    vigil_js *js;
    char where[64] = "";
    (void)state;
    output[0] = 0;
    options.on_output = keep_output;
    options.on_stall = end_it;
    options.stall_ns = 100000000;
    options.user = where;
    assert_int_equal(vigil_js_create(&js, &options), 0);
    assert_int_equal(vigil_js_run_text(js, text, sizeof text - 1, "p.js"), 0);
    assert_int_equal(vigil_js_run(js), 0);
    assert_non_null(strstr(where, "endless() at p.js:1"));
    assert_string_equal(output, "next\n");
    vigil_js_destroy(js);
}

/* ---- tasks on the pool */

static int add_up(vigil_js_work *work)
{
    const vigil_js_datum *args = work->args;
    char text[128];
    assert_ptr_equal(work->data, output);
    if (work->count == 0)
        return -EDOM;
    if (args[0].kind == VIGIL_JS_DATUM_NUMBER) {
        work->result.kind = VIGIL_JS_DATUM_NUMBER;
        work->result.number = args[0].number + args[1].number;
        return 0;
    }
    if (args[0].kind == VIGIL_JS_DATUM_BOOL) {
        snprintf(work->message, sizeof work->message, "no");
        return -EINVAL;
    }
    snprintf(text, sizeof text, "%s/%zu/%d", (const char *)args[0].data, args[1].length, args[2].kind);
    return vigil_js_work_result_set(work, VIGIL_JS_DATUM_TEXT, text, strlen(text));
}

static sem_t task_runs, task_may_end;

static int wait_for_abort(vigil_js_work *work)
{
    sem_post(&task_runs);
    sem_wait(&task_may_end);
    work->result.kind = VIGIL_JS_DATUM_BOOL;
    work->result.number = vigil_js_work_cancelled(work);
    if (vigil_js_work_cancelled(work))
        sem_post(&task_runs);
    return 0;
}

static vigil_js_value until_it_runs(vigil_js_frame *frame)
{
    (void)frame;
    sem_wait(&task_runs);
    return NULL;
}

static vigil_js_value let_it_end(vigil_js_frame *frame)
{
    (void)frame;
    sem_post(&task_may_end);
    return NULL;
}

static void c_tasks_run_on_the_pool_with_data_in_and_out(void **state)
{
    static const char text[] =
        "const pool = require('vigil:pool'); (async () => {"
        "console.log(Object.keys(pool.tasks), await pool.tasks.add(1, 2));"
        "console.log(await pool.run('add', ['\u00e9', new Uint8Array(3), null], { priority: 'high' }));"
        "await pool.tasks.add().catch((e) => console.log(e.code));"
        "await pool.tasks.add(true).catch((e) => console.log(e.code, e.message));"
        "await pool.run('add', [{}]).catch((e) => console.log(e.code));"
        "await pool.run('sub').catch((e) => console.log(e.message));"
        "})()";
    vigil_js *js = make();
    (void)state;
    assert_int_equal(vigil_js_task_expose(js, "add", add_up, output, 0), 0);
    assert_int_equal(vigil_js_task_expose(js, "add", add_up, NULL, 0), -EEXIST);
    assert_int_equal(vigil_js_task_expose(js, "", add_up, NULL, 0), -EINVAL);
    assert_int_equal(vigil_js_task_expose(js, "more", add_up, NULL, 8), -EINVAL);
    assert_int_equal(vigil_js_run_text(js, text, sizeof text - 1, "p.js"), 0);
    assert_int_equal(vigil_js_run(js), 0);
    assert_string_equal(output, "[ 'add' ] 3\n"
                                "é/3/0\n"
                                "EDOM\n"
                                "EINVAL add: no\n"
                                "ERR_INVALID_ARG_TYPE\n"
                                "The argument 'name' must be one of add. Received 'sub'\n");
    vigil_js_destroy(js);
}

static void an_aborted_c_task_is_told_so_and_its_result_is_dropped(void **state)
{
    static const char text[] = "const { run } = require('vigil:pool'); const c = new AbortController();"
                               "run('wait', [], { signal: c.signal }).then(console.log, (e) => console.log(e.name));"
                               "untilItRuns(); c.abort(); letItEnd();";
    vigil_js *js = make();
    (void)state;
    sem_init(&task_runs, 0, 0);
    sem_init(&task_may_end, 0, 0);
    vigil_js_set(js, vigil_js_global(js), "untilItRuns", vigil_js_function(js, "untilItRuns", until_it_runs, NULL));
    vigil_js_set(js, vigil_js_global(js), "letItEnd", vigil_js_function(js, "letItEnd", let_it_end, NULL));
    assert_int_equal(vigil_js_task_expose(js, "wait", wait_for_abort, NULL, VIGIL_JS_TASK_BLOCKS), 0);
    assert_int_equal(vigil_js_run_text(js, text, sizeof text - 1, "p.js"), 0);
    assert_int_equal(vigil_js_run(js), 0);
    assert_string_equal(output, "AbortError\n");
    sem_wait(&task_runs); /* it has seen the abort */
    vigil_js_destroy(js);
}

static void objects_are_asked_changed_and_written_as_json(void **state)
{
    static const char text[] =
        "globalThis.Base = class { constructor() { this.own = 1; } };"
        "Object.defineProperty(Object.assign(new Base(), { 'ä': [1, 'zwei', null] }), 'kept', { value: 2 })";
    static const char proxy[] =
        "new Proxy({}, { deleteProperty() { throw new Error('no') }, set() { throw new Error('no') } })";
    static const char broken[] = "{ \"a\": 1, }";
    vigil_js *js = make();
    vigil_js_value object = NULL, list, other = NULL;
    vigil_js_error error = VIGIL_JS_ERROR_INIT;
    size_t length = 0;
    char *json;
    (void)state;
    assert_int_equal(vigil_js_eval(js, text, sizeof text - 1, "t.js", &object), 0);
    assert_int_equal(vigil_js_eval(js, proxy, sizeof proxy - 1, "t.js", &other), 0);
    assert_true(vigil_js_has(js, object, "own") && vigil_js_has(js, object, "ä"));
    assert_true(vigil_js_has(js, object, "toString") && !vigil_js_has(js, object, "none"));
    assert_false(vigil_js_has(js, vigil_js_number(js, 1), "own"));
    json = vigil_js_json_text(js, object, &length);
    assert_string_equal(json, "{\"own\":1,\"ä\":[1,\"zwei\",null]}");
    assert_int_equal(length, strlen(json));
    list = vigil_js_json_parse(js, json, length);
    assert_true(list && vigil_js_has(js, list, "ä"));
    free(json);
    assert_null(vigil_js_json_parse(js, broken, sizeof broken - 1));
    assert_null(vigil_js_json_text(js, vigil_js_undefined(js), NULL));
    json = vigil_js_json_text(js, vigil_js_keys(js, object), NULL);
    assert_string_equal(json, "[\"own\",\"ä\"]");
    free(json);
    assert_null(vigil_js_keys(js, vigil_js_null(js)));
    assert_int_equal(vigil_js_remove(js, object, "own"), 0);
    assert_int_equal(vigil_js_remove(js, object, "never"), 0);
    assert_false(vigil_js_has(js, object, "own"));
    assert_int_equal(vigil_js_remove(js, object, "kept"), -EPERM);
    assert_int_equal(vigil_js_remove(js, vigil_js_null(js), "x"), -EINVAL);
    assert_int_equal(vigil_js_remove(js, other, "x"), -EIO);
    assert_int_equal(vigil_js_error_get(js, &error), 0);
    assert_string_equal(error.message, "Error: no");
    list = vigil_js_array(js, 0, NULL);
    assert_int_equal(vigil_js_set_index(js, list, 2, vigil_js_bool(js, true)), 0);
    json = vigil_js_json_text(js, list, NULL);
    assert_string_equal(json, "[null,null,true]");
    free(json);
    assert_int_equal(vigil_js_set_index(js, other, 0, list), -EIO);
    assert_int_equal(vigil_js_set_index(js, list, 0, NULL), -EINVAL);
    assert_true(vigil_js_is_instance(js, object, vigil_js_get(js, vigil_js_global(js), "Base")));
    assert_false(vigil_js_is_instance(js, list, vigil_js_get(js, vigil_js_global(js), "Base")));
    assert_false(vigil_js_is_instance(js, list, vigil_js_number(js, 1)));
    vigil_js_destroy(js);
}

static void bigints_and_dates_go_in_and_out(void **state)
{
    static const int64_t numbers[] = {0, 1, -1, 42, INT64_C(9007199254740993), INT64_MAX, INT64_MIN};
    static const char *const others[] = {"1",   "'1'", "Object(1n)", "2n ** 63n", "-(2n ** 63n) - 1n", "2n ** 64n + 5n",
                                         "null"};
    static const char *const dates[] = {"1",    "'1970'",     "Object.create(Date.prototype)",
                                        "Date", "Date.now()", "({ getTime: () => 1 })"};
    vigil_js *js = make();
    vigil_js_value value;
    int64_t number = 77;
    double time = 77;
    char *text, wanted[32];
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        value = vigil_js_bigint(js, numbers[i]);
        assert_int_equal(vigil_js_type_of(js, value), VIGIL_JS_BIGINT);
        assert_true(vigil_js_to_bigint(js, value, &number) && number == numbers[i]);
        (void)snprintf(wanted, sizeof wanted, "%lld", (long long)numbers[i]);
        text = vigil_js_to_text(js, value, NULL);
        assert_string_equal(text, wanted);
        free(text);
        (void)snprintf(wanted, sizeof wanted, "%lldn", (long long)numbers[i]);
        assert_true(vigil_js_to_bigint(js, eval(js, wanted), &number) && number == numbers[i]);
    }
    number = 77;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(vigil_js_to_bigint(js, eval(js, others[i]), &number));
    assert_false(vigil_js_to_bigint(js, NULL, &number));
    assert_int_equal(number, 77);

    value = vigil_js_date(js, 1e12 + 0.9);
    assert_int_equal(vigil_js_type_of(js, value), VIGIL_JS_OBJECT);
    assert_true(vigil_js_is_instance(js, value, vigil_js_get(js, vigil_js_global(js), "Date")));
    text = vigil_js_json_text(js, value, NULL);
    assert_string_equal(text, "\"2001-09-09T01:46:40.000Z\"");
    free(text);
    assert_true(vigil_js_to_date(js, value, &time) && time == 1e12);
    assert_true(vigil_js_to_date(js, vigil_js_date(js, -1), &time) && time == -1);
    assert_true(vigil_js_to_date(js, vigil_js_date(js, 8.65e15), &time) && isnan(time));
    assert_true(vigil_js_to_date(js, eval(js, "new Date(NaN)"), &time) && isnan(time));
    /* The program's own methods are not asked. */
    value = eval(js, "class Day extends Date { getTime() { throw 1; } valueOf() { throw 2; } }"
                     "Date.prototype.getTime = () => 3; Date.prototype[Symbol.toPrimitive] = () => 4; new Day(5)");
    assert_true(vigil_js_to_date(js, value, &time) && time == 5);
    assert_true(
        vigil_js_to_date(js, eval(js, "process.getBuiltinModule('vm').runInNewContext('new Date(6)')"), &time) &&
        time == 6);
    time = 77;
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++)
        assert_false(vigil_js_to_date(js, eval(js, dates[i]), &time));
    assert_false(vigil_js_to_date(js, NULL, &time));
    assert_true(time == 77);
    vigil_js_destroy(js);
}

typedef struct ended_call {
    const char *function; /* of the global */
    size_t count;
    int status;
    double number;
} ended_call;

static void call_now(vigil_js *js, void *arg)
{
    ended_call *call = arg;
    vigil_js_value function = vigil_js_get(js, vigil_js_global(js), call->function), value = NULL;
    vigil_js_value args[9];
    for (size_t i = 0; i < 9; i++)
        args[i] = vigil_js_number(js, (double)i);
    call->status = vigil_js_call(js, function, NULL, call->count, args, &value);
    call->number = value ? vigil_js_to_number(js, value) : -1;
}

/* What a call answers is what its function did; the checkpoint behind it may end the program. */
static void a_call_says_what_its_function_did_also_if_the_program_ends(void **state)
{
    static const char text[] = "const exit = () => process.exit(3);"
                               "globalThis.returns = () => { Promise.resolve().then(exit); return 7; };"
                               "globalThis.ticks = () => { process.nextTick(exit); return 7; };"
                               "globalThis.throws = () => { Promise.resolve().then(exit); throw new Error('own'); };"
                               "globalThis.exits = () => { exit(); return 7; };";
    static const ended_call cases[] = {{"returns", 0, 0, 7},         {"ticks", 1, 0, 7},   {"throws", 0, -EIO, -1},
                                       {"exits", 0, -ECANCELED, -1}, {"returns", 9, 0, 7}, {"throws", 9, -EIO, -1},
                                       {"exits", 9, -ECANCELED, -1}};
    (void)state;
    /* Outside of a run, in a callback of one, and by vigil_js_eval. */
    for (size_t i = 0; i < 3 * sizeof cases / sizeof cases[0]; i++) {
        ended_call call = cases[i / 3];
        vigil_js *js = make();
        vigil_js_port *port = NULL;
        vigil_js_value value = NULL;
        vigil_js_error error = VIGIL_JS_ERROR_INIT;
        char way[32];
        int code = 0;
        eval(js, text);
        if (i % 3 == 0) {
            call_now(js, &call);
        } else if (i % 3 == 1) {
            eval(js, "setTimeout(() => {}, 60000)");
            assert_int_equal(vigil_js_port_open(&port, js), 0);
            assert_int_equal(vigil_js_port_call(port, call_now, NULL, &call), 0);
            assert_int_equal(vigil_js_run(js), 3);
            vigil_js_port_close(port);
        } else {
            (void)snprintf(way, sizeof way, "%s()", call.function);
            call.status = vigil_js_eval(js, way, strlen(way), "t.js", &value);
            call.number = value ? vigil_js_to_number(js, value) : -1;
        }
        assert_int_equal(call.status, cases[i / 3].status);
        assert_true(call.number == cases[i / 3].number);
        assert_true(vigil_js_ended(js, &code));
        assert_int_equal(code, 3);
        if (call.status == -EIO) {
            assert_int_equal(vigil_js_error_get(js, &error), 0);
            assert_string_equal(error.message, "Error: own");
            assert_non_null(strstr(error.stack, "test.js:1"));
        }
        call_now(js, &call);
        assert_int_equal(call.status, -ECANCELED);
        vigil_js_destroy(js);
    }
}

static void a_checkpoint_that_is_ended_leaves_the_result_of_the_call(void **state)
{
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    ended_call call = {.function = "stalls"};
    vigil_js *js = NULL;
    (void)state;
    options.on_output = keep_output;
    options.stall_ns = 50000000;
    options.end_stalls = true;
    assert_int_equal(vigil_js_create(&js, &options), 0);
    eval(js, "globalThis.stalls = () => { Promise.resolve().then(() => { for (;;); }); return 7; };"
             "globalThis.spins = () => { for (;;); }; globalThis.next = () => 8;");
    call_now(js, &call);
    assert_int_equal(call.status, 0);
    assert_true(call.number == 7);
    call.function = "spins";
    call_now(js, &call);
    assert_int_equal(call.status, -ECANCELED);
    assert_true(call.number == -1);
    call.function = "next";
    call_now(js, &call);
    assert_int_equal(call.status, 0);
    assert_true(call.number == 8);
    assert_int_equal(vigil_js_run(js), 0);
    vigil_js_destroy(js);
}

int main(void)
{
    /* cmocka takes over the signals that the engine uses to interrupt compiled code; it can also poll. */
    setenv("JSC_usePollingTraps", "true", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_and_arguments_are_refused),
        cmocka_unit_test(a_thrown_error_has_message_stack_file_and_line),
        cmocka_unit_test(a_syntax_error_has_a_place),
        cmocka_unit_test(calls_from_another_thread_are_refused),
        cmocka_unit_test(c_functions_are_called_and_may_throw),
        cmocka_unit_test(functions_that_nobody_holds_are_freed),
        cmocka_unit_test(c_classes_have_instances_subclasses_and_finalizers),
        cmocka_unit_test(objects_are_asked_changed_and_written_as_json),
        cmocka_unit_test(bytes_are_shared_without_a_copy),
        cmocka_unit_test(the_checkpoint_follows_a_call_from_c),
        cmocka_unit_test(promises_are_settled_and_work_is_posted_from_other_threads),
        cmocka_unit_test(what_comes_too_late_is_dropped),
        cmocka_unit_test(a_program_runs_to_its_exit_code_on_a_loop_of_the_embedder),
        cmocka_unit_test(c_waits_for_promises),
        cmocka_unit_test(scripts_import_modules_of_the_program),
        cmocka_unit_test(several_hosts_share_nothing),
        cmocka_unit_test(a_stall_is_named_and_ended_and_the_host_lives_on),
        cmocka_unit_test(c_tasks_run_on_the_pool_with_data_in_and_out),
        cmocka_unit_test(an_aborted_c_task_is_told_so_and_its_result_is_dropped),
        cmocka_unit_test(bigints_and_dates_go_in_and_out),
        cmocka_unit_test(a_call_says_what_its_function_did_also_if_the_program_ends),
        cmocka_unit_test(a_checkpoint_that_is_ended_leaves_the_result_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
