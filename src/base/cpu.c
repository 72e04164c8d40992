/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - NOTES.md says where the kernel keeps the limits.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cpu.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vigil/pool.h>

enum {
    VG_CPU_PATH_ROOM = 4096,
    VG_MOST_CPUS = 1 << 20 /* more than any kernel: ends loops over file contents */
};

/* A mounted tree of control groups; points into its line of mountinfo. */
typedef struct cgroup_tree {
    unsigned version;
    char *visible; /* the group that is mounted */
    char *mount;   /* and where */
} cgroup_tree;

static unsigned least_cpus(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static FILE *open_under(const char *root, const char *path)
{
    char name[VG_CPU_PATH_ROOM];
    int length = snprintf(name, sizeof name, "%s%s", root, path);
    return length < 0 || (size_t)length >= sizeof name ? NULL : fopen(name, "re");
}

/* Parse a number at *text and move behind it. strtoull alone would accept blanks and signs. */
static bool parse_number(const char **text, uint64_t *value)
{
    if (!isdigit((unsigned char)**text))
        return false;
    char *end;
    errno = 0;
    unsigned long long read = strtoull(*text, &end, 10);
    if (errno != 0)
        return false;
    *text = end;
    *value = read;
    return true;
}

static bool at_line_end(const char *text)
{
    return *text == '\0' || *text == '\n';
}

static bool read_first_line(const char *root, const char *path, char *line, int room)
{
    FILE *file = open_under(root, path);
    if (file == NULL)
        return false;
    bool read = fgets(line, room, file) != NULL;
    (void)fclose(file);
    return read;
}

unsigned vg_cpu_online_at(const char *root)
{
    char line[VG_CPU_PATH_ROOM];
    if (!read_first_line(root, "/sys/devices/system/cpu/online", line, sizeof line))
        return VG_CPU_NO_LIMIT;
    unsigned count = 0;
    const char *text = line;
    for (;;) { /* "0-3,7" */
        uint64_t from;
        uint64_t to;
        if (!parse_number(&text, &from))
            return VG_CPU_NO_LIMIT;
        to = from;
        if (*text == '-') {
            text++;
            if (!parse_number(&text, &to))
                return VG_CPU_NO_LIMIT;
        }
        if (to < from || to >= VG_MOST_CPUS)
            return VG_CPU_NO_LIMIT;
        count = least_cpus(count + (unsigned)(to - from) + 1, VG_MOST_CPUS);
        if (at_line_end(text))
            return count;
        if (*text++ != ',')
            return VG_CPU_NO_LIMIT;
    }
}

static unsigned quota_to_cpus(uint64_t quota, uint64_t period)
{
    if (quota == 0 || period == 0)
        return VG_CPU_NO_LIMIT;
    uint64_t cpus = quota / period + (quota % period != 0);
    return cpus >= VG_MOST_CPUS ? VG_CPU_NO_LIMIT : (unsigned)cpus;
}

static unsigned cgroup2_limit(const char *root, const char *group)
{
    char path[VG_CPU_PATH_ROOM];
    char line[64];
    if (snprintf(path, sizeof path, "%s/cpu.max", group) >= (int)sizeof path ||
        !read_first_line(root, path, line, sizeof line))
        return VG_CPU_NO_LIMIT;
    uint64_t quota;
    uint64_t period;
    const char *text = line;
    if (!parse_number(&text, &quota) || *text++ != ' ' || !parse_number(&text, &period) || !at_line_end(text))
        return VG_CPU_NO_LIMIT; /* "max 100000", or nothing that we know */
    return quota_to_cpus(quota, period);
}

static uint64_t read_lone_number(const char *root, const char *group, const char *name)
{
    char path[VG_CPU_PATH_ROOM];
    char line[64];
    if (snprintf(path, sizeof path, "%s/%s", group, name) >= (int)sizeof path ||
        !read_first_line(root, path, line, sizeof line))
        return 0;
    uint64_t value;
    const char *text = line;
    return parse_number(&text, &value) && at_line_end(text) ? value : 0;
}

static unsigned cgroup1_limit(const char *root, const char *group)
{
    return quota_to_cpus(read_lone_number(root, group, "cpu.cfs_quota_us"),
                         read_lone_number(root, group, "cpu.cfs_period_us"));
}

/* Whether the comma-separated list has that word. */
static bool list_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == '\0' || at[length] == ',' || at[length] == '\n'))
            return true;
    }
    return false;
}

/* mountinfo writes special characters in paths as \ooo. */
static void decode_mount_path(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0'; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' && from[3] >= '0' &&
            from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* "36 35 98:0 /visible /mount rw,noatime master:1 - type source options". Changes the line. False: no CPU limits
   there. */
static bool parse_mount(char *line, cgroup_tree *found)
{
    char *rest = line;
    for (int field = 0; field < 3; field++)
        (void)strsep(&rest, " ");
    found->visible = strsep(&rest, " ");
    found->mount = strsep(&rest, " ");
    if (rest == NULL)
        return false;
    char *behind = strstr(rest, " - ");
    if (behind == NULL)
        return false;
    behind += 3;
    const char *type = strsep(&behind, " ");
    (void)strsep(&behind, " ");
    if (behind == NULL)
        return false;
    if (strcmp(type, "cgroup2") == 0)
        found->version = 2;
    else if (strcmp(type, "cgroup") == 0 && list_has_word(behind, "cpu"))
        found->version = 1;
    else
        return false;
    decode_mount_path(found->visible);
    decode_mount_path(found->mount);
    return true;
}

/* The group's path below the mount point. */
static const char *below_mount(const char *group, const char *visible)
{
    size_t length = strlen(visible);
    if (length > 0 && visible[length - 1] == '/')
        length--;
    if (strncmp(group, visible, length) != 0 || (group[length] != '/' && group[length] != '\0'))
        return "";
    const char *below = group + length;
    return strstr(below, "/..") != NULL ? "" : below; /* a group outside our namespace starts with dots */
}

/* The least limit from the group up to the mount point. */
static unsigned cgroup_limit_upward(const char *root, const cgroup_tree *tree, const char *group)
{
    char path[VG_CPU_PATH_ROOM];
    size_t base = strlen(tree->mount);
    int length = snprintf(path, sizeof path, "%s%s", tree->mount, below_mount(group, tree->visible));
    if (length < 0 || (size_t)length >= sizeof path)
        return VG_CPU_NO_LIMIT;
    unsigned limit = VG_CPU_NO_LIMIT;
    for (;;) {
        limit = least_cpus(limit, tree->version == 2 ? cgroup2_limit(root, path) : cgroup1_limit(root, path));
        char *slash = strrchr(path + base, '/');
        if (slash == NULL)
            return limit;
        *slash = '\0';
    }
}

/* The limit of our group in this hierarchy. */
static unsigned cgroup_limit_in(const char *root, const cgroup_tree *tree)
{
    unsigned limit = VG_CPU_NO_LIMIT;
    FILE *file = open_under(root, "/proc/self/cgroup");
    if (file == NULL)
        return limit;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) { /* "number:controllers:path" */
        char *rest = line;
        const char *id = strsep(&rest, ":");
        const char *controllers = strsep(&rest, ":");
        if (rest == NULL)
            continue;
        rest[strcspn(rest, "\n")] = '\0';
        bool ours =
            tree->version == 2 ? strcmp(id, "0") == 0 && *controllers == '\0' : list_has_word(controllers, "cpu");
        if (ours)
            limit = least_cpus(limit, cgroup_limit_upward(root, tree, rest));
    }
    free(line);
    (void)fclose(file);
    return limit;
}

unsigned vg_cpu_quota_at(const char *root)
{
    unsigned limit = VG_CPU_NO_LIMIT;
    FILE *file = open_under(root, "/proc/self/mountinfo");
    if (file == NULL)
        return limit;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        cgroup_tree tree;
        if (parse_mount(line, &tree))
            limit = least_cpus(limit, cgroup_limit_in(root, &tree));
    }
    free(line);
    (void)fclose(file);
    return limit;
}

/* The kernel refuses a mask smaller than its own: grow until it fits. */
static unsigned cpus_in_affinity(void)
{
    for (int cpus = CPU_SETSIZE; cpus <= VG_MOST_CPUS; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (set == NULL)
            return VG_CPU_NO_LIMIT;
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        int rc = sched_getaffinity(0, bytes, set);
        int count = rc == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (rc == 0)
            return count > 0 ? (unsigned)count : VG_CPU_NO_LIMIT;
        if (errno != EINVAL)
            return VG_CPU_NO_LIMIT;
    }
    return VG_CPU_NO_LIMIT;
}

unsigned vg_cpu_count_at(const char *root)
{
    int saved = errno;
    unsigned online = vg_cpu_online_at(root);
    if (online == VG_CPU_NO_LIMIT) {
        long counted = sysconf(_SC_NPROCESSORS_ONLN);
        online = counted > 0 && counted < VG_MOST_CPUS ? (unsigned)counted : 1;
    }
    unsigned count = least_cpus(least_cpus(online, cpus_in_affinity()), vg_cpu_quota_at(root));
    errno = saved;
    return count;
}

unsigned vigil_cpu_count(void)
{
    return vg_cpu_count_at("");
}
