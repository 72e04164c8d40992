/* SPDX-License-Identifier: MIT */
/* shown_api.c - what users show: a query that is in flight, in their own struct. */
#include "shown.h"

#include "base/container.h"
#include "base/why.h"
#include "loop/guard.h"

#include <stdlib.h>

/* What a vigil_shown is. */
typedef struct shown_query {
    vg_io_shared *shared; /* NULL: it is not shown */
    vg_io_member member;
} shown_query;

_Static_assert(sizeof(shown_query) <= sizeof(vigil_shown), "a query fits into what users have of it");

static void query_loop_ended(vg_io_member *member)
{
    shown_query *it = vg_container_of(member, shown_query, member);
    vg_io_shared *shared = it->shared;
    it->shared = NULL;
    vg_io_leave(shared, member);
}

int vigil_shown_begin(vigil_shown *shown, vigil_loop *loop, const char *name)
{
    shown_query *it = (shown_query *)(void *)shown;
    if (shown == NULL || name == NULL)
        return shown == NULL ? VG_WHY_NULL("shown") : VG_WHY_NULL("name");
    it->shared = NULL;
    int error = vg_guard_owner(loop);
    if (error == 0)
        error = vg_guard_open(loop);
    if (error != 0 || !vg_shown_wanted(loop))
        return error;
    it->member.ended = query_loop_ended;
    it->shared = vg_io_enter(loop, &it->member, &error);
    if (it->shared == NULL)
        return error;
    vg_shown_open(it->shared, &it->member, VG_IO_QUERY, NULL, name);
    vg_shown_wait(&it->member, VG_IO_WAITS_ANSWER, vigil_loop_now(loop));
    return 0;
}

void vigil_shown_end(vigil_shown *shown)
{
    shown_query *it = (shown_query *)(void *)shown;
    if (it == NULL || it->shared == NULL)
        return;
    vg_io_shared *shared = it->shared;
    it->shared = NULL;
    vg_io_leave(shared, &it->member);
}
