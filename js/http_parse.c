/* SPDX-License-Identifier: MIT */
/*
 * From bytes to heads and bodies. The library http-parser knows the grammar. It is built to be lenient in Debian, and leaves some
 * questions to its users; those by which requests are smuggled past a proxy are answered here, always with 400: a blank
 * in a header's name, control characters in a value, two lengths, a length and a coding, a coding that does not end in
 * chunked or that an HTTP/1.0 client sends, two hosts, versions that are neither 1.0 nor 1.1.
 */
#include "http_parse.h"

#include <string.h>
#include <strings.h>

#include "buffer.h"
#include "http_server.h"

void vg_http_fault(vg_http_conn *conn, int status, const char *name, const char *text)
{
    if (conn->faulty)
        return;
    conn->faulty = true;
    conn->fault = status;
    conn->fault_name = name;
    conn->fault_text = text;
}

static int bad(vg_http_conn *conn, const char *name, const char *text)
{
    vg_http_fault(conn, 400, name, text);
    return -1;
}

static vg_buffer *target(vg_http_conn *conn)
{
    return conn->in_trailer ? &conn->trailer : &conn->head;
}

/* What was read of the head so far may not exceed the server's bound. The parser counts blanks too. */
static int add(vg_http_conn *conn, const char *data, size_t length)
{
    vg_buffer *buffer = target(conn);
    if (buffer->length + length > conn->server->max_head) {
        vg_http_fault(conn, 431, "HPE_HEADER_OVERFLOW", "Header overflow");
        return -1;
    }
    if (!vg_buffer_add(buffer, data, length))
        return bad(conn, "HPE_USER", "No memory");
    return 0;
}

static bool is(const unsigned char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp((const char *)text, word, length) == 0;
}

/* RFC 9110's token. */
static bool is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static int end_name(vg_http_conn *conn)
{
    vg_buffer *buffer = target(conn);
    const unsigned char *name = buffer->data + conn->name_at;
    size_t length = buffer->length - conn->name_at;
    for (size_t i = 0; i < length; i++)
        if (!is_token(name[i]))
            return bad(conn, "HPE_INVALID_HEADER_TOKEN", "Invalid header token");
    if (length == 0)
        return bad(conn, "HPE_INVALID_HEADER_TOKEN", "Invalid header token");
    conn->value_at = buffer->length + 1;
    conn->in_value = true;
    return add(conn, "\n", 1);
}

/* Does the last coding of the list say chunked? */
static bool ends_in_chunked(const unsigned char *value, size_t length)
{
    size_t start = length;
    while (start > 0 && value[start - 1] != ',')
        start--;
    while (start < length && (value[start] == ' ' || value[start] == '\t'))
        start++;
    return is(value + start, length - start, "chunked");
}

static int end_value(vg_http_conn *conn)
{
    vg_buffer *buffer = target(conn);
    const unsigned char *name, *value;
    size_t name_length, length;
    conn->in_value = false;
    while (buffer->length > conn->value_at &&
           (buffer->data[buffer->length - 1] == ' ' || buffer->data[buffer->length - 1] == '\t'))
        buffer->length--;
    name = buffer->data + conn->name_at;
    name_length = conn->value_at - 1 - conn->name_at;
    value = buffer->data + conn->value_at;
    length = buffer->length - conn->value_at;
    for (size_t i = 0; i < length; i++)
        if ((value[i] < 0x20 && value[i] != '\t') || value[i] == 0x7f)
            return bad(conn, "HPE_INVALID_HEADER_TOKEN", "Invalid header value char");
    if (conn->in_trailer) {
        if (is(name, name_length, "content-length") || is(name, name_length, "transfer-encoding"))
            return bad(conn, "HPE_INVALID_HEADER_TOKEN", "Framing header in the trailer");
    } else if (is(name, name_length, "host")) {
        if (conn->has_host)
            return bad(conn, "HPE_INVALID_HEADER_TOKEN", "Host sent twice");
        conn->has_host = true;
    } else if (is(name, name_length, "content-length")) {
        if (conn->has_length)
            return bad(conn, "HPE_UNEXPECTED_CONTENT_LENGTH", "Content-Length can't be sent twice");
        conn->has_length = true;
    } else if (is(name, name_length, "transfer-encoding")) {
        if (conn->has_coding || !ends_in_chunked(value, length))
            return bad(conn, "HPE_INVALID_TRANSFER_ENCODING", "Request has invalid `Transfer-Encoding`");
        conn->has_coding = true;
    } else if (is(name, name_length, "expect")) {
        conn->flags |= is(value, length, "100-continue") ? VG_HTTP_CONTINUE : VG_HTTP_EXPECTS;
    }
    return add(conn, "\n", 1);
}

/* ---- what the parser calls -------------------------------------------------------------------------------------- */

static int on_begin(http_parser *parser)
{
    vg_http_conn *conn = parser->data;
    conn->head.length = conn->trailer.length = 0;
    conn->name_at = conn->value_at = 0;
    conn->in_value = conn->in_trailer = conn->has_host = conn->has_length = conn->has_coding = false;
    conn->flags = 0;
    return 0;
}

static int on_url(http_parser *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)data[i] <= 0x20 || data[i] == 0x7f)
            return bad(conn, "HPE_INVALID_URL", "Invalid characters in url");
    return add(conn, data, length);
}

static int on_field(http_parser *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    vg_buffer *buffer = target(conn);
    if (conn->in_value) {
        if (end_value(conn) < 0)
            return -1;
        conn->name_at = buffer->length;
    } else if (!conn->in_trailer && conn->name_at == 0) {
        if (add(conn, "\n", 1) < 0) /* behind the url */
            return -1;
        conn->name_at = buffer->length;
    }
    return add(conn, data, length);
}

static int on_value(http_parser *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    if (!conn->in_value && end_name(conn) < 0)
        return -1;
    return add(conn, data, length);
}

static int on_head(http_parser *parser)
{
    vg_http_conn *conn = parser->data;
    vg_buffer swap;
    if (conn->in_value && end_value(conn) < 0)
        return -1;
    if (parser->http_major != 1 || parser->http_minor > 1)
        return bad(conn, "HPE_INVALID_VERSION", "Invalid HTTP version");
    if (conn->has_coding && (conn->has_length || parser->http_minor == 0))
        return bad(conn, "HPE_INVALID_TRANSFER_ENCODING", "Transfer-Encoding can't be present with Content-Length");
    if (parser->method == HTTP_CONNECT)
        return bad(conn, "HPE_INVALID_METHOD", "CONNECT is not served");
    /* No protocol is changed to: such a request is one like others. */
    parser->upgrade = 0;
    if (http_should_keep_alive(parser))
        conn->flags |= VG_HTTP_KEEP;
    if (parser->http_minor == 0) {
        conn->flags |= VG_HTTP_OLD;
        conn->flags &= ~(unsigned)(VG_HTTP_CONTINUE | VG_HTTP_EXPECTS);
    } else if (!conn->has_host) {
        conn->flags |= VG_HTTP_NO_HOST;
    }
    if (conn->head.length == conn->last_head.length &&
        memcmp(conn->head.data, conn->last_head.data, conn->head.length) == 0)
        conn->flags |= VG_HTTP_SAME;
    swap = conn->head;
    conn->head = conn->last_head;
    conn->last_head = swap;
    conn->in_trailer = true;
    conn->name_at = 0;
    conn->state = VG_HTTP_ANSWERING;
    conn->whole = false;
    conn->deadline = 0;
    if (conn->server->request_timeout)
        conn->deadline = conn->request_began + conn->server->request_timeout;
    conn->request = vg_http_add(conn->http, VG_HTTP_EVENT_REQUEST, conn->id, conn->flags, parser->method) + 1;
    return 0;
}

static int on_body(http_parser *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    if (conn->dumping)
        return 0;
    return vg_buffer_add(&conn->body, data, length) ? 0 : bad(conn, "HPE_USER", "No memory");
}

static int on_end(http_parser *parser)
{
    vg_http_conn *conn = parser->data;
    if (conn->in_value && end_value(conn) < 0)
        return -1;
    conn->whole = true;
    conn->deadline = 0;
    /* What follows is the next request: not before this one is answered. */
    http_parser_pause(parser, 1);
    return 0;
}

static const http_parser_settings settings = {
    .on_message_begin = on_begin,
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_end,
};

/* ---- feeding it ------------------------------------------------------------------------------------------------- */

void vg_http_parse_begin(vg_http_conn *conn)
{
    http_parser_init(&conn->parser, HTTP_REQUEST);
    conn->parser.data = conn;
}

/* The texts of the parser Node has, for the faults that both know. */
static void library_fault(vg_http_conn *conn)
{
    enum http_errno number = HTTP_PARSER_ERRNO(&conn->parser);
    const char *text = http_errno_description(number);
    int status = 400;
    switch (number) {
    case HPE_INVALID_METHOD:
        text = "Invalid method encountered";
        break;
    case HPE_INVALID_VERSION:
        text = "Invalid HTTP version";
        break;
    case HPE_INVALID_CONTENT_LENGTH:
        text = "Invalid character in Content-Length";
        break;
    case HPE_INVALID_CHUNK_SIZE:
        text = "Invalid character in chunk size";
        break;
    case HPE_INVALID_EOF_STATE:
        text = "Invalid EOF state";
        break;
    case HPE_HEADER_OVERFLOW:
        text = "Header overflow";
        status = 431;
        break;
    default:
        break;
    }
    vg_http_fault(conn, status, http_errno_name(number), text);
}

void vg_http_parse(vg_http_conn *conn, const unsigned char *data, size_t length)
{
    vg_http *http = conn->http;
    bool was_whole = conn->whole;
    size_t used;
    if (conn->faulty || length == 0)
        return;
    conn->request = 0;
    used = http_parser_execute(&conn->parser, &settings, (const char *)data, length);
    if (!conn->faulty && HTTP_PARSER_ERRNO(&conn->parser) == HPE_PAUSED) {
        http_parser_pause(&conn->parser, 0);
        if (used < length && !vg_buffer_add(&conn->waiting, data + used, length - used))
            vg_http_fault(conn, 400, "HPE_USER", "No memory");
    } else if (HTTP_PARSER_ERRNO(&conn->parser) != HPE_OK) {
        library_fault(conn); /* does nothing if one of ours was first */
    } else if (conn->parser.nread > conn->server->max_head && (conn->state == VG_HTTP_READING || !conn->whole)) {
        /* The blanks of a head, and what stands behind the size of a chunk, are counted by the parser alone. */
        if (conn->state == VG_HTTP_READING)
            vg_http_fault(conn, 431, "HPE_HEADER_OVERFLOW", "Header overflow");
        else
            vg_http_fault(conn, 413, "HPE_CHUNK_EXTENSIONS_OVERFLOW", "Chunk extensions overflow");
    }
    if (conn->body.length > 0 && !conn->body_told && !conn->faulty) {
        conn->body_told = true;
        vg_http_add(http, VG_HTTP_EVENT_BODY, conn->id, 0, 0);
    }
    if (conn->faulty) {
        vg_http_add(http, VG_HTTP_EVENT_FAULT, conn->id, conn->fault, conn->state == VG_HTTP_ANSWERING ? 1 : 0);
    } else if (conn->whole && !was_whole) {
        if (conn->request && conn->body.length == 0)
            http->events[4 * conn->request + 2] += VG_HTTP_WHOLE;
        else if (!conn->dumping)
            vg_http_add(http, VG_HTTP_EVENT_END, conn->id, (double)conn->trailer.length, 0);
    }
    conn->request = 0;
}
