/* SPDX-License-Identifier: MIT */
/*
 * js_host.c - JavaScript with a native function: countPrimes(n) counts on a worker of the pool and gives a promise.
 *
 * The script asks for several numbers at once and awaits them; its timer ticks during that time, because the loop is never blocked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vigil/js.h>

static const char script[] =
    "(async () => {\n"
    "  let ticks = 0;\n"
    "  const timer = setInterval(() => ticks++, 1);\n"
    "  const counts = await Promise.all([1e4, 1e5, 1e6].map((n) => countPrimes(n)));\n"
    "  clearInterval(timer);\n"
    "  console.log('primes below 1e4, 1e5, 1e6:', counts.join(', '));\n"
    "  try { countPrimes(-1); } catch (error) { console.log('and below -1:', error.message); }\n"
    "  globalThis.result = counts[2];\n"
    "})();\n";

typedef struct count {
    vigil_js_promise *promise;
    unsigned below;
    unsigned found;
} count;

static vigil_js_value as_number(vigil_js *js, void *arg)
{
    count *it = arg;
    vigil_js_value value = vigil_js_number(js, it->found);
    free(it);
    return value;
}

static vigil_js_value as_refusal(vigil_js *js, void *arg)
{
    (void)arg;
    return vigil_js_make_error(js, "the pool takes no more work");
}

/* On a worker: no JavaScript here. */
static int count_on_the_pool(void *arg)
{
    count *it = arg;
    unsigned char *composite = calloc(it->below, 1);
    if (composite != NULL) {
        for (unsigned n = 2; n < it->below; n++) {
            if (composite[n] != 0)
                continue;
            it->found++;
            for (unsigned long long multiple = (unsigned long long)n * n; multiple < it->below; multiple += n)
                composite[multiple] = 1;
        }
        free(composite);
    }
    return vigil_js_promise_settle(it->promise, true, as_number, free, it);
}

static vigil_js_value count_primes(vigil_js_frame *frame)
{
    const double below = frame->count > 0 ? vigil_js_to_number(frame->js, frame->args[0]) : 0;
    if (!(below >= 2 && below <= 1e8)) { /* NaN comes here too */
        frame->thrown = vigil_js_make_error(frame->js, "countPrimes wants a number from 2 to 1e8");
        return NULL;
    }
    vigil_js_value promise = NULL;
    count *it = calloc(1, sizeof *it);
    if (it == NULL || vigil_js_promise_create(&it->promise, frame->js, &promise) < 0) {
        free(it);
        frame->thrown = vigil_js_make_error(frame->js, "no memory");
        return NULL;
    }
    it->below = (unsigned)below;
    if (vigil_pool_call(vigil_js_pool(frame->js), count_on_the_pool, NULL, it, VIGIL_NORMAL) < 0) {
        (void)vigil_js_promise_settle(it->promise, false, as_refusal, NULL, NULL);
        free(it);
    }
    return promise;
}

int main(void)
{
    vigil_js *js;
    if (vigil_js_create(&js, NULL) < 0)
        return 1;
    vigil_js_set(js, vigil_js_global(js), "countPrimes", vigil_js_function(js, "countPrimes", count_primes, NULL));
    vigil_js_run_text(js, script, strlen(script), "primes.js");
    int code = vigil_js_run(js);
    if (code == 0 && vigil_js_to_number(js, vigil_js_get(js, vigil_js_global(js), "result")) != 78498)
        code = 1;
    vigil_js_destroy(js);
    return code;
}
