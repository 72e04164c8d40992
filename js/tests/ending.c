/* SPDX-License-Identifier: MIT */
/* The ends of a host: shutdown runs what was accepted, close drops it, from outside, from inside and from another thread. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
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

static vigil_js *make(vigil_loop *loop)
{
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    vigil_js *js = NULL;
    options.on_output = keep_output;
    options.loop = loop;
    output[0] = 0;
    assert_int_equal(vigil_js_create(&js, &options), 0);
    return js;
}

static void run(vigil_js *js, const char *text)
{
    assert_int_equal(vigil_js_run_text(js, text, strlen(text), "test.js"), 0);
}

/* What a program has going: a timer, which is dropped, and work, immediates and microtasks, which run. */
static const char busy[] = "process.on('exit', (code) => console.log('exit', code));\n"
                           "process.on('beforeExit', () => console.log('beforeExit'));\n"
                           "setInterval(() => console.log('timer'), 1);\n"
                           "setImmediate(() => Promise.resolve().then(() => console.log('microtask')));\n"
                           "require('fs').readFile('/dev/null', () => console.log('file'));\n";

static void shutdown_runs_what_was_accepted(void **state)
{
    int code = -1;
    (void)state;
    for (int own = 0; own < 2; own++) {
        vigil_loop *loop = NULL;
        vigil_js *js;
        if (!own)
            assert_int_equal(vigil_loop_create(&loop, NULL), 0);
        js = make(loop);
        run(js, busy);
        assert_int_equal(vigil_js_shutdown(js, VIGIL_FOREVER), 0);
        assert_non_null(strstr(output, "microtask\n"));
        assert_non_null(strstr(output, "file\n"));
        assert_string_equal(output + strlen(output) - 7, "exit 0\n");
        assert_null(strstr(output, "beforeExit"));
        assert_null(strstr(output, "timer"));
        assert_true(vigil_js_ended(js, &code));
        assert_int_equal(code, 0);
        assert_int_equal(vigil_js_shutdown(js, 0), 0);
        assert_int_equal(vigil_js_close(js, VIGIL_FOREVER), 0);
        assert_int_equal(vigil_js_eval(js, "1", 1, "x", NULL), -ECANCELED);
        assert_string_equal(vigil_why(), "the program has ended");
        assert_int_equal(vigil_js_destroy(js), 0);
        vigil_loop_destroy(loop);
    }
}

static void shutdown_gives_up_when_its_time_is_over(void **state)
{
    vigil_js *js = make(NULL);
    vigil_js_promise *promise = NULL;
    vigil_js_value value;
    (void)state;
    run(js, "process.on('exit', () => console.log('exit'));");
    assert_int_equal(vigil_js_promise_create(&promise, js, &value), 0);
    assert_int_equal(vigil_js_shutdown(js, 1000000), 0);
    assert_string_equal(output, "");
    assert_true(vigil_js_ended(js, NULL));
    assert_int_equal(vigil_js_destroy(js), 0);
    assert_int_equal(vigil_js_promise_settle(promise, true, NULL, NULL, NULL), 0);
}

static vigil_js_value end_here(vigil_js_frame *frame)
{
    assert_int_equal(vigil_js_close(frame->js, VIGIL_FOREVER), -EDEADLK);
    assert_non_null(strstr(vigil_why(), "vigil_js_shutdown"));
    assert_int_equal(vigil_js_shutdown(frame->js, VIGIL_FOREVER), 0);
    return NULL;
}

static void shutdown_inside_javascript_ends_the_run_around_it(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        vigil_loop *loop = NULL;
        vigil_js *js;
        vigil_js_value function;
        if (!own)
            assert_int_equal(vigil_loop_create(&loop, NULL), 0);
        js = make(loop);
        function = vigil_js_function(js, "end", end_here, NULL);
        assert_int_equal(vigil_js_set(js, vigil_js_global(js), "end", function), 0);
        run(js, busy);
        run(js, "process.exitCode = 3; setTimeout(() => { end(); console.log('after'); }, 1);");
        assert_int_equal(vigil_js_run(js), 3);
        assert_non_null(strstr(output, "after\n"));
        assert_non_null(strstr(output, "file\n"));
        assert_string_equal(output + strlen(output) - 7, "exit 3\n");
        assert_null(strstr(output, "beforeExit"));
        assert_int_equal(vigil_js_destroy(js), 0);
        vigil_loop_destroy(loop);
    }
}

static void end_from_port(vigil_js *js, void *arg)
{
    (void)arg;
    assert_int_equal(vigil_js_shutdown(js, VIGIL_FOREVER), 0);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

static void called(vigil_js *js, void *arg)
{
    (void)js;
    ++*(int *)arg;
}

static void *another_thread(void *arg)
{
    vigil_js_port *port = ((void **)arg)[0];
    vigil_js *js = ((void **)arg)[1];
    assert_int_equal(vigil_js_shutdown(js, VIGIL_FOREVER), -EPERM);
    assert_non_null(strstr(vigil_why(), "vigil_js_port_call"));
    assert_int_equal(vigil_js_close(js, VIGIL_FOREVER), -EPERM);
    assert_int_equal(vigil_js_port_call(port, end_from_port, NULL, NULL), 0);
    return NULL;
}

static void another_thread_ends_the_program_through_a_port(void **state)
{
    vigil_js *js = make(NULL);
    vigil_js_port *port = NULL;
    pthread_t thread;
    void *both[2];
    int calls = 0, drops = 0;
    (void)state;
    assert_int_equal(vigil_js_port_open(&port, js), 0);
    both[0] = port;
    both[1] = js;
    run(js, "setInterval(() => {}, 1000000); process.on('exit', () => console.log('exit'));");
    assert_int_equal(pthread_create(&thread, NULL, another_thread, both), 0);
    assert_int_equal(vigil_js_run(js), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(output, "exit\n");
    assert_int_equal(vigil_js_port_call(port, called, count, &drops), -ESHUTDOWN);
    assert_int_equal(vigil_js_destroy(js), 0);
    vigil_js_port_close(port);
    assert_int_equal(calls + drops, 0);
}

static void calls_that_were_accepted_run_in_a_shutdown_and_are_dropped_in_a_close(void **state)
{
    (void)state;
    for (int closing = 0; closing < 2; closing++) {
        vigil_js *js = make(NULL);
        vigil_js_port *port = NULL;
        int calls = 0;
        assert_int_equal(vigil_js_port_open(&port, js), 0);
        run(js, "process.on('exit', () => console.log('exit'));");
        assert_int_equal(vigil_js_port_call(port, closing ? NULL : called, NULL, &calls), closing ? -EINVAL : 0);
        if (closing)
            assert_int_equal(vigil_js_port_call(port, called, count, &calls), 0);
        assert_int_equal(closing ? vigil_js_close(js, VIGIL_FOREVER) : vigil_js_shutdown(js, VIGIL_FOREVER), 0);
        assert_int_equal(calls, 1);
        assert_string_equal(output, closing ? "" : "exit\n");
        assert_int_equal(vigil_js_destroy(js), 0);
        vigil_js_port_close(port);
    }
}

static void close_ends_a_busy_program_at_once(void **state)
{
    vigil_js *js = make(NULL);
    (void)state;
    run(js, busy);
    assert_int_equal(vigil_js_close(js, VIGIL_FOREVER), 0);
    assert_string_equal(output, "");
    assert_int_equal(vigil_js_run(js), 0);
    assert_int_equal(vigil_js_close(js, VIGIL_FOREVER), 0);
    assert_int_equal(vigil_js_destroy(js), 0);
    assert_int_equal(vigil_js_close(NULL, 0), -EINVAL);
    assert_int_equal(vigil_js_shutdown(NULL, 0), -EINVAL);
    assert_string_equal(vigil_why(), "js is NULL");
}

/* ---- a server ----------------------------------------------------------------------------------------------------- */

static int client(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static void a_server_answers_what_it_has_begun(void **state)
{
    static const char serve[] = "const s = require('http').createServer((req, res) => {\n"
                                "  end();\n"
                                "  setImmediate(() => setImmediate(() => res.end('answered')));\n"
                                "}).listen(0, '127.0.0.1', () => ready(s.address().port));\n"
                                "process.on('exit', () => console.log('exit'));\n";
    vigil_js *js = make(NULL);
    vigil_js_value value;
    char answer[1024] = "";
    size_t got = 0;
    ssize_t more;
    unsigned port;
    int fd;
    (void)state;
    assert_int_equal(vigil_js_set(js, vigil_js_global(js), "end", vigil_js_function(js, "end", end_here, NULL)), 0);
    run(js, "globalThis.ready = (port) => { globalThis.port = port; };");
    if (vigil_js_eval(js, "require('http')", 15, "x", &value) == -EIO) {
        vigil_js_destroy(js);
        skip(); /* built without the server */
    }
    run(js, serve);
    value = vigil_js_get(js, vigil_js_global(js), "port");
    port = (unsigned)vigil_js_to_number(js, value);
    assert_true(port > 0);
    fd = client(port);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27), 27);
    assert_int_equal(vigil_js_run(js), 0);
    while ((more = read(fd, answer + got, sizeof answer - 1 - got)) > 0)
        got += (size_t)more;
    assert_int_equal(more, 0); /* the connection has ended too */
    assert_non_null(strstr(answer, "answered"));
    assert_string_equal(output, "exit\n");
    assert_int_equal(client(port), -1);
    close(fd);
    assert_int_equal(vigil_js_destroy(js), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shutdown_runs_what_was_accepted),
        cmocka_unit_test(shutdown_gives_up_when_its_time_is_over),
        cmocka_unit_test(shutdown_inside_javascript_ends_the_run_around_it),
        cmocka_unit_test(another_thread_ends_the_program_through_a_port),
        cmocka_unit_test(calls_that_were_accepted_run_in_a_shutdown_and_are_dropped_in_a_close),
        cmocka_unit_test(close_ends_a_busy_program_at_once),
        cmocka_unit_test(a_server_answers_what_it_has_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
