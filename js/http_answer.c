/* SPDX-License-Identifier: MIT */
/*
 * The parser of answers, for lib/http_client.js. A call parses one piece of what the server has sent and notes what was in it as
 * numbers that JavaScript reads in place: heads and trailers are parts of one text, bodies are parts of the piece.
 */
#include "http_answer.h"

#include <llhttp.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "buffer.h"

typedef struct vg_answer {
    llhttp_t parser;
    vg_engine *engine;
    vg_buffer text; /* of this call, and of a head that is not complete yet */
    size_t from;    /* where in it the head or trailer under way begins */
    size_t size, most;
    bool no_body, tunnel, overflow;
    const unsigned char *piece;
    vg_val *events; /* numbers: how much was parsed, then kind, a, b, c of each */
    size_t count, room;
} vg_answer;

static int note(vg_answer *answer, vg_engine *engine, int kind, double a, double b, double c)
{
    if (answer->count + 4 > answer->room) {
        size_t room = answer->room * 2 + 32;
        vg_val *grown = realloc(answer->events, room * sizeof *grown);
        if (!grown)
            return HPE_USER;
        answer->events = grown;
        answer->room = room;
    }
    /* Small numbers are no objects: the collector need not see them. */
    answer->events[answer->count++] = vg_number(engine, kind);
    answer->events[answer->count++] = vg_number(engine, a);
    answer->events[answer->count++] = vg_number(engine, b);
    answer->events[answer->count++] = vg_number(engine, c);
    return 0;
}

/* ---- what the parser calls -------------------------------------------------------------------------------------- */

static int add(vg_answer *answer, const char *data, size_t length)
{
    answer->size += length;
    if (answer->size > answer->most) {
        answer->overflow = true;
        return HPE_USER;
    }
    return vg_buffer_add(&answer->text, data, length) ? 0 : HPE_USER;
}

static int on_begin(llhttp_t *parser)
{
    vg_answer *answer = parser->data;
    answer->from = answer->text.length;
    answer->size = 0;
    return 0;
}

static int on_part(llhttp_t *parser, const char *data, size_t length)
{
    return add(parser->data, data, length);
}

static int on_part_end(llhttp_t *parser)
{
    return add(parser->data, "\n", 1);
}

static int on_head(llhttp_t *parser)
{
    vg_answer *answer = parser->data;
    int status = parser->status_code, error;
    bool tunnel = answer->tunnel && status >= 200 && status < 300;
    unsigned flags = (llhttp_should_keep_alive(parser) ? VG_HTTP_ANSWER_KEEP : 0) |
                     (parser->upgrade || tunnel ? VG_HTTP_ANSWER_UPGRADE : 0) |
                     (parser->http_minor == 0 ? VG_HTTP_ANSWER_OLD : 0);
    error = note(answer, answer->engine, VG_HTTP_ANSWER_EVENT_HEAD, (double)answer->from, (double)answer->text.length,
                 status * 16.0 + flags);
    answer->from = answer->text.length;
    answer->size = 0;
    if (error)
        return -1;
    /* What follows a change of protocol is no body, whatever the head says of one. */
    if (tunnel || (status == 101 && parser->upgrade))
        return 2;
    /* An interim answer is followed by the real one. What 204 and 304 say of a length is said of another answer's body. */
    return (answer->no_body && status >= 200) || status == 204 || status == 304 ? 1 : 0;
}

static int on_body(llhttp_t *parser, const char *data, size_t length)
{
    vg_answer *answer = parser->data;
    double at = (double)((const unsigned char *)data - answer->piece);
    return note(answer, answer->engine, VG_HTTP_ANSWER_EVENT_BODY, at, at + (double)length, 0);
}

static int on_end(llhttp_t *parser)
{
    vg_answer *answer = parser->data;
    int error = note(answer, answer->engine, VG_HTTP_ANSWER_EVENT_END, (double)answer->from,
                     (double)answer->text.length, llhttp_should_keep_alive(parser));
    answer->from = answer->text.length;
    return error;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_status = on_part,
    .on_status_complete = on_part_end,
    .on_header_field = on_part,
    .on_header_field_complete = on_part_end,
    .on_header_value = on_part,
    .on_header_value_complete = on_part_end,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_end,
};

/* ---- what JavaScript calls -------------------------------------------------------------------------------------- */

static void answer_free(void *pointer)
{
    vg_answer *answer = pointer;
    vg_buffer_free(&answer->text);
    free(answer->events);
    free(answer);
}

static vg_answer *answer_of(vg_call *call)
{
    vigil_js *js = call->host;
    return js->answer_class ? vg_instance_pointer(call->engine, js->answer_class, vg_arg(call, 0)) : NULL;
}

/* answerOpen(noBody, tunnel, mostHead, lenient) */
static vg_val do_open(vg_call *call)
{
    vigil_js *js = call->host;
    vg_answer *answer = calloc(1, sizeof *answer);
    vg_val value;
    if (!js->answer_class)
        js->answer_class = vg_class_new(call->engine, "Answer", answer_free);
    if (!answer || !js->answer_class) {
        free(answer);
        return vg_throw(call, "no memory for a parser");
    }
    llhttp_init(&answer->parser, HTTP_RESPONSE, &settings);
    answer->parser.data = answer;
    answer->engine = call->engine;
    answer->no_body = vg_to_bool(call->engine, vg_arg(call, 0));
    answer->tunnel = vg_to_bool(call->engine, vg_arg(call, 1));
    answer->most = (size_t)vg_arg_number(call, 2);
    if (vg_to_bool(call->engine, vg_arg(call, 3))) {
        llhttp_set_lenient_headers(&answer->parser, 1);
        llhttp_set_lenient_chunked_length(&answer->parser, 1);
        llhttp_set_lenient_keep_alive(&answer->parser, 1);
    }
    value = vg_instance(call->engine, js->answer_class, NULL, answer);
    if (!value)
        answer_free(answer);
    return value;
}

/* A head that is not complete stays; all other text was read by JavaScript. */
static void settle(vg_answer *answer)
{
    vg_buffer_drop(&answer->text, answer->from);
    answer->from = 0;
    answer->count = 0;
}

/* answerParse(parser, bytes): [kind, a, b, c, ...] */
static vg_val do_parse(vg_call *call)
{
    vg_answer *answer = answer_of(call);
    unsigned char *bytes;
    size_t length;
    if (!answer || !vg_to_bytes(call->engine, vg_arg(call, 1), &bytes, &length))
        return vg_throw(call, "a parser and bytes are expected");
    settle(answer);
    answer->piece = bytes;
    llhttp_execute(&answer->parser, (const char *)bytes, length);
    return vg_array(call->engine, answer->count, answer->events);
}

/* answerFinish(parser): the server has ended; [kind, a, b, c, ...] if that is the end of an answer */
static vg_val do_finish(vg_call *call)
{
    vg_answer *answer = answer_of(call);
    if (!answer)
        return vg_throw(call, "a parser is expected");
    settle(answer);
    llhttp_finish(&answer->parser);
    return vg_array(call->engine, answer->count, answer->events);
}

static vg_val do_text(vg_call *call)
{
    vg_answer *answer = answer_of(call);
    return answer ? vg_latin1(call->engine, answer->text.data + answer->text.start, answer->text.length) : NULL;
}

/* answerFault(parser): [code, reason, how much was parsed], or undefined if all is well. After an upgrade the code is
   HPE_PAUSED_UPGRADE. */
static vg_val do_fault(vg_call *call)
{
    vg_answer *answer = answer_of(call);
    llhttp_errno_t error = answer ? llhttp_get_errno(&answer->parser) : HPE_OK;
    const char *reason, *at;
    vg_val items[3];
    if (error == HPE_OK)
        return NULL;
    reason = answer->overflow ? "Header overflow" : llhttp_get_error_reason(&answer->parser);
    at = llhttp_get_error_pos(&answer->parser);
    items[0] = vg_string(call->engine, answer->overflow ? "HPE_HEADER_OVERFLOW" : llhttp_errno_name(error));
    items[1] = vg_string(call->engine, reason ? reason : "");
    items[2] = vg_number(call->engine, at ? (double)((const unsigned char *)at - answer->piece) : 0);
    return vg_array(call->engine, 3, items);
}

bool vg_js_bind_answer(vigil_js *js)
{
    static const vg_binding_entry entries[] = {
        {"answerOpen", do_open}, {"answerParse", do_parse}, {"answerFinish", do_finish},
        {"answerText", do_text}, {"answerFault", do_fault},
    };
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}

void vg_js_answer_end(vigil_js *js)
{
    if (js->answer_class)
        vg_class_free(js->answer_class);
    js->answer_class = NULL;
}
