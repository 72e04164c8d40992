/* SPDX-License-Identifier: MIT */
/*
 * How other threads reach a host: finished work goes on a stack, and the first to find it empty posts one node to the loop.
 *
 * The loop's post only collects; the deliveries are made in the poll phase (turn.c), after the timers and before the
 * immediates, where Node makes them.
 *
 * A port outlives its host, because work on the pool may. `inside` guards the one dangerous instant: a thread that has seen the port
 * open and is about to post to a loop that the owner is about to destroy. The owner sets the closed bit and then waits for those
 * who came in before; they are at most one post away from the end, so it spins.
 */
#include "port.h"

#include <sched.h>
#include <stdlib.h>

#define CLOSED 0x80000000U

static void collect(vg_port *port)
{
    vigil_js *js = port->js;
    /* acquire: what the senders wrote into their nodes; pairs with the release in vg_port_send. */
    vg_done *done = atomic_exchange_explicit(&port->stack, NULL, memory_order_acquire);
    vg_done *first = NULL;
    if (!js)
        return;
    while (done) {
        vg_done *next = done->next;
        done->next = first;
        first = done;
        done = next;
    }
    *js->ready_end = first;
    while (*js->ready_end)
        js->ready_end = &(*js->ready_end)->next;
}

/* The queued node has a reference: the loop may come for it, to run or to cancel it, after the host has gone. */
static void posted(vigil_post *post)
{
    vg_port *port = (vg_port *)(void *)((char *)post - offsetof(vg_port, post));
    collect(port);
    vg_port_release(port);
}

static void dropped(vigil_post *post)
{
    vg_port_release((vg_port *)(void *)((char *)post - offsetof(vg_port, post)));
}

vg_port *vg_port_new(vigil_js *js)
{
    vg_port *port = calloc(1, sizeof *port);
    if (!port)
        return NULL;
    atomic_init(&port->refs, 1U);
    atomic_init(&port->inside, 0U);
    atomic_init(&port->stack, NULL);
    atomic_init(&port->refusing, false);
    port->loop = js->loop;
    port->js = js;
    vigil_post_init(&port->post, posted, dropped);
    js->ready = NULL;
    js->ready_end = &js->ready;
    return port;
}

void vg_port_hold(vg_port *port)
{
    /* relaxed: a holder may make another. */
    atomic_fetch_add_explicit(&port->refs, 1, memory_order_relaxed);
}

static void drop_all(vg_done *done)
{
    while (done) {
        vg_done *next = done->next;
        done->drop(done);
        done = next;
    }
}

void vg_port_release(vg_port *port)
{
    /* acq_rel: the last one sees what all others did with the port before they let go of it. */
    if (atomic_fetch_sub_explicit(&port->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* acquire: pairs with the release in vg_port_send. */
    drop_all(atomic_exchange_explicit(&port->stack, NULL, memory_order_acquire));
    free(port);
}

void vg_port_send(vg_port *port, vg_done *done)
{
    /* acquire: the post below stays behind the entry; pairs with the owner's closing addition. */
    uint32_t before = atomic_fetch_add_explicit(&port->inside, 1, memory_order_acquire);
    if (before & CLOSED) {
        done->drop(done);
    } else {
        /* relaxed: only a guess for the exchange below. */
        vg_done *head = atomic_load_explicit(&port->stack, memory_order_relaxed);
        do
            done->next = head;
        /* release: the node's contents before its address; pairs with the acquire in collect. */
        while (!atomic_compare_exchange_weak_explicit(&port->stack, &head, done, memory_order_release,
                                                      memory_order_relaxed));
        if (!head) {
            vg_port_hold(port);
            /* -ESHUTDOWN: nobody will come for it, and the owner drops it when it closes the port. -EBUSY: the node is queued
               still, from before a collection by other means, and will find this too. The sender has a reference of its own. */
            if (vigil_loop_post_internal(port->loop, &port->post) < 0)
                vg_port_release(port);
        }
    }
    /* release: the post is made before the owner sees us leave; pairs with the acquire in vg_port_close. */
    atomic_fetch_sub_explicit(&port->inside, 1, memory_order_release);
}

void vg_port_close(vg_port *port)
{
    /* acq_rel: who comes later sees the bit; who came before is waited for. */
    atomic_fetch_or_explicit(&port->inside, CLOSED, memory_order_acq_rel);
    /* acquire: pairs with the release at the end of vg_port_send. */
    while (atomic_load_explicit(&port->inside, memory_order_acquire) & ~CLOSED)
        sched_yield();
    drop_all(port->js->ready);
    port->js->ready = NULL;
    port->js->ready_end = &port->js->ready;
    /* acquire: pairs with the release in vg_port_send. */
    drop_all(atomic_exchange_explicit(&port->stack, NULL, memory_order_acquire));
    port->js = NULL;
}

void vg_js_deliver_now(vigil_js *js)
{
    collect(js->port);
    vg_js_deliver(js);
}

void vg_js_deliver(vigil_js *js)
{
    vg_done *done = js->ready;
    js->ready = NULL;
    js->ready_end = &js->ready;
    while (done) {
        vg_done *next = done->next;
        if (js->ended)
            done->drop(done);
        else
            done->deliver(js, done);
        done = next;
    }
}
