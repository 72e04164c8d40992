/* SPDX-License-Identifier: MIT */
/*
 * A submit from the loop's own thread that is run on the spot.
 *
 * Claimed: if the caller is on the loop's thread already, there is no need to queue: running the callback at once saves a turn and
 * avoids re-entrance problems.
 *
 * True: it creates them. The callback runs in the middle of the one that submitted it, which has its data half changed, and before
 * everything that was queued earlier. A callback that submits itself recurses until the stack ends. Here one callback moves an amount
 * from one account to another and submits the auditor between the two steps. One thread is enough; no schedule saves it.
 *
 * In the control the same submit is queued like any other.
 */
#include "gallery.h"

typedef void callback(void);

static bool inline_on_owner;
static callback *ring[4];
static unsigned head, tail;
static int from = 10, to;

static void submit_internal(callback *fn)
{
    if (inline_on_owner)
        fn();
    else
        ring[tail++ % 4] = fn;
}

static void audit(void)
{
    vgc_assert(from + to == 10, "the auditor ran inside another callback and saw its data half changed");
}

static void transfer(void)
{
    from -= 4;
    submit_internal(audit);
    to += 4;
}

static void run_the_loop(void)
{
    inline_on_owner = *(const bool *)vgc_arg();
    ring[tail++ % 4] = transfer;
    while (head != tail)
        ring[head++ % 4]();
}

static const bool yes = true, no = false;

VGC_REGISTER(on_the_spot, "inline_submit", run_the_loop, "a callback never runs inside another", .arg = &yes,
             .expect = VGC_ASSERTION, .bound = "1 loop, 2 callbacks", .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(queued, "queued_submit", run_the_loop, "a callback never runs inside another", .arg = &no,
             .bound = "1 loop, 2 callbacks", .opt.time_limit = GALLERY_SECONDS);
