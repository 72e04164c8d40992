/* SPDX-License-Identifier: MIT */
/*
 * vigil/cancel.h - asking work to stop.
 *
 * A source can abort; its token can be looked at, waited on by handlers, and handed to everything
 * that takes one: sleeps, descriptors, pool calls, promises. Both are references to one object.
 * Abort happens once, with a status and a text that say why; from then on the token stays aborted.
 *
 * A long task polls:            if (vigil_cancel_status(token) != 0) return
 *                               vigil_cancel_status(token);
 * Others want to be called:     vigil_cancel_add(token, &handler) with a handler inside their own
 *                               struct.
 *
 * Handlers run on the thread that aborts, in the order in which they were added, each once, and not
 * under a lock: a handler may add and remove handlers, abort other sources and drop references.
 * What must happen on a loop is posted there by the handler. Every call here may be made by any
 * thread unless it says otherwise.
 */
#ifndef VIGIL_CANCEL_H
#define VIGIL_CANCEL_H

#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_loop vigil_loop;
typedef struct vigil_cancel_source vigil_cancel_source;
typedef struct vigil_cancel_token vigil_cancel_token;
typedef struct vigil_cancel_handler vigil_cancel_handler;

#define VIGIL_CANCEL_TEXT 96 /* bytes of the text that are kept, the final zero included */

/* Make a source that nobody has aborted, with one reference. *source is given back with
   vigil_cancel_destroy. Any thread; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_cancel_create(vigil_cancel_source **source);

/* Make a source that is also aborted, with the same status and text, as soon as one of the
   tokens is; at once, if one is already. It keeps references to the tokens until it is gone.
   count may be 0. Any thread; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_cancel_create_any(vigil_cancel_source **source,
                                      vigil_cancel_token *const *tokens, size_t count);

/* Make a source that aborts itself with -ETIMEDOUT when timeout_ns have passed on the loop;
   negative: never, as a plain source. The timer does not keep the loop alive; if the loop ends
   first, the source is aborted with -ESHUTDOWN then. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_cancel_create_timeout(vigil_cancel_source **source, vigil_loop *loop,
                                          int64_t timeout_ns);

/* Both in one: a source that is aborted with -ETIMEDOUT when timeout_ns have passed on the loop,
   and as the token is, whichever is first. token may be NULL. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_cancel_create_deadline(vigil_cancel_source **source, vigil_loop *loop,
                                           int64_t timeout_ns, vigil_cancel_token *token);

/* Abort: the status (a negative errno; anything else counts as -ECANCELED) and the text (copied;
   NULL for none) are there for good, and when this returns every handler that was there has run,
   or runs on another thread that was first. Any thread; does not block, apart from the handlers.
   0; -EALREADY it was aborted before, and nothing changes; -EINVAL. */
VIGIL_API int vigil_cancel_abort(vigil_cancel_source *source, int status, const char *text);

/* The token of a source. It is borrowed: valid as long as the source's reference, or one more of
   its own (vigil_cancel_ref). Any thread; does not block. Returns the token. */
VIGIL_API vigil_cancel_token *vigil_cancel_token_of(vigil_cancel_source *source);

/* Give the source back. A source that is gone can no longer abort; its token then never will.
   NULL is allowed. Any thread; does not block. */
VIGIL_API void vigil_cancel_destroy(vigil_cancel_source *source);

/* One more reference to the token. NULL is allowed. Any thread; does not block. Returns its
   argument. */
VIGIL_API vigil_cancel_token *vigil_cancel_ref(vigil_cancel_token *token);

/* One reference to the token less. NULL is allowed. Any thread; does not block. */
VIGIL_API void vigil_cancel_unref(vigil_cancel_token *token);

/* Whether the token is aborted. One load; NULL counts as a token that is never aborted. Any
   thread; does not block.
   0 not aborted. Otherwise the negative status. */
VIGIL_API int vigil_cancel_status(const vigil_cancel_token *token);

/* The text that came with the abort. Any thread; does not block. Returns "" if there is none;
   valid as long as the token. */
VIGIL_API const char *vigil_cancel_text(const vigil_cancel_token *token);

/* Called when the token is aborted. It may free the handler, or add it elsewhere: the library's
   last touch of the handler is this call. (A handler whose end vigil_cancel_remove awaits must
   stay where it is.) */
typedef void (*vigil_cancel_fn)(vigil_cancel_handler *handler, int status);

/* Embed it in your own struct and set fn; the vg_ fields are the library's. 40 bytes. */
struct vigil_cancel_handler {
    vigil_cancel_fn fn;
    vigil_cancel_handler *vg_next;
    vigil_cancel_handler *vg_previous;
    vigil_cancel_token *vg_token;
    uint64_t vg_reserved;
};

/* Let handler->fn be called on abort. The handler must stay until it has run or was removed; it
   holds no reference to the token. Any thread; does not block.
   0; -ECANCELED the token is aborted already and fn is not called; -EINVAL. */
VIGIL_API int vigil_cancel_add(vigil_cancel_token *token, vigil_cancel_handler *handler);

/* Take a handler back. The answer is exact, and afterwards fn does not run and is not running,
   unless the caller is inside it. Any thread; blocks only while fn runs on another thread.
   0          it was never called and will not be
   -EALREADY  it has been called; if it was just running on another thread, this has waited for
              its return
   -EINVAL. */
VIGIL_API int vigil_cancel_remove(vigil_cancel_token *token, vigil_cancel_handler *handler);

#ifdef __cplusplus
}
#endif
#endif
