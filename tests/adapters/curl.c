/* SPDX-License-Identifier: MIT */
/* libcurl's multi interface on a loop; the servers are streams of the same loop. */
#include "../loop/loop_test.h"

#include <vigil/adapters/curl.h>
#include <vigil/io.h>

enum {
    MANY = 64
};

struct scene {
    vigil_loop *loop;
    vigil_listener *listener;
    vigil_curl *curl;
    char url[VIGIL_ADDRESS_TEXT + 16];
    bool mute;  /* it accepts, and says nothing */
    bool hasty; /* it closes after half of the answer */
    unsigned requests, connections, done, running;
    vigil_stream *last;
};

/* ---- a server ---------------------------------------------------------------------------------------------------- */

static void serve(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    if (length <= 0) {
        if (scene->last == stream)
            scene->last = NULL;
        (void)vigil_stream_close(stream);
        return;
    }
    if (scene->mute)
        return;
    for (int64_t i = 3; i < length; i++) { /* a GET has no body: each empty line ends one */
        if (memcmp((const char *)data + i - 3, "\r\n\r\n", 4) != 0)
            continue;
        scene->requests++;
        must(vigil_stream_write(stream, answer, scene->hasty ? sizeof answer - 4 : sizeof answer - 1) >= 0);
        if (scene->hasty) {
            (void)vigil_stream_close(stream);
            scene->last = NULL;
            return;
        }
    }
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct scene *scene = user;
    (void)listener;
    scene->connections++;
    scene->last = stream;
    must_equal(vigil_stream_on_data(stream, serve, scene), 0);
}

static void scene_open(struct scene *scene)
{
    vigil_address address;
    char text[VIGIL_ADDRESS_TEXT];
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    memset(scene, 0, sizeof *scene);
    scene->loop = loop_plain();
    options.on_stream = on_stream;
    options.user = scene;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&scene->listener, scene->loop, &address, &options), 0);
    must_equal(vigil_listener_address(scene->listener, &address), 0);
    (void)vigil_address_text(&address, text, sizeof text);
    (void)snprintf(scene->url, sizeof scene->url, "http://%s/", text);
    must_equal(vigil_curl_open(&scene->curl, scene->loop), 0);
}

/* Nothing of libcurl's may keep the loop now. */
static void scene_end(struct scene *scene)
{
    vigil_curl_close(scene->curl);
    if (scene->listener != NULL)
        must_equal(vigil_listener_close(scene->listener), 0);
    must_equal(vigil_loop_run(scene->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene->loop), 0);
}

/* ---- a client ---------------------------------------------------------------------------------------------------- */

struct fetch {
    vigil_curl_transfer transfer; /* first */
    struct scene *scene;
    unsigned calls, again;
    size_t bytes;
    CURLcode result;
};

static size_t take(char *data, size_t size, size_t count, void *arg)
{
    struct fetch *fetch = arg;
    (void)data;
    fetch->bytes += size * count;
    return size * count;
}

static void all_done(struct scene *scene)
{
    if (--scene->running == 0 && scene->listener != NULL) {
        must_equal(vigil_listener_close(scene->listener), 0);
        scene->listener = NULL;
    }
}

static void fetch_done(vigil_curl_transfer *transfer, CURLcode result)
{
    struct fetch *fetch = (struct fetch *)(void *)transfer;
    fetch->calls++;
    fetch->result = result;
    fetch->scene->done++;
    if (fetch->again > 0) { /* the same transfer once more, inside its own callback */
        fetch->again--;
        must_equal(vigil_curl_start(fetch->scene->curl, transfer), 0);
        return;
    }
    all_done(fetch->scene);
}

static void fetch_start(struct fetch *fetch, struct scene *scene)
{
    memset(fetch, 0, sizeof *fetch);
    fetch->scene = scene;
    fetch->transfer.easy = curl_easy_init();
    fetch->transfer.done = fetch_done;
    must(fetch->transfer.easy != NULL);
    (void)curl_easy_setopt(fetch->transfer.easy, CURLOPT_URL, scene->url);
    (void)curl_easy_setopt(fetch->transfer.easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(fetch->transfer.easy, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(fetch->transfer.easy, CURLOPT_WRITEDATA, fetch);
    (void)curl_easy_setopt(fetch->transfer.easy, CURLOPT_PROXY, "");
    must_equal(vigil_curl_start(scene->curl, &fetch->transfer), 0);
    scene->running++;
}

static void many_transfers_run_at_a_time_and_again(void **state)
{
    const unsigned rounds = (unsigned)scaled(20, 3);
    struct scene scene;
    struct fetch fetches[MANY];
    (void)state;
    scene_open(&scene);
    (void)curl_multi_setopt(vigil_curl_multi(scene.curl), CURLMOPT_MAX_TOTAL_CONNECTIONS, 8L);
    for (int i = 0; i < MANY; i++) {
        fetch_start(&fetches[i], &scene);
        fetches[i].again = rounds - 1;
        must_equal(vigil_curl_start(scene.curl, &fetches[i].transfer), -EBUSY);
    }
    must_equal(scene.done, 0); /* never inside the call */
    while (scene.running > 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    for (int i = 0; i < MANY; i++) {
        must_equal(fetches[i].calls, rounds);
        must_equal(fetches[i].bytes, 5 * rounds);
        must_equal(fetches[i].result, CURLE_OK);
        curl_easy_cleanup(fetches[i].transfer.easy);
    }
    must_equal(scene.requests, MANY * rounds);
    must_be_between(scene.connections, 1, 8);
    scene_end(&scene);
}

static void a_server_that_says_nothing_is_left_in_time(void **state)
{
    struct scene scene;
    struct fetch fetch;
    (void)state;
    scene_open(&scene);
    scene.mute = true;
    fetch_start(&fetch, &scene);
    (void)curl_easy_setopt(fetch.transfer.easy, CURLOPT_TIMEOUT_MS, 30L);
    while (scene.running > 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(fetch.result, CURLE_OPERATION_TIMEDOUT);
    curl_easy_cleanup(fetch.transfer.easy);
    scene_end(&scene);
}

static void an_answer_that_is_cut_is_an_error(void **state)
{
    struct scene scene;
    struct fetch fetch;
    (void)state;
    scene_open(&scene);
    scene.hasty = true;
    fetch_start(&fetch, &scene);
    while (scene.running > 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(fetch.result, CURLE_PARTIAL_FILE);
    must_equal(fetch.bytes, 2);
    curl_easy_cleanup(fetch.transfer.easy);
    scene_end(&scene);
}

static void nobody_listens(void **state)
{
    struct scene scene;
    struct fetch fetch;
    (void)state;
    scene_open(&scene);
    must_equal(vigil_listener_close(scene.listener), 0);
    scene.listener = NULL;
    fetch_start(&fetch, &scene);
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0); /* nothing else keeps the loop */
    must_equal(fetch.calls, 1);
    must_equal(fetch.result, CURLE_COULDNT_CONNECT);
    curl_easy_cleanup(fetch.transfer.easy);
    vigil_curl_close(scene.curl);
    must_equal(vigil_loop_destroy(scene.loop), 0);
}

static void cancel_the_others(vigil_curl_transfer *transfer, CURLcode result)
{
    struct fetch *fetch = (struct fetch *)(void *)transfer;
    struct fetch *first = fetch - fetch->again; /* `again` is its number here */
    fetch->calls++;
    fetch->result = result;
    fetch->scene->done++;
    for (int i = 0; i < MANY; i++)
        (void)vigil_curl_cancel(&first[i].transfer);
    fetch->scene->running = 1;
    all_done(fetch->scene);
}

static void transfers_are_taken_back_inside_a_callback(void **state)
{
    struct scene scene;
    struct fetch fetches[MANY];
    (void)state;
    scene_open(&scene);
    for (unsigned i = 0; i < MANY; i++) {
        fetch_start(&fetches[i], &scene);
        fetches[i].transfer.done = cancel_the_others;
        fetches[i].again = i;
    }
    while (scene.running > 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.done, 1);
    for (int i = 0; i < MANY; i++) {
        must_equal(vigil_curl_cancel(&fetches[i].transfer), -ESTALE);
        curl_easy_cleanup(fetches[i].transfer.easy);
    }
    scene_end(&scene);
}

static void close_inside(vigil_curl_transfer *transfer, CURLcode result)
{
    struct fetch *fetch = (struct fetch *)(void *)transfer;
    (void)result;
    fetch->scene->done++;
    vigil_curl_close(fetch->scene->curl);
    fetch->scene->curl = NULL;
    fetch->scene->running = 1;
    all_done(fetch->scene);
}

static void the_whole_is_closed_inside_a_callback(void **state)
{
    struct scene scene;
    struct fetch fetches[MANY];
    (void)state;
    scene_open(&scene);
    for (int i = 0; i < MANY; i++) {
        fetch_start(&fetches[i], &scene);
        fetches[i].transfer.done = close_inside;
    }
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
    must_equal(scene.done, 1);
    for (int i = 0; i < MANY; i++)
        curl_easy_cleanup(fetches[i].transfer.easy);
    must_equal(vigil_loop_destroy(scene.loop), 0);
}

static void it_is_closed_while_transfers_run(void **state)
{
    struct scene scene;
    struct fetch fetches[MANY];
    (void)state;
    scene_open(&scene);
    scene.mute = true;
    for (int i = 0; i < MANY; i++)
        fetch_start(&fetches[i], &scene);
    while (scene.connections < 4)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    vigil_curl_close(scene.curl);
    scene.curl = NULL;
    for (int i = 0; i < MANY; i++) {
        must_equal(fetches[i].calls, 0);
        curl_easy_cleanup(fetches[i].transfer.easy);
    }
    scene_end(&scene);
}

static void wrong_arguments_are_refused(void **state)
{
    struct scene scene;
    vigil_curl_transfer nothing = {0};
    (void)state;
    scene_open(&scene);
    must_equal(vigil_curl_open(NULL, scene.loop), -EINVAL);
    must_equal(vigil_curl_start(scene.curl, &nothing), -EINVAL);
    must_equal(vigil_curl_cancel(NULL), -EINVAL);
    must_equal(vigil_curl_cancel(&nothing), -ESTALE);
    vigil_curl_close(NULL);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(many_transfers_run_at_a_time_and_again),     test(a_server_that_says_nothing_is_left_in_time),
        test(an_answer_that_is_cut_is_an_error),          test(nobody_listens),
        test(transfers_are_taken_back_inside_a_callback), test(the_whole_is_closed_inside_a_callback),
        test(it_is_closed_while_transfers_run),           test(wrong_arguments_are_refused),
    };
    must_equal(curl_global_init(CURL_GLOBAL_DEFAULT), 0);
    const int failed = run_all(tests);
    curl_global_cleanup();
    return failed;
}
