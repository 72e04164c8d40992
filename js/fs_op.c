/* SPDX-License-Identifier: MIT */
/* File operations: plain system calls, on whatever thread asks. Knows nothing of JavaScript. */
#include "fs_op.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CHUNK    (1U << 20)
#define FILE_MAX ((int64_t)1 << 31)

static bool cancelled(vg_fs_op *op)
{
    /* relaxed: a wish, carrying nothing with it. */
    return atomic_load_explicit(&op->cancelled, memory_order_relaxed) != 0;
}

static int64_t answer(int64_t result)
{
    return result < 0 ? -errno : result;
}

static void keep_stat(vg_fs_op *op, const struct statx *stat)
{
    dev_t device = makedev(stat->stx_dev_major, stat->stx_dev_minor);
    dev_t special = makedev(stat->stx_rdev_major, stat->stx_rdev_minor);
    /* A system that does not know when a file was made says so; then it is the last change, as in Node. */
    const struct statx_timestamp *born = stat->stx_mask & STATX_BTIME ? &stat->stx_btime : &stat->stx_ctime;
    double values[] = {(double)device,
                       (double)stat->stx_mode,
                       (double)stat->stx_nlink,
                       (double)stat->stx_uid,
                       (double)stat->stx_gid,
                       (double)special,
                       (double)stat->stx_blksize,
                       (double)stat->stx_ino,
                       (double)stat->stx_size,
                       (double)stat->stx_blocks,
                       (double)stat->stx_atime.tv_sec,
                       (double)stat->stx_atime.tv_nsec,
                       (double)stat->stx_mtime.tv_sec,
                       (double)stat->stx_mtime.tv_nsec,
                       (double)stat->stx_ctime.tv_sec,
                       (double)stat->stx_ctime.tv_nsec,
                       (double)born->tv_sec,
                       (double)born->tv_nsec,
                       (double)(stat->stx_ino >> 32),
                       (double)(stat->stx_ino & 0xffffffffU)};
    _Static_assert(sizeof values == sizeof op->stat, "VG_FS_STATS");
    memcpy(op->stat, values, sizeof values);
}

/* From an open descriptor to its end. */
static int64_t read_to_end(vg_fs_op *op, int fd)
{
    struct stat stat;
    size_t room, used = 0, size;
    if (fstat(fd, &stat) < 0)
        return -errno;
    if (S_ISDIR(stat.st_mode))
        return -EISDIR;
    if (S_ISREG(stat.st_mode) && stat.st_size >= FILE_MAX)
        return -EFBIG;
    /* The end of a file that tells its size is there; others, and those of /proc, are read until nothing comes. */
    size = S_ISREG(stat.st_mode) ? (size_t)stat.st_size : 0;
    room = size > 0 ? size : 8192;
    op->data = malloc(room);
    while (op->data) {
        ssize_t got;
        if (cancelled(op))
            return -ECANCELED;
        got = read(fd, op->data + used, room - used < CHUNK ? room - used : CHUNK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        used += (size_t)got;
        if (used == size)
            break;
        if (used == room) {
            char *more = realloc(op->data, room * 2);
            if (!more)
                return -ENOMEM;
            op->data = more;
            room *= 2;
        }
        if ((int64_t)used >= FILE_MAX)
            return -EFBIG;
    }
    if (!op->data)
        return -ENOMEM;
    op->data_length = used;
    return 0;
}

static int64_t read_file(vg_fs_op *op)
{
    int64_t result;
    int fd;
    if (!op->path)
        return read_to_end(op, (int)op->n1);
    fd = open(op->path, (int)op->n2 | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    result = read_to_end(op, fd);
    close(fd);
    return result;
}

static int64_t write_all(vg_fs_op *op, int fd)
{
    size_t at = 0;
    while (at < op->length) {
        ssize_t done;
        if (cancelled(op))
            return -ECANCELED;
        done = write(fd, op->bytes + at, op->length - at < CHUNK ? op->length - at : CHUNK);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        at += (size_t)done;
    }
    return 0;
}

static int64_t write_file(vg_fs_op *op)
{
    int64_t result;
    int fd;
    if (!op->path)
        return write_all(op, (int)op->n1);
    fd = open(op->path, (int)op->n2 | O_CLOEXEC, (mode_t)op->n3);
    if (fd < 0)
        return -errno;
    result = write_all(op, fd);
    if (close(fd) < 0 && result == 0)
        result = -errno;
    return result;
}

/* n3 is the position, negative for the file's own. */
static int64_t read_some(vg_fs_op *op)
{
    ssize_t got;
    do
        got = op->n3 >= 0 ? pread((int)op->n1, op->bytes, op->length, (off_t)op->n3)
                          : read((int)op->n1, op->bytes, op->length);
    while (got < 0 && errno == EINTR);
    return answer(got);
}

/* The same into memory of its own, n2 bytes at most. What a short read leaves over is returned. */
static int64_t read_new(vg_fs_op *op)
{
    int64_t got;
    op->length = (size_t)op->n2;
    op->data = malloc(op->length ? op->length : 1);
    if (!op->data)
        return -ENOMEM;
    op->bytes = (unsigned char *)op->data;
    got = read_some(op);
    op->bytes = NULL;
    op->data_length = got > 0 ? (size_t)got : 0;
    if (op->data_length < op->length / 2) {
        char *less = realloc(op->data, op->data_length + 1);
        op->data = less ? less : op->data;
    }
    return got;
}

static int64_t write_some(vg_fs_op *op)
{
    ssize_t done;
    do
        done = op->n3 >= 0 ? pwrite((int)op->n1, op->bytes, op->length, (off_t)op->n3)
                           : write((int)op->n1, op->bytes, op->length);
    while (done < 0 && errno == EINTR);
    return answer(done);
}

/* n2: with all parents; then data is the first folder that was made, or nothing. */
static int64_t make_folder(vg_fs_op *op)
{
    struct stat stat;
    size_t length;
    if (op->n2 == 0)
        return answer(mkdir(op->path, (mode_t)op->n1));
    length = strlen(op->path);
    while (length > 1 && op->path[length - 1] == '/')
        op->path[--length] = 0;
    for (size_t i = 1; i <= length; i++) {
        char kept = op->path[i];
        if (kept != '/' && kept != 0)
            continue;
        op->path[i] = 0;
        if (mkdir(op->path, (mode_t)op->n1) == 0) {
            if (!op->data && (op->data = strdup(op->path)))
                op->data_length = i;
        } else if (errno != EEXIST || (kept == 0 && lstat(op->path, &stat) == 0 && !S_ISDIR(stat.st_mode) &&
                                       (stat.st_mode & S_IFMT) != S_IFLNK)) {
            int error = errno;
            op->path[i] = kept;
            return -error;
        }
        op->path[i] = kept;
    }
    return 0;
}

static int64_t list_folder(vg_fs_op *op)
{
    DIR *folder = opendir(op->path);
    struct dirent *entry;
    size_t room = 0;
    int64_t result = 0;
    if (!folder)
        return -errno;
    while (errno = 0, (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        unsigned char type = entry->d_type;
        struct stat stat;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (type == DT_UNKNOWN && fstatat(dirfd(folder), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
            type = (unsigned char)IFTODT(stat.st_mode);
        if (op->data_length + length + 2 > room) {
            char *more = realloc(op->data, (room + length + 2) * 2);
            if (!more) {
                result = -ENOMEM;
                break;
            }
            op->data = more;
            room = (room + length + 2) * 2;
        }
        memcpy(op->data + op->data_length, entry->d_name, length + 1);
        op->data_length += length + 1;
        op->data[op->data_length++] = (char)type;
    }
    if (result == 0 && errno)
        result = -errno;
    closedir(folder);
    return result;
}

static int64_t copy_file(vg_fs_op *op)
{
    int from = open(op->path, O_RDONLY | O_CLOEXEC), to;
    struct stat stat;
    int64_t result = 0;
    if (from < 0)
        return -errno;
    if (fstat(from, &stat) < 0) {
        result = -errno;
        close(from);
        return result;
    }
    if (S_ISDIR(stat.st_mode)) {
        close(from);
        return -EISDIR;
    }
    /* n1 & 1: fail if it is there. Truncated only after we know that it is another file. */
    to = open(op->path2, O_WRONLY | O_CREAT | O_CLOEXEC | ((int)op->n1 & 1 ? O_EXCL : 0), stat.st_mode & 0777);
    if (to < 0) {
        result = -errno;
        close(from);
        return result;
    }
    struct stat target;
    if (fstat(to, &target) == 0 && target.st_ino == stat.st_ino && target.st_dev == stat.st_dev) {
        close(from);
        close(to);
        return 0;
    }
    if (ftruncate(to, 0) < 0 && errno != EINVAL)
        result = -errno;
    while (result == 0) {
        ssize_t done = cancelled(op) ? (errno = ECANCELED, -1) : sendfile(to, from, NULL, CHUNK);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            result = done < 0 ? -errno : 0;
            break;
        }
    }
    close(from);
    if (close(to) < 0 && result == 0)
        result = -errno;
    return result;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *place)
{
    (void)stat;
    (void)type;
    (void)place;
    return remove(path);
}

/* n1: with everything below; n2: what is not there is no error. */
static int64_t remove_path(vg_fs_op *op)
{
    struct stat stat;
    int64_t result;
    if (lstat(op->path, &stat) < 0)
        return errno == ENOENT && op->n2 != 0 ? 0 : -errno;
    if (!S_ISDIR(stat.st_mode))
        result = unlink(op->path);
    else if (op->n1 == 0)
        return -EISDIR;
    else
        result = nftw(op->path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    if (result < 0 && errno == ENOENT && op->n2 != 0)
        return 0;
    return answer(result);
}

static int64_t keep_text(vg_fs_op *op, char *text)
{
    if (!text)
        return -errno;
    op->data = text;
    op->data_length = strlen(text);
    return 0;
}

static int64_t read_link(vg_fs_op *op)
{
    char target[PATH_MAX];
    ssize_t length = readlink(op->path, target, sizeof target - 1);
    if (length < 0)
        return -errno;
    target[length] = 0;
    return keep_text(op, strdup(target));
}

static int64_t make_temporary(vg_fs_op *op)
{
    size_t length = strlen(op->path);
    char *name = malloc(length + 7);
    if (!name)
        return -ENOMEM;
    memcpy(name, op->path, length);
    memcpy(name + length, "XXXXXX", 7);
    if (!mkdtemp(name)) {
        int error = errno;
        free(name);
        return -error;
    }
    return keep_text(op, name);
}

static int64_t set_times(vg_fs_op *op)
{
    struct timespec times[2];
    double at[2] = {op->n1, op->n2};
    for (int i = 0; i < 2; i++) {
        double whole = (double)(int64_t)at[i];
        if (whole > at[i])
            whole -= 1;
        times[i].tv_sec = (time_t)whole;
        times[i].tv_nsec = (long)((at[i] - whole) * 1e9);
    }
    if (!op->path)
        return answer(futimens((int)op->n3, times));
    return answer(utimensat(AT_FDCWD, op->path, times, op->n3 == VG_FS_LINK_ITSELF ? AT_SYMLINK_NOFOLLOW : 0));
}

static int64_t change_owner(vg_fs_op *op)
{
    uid_t user = (uid_t)(int64_t)op->n1;
    gid_t group = (gid_t)(int64_t)op->n2;
    if (!op->path)
        return answer(fchown((int)op->n3, user, group));
    return answer(op->n3 == VG_FS_LINK_ITSELF ? lchown(op->path, user, group) : chown(op->path, user, group));
}

/* The file system of a path, in the order of lib/fs_results.js. */
static int64_t look_at_system(vg_fs_op *op)
{
    struct statfs found;
    if (statfs(op->path, &found) < 0)
        return -errno;
    op->stat[0] = (double)found.f_type;
    op->stat[1] = (double)found.f_bsize;
    op->stat[2] = (double)found.f_blocks;
    op->stat[3] = (double)found.f_bfree;
    op->stat[4] = (double)found.f_bavail;
    op->stat[5] = (double)found.f_files;
    op->stat[6] = (double)found.f_ffree;
    return 0;
}

static int64_t look(vg_fs_op *op)
{
    struct statx found;
    int result = statx(op->kind == VG_FS_FSTAT ? (int)op->n1 : AT_FDCWD, op->kind == VG_FS_FSTAT ? "" : op->path,
                       op->kind == VG_FS_FSTAT   ? AT_EMPTY_PATH
                       : op->kind == VG_FS_LSTAT ? AT_SYMLINK_NOFOLLOW
                                                 : 0,
                       STATX_BASIC_STATS | STATX_BTIME, &found);
    if (result < 0)
        return -errno;
    keep_stat(op, &found);
    return 0;
}

static int64_t run(vg_fs_op *op)
{
    switch (op->kind) {
    case VG_FS_OPEN:
        return answer(open(op->path, (int)op->n1 | O_CLOEXEC, (mode_t)op->n2));
    case VG_FS_CLOSE:
        return answer(close((int)op->n1));
    case VG_FS_READ:
        return read_some(op);
    case VG_FS_READ_NEW:
        return read_new(op);
    case VG_FS_WRITE:
        return write_some(op);
    case VG_FS_STAT:
    case VG_FS_LSTAT:
    case VG_FS_FSTAT:
        return look(op);
    case VG_FS_READ_FILE:
        return read_file(op);
    case VG_FS_WRITE_FILE:
        return write_file(op);
    case VG_FS_MKDIR:
        return make_folder(op);
    case VG_FS_RMDIR:
        return answer(rmdir(op->path));
    case VG_FS_UNLINK:
        return answer(unlink(op->path));
    case VG_FS_RENAME:
        return answer(rename(op->path, op->path2));
    case VG_FS_READDIR:
        return list_folder(op);
    case VG_FS_REALPATH:
        return keep_text(op, realpath(op->path, NULL));
    case VG_FS_READLINK:
        return read_link(op);
    case VG_FS_SYMLINK:
        return answer(symlink(op->path, op->path2));
    case VG_FS_LINK:
        return answer(link(op->path, op->path2));
    case VG_FS_CHMOD:
        return answer(op->path ? chmod(op->path, (mode_t)op->n1) : fchmod((int)op->n2, (mode_t)op->n1));
    case VG_FS_CHOWN:
        return change_owner(op);
    case VG_FS_UTIMES:
        return set_times(op);
    case VG_FS_ACCESS:
        return answer(access(op->path, (int)op->n1));
    case VG_FS_TRUNCATE:
        return answer(truncate(op->path, (off_t)op->n1));
    case VG_FS_FTRUNCATE:
        return answer(ftruncate((int)op->n1, (off_t)op->n2));
    case VG_FS_FSYNC:
        return answer(op->n2 != 0 ? fdatasync((int)op->n1) : fsync((int)op->n1));
    case VG_FS_COPY_FILE:
        return copy_file(op);
    case VG_FS_MKDTEMP:
        return make_temporary(op);
    case VG_FS_RM:
        return remove_path(op);
    case VG_FS_STATFS:
        return look_at_system(op);
    default:
        break;
    }
    return -ENOSYS;
}

void vg_fs_run(vg_fs_op *op)
{
    op->result = cancelled(op) ? -ECANCELED : run(op);
    if (op->result < 0) {
        free(op->data);
        op->data = NULL;
    }
}

void vg_fs_free(vg_fs_op *op)
{
    free(op->path);
    free(op->path2);
    free(op->data);
    if (op->own_bytes)
        free(op->bytes);
    free(op);
}
