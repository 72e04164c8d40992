/* SPDX-License-Identifier: MIT */
/* What every binding uses. */
#include "bind.h"

#include <math.h>

bool vg_js_bind(vigil_js *js, vg_val object, const vg_binding_entry *entries, size_t count)
{
    vg_val thrown;
    for (size_t i = 0; i < count; i++) {
        vg_val function = vg_bound(js->engine, entries[i].name, entries[i].native);
        if (!function || !vg_set(js->engine, object, entries[i].name, function, &thrown))
            return false;
    }
    return true;
}

vg_val vg_arg(vg_call *call, size_t i)
{
    return i < call->count ? call->args[i] : vg_undefined(call->engine);
}

double vg_arg_number(vg_call *call, size_t i)
{
    return i < call->count ? vg_to_number(call->engine, call->args[i]) : (double)NAN;
}

char *vg_arg_text(vg_call *call, size_t i, size_t *length)
{
    return i < call->count ? vg_to_text(call->engine, call->args[i], length) : NULL;
}

bool vg_arg_is(vg_call *call, size_t i, vg_type type)
{
    return vg_type_of(call->engine, vg_arg(call, i)) == type;
}

vg_val vg_throw(vg_call *call, const char *message)
{
    call->thrown = vg_error(call->engine, message);
    return NULL;
}

void vg_set_number(vg_engine *engine, vg_val object, const char *name, double value)
{
    vg_val thrown;
    vg_set(engine, object, name, vg_number(engine, value), &thrown);
}
