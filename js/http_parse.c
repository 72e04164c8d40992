/* SPDX-License-Identifier: MIT */
/*
 * From bytes to heads and bodies. llhttp, built strict, knows the grammar. http_lines.c checks the line ends before it; the
 * questions that llhttp leaves to its users, by which requests are smuggled past a proxy, are answered here, always with 400:
 * control characters in a value, two lengths, a length and a coding, a coding that does not end in chunked or that an HTTP/1.0
 * client sends, two hosts, versions that are neither 1.0 nor 1.1, protocols that are not HTTP.
 */
#include "http_parse.h"

#include <string.h>
#include <strings.h>

#include "buffer.h"
#include "http_lines.h"
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

static int on_begin(llhttp_t *parser)
{
    vg_http_conn *conn = parser->data;
    conn->head.length = conn->trailer.length = 0;
    conn->name_at = conn->value_at = 0;
    conn->in_value = conn->in_trailer = conn->has_host = conn->has_length = conn->has_coding = false;
    conn->flags = 0;
    conn->extension_length = 0;
    return 0;
}

static int on_url(llhttp_t *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)data[i] <= 0x20 || (unsigned char)data[i] >= 0x7f)
            return bad(conn, "HPE_INVALID_URL", "Invalid characters in url");
    return add(conn, data, length);
}

static int on_field(llhttp_t *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    vg_buffer *buffer = target(conn);
    if (!conn->in_trailer && conn->name_at == 0 && add(conn, "\n", 1) < 0) /* behind the url */
        return -1;
    if (!conn->in_name)
        conn->name_at = buffer->length;
    conn->in_name = true;
    return add(conn, data, length);
}

static int on_field_end(llhttp_t *parser)
{
    vg_http_conn *conn = parser->data;
    conn->in_name = false;
    return end_name(conn);
}

static int on_value(llhttp_t *parser, const char *data, size_t length)
{
    return add(parser->data, data, length);
}

static int on_value_end(llhttp_t *parser)
{
    return end_value(parser->data);
}

static int on_head(llhttp_t *parser)
{
    vg_http_conn *conn = parser->data;
    vg_buffer swap;
    if (parser->http_major != 1 || parser->http_minor > 1)
        return bad(conn, "HPE_INVALID_VERSION", "Invalid HTTP version");
    if (conn->lines.other_protocol)
        return bad(conn, "HPE_INVALID_CONSTANT", "Expected HTTP/");
    if (conn->has_coding && (conn->has_length || parser->http_minor == 0))
        return bad(conn, "HPE_INVALID_TRANSFER_ENCODING", "Transfer-Encoding can't be present with Content-Length");
    if (parser->method == HTTP_CONNECT && !conn->server->tunnels)
        return bad(conn, "HPE_INVALID_METHOD", "CONNECT is not served");
    /* If nobody waits for it, such a request is one like others. */
    if (parser->method != HTTP_CONNECT && !conn->server->upgrades)
        parser->upgrade = 0;
    if (parser->upgrade)
        conn->flags |= VG_HTTP_UPGRADE;
    if (llhttp_should_keep_alive(parser))
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
    vg_http_lines_body(&conn->lines, conn->has_coding);
    return parser->upgrade ? 2 : 0; /* 2: what follows the head is no body */
}

static int on_chunk(llhttp_t *parser)
{
    vg_http_conn *conn = parser->data;
    conn->extension_length = 0;
    vg_http_lines_chunk(&conn->lines, parser->content_length);
    return 0;
}

static int on_extension(llhttp_t *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    (void)data;
    conn->extension_length += length;
    if (conn->extension_length <= conn->server->max_head)
        return 0;
    vg_http_fault(conn, 413, "HPE_CHUNK_EXTENSIONS_OVERFLOW", "Chunk extensions overflow");
    return -1;
}

static int on_body(llhttp_t *parser, const char *data, size_t length)
{
    vg_http_conn *conn = parser->data;
    if (conn->dumping)
        return 0;
    return vg_buffer_add(&conn->body, data, length) ? 0 : bad(conn, "HPE_USER", "No memory");
}

static int on_end(llhttp_t *parser)
{
    vg_http_conn *conn = parser->data;
    conn->whole = true;
    conn->deadline = 0;
    /* What follows is the next request: not before this one is answered. */
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_end,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_end,
    .on_headers_complete = on_head,
    .on_chunk_header = on_chunk,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_body = on_body,
    .on_message_complete = on_end,
};

/* ---- feeding it ------------------------------------------------------------------------------------------------- */

void vg_http_parse_begin(vg_http_conn *conn)
{
    llhttp_init(&conn->parser, HTTP_REQUEST, &settings);
    conn->parser.data = conn;
    vg_http_lines_begin(&conn->lines);
}

/* Feeds bytes up to the end of the request, and returns how many. */
static size_t feed(vg_http_conn *conn, const unsigned char *data, size_t length)
{
    size_t used = 0;
    while (used < length && !conn->whole && !conn->faulty) {
        size_t piece = vg_http_lines_check(&conn->lines, data + used, length - used);
        llhttp_errno_t error = piece ? llhttp_execute(&conn->parser, (const char *)data + used, piece) : HPE_OK;
        if (error == HPE_PAUSED)
            return (size_t)(llhttp_get_error_pos(&conn->parser) - (const char *)data);
        if (error != HPE_OK && llhttp_get_error_pos(&conn->parser))
            conn->fault_parsed = (size_t)(llhttp_get_error_pos(&conn->parser) - (const char *)data);
        else
            conn->fault_parsed = used + piece;
        used += piece;
        if (error != HPE_OK) /* does nothing if a fault of ours was first */
            vg_http_fault(conn, 400, llhttp_errno_name(error), llhttp_get_error_reason(&conn->parser));
        else if (conn->lines.fault)
            vg_http_fault(conn, 400, conn->lines.fault, conn->lines.fault_text);
    }
    return used;
}

void vg_http_parse(vg_http_conn *conn, const unsigned char *data, size_t length)
{
    vg_http *http = conn->http;
    bool was_whole = conn->whole;
    size_t used;
    if (conn->faulty || length == 0)
        return;
    conn->request = 0;
    used = feed(conn, data, length);
    if (conn->whole && !conn->faulty) {
        vg_http_parse_begin(conn); /* anew: after a request that asks to close, the parser would refuse what follows */
        if (used < length && !vg_buffer_add(&conn->waiting, data + used, length - used))
            vg_http_fault(conn, 400, "HPE_USER", "No memory");
    } else if (!conn->faulty && conn->state == VG_HTTP_READING && conn->lines.seen > conn->server->max_head) {
        /* Blanks of a head are not kept, but counted. */
        vg_http_fault(conn, 431, "HPE_HEADER_OVERFLOW", "Header overflow");
    }
    if (conn->body.length > 0 && !conn->body_queued && !conn->faulty) {
        conn->body_queued = true;
        vg_http_add(http, VG_HTTP_EVENT_BODY, conn->id, 0, 0);
    }
    if (conn->faulty) {
        (void)vg_buffer_add(&conn->fault_packet, data, length); /* without memory it is empty */
        vg_http_add(http, VG_HTTP_EVENT_FAULT, conn->id, conn->fault, conn->state == VG_HTTP_ANSWERING ? 1 : 0);
    } else if (conn->whole && !was_whole) {
        if (conn->request && conn->body.length == 0)
            http->events[4 * conn->request + 2] += VG_HTTP_WHOLE;
        else if (!conn->dumping)
            vg_http_add(http, VG_HTTP_EVENT_END, conn->id, (double)conn->trailer.length, 0);
    }
    conn->request = 0;
}
