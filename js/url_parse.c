/* SPDX-License-Identifier: MIT */
/*
 * The URL Standard's parser for what is plain enough. Hosts with rarer letters, files with a drive or a host, and other schemes with slashes
 * go to the whole algorithm of the npm package, which lib/url.js holds. Both give the same for what both take;
 * js/tests/library/url_ways.js compares them with Node.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include "url_parse.h"

#include <string.h>

#include "url_host.h"

enum {
    /* Where a byte is written as three: bits of `encoded`. */
    IN_FRAGMENT = 1,
    IN_QUERY = 2,
    IN_PATH = 4,
    IN_USER = 8,
    IN_OPAQUE_QUERY = 16, /* of a scheme that is not special */
    IN_OPAQUE = 32,
    EVERYWHERE = 63,

    LONGEST_SCHEME = 32
};

static unsigned encoded(unsigned char c)
{
    if (c <= 0x1f || c > 0x7e)
        return EVERYWHERE;
    switch (c) {
    case ' ':
    case '"':
    case '<':
    case '>':
        return EVERYWHERE & ~IN_OPAQUE;
    case '`':
        return IN_FRAGMENT | IN_PATH | IN_USER;
    case '#':
        return IN_QUERY | IN_OPAQUE_QUERY | IN_PATH | IN_USER;
    case '\'':
        return IN_QUERY; /* of these schemes */
    case '?':
    case '{':
    case '}':
    case '^':
        return IN_PATH | IN_USER;
    case '/':
    case ':':
    case ';':
    case '=':
    case '@':
    case '[':
    case '\\':
    case ']':
    case '|':
        return IN_USER;
    default:
        return 0;
    }
}

static void put(vg_url *url, const char *text, size_t length)
{
    memcpy(url->text + url->length, text, length);
    url->length += length;
}

static void put_encoded(vg_url *url, const char *text, size_t length, unsigned where)
{
    static const char digits[] = "0123456789ABCDEF";
    char *to = url->text + url->length;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c >= 'a' && c <= 'z') || !(encoded(c) & where)) {
            *to++ = (char)c;
        } else {
            *to++ = '%';
            *to++ = digits[c >> 4];
            *to++ = digits[c & 15];
        }
    }
    url->length = (size_t)(to - url->text);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool slash(char c)
{
    return c == '/' || c == '\\';
}

static unsigned default_port(const char *scheme, size_t length)
{
    static const struct {
        const char *name;
        unsigned port;
    } known[] = {{"http:", 80}, {"https:", 443}, {"ws:", 80}, {"wss:", 443}, {"ftp:", 21}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, scheme, length) == 0)
            return known[i].port;
    return 0;
}

static bool put_port(vg_url *url, const char *port, size_t length)
{
    unsigned value = 0, used = 0;
    char digits[5];
    if (length == 0)
        return true;
    for (size_t i = 0; i < length; i++) {
        if (!digit(port[i]) || (value = value * 10 + (unsigned)(port[i] - '0')) > 65535)
            return false;
    }
    if (value == default_port(url->text, url->scheme))
        return true;
    do
        digits[used++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    url->text[url->length++] = ':';
    while (used > 0)
        url->text[url->length++] = digits[--used];
    return true;
}

/* "user:secret@host:port" */
static vg_url_kind put_authority(vg_url *url, const char *text, size_t length)
{
    const char *at = length ? memrchr(text, '@', length) : NULL;
    const char *host = at ? at + 1 : text, *end = text + length;
    const char *after = host < end && *host == '[' ? memchr(host, ']', (size_t)(end - host)) : NULL;
    const char *port = host < end ? memchr(after ? after : host, ':', (size_t)(end - (after ? after : host))) : NULL;
    size_t host_length;
    put(url, "//", 2);
    url->user = url->secret = url->host = (uint32_t)url->length;
    if (at && at > text) {
        const char *colon = memchr(text, ':', (size_t)(at - text));
        const char *user_end = colon ? colon : at;
        put_encoded(url, text, (size_t)(user_end - text), IN_USER);
        url->user = url->secret = (uint32_t)url->length;
        if (colon && colon + 1 < at) {
            url->text[url->length++] = ':';
            put_encoded(url, colon + 1, (size_t)(at - colon - 1), IN_USER);
            url->secret = (uint32_t)url->length;
        }
        if (url->length > url->scheme + 2)
            url->text[url->length++] = '@';
        url->host = (uint32_t)url->length;
    }
    host_length = vg_url_host(url->text + url->length, host, (size_t)((port ? port : end) - host));
    if (host_length == 0)
        return VG_URL_OTHER;
    if (host_length == VG_URL_NO_HOST)
        return VG_URL_NONE;
    url->length += host_length;
    url->host_end = (uint32_t)url->length;
    return !port || put_port(url, port + 1, (size_t)(end - port - 1)) ? VG_URL_PLAIN : VG_URL_NONE;
}

/* How many dots a segment is: 1, 2, or 0 if it is something else. */
static unsigned dots(const char *text, size_t length)
{
    unsigned count = 0;
    for (size_t i = 0; i < length; count++) {
        if (text[i] == '.')
            i++;
        else if (length - i >= 3 && text[i] == '%' && text[i + 1] == '2' && lower(text[i + 2]) == 'e')
            i += 3;
        else
            return 0;
    }
    return count <= 2 ? count : 0;
}

/* What follows the authority, or what a path of the base is continued with. */
static bool put_path(vg_url *url, const char *text, const char *end, bool file)
{
    if (text < end && slash(*text))
        text++;
    for (;;) {
        const char *segment = text;
        const size_t start = url->length;
        unsigned count;
        while (text < end && !slash(*text))
            text++;
        if (file && text - segment == 2 && letter(*segment) && (segment[1] == ':' || segment[1] == '|'))
            return false; /* a drive */
        count = dots(segment, (size_t)(text - segment));
        if (count == 0) {
            url->text[url->length++] = '/';
            put_encoded(url, segment, (size_t)(text - segment), IN_PATH);
        } else if (count == 2) {
            url->length = start;
            while (url->length > url->path && url->text[--url->length] != '/')
                ;
        }
        if (text == end) {
            if (count > 0)
                url->text[url->length++] = '/';
            return true;
        }
        text++;
    }
}

static bool put_rest(vg_url *url, const char *text, const char *end, bool file)
{
    const char *hash = text < end ? memchr(text, '#', (size_t)(end - text)) : NULL;
    const char *question = text < end ? memchr(text, '?', (size_t)((hash ? hash : end) - text)) : NULL;
    const char *path_end = question ? question : hash ? hash : end;
    if (!put_path(url, text, path_end, file))
        return false;
    url->query = (uint32_t)url->length;
    if (question) {
        url->text[url->length++] = '?';
        put_encoded(url, question + 1, (size_t)((hash ? hash : end) - question - 1), IN_QUERY);
    }
    url->fragment = (uint32_t)url->length;
    if (hash) {
        url->text[url->length++] = '#';
        put_encoded(url, hash + 1, (size_t)(end - hash - 1), IN_FRAGMENT);
    }
    return true;
}

static vg_url_kind plain_if(bool is)
{
    return is ? VG_URL_PLAIN : VG_URL_OTHER;
}

static vg_url_kind after_scheme(vg_url *url, const char *text, const char *end)
{
    const char *authority;
    vg_url_kind kind;
    while (text < end && slash(*text))
        text++;
    authority = text;
    while (text < end && !slash(*text) && *text != '?' && *text != '#')
        text++;
    kind = put_authority(url, authority, (size_t)(text - authority));
    if (kind != VG_URL_PLAIN)
        return kind;
    url->path = (uint32_t)url->length;
    return plain_if(put_rest(url, text, end, false));
}

/* The parts of the base up to `length`; those behind it are empty. */
static void put_base(vg_url *url, const vg_url *base, uint32_t length)
{
    char *text = url->text;
    const size_t room = url->room;
    *url = *base;
    url->text = text;
    url->room = room;
    url->length = 0;
    put(url, base->text, length);
}

static vg_url_kind relative(vg_url *url, const vg_url *base, const char *text, const char *end)
{
    if (base->host == base->host_end)
        return VG_URL_OTHER; /* a file's */
    if (text < end && slash(*text)) {
        if (end - text > 1 && slash(text[1])) {
            put_base(url, base, base->scheme);
            return after_scheme(url, text, end);
        }
        put_base(url, base, base->path);
        return plain_if(put_rest(url, text, end, false));
    }
    if (text == end || *text == '#') {
        put_base(url, base, base->fragment);
        if (text < end) {
            url->text[url->length++] = '#';
            put_encoded(url, text + 1, (size_t)(end - text - 1), IN_FRAGMENT);
        }
        return VG_URL_PLAIN;
    }
    if (*text == '?') {
        const char *hash = memchr(text, '#', (size_t)(end - text));
        put_base(url, base, base->query);
        url->text[url->length++] = '?';
        put_encoded(url, text + 1, (size_t)((hash ? hash : end) - text - 1), IN_QUERY);
        url->fragment = (uint32_t)url->length;
        if (hash) {
            url->text[url->length++] = '#';
            put_encoded(url, hash + 1, (size_t)(end - hash - 1), IN_FRAGMENT);
        }
        return VG_URL_PLAIN;
    }
    put_base(url, base, base->query);
    while (url->length > base->path && url->text[--url->length] != '/')
        ;
    return plain_if(put_rest(url, text, end, false));
}

/* What follows "data:": a path that is text. A blob's origin is in it, and blanks at its end depend on what follows. */
static bool put_opaque(vg_url *url, const char *text, const char *end)
{
    const char *hash = text < end ? memchr(text, '#', (size_t)(end - text)) : NULL;
    const char *query_end = hash ? hash : end;
    const char *question = text < end ? memchr(text, '?', (size_t)(query_end - text)) : NULL;
    const char *path_end = question ? question : query_end;
    if ((text < end && *text == '/') || (url->length == 5 && memcmp(url->text, "blob:", 5) == 0) ||
        (path_end > text && path_end[-1] == ' '))
        return false;
    url->user = url->secret = url->host = url->host_end = url->path = (uint32_t)url->length;
    put_encoded(url, text, (size_t)(path_end - text), IN_OPAQUE);
    url->query = (uint32_t)url->length;
    if (question) {
        url->text[url->length++] = '?';
        put_encoded(url, question + 1, (size_t)(query_end - question - 1), IN_OPAQUE_QUERY);
    }
    url->fragment = (uint32_t)url->length;
    if (hash) {
        url->text[url->length++] = '#';
        put_encoded(url, hash + 1, (size_t)(end - hash - 1), IN_FRAGMENT);
    }
    return true;
}

size_t vg_url_room(size_t input, size_t base)
{
    return 3 * input + base + 128;
}

vg_url_kind vg_url_parse(const char *input, size_t length, const vg_url *base, vg_url *url)
{
    const char *text = input, *end = input + length, *colon;
    while (text < end && (unsigned char)*text <= ' ')
        text++;
    while (end > text && (unsigned char)end[-1] <= ' ')
        end--;
    for (const char *c = text; c < end; c++)
        if (*c == '\t' || *c == '\n' || *c == '\r')
            return VG_URL_OTHER;
    for (colon = text;
         colon < end &&
         (letter(*colon) || (colon > text && (digit(*colon) || *colon == '+' || *colon == '-' || *colon == '.')));)
        colon++;
    url->length = 0;
    if (colon == text || colon == end || *colon != ':')
        return base ? relative(url, base, text, end) : VG_URL_NONE;
    if ((size_t)(colon - text) >= LONGEST_SCHEME)
        return VG_URL_OTHER;
    for (; text <= colon; text++)
        url->text[url->length++] = lower(*text);
    url->scheme = (uint32_t)url->length;
    if (default_port(url->text, url->length)) {
        /* With the same scheme and no slashes it may be relative. */
        if (base && base->scheme == url->scheme && memcmp(base->text, url->text, url->scheme) == 0 &&
            !(end - text > 1 && slash(text[0]) && slash(text[1])))
            return VG_URL_OTHER;
        return after_scheme(url, text, end);
    }
    if (url->length != 5 || memcmp(url->text, "file:", 5) != 0)
        return plain_if(put_opaque(url, text, end));
    if (end - text < 3 || memcmp(text, "///", 3) != 0)
        return VG_URL_OTHER;
    put(url, "//", 2);
    url->user = url->secret = url->host = url->host_end = url->path = (uint32_t)url->length;
    return plain_if(put_rest(url, text + 2, end, true));
}
