/* SPDX-License-Identifier: MIT */
/*
 * Bytes of legacy encodings to text. Those with one byte per character come with a table of their upper half; those of several bytes
 * are ICU's, which the engine has loaded anyway. A converter keeps what a piece has left over.
 */
#include "bind_decode.h"

#include <stdlib.h>
#include <string.h>
#ifdef VG_HAVE_ICU
#include <unicode/ucnv.h>
#include <unicode/ucnv_cb.h>
#endif

#include "bind.h"

/* (bytes, start, end) of arguments `first` on; false: no bytes. */
static bool part_at(vg_call *call, size_t first, unsigned char **data, size_t *length)
{
    double start = vg_arg_number(call, first + 1), end = vg_arg_number(call, first + 2);
    if (!vg_to_bytes(call->engine, vg_arg(call, first), data, length))
        return false;
    if (!(start >= 0))
        start = 0;
    if (!(end <= (double)*length))
        end = (double)*length;
    if (start > end)
        start = end;
    *data += (size_t)start;
    *length = (size_t)(end - start);
    return true;
}

/* tableDecode(bytes, start, end, table): the bytes from 0x80 on are the table's 128 characters. */
static vg_val table_decode(vg_call *call)
{
    unsigned char *data;
    size_t length, known = 0;
    uint16_t upper[128];
    uint16_t *units;
    vg_val value;
    char *table = vg_arg_text(call, 3, &known);
    size_t at = 0;
    if (!table || !part_at(call, 0, &data, &length)) {
        free(table);
        return vg_throw(call, "bytes and a table are expected");
    }
    for (unsigned i = 0; i < 128; i++) { /* the table is UTF-8 of characters below U+10000 */
        unsigned char c = at < known ? (unsigned char)table[at] : 0;
        unsigned more = c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
        uint32_t unit = c >= 0xe0 ? c & 15U : c >= 0xc0 ? c & 31U : c;
        at++;
        for (; more > 0 && at < known; more--)
            unit = unit << 6 | ((unsigned char)table[at++] & 63U);
        upper[i] = (uint16_t)unit;
    }
    free(table);
    units = malloc(length * sizeof *units + 1);
    if (!units)
        return vg_throw(call, "no memory");
    for (size_t i = 0; i < length; i++)
        units[i] = data[i] < 128 ? data[i] : upper[data[i] - 128];
    value = vg_utf16(call->engine, units, length);
    free(units);
    return value;
}

#ifdef VG_HAVE_ICU

/* ICU's own substitute is U+001A for some. */
static void substitute(const void *context, UConverterToUnicodeArgs *args, const char *bytes, int32_t length,
                       UConverterCallbackReason reason, UErrorCode *error)
{
    static const UChar none = 0xfffd;
    (void)context;
    (void)bytes;
    (void)length;
    if (reason > UCNV_IRREGULAR)
        return;
    *error = U_ZERO_ERROR;
    ucnv_cbToUWriteUChars(args, &none, 1, 0, error);
}

static void close_converter(void *converter)
{
    ucnv_close(converter);
}

/* converter(name): undefined if there is none of that name */
static vg_val make_converter(vg_call *call)
{
    vigil_js *js = call->host;
    char *name = vg_arg_text(call, 0, NULL);
    UErrorCode error = U_ZERO_ERROR;
    UConverter *converter = name ? ucnv_open(name, &error) : NULL;
    free(name);
    if (!js->converter_class)
        js->converter_class = vg_class_new(call->engine, "Converter", close_converter);
    if (!converter || !js->converter_class) {
        ucnv_close(converter);
        return NULL;
    }
    return vg_instance(call->engine, js->converter_class, NULL, converter);
}

/* convert(converter, bytes, start, end, last, fatal): text, or undefined for bytes that are none when `fatal` */
static vg_val convert(vg_call *call)
{
    vigil_js *js = call->host;
    UConverter *converter =
        js->converter_class ? vg_instance_pointer(call->engine, js->converter_class, vg_arg(call, 0)) : NULL;
    bool last = vg_to_bool(call->engine, vg_arg(call, 4)), fatal = vg_to_bool(call->engine, vg_arg(call, 5));
    unsigned char *data;
    size_t length, room;
    UErrorCode error = U_ZERO_ERROR;
    const char *from;
    UChar *units, *to;
    vg_val value;
    if (!converter || !part_at(call, 1, &data, &length))
        return vg_throw(call, "a converter and bytes are expected");
    ucnv_setToUCallBack(converter, fatal ? UCNV_TO_U_CALLBACK_STOP : substitute, NULL, NULL, NULL, &error);
    room = (length + 16) * 2; /* a byte is two units at most, and some may be left over from the piece before */
    units = malloc(room * sizeof *units);
    if (!units)
        return vg_throw(call, "no memory");
    from = (const char *)data;
    to = units;
    ucnv_toUnicode(converter, &to, units + room, &from, from + length, NULL, last, &error);
    value = U_FAILURE(error) ? NULL : vg_utf16(call->engine, (const uint16_t *)units, (size_t)(to - units));
    if (last || U_FAILURE(error))
        ucnv_reset(converter);
    free(units);
    return value;
}

#else

static vg_val make_converter(vg_call *call)
{
    (void)call;
    return NULL;
}

static vg_val convert(vg_call *call)
{
    (void)call;
    return NULL;
}

#endif

static const vg_binding_entry entries[] = {
    {"tableDecode", table_decode},
    {"converter", make_converter},
    {"convert", convert},
};

bool vg_js_bind_decode(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}

void vg_js_decode_end(vigil_js *js)
{
    if (js->converter_class)
        vg_class_free(js->converter_class);
    js->converter_class = NULL;
}
