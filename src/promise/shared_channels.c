/* SPDX-License-Identifier: MIT */
/*
 * shared_channels.c - send, receive and select as promises.
 */
#include "shared.h"

#include "base/clock.h"
#include "base/why.h"

#include <stdlib.h>
#include <vigil/channel.h>

/* ---- one channel ------------------------------------------------------------------------------------------------- */

static int message_attempt(vg_shared *wait)
{
    return vg_channel_try(wait->channel.channel, wait->channel.send, wait->channel.receive);
}

static int message_join(vg_shared *wait, bool again)
{
    if (wait->channel.channel->flavor == VG_CHANNEL_HAND)
        return vg_channel_hand_join(&wait->channel, &wait->sleeper, again);
    bool tried = !again; /* the first time it has just been tried */
    for (;;) {
        const int answer = tried ? VG_CHANNEL_WAIT : message_attempt(wait);
        tried = false;
        if (answer != VG_CHANNEL_WAIT)
            return answer;
        if (!vg_channel_join(&wait->channel, 1, &wait->sleeper, again) ||
            !vg_sleeper_leave(&wait->sleeper, VG_SLEEP_RETRY))
            return VG_CHANNEL_WAIT;
        vg_channel_leave(&wait->channel, 1);
    }
}

static void message_left(vg_shared *wait)
{
    vg_channel_leave(&wait->channel, 1);
}

/* It was woken to try. (What was handed to it has come with its promise.) */
static void message_undo(vg_shared *wait)
{
    /* relaxed: the end was acquired by the post, or is our own */
    if (atomic_load_explicit(&wait->sleeper.word, memory_order_relaxed) == VG_SLEEP_RETRY)
        vg_channel_pass_on(&wait->channel);
}

static const vg_shared_kind message_kind = {
    .attempt = message_attempt, .join = message_join, .left = message_left, .undo = message_undo, .handed = true};

/* The same, tried before. */
static const vg_shared_kind waiting_message_kind = {
    .join = message_join, .left = message_left, .undo = message_undo, .handed = true};

static int promise_message(vigil_loop *loop, const vg_shared_kind *kind, const vg_channel_wait *message,
                           vigil_cancel_token *token, const void *created, vigil_promise **promise)
{
    if (message->channel == NULL || (message->send == NULL && message->receive == NULL))
        return message->channel == NULL ? VG_WHY_NULL("channel") : VG_WHY_NULL("element");
    vg_shared with;
    vg_shared_describe(&with, kind, VG_SHARE_CHANNEL, message->channel);
    with.channel = *message;
    return vg_shared_begin(loop, &with, token, created, promise);
}

int vigil_promise_send(vigil_loop *loop, vigil_channel *channel, const void *element, vigil_cancel_token *token,
                       vigil_promise **promise)
{
    const vg_channel_wait message = {.channel = channel, .send = element};
    return promise_message(loop, &message_kind, &message, token, __builtin_return_address(0), promise);
}

int vigil_promise_receive(vigil_loop *loop, vigil_channel *channel, void *element, vigil_cancel_token *token,
                          vigil_promise **promise)
{
    const vg_channel_wait message = {.channel = channel, .receive = element};
    return promise_message(loop, &message_kind, &message, token, __builtin_return_address(0), promise);
}

int vg_promise_message(vigil_loop *loop, const vg_channel_wait *message, vigil_cancel_token *token, const void *created,
                       vigil_promise **promise)
{
    return promise_message(loop, &waiting_message_kind, message, token, created, promise);
}

/* ---- select ------------------------------------------------------------------------------------------------------ */

static int select_done(vg_shared *wait, uint32_t chosen, int status)
{
    wait->number = chosen;
    wait->cases[chosen].status = status;
    return VG_CHANNEL_DONE;
}

static int select_attempt(vg_shared *wait)
{
    int status = 0;
    const int done = vg_channel_try_cases(wait->waits, wait->count, (size_t)(vg_ticks() >> 5) % wait->count, &status);
    return done < 0 ? VG_CHANNEL_WAIT : select_done(wait, (uint32_t)done, status);
}

static void select_left(vg_shared *wait)
{
    vg_channel_leave(wait->waits, wait->count);
}

static int select_join(vg_shared *wait, bool again)
{
    const uint32_t woken = again ? wait->sleeper.chosen : VG_CHANNEL_NONE;
    const size_t from = woken != VG_CHANNEL_NONE ? woken : (size_t)(vg_ticks() >> 5) % wait->count;
    if (again)
        select_left(wait);
    for (;;) {
        int status = 0;
        const int done = vg_channel_try_cases(wait->waits, wait->count, from, &status);
        if (done >= 0) {
            if (woken != VG_CHANNEL_NONE && (uint32_t)done != woken)
                vg_channel_pass_on(&wait->waits[woken]);
            return select_done(wait, (uint32_t)done, status);
        }
        if (!vg_channel_join(wait->waits, wait->count, &wait->sleeper, woken != VG_CHANNEL_NONE) ||
            !vg_sleeper_leave(&wait->sleeper, VG_SLEEP_RETRY))
            return VG_CHANNEL_WAIT;
        select_left(wait);
    }
}

static void select_given(vg_shared *wait, uint32_t end)
{
    select_left(wait);
    (void)select_done(wait, wait->sleeper.chosen, end == VG_SLEEP_CLOSED ? VG_CHANNEL_CLOSED : VG_CHANNEL_DONE);
}

static void select_undo(vg_shared *wait)
{
    /* relaxed: the end was acquired by the post, or is our own */
    if (atomic_load_explicit(&wait->sleeper.word, memory_order_relaxed) == VG_SLEEP_RETRY)
        vg_channel_pass_on(&wait->waits[wait->sleeper.chosen]);
}

static const vg_shared_kind select_kind = {.attempt = select_attempt,
                                           .join = select_join,
                                           .left = select_left,
                                           .undo = select_undo,
                                           .given = select_given,
                                           .handed = true,
                                           .counts = true,
                                           .several = true};

int vigil_promise_select(vigil_loop *loop, vigil_channel_case *cases, size_t count, vigil_cancel_token *token,
                         vigil_promise **promise)
{
    vigil_channel *first = NULL;
    const int error = vg_channel_check_cases(cases, count, &first);
    if (error != 0)
        return error;
    vg_channel_wait *waits = malloc(count * sizeof *waits);
    if (waits == NULL)
        return vg_why(-ENOMEM, "no memory for the cases");
    for (size_t i = 0; i < count; i++)
        waits[i] = (vg_channel_wait){.channel = cases[i].channel, .send = cases[i].send, .receive = cases[i].receive};
    vg_shared with = {.kind = &select_kind,
                      .sleeper = {.kind = VG_SHARE_CHANNEL, .object = first},
                      .waits = waits,
                      .cases = cases,
                      .count = count};
    return vg_shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}
