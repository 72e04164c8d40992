/* SPDX-License-Identifier: MIT */
/*
 * process.c - finding recorder files, and the processes that they belong to.
 *
 * A record is alive if its writer's lock is there (record/file.c). Its pid is a number of the writer's PID namespace.
 * In another one, as on the host of a container, the process is found by the namespace's inode and NSpid in /proc.
 *
 * A record counts only if it cannot be forged: it and its directory belong to one user, to whom alone they are open,
 * and its name and header say the same.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "process.h"

#include "base/lock_words.h"
#include "base/present.h"

#include "raw.h"
#include "reader.h"

#include "record/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- the process ------------------------------------------------------------------------------------------------- */

static size_t read_proc_file(const char *path, char *text, size_t room)
{
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, text, room - 1);
        length = got > 0 ? (size_t)got : 0;
        (void)close(fd);
    }
    text[length] = '\0';
    return length;
}

bool vg_reader_same_boot(const vg_file_header *header)
{
    char boot[sizeof header->boot_id];
    (void)read_proc_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = '\0';
    return strncmp(boot, header->boot_id, sizeof boot) == 0;
}

/* The state of the process with this number here, if it was started when the header says; else 0. */
static char state_if_same(uint64_t pid, const vg_file_header *header)
{
    char path[64];
    char stat[1024];
    (void)snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    if (read_proc_file(path, stat, sizeof stat) == 0)
        return 0;
    const char *at = strrchr(stat, ')');
    if (at == NULL || at[1] == '\0')
        return 0;
    const char state = at[2];
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL || strtoull(at + 1, NULL, 10) != header->start_time)
        return 0; /* another has its number */
    return state;
}

/* Is the process with this number here the one with `header->pid` in the header's PID namespace? */
static bool is_in_namespace(uint64_t pid, const vg_file_header *header)
{
    char path[64];
    char status[4096];
    struct stat info;
    (void)snprintf(path, sizeof path, "/proc/%llu/ns/pid", (unsigned long long)pid);
    if (stat(path, &info) != 0 || (uint64_t)info.st_ino != header->pid_namespace)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%llu/status", (unsigned long long)pid);
    (void)read_proc_file(path, status, sizeof status);
    const char *line = strstr(status, "\nNSpid:");
    if (line == NULL)
        return false;
    uint64_t innermost = 0;
    char *end = NULL;
    const char *at = line + strlen("\nNSpid:");
    while (*at == '\t' || *at == ' ') {
        innermost = strtoull(at, &end, 10);
        at = end;
    }
    return innermost == header->pid;
}

/* The number that the process of another PID namespace has here; 0: it cannot be seen. */
static uint64_t find_in_namespace(const vg_file_header *header)
{
    uint64_t found = 0;
    DIR *listing = opendir("/proc");
    const struct dirent *entry;
    while (listing != NULL && found == 0 && (entry = readdir(listing)) != NULL) {
        char *end = NULL;
        const uint64_t pid = strtoull(entry->d_name, &end, 10);
        if (pid != 0 && *end == '\0' && is_in_namespace(pid, header))
            found = pid;
    }
    if (listing != NULL)
        (void)closedir(listing);
    return found;
}

static uint64_t local_pid(const vg_file_header *header)
{
    const uint64_t here = vg_pid_namespace();
    if (header->pid_namespace == 0 || here == 0 || header->pid_namespace == here)
        return header->pid;
    return find_in_namespace(header);
}

pid_t vg_reader_local_pid(const vg_reader *reader)
{
    const vg_file_header *header = &reader->header;
    const uint64_t pid = local_pid(header);
    return pid <= INT_MAX && state_if_same(pid, header) != 0 ? (pid_t)pid : 0;
}

char vg_reader_process_state(const vg_reader *reader)
{
    const vg_file_header *header = &reader->header;
    if (header->pid == 0 || header->pid > INT_MAX || !vg_reader_same_boot(header))
        return 0;
    const uint64_t pid = local_pid(header);
    const char state = pid != 0 ? state_if_same(pid, header) : 0;
    if (state == 'Z' || state == 'X' || header->locked == 0)
        return state;
    if (!vg_file_is_locked(reader->fd))
        return 0;
    return state != 0 ? state : '?';
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* A directory whose records count. */
static int open_records(const char *path, uid_t *owner)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat info;
    int error = fstat(fd, &info) == 0 ? 0 : -errno;
    if (error == 0 && ((info.st_uid != geteuid() && geteuid() != 0) || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0))
        error = -EPERM;
    *owner = info.st_uid;
    if (error == 0)
        return fd;
    (void)close(fd);
    return error;
}

/* Open a record by its name. 0; -ENOENT it is none; -EPERM it is forged; or as vg_reader_open_path. */
static int open_record(vg_reader **result, const char *directory, const char *name, uid_t owner)
{
    char path[VG_READER_PATH];
    uint64_t pid;
    if (!vg_record_name_parse(name, &pid) ||
        (size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
        return -ENOENT;
    int error = vg_reader_open_path(result, path);
    if (error != 0)
        return error;
    struct stat info;
    const vg_file_header *header = &(*result)->header;
    if (fstat((*result)->fd, &info) == 0 && info.st_uid == owner && header->uid == (uint64_t)owner &&
        header->pid == pid && header->pid <= INT_MAX)
        return 0;
    vg_reader_close(*result);
    return -EPERM;
}

/* Call `visit` with each record of each directory, which takes the reader over. 0; else why no directory could be
   read. */
static int each_record(void (*visit)(vg_reader *reader, void *arg),
                       int (*failed)(int error, const char *name, void *arg), void *arg)
{
    char directory[VG_READER_PATH];
    int answer = 0;
    bool any = false;
    for (unsigned i = 0; vg_record_directory_at("", i, directory, sizeof directory) == 0; i++) {
        uid_t owner = 0;
        int fd = open_records(directory, &owner);
        DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
        if (listing == NULL) {
            if (fd >= 0)
                (void)close(fd);
            else if (answer == 0 && fd != -ENOENT && fd != -EPERM)
                answer = fd;
            continue;
        }
        any = true;
        const struct dirent *entry;
        while ((entry = readdir(listing)) != NULL) {
            vg_reader *reader = NULL;
            int error = open_record(&reader, directory, entry->d_name, owner);
            if (error == 0)
                visit(reader, arg);
            else if (failed != NULL)
                (void)failed(error, entry->d_name, arg);
        }
        (void)closedir(listing);
    }
    return any ? 0 : answer;
}

/* ---- one process ------------------------------------------------------------------------------------------------- */

typedef struct record_search {
    pid_t pid;
    vg_reader *found;
    bool alive;
    int error; /* of a record with this number that could not be opened */
} record_search;

/* The living one with this number here, else the latest dead one. */
static void take_if_wanted(vg_reader *reader, void *arg)
{
    record_search *search = arg;
    const char state = vg_reader_process_state(reader);
    const bool alive = state != 0 && state != 'Z' && state != 'X';
    const pid_t local = alive ? vg_reader_local_pid(reader) : 0;
    const bool wanted = alive && local != 0 ? local == search->pid : reader->header.pid == (uint64_t)search->pid;
    const bool better =
        wanted &&
        (search->found == NULL || (alive && local != 0) > search->alive ||
         ((alive && local != 0) == search->alive && reader->header.born_wall_ns > search->found->header.born_wall_ns));
    vg_reader *loser = better ? search->found : reader;
    if (better) {
        search->found = reader;
        search->alive = alive && local != 0;
    }
    if (loser != NULL)
        vg_reader_close(loser);
}

static int note_failed(int error, const char *name, void *arg)
{
    record_search *search = arg;
    uint64_t pid;
    if (error != -ENOENT && vg_record_name_parse(name, &pid) && pid == (uint64_t)search->pid)
        search->error = error;
    return 0;
}

int vg_reader_open_pid(vg_reader **result, pid_t pid)
{
    record_search search = {.pid = pid};
    int error = each_record(take_if_wanted, note_failed, &search);
    if (search.found != NULL) {
        *result = search.found;
        return 0;
    }
    if (error == 0)
        error = search.error;
    return error != 0 ? error : -ENOENT;
}

bool vg_process_command_arrives(pid_t pid, size_t bytes)
{
    return vg_present_command(pid, bytes);
}

int vg_process_mutex_owner(pid_t pid, uint64_t address, uint32_t expected)
{
    vg_mutex_words mutex;
    const struct iovec here = {.iov_base = &mutex, .iov_len = sizeof mutex};
    const struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = sizeof mutex}; // NOLINT
    if (!vg_present(pid, address, sizeof mutex) ||
        process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof mutex || !vg_mutex_words_fit(&mutex))
        return 0;
    const int owner = vg_mutex_words_owner(&mutex, expected);
    return owner > 0 ? owner : 0;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

typedef struct process_list {
    vg_process *processes;
    size_t room;
    size_t count;
} process_list;

void vg_process_describe(const vg_reader *reader, vg_process *process)
{
    const vg_file_header *header = &reader->header;
    const char state = vg_reader_process_state(reader);
    struct timespec wall;
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    process->alive = state != 0 && state != 'Z' && state != 'X';
    const pid_t local = process->alive ? vg_reader_local_pid(reader) : 0;
    process->elsewhere = process->alive && local == 0;
    process->pid = local != 0 ? local : (pid_t)header->pid;
    process->age_ns = vg_less((uint64_t)wall.tv_sec * 1000000000U + (uint64_t)wall.tv_nsec, header->born_wall_ns);
    vg_copy_text(process->command, sizeof process->command, header->command, sizeof header->command);
    (void)snprintf(process->path, sizeof process->path, "%s", reader->path);
}

static void describe_record(vg_reader *reader, void *arg)
{
    process_list *list = arg;
    if (list->count < list->room)
        vg_process_describe(reader, &list->processes[list->count]);
    list->count += list->count < INT_MAX;
    vg_reader_close(reader);
}

static int by_pid(const void *a, const void *b)
{
    const pid_t x = ((const vg_process *)a)->pid;
    const pid_t y = ((const vg_process *)b)->pid;
    return (x > y) - (x < y);
}

int vg_processes(vg_process *processes, size_t room)
{
    process_list list = {.processes = processes, .room = room};
    int error = each_record(describe_record, NULL, &list);
    if (error != 0)
        return error;
    if (room != 0)
        qsort(processes, list.count < room ? list.count : room, sizeof *processes, by_pid);
    return (int)list.count;
}
