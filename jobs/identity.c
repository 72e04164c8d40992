/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include <fcntl.h>
#include <stdio.h>
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
