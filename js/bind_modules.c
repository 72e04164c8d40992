/* SPDX-License-Identifier: MIT */
/* The cache of rewritten modules, for lib/esm.js: opened when the first module asks for it. */
#include "bind_modules.h"

#include <stdlib.h>

#include "bind.h"
#include "module_cache.h"

static vg_module_cache *cache_of(vigil_js *js)
{
    if (js->options.module_cache && !js->modules_asked) {
        js->modules_asked = true;
        js->modules = vg_module_cache_open();
    }
    return js->modules;
}

/* (text): what was kept for it, or undefined */
static vg_val kept(vg_call *call)
{
    vg_module_cache *cache = cache_of(call->host);
    size_t length = 0;
    char *text = cache ? vg_arg_text(call, 0, &length) : NULL, key[VG_MODULE_KEY];
    if (!text)
        return NULL;
    vg_module_cache_key(cache, text, length, key);
    free(text);
    char *found = vg_module_cache_get(cache, key, &length);
    vg_val value = found ? vg_text(call->engine, found, length) : NULL;
    free(found);
    return value;
}

/* (text, entry) */
static vg_val keep(vg_call *call)
{
    vg_module_cache *cache = cache_of(call->host);
    size_t length = 0, size = 0;
    char *text = cache ? vg_arg_text(call, 0, &length) : NULL, *entry = text ? vg_arg_text(call, 1, &size) : NULL;
    if (entry) {
        char key[VG_MODULE_KEY];
        vg_module_cache_key(cache, text, length, key);
        vg_module_cache_put(cache, key, entry, size);
    }
    free(text);
    free(entry);
    return NULL;
}

static const vg_binding_entry entries[] = {{"keptModule", kept}, {"keepModule", keep}};

bool vg_js_bind_modules(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}

void vg_js_modules_end(vigil_js *js)
{
    vg_module_cache_close(js->modules);
    js->modules = NULL;
}
