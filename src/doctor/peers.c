/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "peers.h"
#include "ends.h"
#include "procfs.h"
#include "sights.h"
#include "sockets.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

vg_peers *vg_peers_create(void)
{
    return calloc(1, sizeof(vg_peers));
}

void vg_peers_free(vg_peers *peers)
{
    if (peers != NULL)
        free(peers->ends);
    free(peers);
}

static void add_peer(vg_exam *exam, vg_exam_thread *thread, pid_t pid)
{
    vg_need *wait = &thread->wait;
    const int index = vg_sight_add(exam, pid);
    if (index < 0)
        return;
    for (unsigned i = 0; i < wait->peer_count; i++)
        if (wait->peers[i] == (unsigned)index)
            return;
    if (wait->peer_count == VG_EXAM_PEERS) {
        wait->by = VG_BY_OUTSIDE; /* too many to follow: one of them may move */
        return;
    }
    wait->peers[wait->peer_count++] = (unsigned)index;
}

/* The processes that have an end with this key open which could end the wait. How many ends. */
static unsigned add_holders(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, uint64_t key, bool writers)
{
    unsigned found = 0;
    vg_ends_gather(peers);
    if (peers->blind) /* another user's process may have it open, too */
        thread->wait.certain = false;
    for (size_t i = 0; i < peers->count; i++) {
        const vg_end *end = &peers->ends[i];
        if (end->key != key || !(writers ? end->writes : end->reads))
            continue;
        found++;
        add_peer(exam, thread, end->pid);
    }
    return found;
}

static void put(vg_need *wait, vg_need_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(vg_need *wait, vg_need_kind kind, const char *format, ...)
{
    va_list words;
    wait->kind = kind;
    va_start(words, format);
    (void)vsnprintf(wait->text, sizeof wait->text, format, words);
    va_end(words);
}

/* A process that has the other end itself, and handles signals: the handler may write, as many do to wake a loop. */
static void mind_handlers(vg_exam *exam, vg_exam_thread *thread, bool write)
{
    const vg_need *wait = &thread->wait;
    for (unsigned i = 0; !write && wait->by == VG_BY_PEERS && i < wait->peer_count; i++)
        if (wait->peers[i] == thread->process && exam->processes[thread->process].handles_signals)
            thread->wait.by = VG_BY_OUTSIDE;
}

/* Who could make this descriptor ready: adds peers, or makes the wait one for the world outside. */
static void follow(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, int fd, bool write, vg_need_kind *kind)
{
    char link[256];
    const vg_exam_process *process = &exam->processes[thread->process];
    *kind = VG_NEED_INPUT;
    if (vg_proc_link(link, sizeof link, "/proc/%d/fd/%d", (int)process->pid, fd) <= 0) {
        thread->wait.by = VG_BY_OUTSIDE;
        return;
    }
    const uint64_t key = vg_ends_key(process->pid, fd, link);
    if (strncmp(link, "pipe:[", 6) == 0) {
        *kind = write ? VG_NEED_PIPE_WRITE : VG_NEED_PIPE_READ;
        if (add_holders(exam, peers, thread, key, !write) == 0)
            thread->wait.by = VG_BY_OUTSIDE;
    } else if (strncmp(link, "socket:[", 8) == 0) {
        bool listens;
        const uint64_t peer = vg_sockets_peer(process->pid, key, &listens);
        *kind = write ? VG_NEED_SOCKET_WRITE : VG_NEED_SOCKET_READ;
        if (peer == 0 || add_holders(exam, peers, thread, peer, true) == 0)
            thread->wait.by = VG_BY_OUTSIDE;
    } else if (strcmp(link, "anon_inode:[eventfd]") == 0) {
        *kind = VG_NEED_POLL;
        if (key == 0 || add_holders(exam, peers, thread, key, true) == 0 || vg_ends_kernel_writes(peers, key))
            thread->wait.by = VG_BY_OUTSIDE;
    } else {
        if (key != 0) { /* a named pipe */
            *kind = write ? VG_NEED_PIPE_WRITE : VG_NEED_PIPE_READ;
            if (add_holders(exam, peers, thread, key, !write) > 0)
                return;
        }
        thread->wait.by = VG_BY_OUTSIDE;
    }
}

/* What a socket of the process is connected to. */
static void socket_facts(const vg_exam *exam, const vg_exam_thread *thread, int fd, vg_socket_facts *facts)
{
    char link[64];
    const pid_t pid = exam->processes[thread->process].pid;
    *facts = (vg_socket_facts){.unread = 0};
    if (vg_proc_link(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd) > 0 && strncmp(link, "socket:[", 8) == 0)
        vg_sockets_facts(pid, vg_ends_key(pid, fd, link), facts);
}

/* What a descriptor is that has no other end. */
static void name_input(const vg_exam *exam, vg_exam_thread *thread, int fd, bool write)
{
    vg_need *wait = &thread->wait;
    const pid_t pid = exam->processes[thread->process].pid;
    char link[128], info[512], clean[128];
    if (vg_proc_link(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd) <= 0)
        link[0] = '\0';
    vg_text_copy(clean, sizeof clean, link, strlen(link), false);
    if (strcmp(link, "anon_inode:[timerfd]") == 0) {
        const bool unset = vg_proc_read(info, sizeof info, "/proc/%d/fdinfo/%d", (int)pid, fd) > 0 &&
                           strstr(info, "it_value: (0, 0)") != NULL;
        put(wait, VG_NEED_INPUT, "the timer on descriptor %d%s", fd, unset ? ", which is not set" : "");
    } else if (strcmp(link, "anon_inode:[signalfd]") == 0) {
        put(wait, VG_NEED_INPUT, "a signal (signalfd on descriptor %d)", fd);
    } else if (strcmp(link, "anon_inode:inotify") == 0) {
        put(wait, VG_NEED_INPUT, "a change of a file (inotify on descriptor %d)", fd);
    } else if (strncmp(link, "/dev/", 5) == 0) {
        put(wait, VG_NEED_INPUT, "%s %s on descriptor %d", write ? "output to" : "input from", clean, fd);
    } else {
        put(wait, VG_NEED_INPUT, "%s on descriptor %d", write ? "output" : "input", fd);
    }
}

void vg_peers_descriptor(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, int fd, bool write)
{
    vg_need *wait = &thread->wait;
    vg_need_kind kind;
    vg_socket_facts socket;
    wait->by = VG_BY_PEERS;
    wait->peer_count = 0;
    wait->fd = fd;
    wait->certain = true;
    if (exam->processes[thread->process].dead) {
        wait->by = VG_BY_OUTSIDE;
        put(wait, write ? VG_NEED_OTHER : VG_NEED_INPUT, "descriptor %d", fd);
        return;
    }
    follow(exam, peers, thread, fd, write, &kind);
    mind_handlers(exam, thread, write);
    switch (kind) {
    case VG_NEED_PIPE_READ:
        put(wait, kind, "data in the pipe on descriptor %d", fd);
        break;
    case VG_NEED_PIPE_WRITE:
        put(wait, kind, "space in the pipe on descriptor %d, which is full", fd);
        break;
    case VG_NEED_SOCKET_READ:
        socket_facts(exam, thread, fd, &socket);
        put(wait, kind, "data from the socket on descriptor %d%s", fd, socket.to);
        break;
    case VG_NEED_SOCKET_WRITE:
        socket_facts(exam, thread, fd, &socket);
        put(wait, kind, "space in the socket on descriptor %d%s, whose buffer is full", fd, socket.to);
        break;
    case VG_NEED_POLL:
        put(wait, kind, "%s the eventfd on descriptor %d", write ? "a read of" : "a write to", fd);
        break;
    default:
        name_input(exam, thread, fd, write);
    }
}

void vg_peers_poll_begin(vg_exam *exam, vg_exam_thread *thread)
{
    thread->wait.by = VG_BY_PEERS;
    thread->wait.peer_count = 0;
    thread->wait.certain = true;
    put(&thread->wait, VG_NEED_POLL, "descriptors");
    (void)exam;
}

void vg_peers_poll_add(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, int fd, bool write)
{
    vg_need_kind kind;
    if (thread->wait.by != VG_BY_PEERS)
        return;
    if (thread->wait.fd < 0)
        put(&thread->wait, VG_NEED_POLL, "descriptor %d", fd);
    else if (thread->wait.fd != fd)
        put(&thread->wait, VG_NEED_POLL, "descriptors %d and others", thread->wait.fd);
    if (thread->wait.fd < 0)
        thread->wait.fd = fd;
    follow(exam, peers, thread, fd, write, &kind);
    mind_handlers(exam, thread, write);
}

void vg_peers_epoll(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, int fd)
{
    const size_t room = 1 << 18;
    char *info = malloc(room);
    const int pid = (int)exam->processes[thread->process].pid;
    if (info == NULL || exam->processes[thread->process].dead ||
        vg_proc_read(info, room, "/proc/%d/fdinfo/%d", pid, fd) <= 0) {
        free(info);
        return;
    }
    vg_peers_poll_begin(exam, thread);
    unsigned many = 0;
    int edge = -1;
    uint64_t unread = 0;
    for (const char *line = strstr(info, "tfd:"); line != NULL; line = strstr(line + 4, "tfd:")) {
        int target;
        unsigned events;
        if (sscanf(line, "tfd: %d events: %x", &target, &events) != 2) // NOLINT(cert-err34-c)
            continue;
        many++;
        vg_peers_poll_add(exam, peers, thread, target, false);
        vg_socket_facts socket;
        if ((events & EPOLLET) == 0 || (events & EPOLLIN) == 0 || edge >= 0 || thread->wait.by != VG_BY_PEERS)
            continue;
        socket_facts(exam, thread, target, &socket);
        if (socket.unread > 0) {
            edge = target;
            unread = socket.unread;
        }
    }
    free(info);
    /* Another thread may register a descriptor. */
    if (thread->wait.by == VG_BY_PEERS)
        add_peer(exam, thread, (pid_t)pid);
    if (many == 0)
        put(&thread->wait, VG_NEED_POLL, "events of the epoll descriptor %d, on which nothing is registered", fd);
    else
        put(&thread->wait, VG_NEED_POLL, "events of %u descriptor%s (epoll on %d)", many, many == 1 ? "" : "s", fd);
    if (edge >= 0)
        put(&thread->wait, VG_NEED_POLL,
            "events of %u descriptor%s (epoll on %d); %d is edge-triggered, and %" PRIu64 " bytes in it were not read",
            many, many == 1 ? "" : "s", fd, edge, unread);
}

void vg_peers_children(vg_exam *exam, vg_exam_thread *thread, pid_t child)
{
    vg_need *wait = &thread->wait;
    wait->by = VG_BY_PEERS;
    wait->peer_count = 0;
    wait->certain = true;
    if (child != 0)
        put(wait, VG_NEED_CHILD, "the end of child process %d", (int)child);
    else
        put(wait, VG_NEED_CHILD, "the end of a child process");
    const vg_exam_process *process = &exam->processes[thread->process];
    for (unsigned i = process->first; i < process->first + process->count && !process->dead; i++) {
        char text[8192];
        if (vg_proc_read(text, sizeof text, "/proc/%d/task/%d/children", (int)process->pid, (int)exam->threads[i].tid) <
            0)
            wait->by = VG_BY_OUTSIDE;
        char *end;
        for (const char *at = text; *at != '\0'; at = end) {
            const long pid = strtol(at, &end, 10);
            if (end == at)
                break;
            char status[4096] = "";
            pid_t inner = (pid_t)pid;
            if (vg_proc_read(status, sizeof status, "/proc/%ld/status", pid) > 0) {
                const char *line = strstr(status, "\nNSpid:");
                const char *last = line != NULL ? line + 7 : NULL;
                for (char *next; last != NULL; last = next) {
                    const long number = strtol(last, &next, 10);
                    if (next == last || *last == '\n')
                        break;
                    inner = (pid_t)number;
                    if (*next == '\n')
                        break;
                }
            }
            /* A child that has ended cannot be what it waits for. */
            const bool ended = strstr(status, "\nState:\tZ") != NULL;
            if (!ended && (child == 0 || inner == child || (pid_t)pid == child))
                add_peer(exam, thread, (pid_t)pid);
        }
    }
    if (wait->peer_count == 0)
        wait->by = VG_BY_OUTSIDE;
}

/* Who has the file open with a lock on it: locks of an open file have no process, or one that has ended. */
static bool add_lock_holders(vg_exam *exam, vg_exam_thread *thread, const struct stat *file)
{
    pid_t *pids;
    bool found = false;
    const int count = vg_proc_numbers(&pids, "/proc");
    for (int i = 0; i < count; i++) {
        pid_t *fds;
        const int many = pids[i] == getpid() ? -1 : vg_proc_numbers(&fds, "/proc/%d/fd", (int)pids[i]);
        for (int k = 0; k < many; k++) {
            char path[64], info[2048];
            struct stat other;
            (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pids[i], (int)fds[k]);
            if (stat(path, &other) != 0 || other.st_ino != file->st_ino || other.st_dev != file->st_dev ||
                vg_proc_read(info, sizeof info, "/proc/%d/fdinfo/%d", (int)pids[i], (int)fds[k]) <= 0 ||
                strstr(info, "\nlock:") == NULL)
                continue;
            add_peer(exam, thread, pids[i]);
            found = true;
        }
        if (many >= 0)
            free(fds);
    }
    free(pids);
    return found;
}

void vg_peers_file_lock(vg_exam *exam, vg_exam_thread *thread, int fd)
{
    vg_need *wait = &thread->wait;
    const vg_exam_process *process = &exam->processes[thread->process];
    char link[256], path[64];
    struct stat file;
    put(wait, VG_NEED_FILE_LOCK, "a lock of the file on descriptor %d", fd);
    wait->by = VG_BY_OUTSIDE;
    wait->fd = fd;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process->pid, fd);
    if (process->dead || stat(path, &file) != 0)
        return;
    if (vg_proc_link(link, sizeof link, "/proc/%d/fd/%d", (int)process->pid, fd) > 0) {
        const char *base = strrchr(link, '/');
        put(wait, VG_NEED_FILE_LOCK, "a lock of the file %.100s", base != NULL ? base + 1 : link);
    }
    const size_t room = 1 << 20;
    char *locks = malloc(room);
    if (locks == NULL || vg_proc_read(locks, room, "/proc/locks") <= 0) {
        free(locks);
        return;
    }
    wait->peer_count = 0;
    long holder = 0;
    bool found = false;
    for (char *line = locks; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
        long pid;
        uint64_t inode;
        char arrow[4] = "";
        const bool blocked = sscanf(line, "%*d: %3s", arrow) == 1 && strcmp(arrow, "->") == 0; // NOLINT(cert-err34-c)
        if (sscanf(line, blocked ? "%*d: -> %*s %*s %*s %ld %*x:%*x:%" SCNu64 : "%*d: %*s %*s %*s %ld %*x:%*x:%" SCNu64,
                   &pid, &inode) != 2 || // NOLINT(cert-err34-c)
            inode != file.st_ino)
            continue;
        if (!blocked) {
            holder = pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH ? -1 : pid;
        } else if ((pid == process->pid || pid <= 0) && holder == -1) {
            wait->by = VG_BY_PEERS;
            wait->certain = true;
            found = add_lock_holders(exam, thread, &file);
        } else if ((pid == process->pid || pid <= 0) && holder > 0) {
            found = true;
            wait->by = VG_BY_PEERS;
            wait->certain = true;
            add_peer(exam, thread, (pid_t)holder);
        }
    }
    free(locks);
    if (!found || wait->peer_count == 0)
        wait->by = VG_BY_OUTSIDE;
}

/* The shared mapping that an address lies in: its inode, or 0. */
static uint64_t shared_inode(pid_t pid, uint64_t address)
{
    char path[64], line[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    uint64_t found = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        uint64_t begin, end, inode;
        char rights[8];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*x:%*x %" SCNu64, // NOLINT(cert-err34-c)
                   &begin, &end, rights, &inode) == 4 &&
            (address == 0 ? false : address >= begin && address < end) && rights[3] == 's')
            found = inode;
    }
    if (file != NULL)
        (void)fclose(file);
    return found;
}

static bool maps_inode(pid_t pid, uint64_t inode)
{
    char path[64], line[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        uint64_t number;
        char rights[8];
        found = sscanf(line, "%*x-%*x %7s %*x %*x:%*x %" SCNu64, rights, &number) == 2 && // NOLINT(cert-err34-c)
                rights[3] == 's' && number == inode;
    }
    if (file != NULL)
        (void)fclose(file);
    return found;
}

void vg_peers_shared(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread)
{
    (void)peers;
    vg_need *wait = &thread->wait;
    const vg_exam_process *process = &exam->processes[thread->process];
    if (wait->by == VG_BY_OWNER || process->dead)
        return;
    const uint64_t inode = shared_inode(process->pid, wait->address);
    if (inode == 0)
        return;
    wait->shared = true;
    wait->by = VG_BY_PEERS;
    wait->peer_count = 0;
    pid_t *pids;
    const int count = vg_proc_numbers(&pids, "/proc");
    for (int i = 0; i < count; i++)
        if (maps_inode(pids[i], inode))
            add_peer(exam, thread, pids[i]);
    free(pids);
}
