/* SPDX-License-Identifier: MIT */
/* Plain URLs for lib/url.js. */
#include "bind_url.h"

#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "bytes_of_text.h"
#include "url_parse.h"

enum {
    SMALL = 4096, /* bytes of all texts together that need no memory */
    LONG = 1 << 24,
    PARTS = 8
};

static size_t units_of(vg_call *call, size_t i)
{
    vg_chars chars;
    size_t length;
    if (!vg_chars_open(call->engine, vg_arg(call, i), &chars))
        return SIZE_MAX;
    length = chars.length;
    vg_chars_close(&chars);
    return length;
}

/* As UTF-8, with U+FFFD for half a pair. */
static size_t put_argument(vg_call *call, size_t i, char *to, size_t room, bool *narrow)
{
    vg_chars chars;
    size_t used;
    if (!vg_chars_open(call->engine, vg_arg(call, i), &chars))
        return 0;
    used = vg_put_text(VG_ENCODING_UTF8, (unsigned char *)to, room, &chars);
    *narrow = chars.narrow != NULL;
    vg_chars_close(&chars);
    return used;
}

/* urlParse(text, base or undefined, parts): the URL as it is written, with the places of its parts in a Uint8Array; null: it is no URL;
   undefined: it is not plain. */
static vg_val url_parse(vg_call *call)
{
    const bool relative = call->count > 1 && !vg_arg_is(call, 1, VG_UNDEFINED);
    const size_t units = units_of(call, 0), base_units = relative ? units_of(call, 1) : 0;
    char small[SMALL], *memory = small;
    unsigned char *places;
    size_t input_room, base_room, base_url_room, room, length, base_length = 0, count;
    vg_url base = {0}, url = {0};
    vg_url_kind kind = VG_URL_PLAIN;
    vg_val value = NULL;
    bool narrow = false, base_narrow;
    if (units >= LONG || base_units >= LONG)
        return NULL;
    input_room = 3 * units;
    base_room = 3 * base_units;
    base_url_room = relative ? vg_url_room(base_room, 0) : 0;
    room = vg_url_room(input_room, base_url_room);
    if (input_room + base_room + base_url_room + room > sizeof small &&
        !(memory = malloc(input_room + base_room + base_url_room + room)))
        return NULL;
    char *base_input = memory + input_room;
    base.text = base_input + base_room;
    url.text = base.text + base_url_room;
    length = put_argument(call, 0, memory, input_room, &narrow);
    if (relative)
        base_length = put_argument(call, 1, base_input, base_room, &base_narrow);
    if (relative)
        kind = vg_url_parse(base_input, base_length, NULL, &base);
    if (kind == VG_URL_PLAIN)
        kind = vg_url_parse(memory, length, relative ? &base : NULL, &url);
    if (kind == VG_URL_NONE)
        value = vg_null(call->engine);
    if (kind == VG_URL_PLAIN && vg_bytes_look(call->engine, vg_arg(call, 2), &places, &count) &&
        count >= PARTS * sizeof(uint32_t)) {
        const uint32_t parts[PARTS] = {url.scheme,   url.user, url.secret, url.host,
                                       url.host_end, url.path, url.query,  url.fragment};
        memcpy(places, parts, sizeof parts);
        if (narrow && length == url.length && memcmp(memory, url.text, length) == 0)
            value = vg_arg(call, 0);
        else
            value = vg_latin1(call->engine, (const unsigned char *)url.text, url.length);
    }
    if (memory != small)
        free(memory);
    return value;
}

static const vg_binding_entry entries[] = {{"urlParse", url_parse}};

bool vg_js_bind_url(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}
