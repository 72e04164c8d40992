/* SPDX-License-Identifier: MIT */
/* Where a call goes; see url.h. */
#include "url.h"

#include "out.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int bad(const char *text, const char *words)
{
    return vg_web_why(-EINVAL, "url '%.80s': %s", text, words);
}

static int read_port(const char *from, const char *end, unsigned *port)
{
    unsigned number = 0;
    for (const char *at = from; at < end; at++) {
        if (*at < '0' || *at > '9' || number > 6553)
            return -EINVAL;
        number = number * 10 + (unsigned)(*at - '0');
    }
    if (from == end || number == 0 || number > 65535)
        return -EINVAL;
    *port = number;
    return 0;
}

static bool is_host_character(char c)
{
    const char low = (char)(c | 0x20);
    return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || strchr("-._:%", c) != NULL;
}

int vg_web_url_read(vg_web_url *url, const char *text)
{
    const char *host;
    if (strncasecmp(text, "http://", 7) == 0) {
        *url = (vg_web_url){.port = 80};
        host = text + 7;
    } else if (strncasecmp(text, "https://", 8) == 0) {
        *url = (vg_web_url){.port = 443, .secure = true};
        host = text + 8;
    } else {
        return bad(text, "it must begin with http:// or https://");
    }
    const char *end = host + strcspn(host, "/?#");
    const char *stop = end;
    url->brackets = *host == '[';
    if (url->brackets) {
        stop = memchr(host, ']', (size_t)(end - host));
        if (stop == NULL)
            return bad(text, "the ']' behind the address is missing");
        host++;
    } else {
        const char *colon = memchr(host, ':', (size_t)(end - host));
        stop = colon != NULL ? colon : end;
    }
    const size_t length = (size_t)(stop - host);
    if (length == 0 || length >= sizeof url->host)
        return bad(text, "the host is empty or too long");
    for (size_t i = 0; i < length; i++)
        if (!is_host_character(host[i]))
            return bad(text, "the host has a character that is not allowed; user names are not supported");
    memcpy(url->host, host, length);
    stop += url->brackets ? 1 : 0;
    if (stop != end && (*stop != ':' || read_port(stop + 1, end, &url->port) != 0))
        return bad(text, "the port is not a number from 1 to 65535");
    url->target = end;
    url->target_length = strcspn(end, "#");
    for (size_t i = 0; i < url->target_length; i++)
        if ((unsigned char)end[i] <= 0x20 || (unsigned char)end[i] >= 0x7f)
            return bad(text, "the target has a character that must be written with %");
    return 0;
}

static char *put_together(const char *first, size_t first_length, const char *second, size_t second_length)
{
    char *text = malloc(first_length + second_length + 1);
    if (text == NULL)
        return NULL;
    memcpy(text, first, first_length);
    memcpy(text + first_length, second, second_length);
    text[first_length + second_length] = 0;
    return text;
}

char *vg_web_url_join(const char *from, const char *location, size_t length)
{
    if (length >= 7 && (strncasecmp(location, "http://", 7) == 0 || strncasecmp(location, "https:/", 7) == 0))
        return put_together("", 0, location, length);
    const char *host = strstr(from, "://") + 3; /* it was read before */
    if (length >= 2 && location[0] == '/' && location[1] == '/')
        return put_together(from, (size_t)(host - from) - 2, location, length);
    const char *path = host + strcspn(host, "/?#");
    if (length == 0)
        return NULL;
    if (location[0] == '/' || *path != '/') {
        char *root = put_together(from, (size_t)(path - from), "/", location[0] == '/' ? 0 : 1);
        char *text = root != NULL ? put_together(root, strlen(root), location, length) : NULL;
        free(root);
        return text;
    }
    const char *slash = path; /* the last one of the path */
    for (const char *at = path; at < path + strcspn(path, "?#"); at++)
        if (*at == '/')
            slash = at;
    return put_together(from, (size_t)(slash + 1 - from), location, length);
}
