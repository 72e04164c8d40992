/* SPDX-License-Identifier: MIT */
/* Objects, JSON, BigInts and Dates of <vigil/js.h>. */
#include <errno.h>

#include "embed.h"
#include "why.h"

static bool is_object(vigil_js *js, vigil_js_value value)
{
    return value && vg_type_of(js->engine, value) == VG_OBJECT;
}

bool vigil_js_has(vigil_js *js, vigil_js_value object, const char *name)
{
    return is_object(js, object) && vg_has(js->engine, object, name);
}

int vigil_js_remove(vigil_js *js, vigil_js_value object, const char *name)
{
    vg_val thrown = NULL;
    if (!is_object(js, object))
        return vg_js_why(-EINVAL, "object is no object");
    if (vg_delete(js->engine, object, name, &thrown))
        return 0;
    return thrown ? vg_js_threw(js, thrown) : vg_js_why(-EPERM, "the property cannot be deleted");
}

int vigil_js_set_index(vigil_js *js, vigil_js_value object, unsigned index, vigil_js_value value)
{
    vg_val thrown = NULL;
    if (!value || !is_object(js, object))
        return vg_js_why(-EINVAL, "value is NULL, or object is no object");
    return vg_set_index(js->engine, object, index, value, &thrown) ? 0 : vg_js_threw(js, thrown);
}

vigil_js_value vigil_js_keys(vigil_js *js, vigil_js_value object)
{
    return is_object(js, object) ? vg_keys(js->engine, object) : NULL;
}

bool vigil_js_is_instance(vigil_js *js, vigil_js_value value, vigil_js_value constructor)
{
    vg_val thrown = NULL;
    bool is = value && is_object(js, constructor) && vg_is_instance(js->engine, value, constructor, &thrown);
    if (thrown)
        vg_js_threw(js, thrown);
    return is;
}

vigil_js_value vigil_js_json_parse(vigil_js *js, const char *text, size_t length)
{
    return text ? vg_json_parse(js->engine, text, length) : NULL;
}

char *vigil_js_json_text(vigil_js *js, vigil_js_value value, size_t *length)
{
    vg_val thrown = NULL;
    char *text = value ? vg_json_text(js->engine, value, length, &thrown) : NULL;
    if (thrown)
        vg_js_threw(js, thrown);
    return text;
}

vigil_js_value vigil_js_bigint(vigil_js *js, int64_t value)
{
    return vg_bigint(js->engine, value);
}

bool vigil_js_to_bigint(vigil_js *js, vigil_js_value value, int64_t *number)
{
    return value && vg_to_bigint(js->engine, value, number);
}

vigil_js_value vigil_js_date(vigil_js *js, double milliseconds)
{
    return vg_date(js->engine, milliseconds);
}

bool vigil_js_to_date(vigil_js *js, vigil_js_value value, double *milliseconds)
{
    vg_val none = NULL, time_of, time;
    if (!value || !vg_is_date(js->engine, value))
        return false;
    /* Date.prototype.getTime as it was before the program could change it. */
    time_of = vg_get(js->engine, js->binding, "getTime", &none);
    time = time_of ? vg_apply(js->engine, time_of, value, 0, NULL, &none) : NULL;
    if (!time)
        return false;
    *milliseconds = vg_to_number(js->engine, time);
    return true;
}
