/* SPDX-License-Identifier: MIT */
#include "fds.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

vg_fd *vg_fds_make(vg_fds *fds, int fd)
{
    const size_t page = (size_t)fd >> VG_FDS_SHIFT;
    if (page >= fds->room) {
        size_t room = fds->room == 0 ? 4 : fds->room;
        while (room <= page)
            room *= 2;
        vg_fd **pages = realloc(fds->pages, room * sizeof *pages);
        if (pages == NULL)
            return NULL;
        memset(pages + fds->room, 0, (room - fds->room) * sizeof *pages);
        fds->pages = pages;
        fds->room = room;
    }
    if (fds->pages[page] == NULL)
        fds->pages[page] = calloc(VG_FDS_PAGE, sizeof *fds->pages[page]);
    return vg_fds_find(fds, fd);
}

vg_fd *vg_fds_next(const vg_fds *fds, int *fd)
{
    while ((size_t)*fd >> VG_FDS_SHIFT < fds->room) {
        vg_fd *record = vg_fds_find(fds, *fd);
        if (record != NULL && (record->first != NULL || record->in_poller))
            return record;
        if (*fd > INT_MAX - VG_FDS_PAGE)
            return NULL;
        *fd = record != NULL ? *fd + 1 : (*fd | (VG_FDS_PAGE - 1)) + 1; /* else the whole page is missing */
    }
    return NULL;
}

void vg_fds_destroy(vg_fds *fds)
{
    for (size_t page = 0; page < fds->room; page++)
        free(fds->pages[page]);
    free(fds->pages);
    *fds = (vg_fds){0};
}
