/* SPDX-License-Identifier: MIT */
/*
 * upload.c - the body of a call that comes piece by piece. One piece is asked for at a time, and the next when the link
 * has taken most of the last. A piece that is asked for cannot be taken back, so the upload may outlive its call.
 */
#include "upload.h"

#include "link.h"
#include "out.h"
#include "trailers.h"

#include <stdio.h>
#include <stdlib.h>

struct vg_web_upload {
    vigil_reaction reaction; /* on the piece that is asked for */
    vg_web_call *call;       /* NULL: it is over, and who comes next frees this */
    uint64_t left;           /* of a body whose length is known */
    bool asked;              /* a piece, or the first turn, is on its way */
};

static void upload_more(vg_web_upload *it);

static void upload_failed(vg_web_upload *it, int error)
{
    vg_web_link_end(it->call->link, error); /* drops it */
}

static void upload_drained(void *arg)
{
    upload_more(arg);
}

/* The last chunk, and the trailers. */
static int upload_last(const vg_web_call *call, const vigil_http_field *fields, size_t count)
{
    char room[512];
    vg_web_out out;
    int rc = vg_web_check_trailers(fields, count);
    if (rc < 0)
        return rc;
    vg_web_out_begin(&out, room, sizeof room);
    vg_web_out_add(&out, "0\r\n", 3);
    vg_web_out_fields(&out, fields, count);
    vg_web_out_add(&out, "\r\n", 2);
    rc = out.failed != 0 ? out.failed : vigil_stream_write(call->link->stream, out.bytes, out.length);
    vg_web_out_end(&out);
    return rc;
}

static void upload_complete(vg_web_upload *it)
{
    const vigil_http_field *fields = NULL;
    size_t count = 0;
    int rc = 0;
    if (it->call->trailers != NULL) {
        it->asked = true; /* the call may end inside */
        rc = it->call->trailers(it->call->user, &fields, &count);
        it->asked = false;
        if (it->call == NULL) {
            free(it);
            return;
        }
    }
    vg_web_call *call = it->call;
    if (rc >= 0 && call->body_length < 0)
        rc = upload_last(call, fields, count);
    else if (rc >= 0 && it->left != 0)
        rc = -ENODATA;
    if (rc < 0) {
        upload_failed(it, rc);
        return;
    }
    call->upload = NULL;
    free(it);
}

static int upload_send(vg_web_upload *it, const vigil_http_bytes *piece)
{
    vg_web_call *call = it->call;
    vigil_stream *stream = call->link->stream;
    char line[24];
    if (call->body_length >= 0) {
        if (piece->length > it->left)
            return -EMSGSIZE;
        it->left -= piece->length;
        return vigil_stream_write(stream, piece->data, piece->length);
    }
    const int length = snprintf(line, sizeof line, "%zx\r\n", piece->length);
    int rc = vigil_stream_write(stream, line, (size_t)length);
    if (rc >= 0)
        rc = vigil_stream_write(stream, piece->data, piece->length);
    return rc >= 0 ? vigil_stream_write(stream, "\r\n", 2) : rc;
}

static vg_web_upload *upload_of(vigil_reaction *reaction)
{
    return (vg_web_upload *)(void *)((char *)reaction - offsetof(vg_web_upload, reaction));
}

static void upload_came(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    vg_web_upload *it = upload_of(reaction);
    it->asked = false;
    if (it->call == NULL) {
        free(it);
    } else if (state == VIGIL_REJECTED) {
        upload_failed(it, value->status < 0 ? value->status : -EIO);
    } else if (value->kind != VIGIL_POINTER || value->pointer == NULL) {
        upload_complete(it);
    } else {
        const vigil_http_bytes *piece = value->pointer;
        int rc = piece->length != 0 ? upload_send(it, piece) : 0;
        if (rc == 1)
            rc = vigil_stream_on_drained(it->call->link->stream, upload_drained, it);
        else if (rc == 0)
            upload_more(it);
        if (rc < 0)
            upload_failed(it, rc);
    }
}

/* Nobody can settle the piece, or the loop ends. */
static void upload_gone(vigil_reaction *reaction)
{
    vg_web_upload *it = upload_of(reaction);
    it->asked = false;
    if (it->call == NULL)
        free(it);
    else
        upload_failed(it, -ECANCELED);
}

static void upload_more(vg_web_upload *it)
{
    vigil_promise *promise = NULL;
    it->asked = true; /* the call may end inside */
    int rc = it->call->next_body(it->call->user, &promise);
    if (rc >= 0) {
        it->reaction.run = upload_came;
        it->reaction.cancel = upload_gone;
        rc = vigil_promise_reaction_add(promise, &it->reaction);
        vigil_promise_unref(promise); /* may be the last reference: then upload_gone is called */
        if (rc >= 0)
            return;
    }
    it->asked = false;
    if (it->call == NULL)
        free(it);
    else
        upload_failed(it, rc);
}

static void upload_first(void *arg)
{
    vg_web_upload *it = arg;
    it->asked = false;
    if (it->call == NULL)
        free(it);
    else
        upload_more(it);
}

static void upload_never(void *arg)
{
    vg_web_upload *it = arg;
    if (it->call != NULL)
        it->call->upload = NULL;
    free(it);
}

int vg_web_upload_begin(vg_web_call *call)
{
    vg_web_upload *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    it->call = call;
    it->left = call->body_length >= 0 ? (uint64_t)call->body_length : 0;
    it->asked = true;
    const int rc = vigil_loop_tick_call(call->client->loop, upload_first, upload_never, it);
    if (rc < 0) {
        free(it);
        return rc;
    }
    call->upload = it;
    return 0;
}

void vg_web_upload_drop(vg_web_call *call)
{
    vg_web_upload *it = call->upload;
    if (it == NULL)
        return;
    call->upload = NULL;
    it->call = NULL;
    if (it->asked)
        return;
    if (call->link != NULL)
        (void)vigil_stream_on_drained(call->link->stream, NULL, NULL);
    free(it);
}
