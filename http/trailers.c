/* SPDX-License-Identifier: MIT */
/* The fields behind a body in chunks; see trailers.h. */
#include "trailers.h"

#include "head.h"
#include "out.h"

#include <stdlib.h>
#include <string.h>

/* RFC 9110, 6.5.1: what frames or routes the message, says who sends it, or how its content is to be read, comes too late
   behind the content. Who takes it all the same can be led to read the message in another way than who came before. */
static bool is_forbidden(vigil_http_text name)
{
    static const char *const names[] = {
        "connection",
        "content-length",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "forwarded",
        "host",
        "max-forwards",
        "via",
        "authorization",
        "cookie",
        "proxy-authenticate",
        "set-cookie",
        "proxy-authorization",
        "www-authenticate",
        "cache-control",
        "expect",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "pragma",
        "range",
        "content-encoding",
        "content-range",
        "content-type",
        "age",
        "date",
        "expires",
        "location",
        "retry-after",
        "vary",
        "warning",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (vigil_http_text_is(name, names[i]))
            return true;
    return false;
}

int vg_web_trailers_add(vg_web_trailers **trailers, char byte)
{
    vg_web_trailers *it = *trailers;
    if (it == NULL || it->length == it->room) {
        const size_t length = it != NULL ? it->length : 0;
        const size_t room = length != 0 ? length * 2 : 128;
        it = realloc(it, sizeof *it + room);
        if (it == NULL)
            return -ENOMEM;
        it->length = length;
        it->room = room;
        *trailers = it;
    }
    it->bytes[it->length++] = byte;
    return 0;
}

/* The line at *at, and where the next one is. False: there is none. */
static bool next_line(const vg_web_trailers *it, size_t *at, vigil_http_text *line)
{
    if (it == NULL || *at >= it->length)
        return false;
    const char *begin = it->bytes + *at;
    const char *end = memchr(begin, '\r', it->length - *at); /* each line has one */
    *line = (vigil_http_text){begin, (size_t)(end - begin)};
    *at += line->length + 2;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool split(vigil_http_text line, vigil_http_text *name, vigil_http_text *value)
{
    const char *colon = memchr(line.at, ':', line.length);
    if (colon == NULL)
        return false;
    *name = (vigil_http_text){line.at, (size_t)(colon - line.at)};
    *value = (vigil_http_text){colon + 1, line.length - name->length - 1};
    while (value->length > 0 && is_blank(value->at[0])) {
        value->at++;
        value->length--;
    }
    while (value->length > 0 && is_blank(value->at[value->length - 1]))
        value->length--;
    return vg_web_is_token(name->at, name->length) && vg_web_is_value(value->at, value->length);
}

int vg_web_trailers_check(vg_web_trailers *it, unsigned most)
{
    vigil_http_text line, name, value;
    size_t kept = 0;
    unsigned count = 0;
    for (size_t at = 0; next_line(it, &at, &line);) {
        if (!split(line, &name, &value))
            return -EBADMSG;
        if (count++ == most)
            return -EMSGSIZE;
        if (is_forbidden(name))
            continue;
        memmove(it->bytes + kept, line.at, line.length + 2);
        kept += line.length + 2;
    }
    if (it != NULL)
        it->length = kept;
    return 0;
}

int vg_web_trailers_at(const vg_web_trailers *it, size_t index, vigil_http_text *name, vigil_http_text *value)
{
    vigil_http_text line;
    for (size_t at = 0; next_line(it, &at, &line);)
        if (index-- == 0)
            return split(line, name, value) ? 0 : -ENOENT;
    return -ENOENT;
}

vigil_http_text vg_web_trailers_find(const vg_web_trailers *it, const char *name)
{
    vigil_http_text line, found, value;
    for (size_t at = 0; next_line(it, &at, &line);)
        if (split(line, &found, &value) && vigil_http_text_is(found, name))
            return value;
    return (vigil_http_text){NULL, 0};
}

int vg_web_check_trailers(const vigil_http_field *fields, size_t count)
{
    const int error = vg_web_check_fields(fields, count);
    if (error != 0)
        return error;
    for (size_t i = 0; i < count; i++)
        if (is_forbidden((vigil_http_text){fields[i].name, strlen(fields[i].name)}))
            return vg_web_why(-EINVAL, "the field '%.60s' must not be a trailer", fields[i].name);
    return 0;
}
