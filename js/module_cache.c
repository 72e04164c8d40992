/* SPDX-License-Identifier: MIT */
/*
 * The cache of rewritten modules: $XDG_CACHE_HOME/vigil/modules, or ~/.cache/vigil/modules.
 *
 * An entry is a file whose name is the SHA-256 of the rewriter's version and of the text, so an entry is never stale. It begins with the
 * SHA-256 of its name and its content: a truncated, damaged or renamed file is not taken. Entries are written under a temporary name and
 * renamed, so a reader sees a whole file or none, and two writers of one entry write the same.
 *
 * What is read here is run. Therefore the two folders and each file must belong to this user and be writable for nobody else, links are not
 * followed, and programs with more rights than their caller (setuid) have no cache.
 *
 * The size is bounded: a process that writes looks at the whole folder at its first entry and then after each eighth of the limit, and removes
 * what was not used for the longest time. A use moves the time of a file that is older than a day.
 */
#include "module_cache.h"

#ifdef VG_HAVE_GCRYPT

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "library.h"
#include "work_hash.h"

#define MARK        "vigil module 1 "
#define HEAD        (sizeof MARK - 1 + VG_MODULE_KEY - 1 + 1) /* the mark, the digest, a line feed */
#define DEFAULT_MAX ((size_t)64 << 20)
#define LONGEST     ((size_t)16 << 20) /* of an entry */
#define DAY         86400
#define HOUR        3600 /* a temporary file of that age belongs to nobody any more */

struct vg_module_cache {
    int folder;
    size_t max;       /* bytes */
    size_t since;     /* bytes written since the folder was looked at */
    bool looked;      /* at least once */
    unsigned counter; /* of temporary names */
};

/* ---- digests ---------------------------------------------------------------------------------------------------- */

static bool digest(const char *first, size_t first_length, const char *second, size_t second_length,
                   char hex[VG_MODULE_KEY])
{
    vg_digest *made = vg_digest_new("sha256", NULL, 0);
    size_t length = 0;
    if (!made)
        return false;
    vg_digest_add(made, first, first_length);
    vg_digest_add(made, second, second_length);
    const unsigned char *bytes = vg_digest_end(made, &length);
    for (size_t i = 0; i < length; i++) {
        hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    hex[2 * length] = 0;
    vg_digest_free(made);
    return true;
}

void vg_module_cache_key(vg_module_cache *cache, const char *text, size_t length, char key[VG_MODULE_KEY])
{
    (void)cache; /* a cache that is open has digests */
    if (!digest(vg_js_rewriter, strlen(vg_js_rewriter) + 1, text, length, key))
        key[0] = 0;
}

/* ---- folders ---------------------------------------------------------------------------------------------------- */

static bool is_ours(int fd, mode_t kind)
{
    struct stat found;
    return fstat(fd, &found) == 0 && (found.st_mode & S_IFMT) == kind && found.st_uid == geteuid() &&
           (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* A folder in a folder, made if it is not there; -1: it is not ours. Closes `parent`. */
static int enter(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == ENOENT && (mkdirat(parent, name, 0700) == 0 || errno == EEXIST))
        fd = openat(parent, name, flags);
    close(parent);
    if (fd >= 0 && !is_ours(fd, S_IFDIR)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The user's cache folder, which may be a link and may belong to others; -1: there is none. */
static int open_base(void)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[4096];
    int length;
    if (base && *base == '/')
        length = snprintf(path, sizeof path, "%s", base);
    else if (home && *home == '/')
        length = snprintf(path, sizeof path, "%s/.cache", home);
    else
        return -1;
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    /* The last folder alone: a home that is not there is not made. */
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && mkdir(path, 0700) == 0)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd;
}

/* VIGIL_MODULE_CACHE: "off" or 0, or the most megabytes. 0: no cache. */
static size_t limit(void)
{
    const char *word = getenv("VIGIL_MODULE_CACHE");
    char *end;
    if (!word || !*word)
        return DEFAULT_MAX;
    if (strcmp(word, "off") == 0)
        return 0;
    unsigned long amount = strtoul(word, &end, 10);
    return *end != 0 || amount > 1U << 20 ? DEFAULT_MAX : (size_t)amount << 20;
}

vg_module_cache *vg_module_cache_open(void)
{
    size_t max = limit();
    if (max == 0 || getauxval(AT_SECURE) || vg_work_digest_length("sha256") == 0)
        return NULL;
    int fd = open_base();
    if (fd >= 0)
        fd = enter(fd, "vigil");
    if (fd >= 0)
        fd = enter(fd, "modules");
    vg_module_cache *cache = fd >= 0 ? calloc(1, sizeof *cache) : NULL;
    if (!cache) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    cache->folder = fd;
    cache->max = max;
    return cache;
}

void vg_module_cache_close(vg_module_cache *cache)
{
    if (!cache)
        return;
    close(cache->folder);
    free(cache);
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

static bool read_all(int fd, char *to, size_t length)
{
    size_t used = 0;
    while (used < length) {
        ssize_t got = read(fd, to + used, length - used);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        used += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool write_all(int fd, const char *from, size_t length)
{
    size_t used = 0;
    while (used < length) {
        ssize_t got = write(fd, from + used, length - used);
        if (got < 0 && errno != EINTR)
            return false;
        used += got > 0 ? (size_t)got : 0;
    }
    return true;
}

char *vg_module_cache_get(vg_module_cache *cache, const char *key, size_t *length)
{
    char *bytes = NULL, sum[VG_MODULE_KEY];
    struct stat found;
    int fd = openat(cache->folder, key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (is_ours(fd, S_IFREG) && fstat(fd, &found) == 0 && (size_t)found.st_size >= HEAD &&
        (size_t)found.st_size <= LONGEST && (bytes = malloc((size_t)found.st_size + 1))) {
        size_t size = (size_t)found.st_size;
        bool good = read_all(fd, bytes, size) && memcmp(bytes, MARK, sizeof MARK - 1) == 0 && bytes[HEAD - 1] == '\n' &&
                    digest(key, VG_MODULE_KEY - 1, bytes + HEAD, size - HEAD, sum) &&
                    memcmp(bytes + sizeof MARK - 1, sum, VG_MODULE_KEY - 1) == 0;
        if (good) {
            *length = size - HEAD;
            memmove(bytes, bytes + HEAD, *length);
            bytes[*length] = 0;
            if (time(NULL) - found.st_mtime > DAY)
                (void)futimens(fd, NULL);
        } else {
            free(bytes);
            bytes = NULL;
        }
    }
    close(fd);
    return bytes;
}

typedef struct entry {
    char name[VG_MODULE_KEY];
    time_t used;
    size_t size;
} entry;

static int by_use(const void *a, const void *b)
{
    const entry *first = a, *second = b;
    if (first->used != second->used)
        return first->used < second->used ? -1 : 1;
    return strcmp(first->name, second->name);
}

/* Remove what was not used for the longest time, until three quarters of the limit are left. */
static void make_room(vg_module_cache *cache)
{
    /* Opened again: a copy of the descriptor would share its position. */
    int fd = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *one;
    entry *entries = NULL;
    size_t count = 0, room = 0, total = 0;
    if (!list) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((one = readdir(list))) {
        struct stat found;
        if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0 ||
            fstatat(cache->folder, one->d_name, &found, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(found.st_mode))
            continue;
        if (one->d_name[0] == '.') {
            if (time(NULL) - found.st_mtime > HOUR)
                (void)unlinkat(cache->folder, one->d_name, 0);
            continue;
        }
        if (strlen(one->d_name) != VG_MODULE_KEY - 1)
            continue; /* none of ours */
        if (count == room) {
            entry *more = realloc(entries, (room = room ? room * 2 : 256) * sizeof *entries);
            if (!more)
                break;
            entries = more;
        }
        memcpy(entries[count].name, one->d_name, VG_MODULE_KEY);
        entries[count].used = found.st_mtime;
        entries[count].size = ((size_t)found.st_size + 4095) / 4096 * 4096; /* as most file systems do */
        total += entries[count++].size;
    }
    closedir(list);
    if (total > cache->max) {
        qsort(entries, count, sizeof *entries, by_use);
        for (size_t i = 0; i < count && total > cache->max / 4 * 3; i++) {
            (void)unlinkat(cache->folder, entries[i].name, 0);
            total -= entries[i].size;
        }
    }
    free(entries);
}

void vg_module_cache_put(vg_module_cache *cache, const char *key, const char *bytes, size_t length)
{
    char head[HEAD + 1], sum[VG_MODULE_KEY], name[64];
    if (length > LONGEST - HEAD || !digest(key, VG_MODULE_KEY - 1, bytes, length, sum))
        return;
    snprintf(head, sizeof head, MARK "%s\n", sum);
    /* The counter is the cache's, and a process may have several caches: its address tells them apart. */
    snprintf(name, sizeof name, ".%ld.%p.%u", (long)getpid(), (void *)cache, cache->counter++);
    int fd = openat(cache->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool good = write_all(fd, head, HEAD) && write_all(fd, bytes, length);
    if (close(fd) < 0 || !good || renameat(cache->folder, name, cache->folder, key) < 0)
        (void)unlinkat(cache->folder, name, 0);
    cache->since += HEAD + length;
    if (!cache->looked || cache->since > cache->max / 8) {
        cache->looked = true;
        cache->since = 0;
        make_room(cache);
    }
}

#else

vg_module_cache *vg_module_cache_open(void)
{
    return NULL;
}

void vg_module_cache_close(vg_module_cache *cache)
{
    (void)cache;
}

void vg_module_cache_key(vg_module_cache *cache, const char *text, size_t length, char key[VG_MODULE_KEY])
{
    (void)cache;
    (void)text;
    (void)length;
    key[0] = 0;
}

char *vg_module_cache_get(vg_module_cache *cache, const char *key, size_t *length)
{
    (void)cache;
    (void)key;
    (void)length;
    return NULL;
}

void vg_module_cache_put(vg_module_cache *cache, const char *key, const char *bytes, size_t length)
{
    (void)cache;
    (void)key;
    (void)bytes;
    (void)length;
}

#endif
