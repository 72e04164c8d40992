/* SPDX-License-Identifier: MIT */
/* Modules of the program's own, and promises that C waits for, of <vigil/js.h>. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"
#include "why.h"

int vigil_js_module(vigil_js *js, const char *name, vigil_js_value exports)
{
    static const char *const taken[] = {"node:", "vigil:", "file:", "data:", "http:", "https:", "blob:"};
    int status = js ? vg_js_why_not_owner(js) : -EINVAL;
    vg_val thrown = NULL, modules;
    if (!js || !name || !exports || !strchr(name, ':'))
        return vg_js_why(-EINVAL, "js, name or exports is NULL, or name is not like 'app:name'");
    if (status)
        return status;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strncmp(name, taken[i], strlen(taken[i])) == 0)
            return vg_js_why(-EINVAL,
                             "the name begins with a scheme that has a meaning; use one of your own, as in 'app:name'");
    modules = vg_get(js->engine, js->binding, "modules", &thrown);
    if (!modules || !vg_set(js->engine, modules, name, exports, &thrown))
        return vg_js_why(-ENOMEM, "there is no memory for a module");
    return 0;
}

/* The collector frees it with the later of its two functions. */
typedef struct waiter {
    vigil_js_settled_fn fn;
    void (*dropped)(void *arg);
    void *arg;
    bool done;
    unsigned functions;
} waiter;

static void free_waiter(void *data)
{
    waiter *it = data;
    if (--it->functions > 0)
        return;
    if (!it->done && it->dropped)
        it->dropped(it->arg);
    free(it);
}

static vg_val settle(vg_call *call, bool fulfilled)
{
    waiter *it = call->data;
    if (it->done)
        return NULL;
    it->done = true;
    it->fn(call->host, fulfilled, call->count ? call->args[0] : vg_undefined(call->engine), it->arg);
    return NULL;
}

static vg_val on_fulfilled(vg_call *call)
{
    return settle(call, true);
}

static vg_val on_rejected(vg_call *call)
{
    return settle(call, false);
}

int vigil_js_await_call(vigil_js *js, vigil_js_value value, vigil_js_settled_fn fn, void (*dropped)(void *arg),
                        void *arg)
{
    int status = js ? vg_js_why_not_owner(js) : -EINVAL;
    vg_val thrown = NULL, function, args[3] = {value};
    waiter *it;
    if (!js || !value || !fn)
        return vg_js_why(-EINVAL, "js, value or fn is NULL");
    if (status)
        return status;
    if (!(it = malloc(sizeof *it)))
        return vg_js_why(-ENOMEM, "there is no memory to wait for a promise");
    *it = (waiter){.fn = fn, .dropped = dropped, .arg = arg, .done = true, .functions = 2};
    function = vg_get(js->engine, js->binding, "awaitFor", &thrown);
    args[1] = vg_function(js->engine, "onFulfilled", on_fulfilled, it, free_waiter);
    if (!args[1]) {
        free(it);
        return vg_js_why(-ENOMEM, "there is no memory to wait for a promise");
    }
    args[2] = vg_function(js->engine, "onRejected", on_rejected, it, free_waiter);
    if (!args[2] || !function) {
        it->functions -= args[2] ? 0 : 1;
        return vg_js_why(-ENOMEM, "there is no memory to wait for a promise");
    }
    it->done = false;
    status = vigil_js_call(js, function, NULL, 3, args, NULL);
    if (status)
        it->done = true; /* nothing was begun */
    return status;
}
