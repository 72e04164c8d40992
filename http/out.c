/* SPDX-License-Identifier: MIT */
/* Heads that we send; see out.h. */
#include "out.h"

#include "head.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void vg_web_out_begin(vg_web_out *out, char *room, size_t size)
{
    *out = (vg_web_out){.bytes = room, .room = size};
}

void vg_web_out_end(vg_web_out *out)
{
    free(out->heap);
    out->heap = NULL;
}

void vg_web_out_add(vg_web_out *out, const void *bytes, size_t length)
{
    if (out->failed != 0 || length == 0)
        return;
    if (out->room - out->length < length) {
        const size_t room = (out->length + length) * 2;
        char *heap = realloc(out->heap, room);
        if (heap == NULL) {
            out->failed = -ENOMEM;
            return;
        }
        if (out->heap == NULL)
            memcpy(heap, out->bytes, out->length);
        out->heap = out->bytes = heap;
        out->room = room;
    }
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

void vg_web_out_text(vg_web_out *out, const char *text)
{
    vg_web_out_add(out, text, strlen(text));
}

void vg_web_out_number(vg_web_out *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    vg_web_out_add(out, digits + at, sizeof digits - at);
}

void vg_web_out_fields(vg_web_out *out, const vigil_http_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vg_web_out_text(out, fields[i].name);
        vg_web_out_add(out, ": ", 2);
        vg_web_out_text(out, fields[i].value);
        vg_web_out_add(out, "\r\n", 2);
    }
}

static const struct reason {
    int status;
    const char *words;
} reasons[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {418, "I'm a teapot"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
    {511, "Network Authentication Required"},
};

const char *vg_web_reason(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].words;
    return "";
}

int vg_web_why(int error, const char *form, ...)
{
    char text[192];
    va_list values;
    va_start(values, form);
    (void)vsnprintf(text, sizeof text, form, values);
    va_end(values);
    return vigil_why_set(error, text);
}

/* A field that the library sends by itself: two of it would not be one message any more. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"connection", "content-length", "transfer-encoding", "date"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcasecmp(name, ours[i]) == 0)
            return true;
    return false;
}

int vg_web_check_fields(const vigil_http_field *fields, size_t count)
{
    if (fields == NULL && count != 0)
        return vg_web_why(-EINVAL, "fields is NULL, and count is %zu", count);
    for (size_t i = 0; i < count; i++) {
        const char *name = fields[i].name;
        const char *value = fields[i].value;
        if (name == NULL || value == NULL)
            return vg_web_why(-EINVAL, "the name or the value of field %zu is NULL", i);
        if (!vg_web_is_token(name, strlen(name)))
            return vg_web_why(-EINVAL, "field %zu: its name has a character that is not allowed", i);
        if (!vg_web_is_value(value, strlen(value)))
            return vg_web_why(-EINVAL, "the value of field '%.60s' has a control character", name);
        if (is_ours(name))
            return vg_web_why(-EINVAL, "the field '%s' is the library's own", name);
    }
    return 0;
}
