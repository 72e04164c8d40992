/* SPDX-License-Identifier: MIT */
/* Breaks each rule of scripts/lint-headers; the line below a mark is reported. Never included. */
#define VIGIL_FOREVER (-1)

/* breaks: init */
typedef struct vigil_broken {
    size_t size;
} vigil_broken;

/* breaks: time */
typedef struct vigil_broken_options {
    size_t size;
    uint64_t delay_ns;
} vigil_broken_options;
#define VIGIL_BROKEN_OPTIONS_INIT VG_SIZED(vigil_broken_options)

/* breaks: width */
/* This line is wider than the widest that a header may have, so that it cannot be read in half a window. */

/* ---- breaks: comment ---- */
VIGIL_API int vigil_broken_bare(void);

/* Does something. Does not block. 0. breaks: thread */
VIGIL_API int vigil_broken_thread(void);

/* Does something. Any thread. 0. breaks: blocking */
VIGIL_API int vigil_broken_blocking(void);

/* Does something. Any thread; does not block. breaks: returns */
VIGIL_API int vigil_broken_returns(void);

/* Any thread; blocks. 0. breaks: time */
VIGIL_API int vigil_broken_wait(vigil_broken *broken, uint64_t timeout_ns);

/* Any thread; does not block. breaks: verb */
VIGIL_API void vigil_broken_drop(vigil_broken *broken);

/* Any thread; does not block. 0. breaks: result */
VIGIL_API int vigil_broken_create(const vigil_broken_options *options, vigil_broken **broken);

/* Any thread; does not block. */
VIGIL_API void vigil_broken_destroy(vigil_broken *broken);

/* Any thread; does not block. 0. breaks: result */
VIGIL_API int vigil_broken_start(vigil_broken *broken, vigil_timer *timer, int64_t delay_ns);

/* Any thread; does not block. 0. breaks: pair */
VIGIL_API int vigil_broken_way_open(vigil_broken **way);

/* Any thread; blocks. 0. breaks: end */
VIGIL_API int vigil_broken_shutdown(vigil_broken *broken);

/* Any thread; does not block. 0; -ENOMEM. breaks: memory */
VIGIL_API int vigil_broken_submit(vigil_broken *broken, vigil_task *task);

/* Any thread; does not block. 0; -ENOMEM. breaks: memory */
VIGIL_API int vigil_broken_later(vigil_broken *broken, int (*fn)(void *arg), void *arg);
