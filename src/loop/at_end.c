/* SPDX-License-Identifier: MIT */
/*
 * at_end.c - callbacks for the end of the loop. An intrusive list that only the owner touches. ending.c takes it
 * apart in E4, so a callback may remove nodes.
 */
#include "at_end.h"
#include "guard.h"

int vigil_loop_at_end_add(vigil_loop *loop, vigil_at_end *it)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    if (it == NULL || it->run == NULL)
        return vg_why(-EINVAL, "it or it->run is NULL; set it up with vigil_at_end_init");
    if (vg_state(loop) == VIGIL_LOOP_TERMINATED)
        return vg_why(-ESHUTDOWN, "the loop has ended; the callback would never run");
    if (it->vg_loop != NULL)
        return vg_why(-EBUSY, "the node waits for the end of a loop already; remove it there first");
    it->vg_loop = loop;
    it->vg_next = NULL;
    it->vg_prev = loop->at_end_last;
    if (loop->at_end_last != NULL)
        loop->at_end_last->vg_next = it;
    else
        loop->at_end_first = it;
    loop->at_end_last = it;
    return 0;
}

static void unlink_node(vigil_loop *loop, vigil_at_end *it)
{
    if (it->vg_prev != NULL)
        it->vg_prev->vg_next = it->vg_next;
    else
        loop->at_end_first = it->vg_next;
    if (it->vg_next != NULL)
        it->vg_next->vg_prev = it->vg_prev;
    else
        loop->at_end_last = it->vg_prev;
    it->vg_next = NULL;
    it->vg_prev = NULL;
    it->vg_loop = NULL;
}

int vigil_loop_at_end_remove(vigil_loop *loop, vigil_at_end *it)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    if (it == NULL)
        return vg_why(-EINVAL, "it is NULL");
    if (it->vg_loop != loop)
        return -ENOENT;
    unlink_node(loop, it);
    return 0;
}

vigil_at_end *vg_at_end_take(vigil_loop *loop)
{
    vigil_at_end *it = loop->at_end_first;
    if (it != NULL)
        unlink_node(loop, it);
    return it;
}
