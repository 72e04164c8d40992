/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t vg_jobs_boot_hash(void)
{
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text) : 0;
    if (fd >= 0)
        (void)close(fd);
    uint64_t hash = 0xcbf29ce484222325U; /* FNV-1a */
    for (ssize_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3U;
    return hash >> 1; /* fits a signed column */
}

void vg_jobs_identity(char *identity, size_t identity_room, char *name, size_t name_room)
{
    uint64_t chance = 0;
    (void)getrandom(&chance, sizeof chance, 0);
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    (void)snprintf(identity, identity_room, "%llx-%d-%llx-%llx", (unsigned long long)vg_jobs_boot_hash(), (int)getpid(),
                   (unsigned long long)now.tv_sec, (unsigned long long)chance);
    char host[64] = "?";
    (void)gethostname(host, sizeof host);
    host[sizeof host - 1] = '\0';
    (void)snprintf(name, name_room, "%s:%d", host, (int)getpid());
}

enum {
    OWN_BYTES = 4096
};

int vg_jobs_own_begin(struct vg_jobs_own *own)
{
    uint32_t *page = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -ENOMEM;
    /* qemu-user accepts every advice: a kernel that takes an invalid one lies. */
    const bool wiped = madvise(page, OWN_BYTES, -1) != 0 && madvise(page, OWN_BYTES, MADV_WIPEONFORK) == 0;
    own->pid = wiped ? 0 : getpid();
    *page = 1;
    own->page = page;
    return 0;
}

bool vg_jobs_own_is(const struct vg_jobs_own *own)
{
    return *own->page != 0 && (own->pid == 0 || own->pid == getpid());
}

void vg_jobs_own_end(struct vg_jobs_own *own)
{
    if (own->page != NULL)
        (void)munmap(own->page, OWN_BYTES);
    own->page = NULL;
}
