/* SPDX-License-Identifier: MIT */
/* Examples of vigil/js.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vigil/js.h>

static vigil_js_value eval(vigil_js *js, const char *text)
{
    vigil_js_value value = NULL;
    assert(vigil_js_eval(js, text, strlen(text), "example", &value) ==
           0);
    return value;
}

/* vigil_js_create: make a JavaScript host */
static vigil_js *make_a_host(void)
{
    vigil_js *js;
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    options.stall_ns = 5000000000; /* a line when a callback hangs */
    int rc = vigil_js_create(&js, &options);
    if (rc < 0) {
        fprintf(stderr, "no host: %s\n", vigil_strerror(rc));
        exit(1);
    }
    return js;
}

/* vigil_js_destroy: give a host back */
static void give_the_host_back(vigil_js *js)
{
    vigil_js_destroy(js); /* before its loop, if that is yours */
}

/* vigil_js_shutdown: end a program, but not its work in flight */
static void end_gracefully(vigil_js *js)
{
    vigil_js_shutdown(js, 2000000000); /* two seconds at most */
}

/* vigil_js_close: end a program at once */
static void end_at_once(vigil_js *js)
{
    if (vigil_js_close(js, 1000000000) == -ETIMEDOUT)
        fprintf(stderr, "a task of its pool does not return\n");
}

/* vigil_js_loop: get the loop of a host */
static void pause_host(vigil_js *js)
{
    vigil_loop_pause(vigil_js_loop(js));
}

/* vigil_js_pool: get the pool of a host */
static void print_workers(vigil_js *js)
{
    vigil_pool *pool = vigil_js_pool(js);
    if (pool != NULL)
        printf("%u workers\n", vigil_pool_workers(pool));
}

/* vigil_js_run_file: run a program from a file */
static int run_file(vigil_js *js, const char *path)
{
    int rc = vigil_js_run_file(js, path);
    return rc < 0 ? rc : vigil_js_run(js); /* the exit code */
}

/* vigil_js_run_text: run a program from a text */
static int run_text(vigil_js *js)
{
    const char text[] = "setTimeout(() => console.log('later'), 1)";
    return vigil_js_run_text(js, text, sizeof text - 1, "inline.js");
}

/* vigil_js_run: run the loop of a host to its end */
static int run_to_the_end(vigil_js *js)
{
    int code = vigil_js_run(js);
    if (code < 0)
        fprintf(stderr, "%s\n", vigil_strerror(code));
    return code;
}

/* vigil_js_busy: ask whether work is in flight on the pool */
static bool may_sleep(vigil_js *js)
{
    return !vigil_js_busy(js);
}

/* vigil_js_ended: ask whether the program has ended */
static bool has_failed(vigil_js *js)
{
    int code;
    return vigil_js_ended(js, &code) && code != 0;
}

/* vigil_js_eval: evaluate a text */
static double evaluate(vigil_js *js, const char *text)
{
    vigil_js_value value;
    int rc = vigil_js_eval(js, text, strlen(text), "example", &value);
    return rc < 0 ? -1 : vigil_js_to_number(js, value);
}

/* vigil_js_call: call a JavaScript function */
static double maximum(vigil_js *js, double a, double b)
{
    vigil_js_value max = eval(js, "Math.max"), result;
    vigil_js_value args[] = {vigil_js_number(js, a),
                             vigil_js_number(js, b)};
    int rc = vigil_js_call(js, max, NULL, 2, args, &result);
    return rc < 0 ? -1 : vigil_js_to_number(js, result);
}

/* vigil_js_error_get: learn what was thrown */
static void print_what_was_thrown(vigil_js *js)
{
    const char text[] = "null.x";
    vigil_js_error error = VIGIL_JS_ERROR_INIT;
    int rc = vigil_js_eval(js, text, sizeof text - 1, "bad.js", NULL);
    if (rc == -EIO && vigil_js_error_get(js, &error) == 0)
        printf("%s, line %d\n", error.message, error.line);
}

/* vigil_js_undefined: get undefined */
static vigil_js_value nothing(vigil_js_frame *frame)
{
    return vigil_js_undefined(frame->js);
}

/* vigil_js_null: get null */
static vigil_js_value find(vigil_js *js, bool found)
{
    return found ? vigil_js_object(js) : vigil_js_null(js);
}

/* vigil_js_bool: make a boolean */
static vigil_js_value is_linux(vigil_js *js)
{
    return vigil_js_bool(js, true);
}

/* vigil_js_bigint: make a BigInt */
static vigil_js_value id_of_row(vigil_js *js, int64_t id)
{
    return vigil_js_bigint(js, id);
}

/* vigil_js_date: make a Date */
static vigil_js_value now(vigil_js *js)
{
    return vigil_js_date(js, (double)time(NULL) * 1000);
}

/* vigil_js_number: make a number */
static void set_the_answer(vigil_js *js)
{
    vigil_js_set(js, vigil_js_global(js), "answer",
                 vigil_js_number(js, 42));
}

/* vigil_js_text: make a string */
static vigil_js_value hello(vigil_js *js)
{
    return vigil_js_text(js, "hello", 5);
}

/* vigil_js_object: make an object */
static vigil_js_value point(vigil_js *js, double x, double y)
{
    vigil_js_value object = vigil_js_object(js);
    vigil_js_set(js, object, "x", vigil_js_number(js, x));
    vigil_js_set(js, object, "y", vigil_js_number(js, y));
    return object;
}

/* vigil_js_array: make an array */
static vigil_js_value pair(vigil_js *js, vigil_js_value a,
                           vigil_js_value b)
{
    vigil_js_value items[] = {a, b};
    return vigil_js_array(js, 2, items);
}

/* vigil_js_bytes: show your memory to JavaScript */
static void freed(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static vigil_js_value four_bytes(vigil_js *js)
{
    unsigned char *data = calloc(4, 1);
    return data == NULL ? NULL
                        : vigil_js_bytes(js, data, 4, freed, NULL);
}

/* vigil_js_type_of: get the type of a value */
static bool is_text(vigil_js *js, vigil_js_value value)
{
    return vigil_js_type_of(js, value) == VIGIL_JS_STRING;
}

/* vigil_js_is_function: ask whether a value can be called */
static bool has_handler(vigil_js *js)
{
    vigil_js_value global = vigil_js_global(js);
    vigil_js_value handler = vigil_js_get(js, global, "onMessage");
    return handler != NULL && vigil_js_is_function(js, handler);
}

/* vigil_js_to_bool: get a value as a boolean */
static bool wants_more(vigil_js *js, vigil_js_value options)
{
    vigil_js_value more = vigil_js_get(js, options, "more");
    return more != NULL && vigil_js_to_bool(js, more);
}

/* vigil_js_to_bigint: get the value of a BigInt */
static int64_t row_of_id(vigil_js *js, vigil_js_value id)
{
    int64_t row;
    return vigil_js_to_bigint(js, id, &row) ? row : -1;
}

/* vigil_js_to_date: get the time of a Date */
static double seconds_of(vigil_js *js, vigil_js_value date)
{
    double milliseconds;
    bool is_date = vigil_js_to_date(js, date, &milliseconds);
    return is_date ? milliseconds / 1000 : -1;
}

/* vigil_js_to_number: get a value as a number */
static double get_x(vigil_js *js, vigil_js_value point_value)
{
    return vigil_js_to_number(js, vigil_js_get(js, point_value, "x"));
}

/* vigil_js_to_text: get a value as text */
static void print_as_text(vigil_js *js, vigil_js_value value)
{
    char *text = vigil_js_to_text(js, value, NULL);
    if (text != NULL)
        printf("%s\n", text);
    free(text);
}

/* vigil_js_to_bytes: look at the memory of a typed array */
static unsigned sum_of_bytes(vigil_js *js, vigil_js_value value)
{
    unsigned char *data;
    size_t length;
    unsigned sum = 0;
    if (vigil_js_to_bytes(js, value, &data, &length))
        for (size_t i = 0; i < length; i++)
            sum += data[i];
    return sum;
}

/* vigil_js_global: get the global object */
static vigil_js_value global_process(vigil_js *js)
{
    return vigil_js_get(js, vigil_js_global(js), "process");
}

/* vigil_js_get: get a property */
static bool has_version(vigil_js *js)
{
    vigil_js_value process = global_process(js);
    return process != NULL && vigil_js_get(js, process, "version");
}

/* vigil_js_get_index: get an element of an array */
static double second_of(vigil_js *js, vigil_js_value array)
{
    return vigil_js_to_number(js, vigil_js_get_index(js, array, 1));
}

/* vigil_js_set_index: set an element of an array */
static int set_second(vigil_js *js, vigil_js_value array, double value)
{
    return vigil_js_set_index(js, array, 1, vigil_js_number(js, value));
}

/* vigil_js_has: look for a property */
static bool has_fetch(vigil_js *js)
{
    return vigil_js_has(js, vigil_js_global(js), "fetch");
}

/* vigil_js_remove: remove a property */
static int take_fetch_away(vigil_js *js)
{
    return vigil_js_remove(js, vigil_js_global(js), "fetch");
}

/* vigil_js_keys: list the properties of an object */
static void print_names(vigil_js *js, vigil_js_value object)
{
    vigil_js_value names = vigil_js_keys(js, object);
    unsigned count = (unsigned)vigil_js_to_number(
        js, vigil_js_get(js, names, "length"));
    for (unsigned i = 0; i < count; i++) {
        char *name = vigil_js_to_text(
            js, vigil_js_get_index(js, names, i), NULL);
        printf("%s\n", name);
        free(name);
    }
}

/* vigil_js_is_instance: ask for the class of an object */
static bool is_date(vigil_js *js, vigil_js_value value)
{
    return vigil_js_is_instance(
        js, value, vigil_js_get(js, vigil_js_global(js), "Date"));
}

/* vigil_js_await_call: wait for a promise in C */
static void on_answer(vigil_js *js, bool fulfilled,
                      vigil_js_value value, void *arg)
{
    char *text = vigil_js_to_text(js, value, NULL);
    (void)arg;
    printf("%s: %s\n", fulfilled ? "answer" : "failure", text);
    free(text);
}

static int ask(vigil_js *js)
{
    const char text[] = "Promise.resolve('forty-two')";
    vigil_js_value promise;
    int status =
        vigil_js_eval(js, text, sizeof text - 1, "ask.js", &promise);
    return status ? status
                  : vigil_js_await_call(js, promise, on_answer, NULL,
                                        NULL);
}

/* vigil_js_module: a module for scripts: import settings from 'app:settings' */
static int give_settings(vigil_js *js)
{
    vigil_js_value settings = vigil_js_object(js);
    int status =
        vigil_js_set(js, settings, "port", vigil_js_number(js, 80));
    return status ? status
                  : vigil_js_module(js, "app:settings", settings);
}

/* vigil_js_json_parse: read JSON */
static vigil_js_value settings(vigil_js *js)
{
    const char text[] = "{ \"port\": 80, \"names\": [\"a\", \"b\"] }";
    return vigil_js_json_parse(js, text, sizeof text - 1);
}

/* vigil_js_json_text: write JSON */
static void print_json(vigil_js *js, vigil_js_value value)
{
    char *text = vigil_js_json_text(js, value, NULL);
    printf("%s\n", text ? text : "no JSON");
    free(text);
}

/* vigil_js_set: set a property */
static int name_it(vigil_js *js, vigil_js_value object)
{
    return vigil_js_set(js, object, "name", vigil_js_text(js, "it", 2));
}

/*
 * vigil_js_ref: keep a value beyond the call that got it
 * vigil_js_unref: no longer keep a value
 */
struct listener {
    vigil_js_value handler;
};

static void listen_with(vigil_js *js, struct listener *listener,
                        vigil_js_value handler)
{
    vigil_js_ref(js, handler);
    listener->handler = handler;
}

static void listen_no_more(vigil_js *js, struct listener *listener)
{
    vigil_js_unref(js, listener->handler);
}

/* vigil_js_function: make a JavaScript function of a C function */
static vigil_js_value add(vigil_js_frame *frame)
{
    double sum = 0;
    for (size_t i = 0; i < frame->count; i++)
        sum += vigil_js_to_number(frame->js, frame->args[i]);
    return vigil_js_number(frame->js, sum);
}

static int offer_add(vigil_js *js)
{
    vigil_js_value function = vigil_js_function(js, "add", add, NULL);
    return vigil_js_set(js, vigil_js_global(js), "add", function);
}

/* vigil_js_make_error: throw an error from C */
static vigil_js_value refuse(vigil_js_frame *frame)
{
    frame->thrown = vigil_js_make_error(frame->js, "not allowed");
    return NULL;
}

/*
 * vigil_js_class_create: make a class whose instances are yours
 * vigil_js_instance: make an instance around a pointer
 * vigil_js_instance_data: get the pointer of an instance
 */
static vigil_js_class *counter_class;

static vigil_js_value increment(vigil_js_frame *frame)
{
    int *count =
        vigil_js_instance_data(frame->js, counter_class, frame->self);
    if (count == NULL)
        return NULL;
    *count += 1;
    return vigil_js_number(frame->js, *count);
}

static vigil_js_value make_counter(vigil_js *js)
{
    static const vigil_js_method methods[] = {{"increment", increment},
                                              {NULL, NULL}};
    if (vigil_js_class_create(&counter_class, js, "Counter", methods,
                              NULL, free) < 0)
        return NULL;
    int *count = calloc(1, sizeof *count);
    return vigil_js_instance(js, counter_class, count);
}

/* vigil_js_task_expose: offer a C function as work on the pool */
static int square(vigil_js_work *work)
{
    double number = work->count > 0 ? work->args[0].number : 0;
    work->result.kind = VIGIL_JS_DATUM_NUMBER;
    work->result.number = number * number;
    return 0;
}

static int offer_square(vigil_js *js)
{
    /* require('vigil:pool').run('square', [7]) is a promise of 49. */
    return vigil_js_task_expose(js, "square", square, NULL, 0);
}

/* vigil_js_work_result_set: give text or bytes as the result of work */
static int shout(vigil_js_work *work)
{
    return vigil_js_work_result_set(work, VIGIL_JS_DATUM_TEXT, "HEY",
                                    3);
}

/* vigil_js_work_cancelled: ask whether the result is still wanted */
static int search(vigil_js_work *work)
{
    for (int step = 0; step < 1000; step++)
        if (vigil_js_work_cancelled(work))
            return -ECANCELED;
    return 0;
}

/*
 * vigil_js_port_open: open a way to a host for other threads
 * vigil_js_port_call: call a function on the host's thread
 * vigil_js_port_close: close that way
 */
static void on_the_host(vigil_js *js, void *arg)
{
    (void)js;
    *(int *)arg += 1;
}

static int work_elsewhere(vigil_js_port *port, int *count)
{
    int rc = vigil_js_port_call(port, on_the_host, NULL, count);
    vigil_js_port_close(port);
    return rc;
}

static vigil_js_port *open_port(vigil_js *js)
{
    vigil_js_port *port;
    return vigil_js_port_open(&port, js) < 0 ? NULL : port;
}

/*
 * vigil_js_promise_create: make a promise that any thread may settle
 * vigil_js_promise_settle: settle it
 */
static vigil_js_value make_seven(vigil_js *js, void *arg)
{
    (void)arg;
    return vigil_js_number(js, 7);
}

static int offer_seven(vigil_js *js)
{
    vigil_js_promise *promise;
    vigil_js_value value;
    if (vigil_js_promise_create(&promise, js, &value) < 0)
        return -ENOMEM;
    vigil_js_set(js, vigil_js_global(js), "seven", value);
    /* From any thread: */
    return vigil_js_promise_settle(promise, true, make_seven, NULL,
                                   NULL);
}

/* ---- all of them ---- */

int main(int argc, char **argv)
{
    struct listener listener;
    int count = 0;
    vigil_js *js = make_a_host();
    vigil_js_value function = vigil_js_function(js, "f", nothing, NULL);
    vigil_js_port *port = open_port(js);
    assert(port != NULL && function != NULL);
    assert(evaluate(js, "6 * 7") == 42 && maximum(js, 1, 2) == 2);
    print_what_was_thrown(js);
    assert(vigil_js_type_of(js, find(js, false)) == VIGIL_JS_NULL);
    assert(vigil_js_to_bool(js, is_linux(js)));
    set_the_answer(js);
    assert(evaluate(js, "answer") == 42);
    assert(row_of_id(js, id_of_row(js, INT64_MAX)) == INT64_MAX);
    assert(seconds_of(js, now(js)) > 1e9);
    assert(is_text(js, hello(js)));
    print_as_text(js, hello(js));
    vigil_js_value origin = point(js, 3, 4);
    assert(get_x(js, origin) == 3 && !wants_more(js, origin));
    assert(name_it(js, origin) == 0);
    assert(second_of(js, pair(js, vigil_js_number(js, 1),
                              vigil_js_number(js, 2))) == 2);
    vigil_js_value list = eval(js, "[1, 2]");
    assert(set_second(js, list, 5) == 0 && second_of(js, list) == 5);
    assert(has_fetch(js) && take_fetch_away(js) == 0 && !has_fetch(js));
    print_names(js, settings(js));
    assert(give_settings(js) == 0 && ask(js) == 0);
    print_json(js, settings(js));
    assert(is_date(js, eval(js, "new Date")) && !is_date(js, origin));
    assert(sum_of_bytes(js, four_bytes(js)) == 0);
    assert(!has_handler(js) && has_version(js));
    listen_with(js, &listener, function);
    listen_no_more(js, &listener);
    assert(offer_add(js) == 0 && evaluate(js, "add(1, 2, 3)") == 6);
    vigil_js_set(js, vigil_js_global(js), "refuse",
                 vigil_js_function(js, "refuse", refuse, NULL));
    assert(evaluate(js, "try { refuse(); 0 } catch { 1 }") == 1);
    vigil_js_set(js, vigil_js_global(js), "counter", make_counter(js));
    assert(evaluate(js, "counter.increment()") == 1);
    assert(offer_square(js) == 0 && offer_seven(js) == 0);
    vigil_js_task_expose(js, "shout", shout, NULL, 0);
    vigil_js_task_expose(js, "search", search, NULL, 0);
    const char tasks[] = "const { tasks } = require('vigil:pool');"
                         "tasks.square(7).then(console.log);"
                         "tasks.shout().then(console.log);"
                         "tasks.search().then(console.log);";
    assert(vigil_js_run_text(js, tasks, sizeof tasks - 1, "t.js") == 0);
    assert(run_text(js) == 0);
    assert(work_elsewhere(port, &count) == 0);
    print_workers(js);
    printf("%s\n", may_sleep(js) ? "idle" : "busy");
    assert(run_to_the_end(js) == 0);
    assert(!has_failed(js));
    give_the_host_back(js);
    js = make_a_host();
    pause_host(js);
    if (argc > 1)
        printf("exit code %d\n", run_file(js, argv[1]));
    end_gracefully(js);
    end_at_once(js);
    vigil_js_destroy(js);
    return 0;
}
