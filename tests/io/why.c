/* SPDX-License-Identifier: MIT */
/* Each refusal of descriptors and filters names what is wrong. */
#include "io_test.h"

static void refused(long long rc, const char *word, const char *call, int line)
{
    support_equal(rc, -EINVAL, call, "-EINVAL", __FILE__, line);
    if (strstr(vigil_why(), word) == NULL) {
        fprintf(stderr, "\"%s\" has no \"%s\"\n", vigil_why(), word);
        support_fail(call, __FILE__, line);
    }
}

#define refuses(call, word) refused((call), word, #call, __LINE__)

static void descriptors(void **state)
{
    (void)state;
    int ends[2];
    vigil_loop *loop = loop_plain();
    vigil_descriptor *descriptor;
    vigil_promise *promise;
    vigil_ready ready = {0};
    vigil_descriptor_options options = VIGIL_DESCRIPTOR_OPTIONS_INIT;
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    options.events = VIGIL_FD_RDHUP;
    refuses(vigil_descriptor_open(&descriptor, loop, ends[0], &options), "options.events");
    must_equal(vigil_descriptor_open(&descriptor, loop, ends[0], NULL), 0);
    refuses(vigil_descriptor_fd(NULL), "descriptor");
    refuses(vigil_descriptor_await(descriptor, &ready, VIGIL_FD_READ), "ready->done");
    refuses(vigil_descriptor_await_cancel(descriptor, NULL), "ready");
    refuses(vigil_promise_ready(descriptor, 0, NULL, &promise), "events");
    refuses(vigil_descriptor_wait(descriptor, 0, 0, NULL), "events");
    must_equal(vigil_descriptor_close(descriptor), 0);
    must_equal(close(ends[1]), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void filters(void **state)
{
    (void)state;
    struct pair pair;
    vigil_promise *promise;
    const vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    pair_open(&pair);
    refuses(vigil_stream_filter(pair.stream, &calls, NULL, NULL, NULL), "calls->receive");
    refuses(vigil_promise_filter(pair.stream, &calls, NULL, NULL, &promise), "calls->receive");
    pair_end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(descriptors),
        test(filters),
    };
    return run_all(tests);
}
