/* SPDX-License-Identifier: MIT */
/* W8: Root looks at the process of another user: what that user wrote into the record as the path of a module is never opened. */
#include "watch_test.h"

#include "reader/reader_names.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/inotify.h>

enum {
    STRANGER = 12345
};

static __attribute__((noinline)) int a_known_function(void *arg)
{
    (void)arg;
    return 0;
}

/* The stranger's process: it tells where its record is and waits. */
static void live_as_stranger(int answer, int end)
{
    char path[256] = "";
    char byte;
    if (setgroups(0, NULL) != 0 || setgid(STRANGER) != 0 || setuid(STRANGER) != 0)
        _exit(77);
    vigil_pool *pool = NULL;
    if (vigil_pool_create(&pool, NULL) != 0 || vigil_pool_call(pool, a_known_function, NULL, NULL, VIGIL_NORMAL) != 0 ||
        vigil_pool_wait_idle(pool, VIGIL_FOREVER) != 0 || vigil_record_path(path, sizeof path) <= 0 ||
        write(answer, path, sizeof path) != (ssize_t)sizeof path)
        _exit(1);
    (void)!read(end, &byte, 1);
    _exit(0);
}

/* Every mention of this program in the record becomes the decoy. Returns how many. */
static unsigned forge_paths(const char *record, const char *decoy)
{
    char own[256] = "";
    unsigned forged = 0;
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    must(length > 0 && strlen(decoy) <= (size_t)length);
    const int fd = open(record, O_RDWR | O_CLOEXEC);
    struct stat info;
    must(fd >= 0 && fstat(fd, &info) == 0);
    char *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(bytes != MAP_FAILED);
    char *at = bytes;
    while ((at = memmem(at, (size_t)(bytes + info.st_size - at), own, (size_t)length)) != NULL) {
        memset(at, 0, (size_t)length);
        memcpy(at, decoy, strlen(decoy));
        forged++;
    }
    must_equal(munmap(bytes, (size_t)info.st_size), 0);
    must_equal(close(fd), 0);
    return forged;
}

static bool was_opened(int notes)
{
    char events[1024];
    return read(notes, events, sizeof events) > 0;
}

static void a_path_that_another_user_chose_is_not_opened(void **state)
{
    (void)state;
    if (TEST_TSAN || geteuid() != 0) /* it cannot start threads in the child of a process that has some */
        skip();
    char directory[96];
    char decoy[96];
    char record[256];
    int answer[2];
    int end[2];
    must_equal(chmod(own_directory, 0755), 0);
    (void)snprintf(directory, sizeof directory, "%s/s", own_directory);
    (void)snprintf(decoy, sizeof decoy, "%s/d", own_directory);
    must_equal(mkdir(directory, 0700), 0);
    must_equal(chown(directory, STRANGER, STRANGER), 0);
    must_equal(close(open(decoy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    must_equal(setenv("VIGIL_DIR", directory, 1), 0);
    must_equal(pipe2(answer, O_CLOEXEC), 0);
    must_equal(pipe2(end, O_CLOEXEC), 0);
    const pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        (void)close(end[1]); /* its end in the parent is what is waited for */
        live_as_stranger(answer[1], end[0]);
    }
    must_equal(close(answer[1]), 0);
    const bool lives = read(answer[0], record, sizeof record) == (ssize_t)sizeof record;
    if (lives) {
        must(forge_paths(record, decoy) > 0);
        const int notes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        must(notes >= 0 && inotify_add_watch(notes, decoy, IN_OPEN) >= 0);
        vg_reader *reader = NULL;
        char name[128] = "";
        must_equal(vg_reader_open_path(&reader, record), 0);
        vg_reader_name(reader, (uint64_t)(uintptr_t)a_known_function, name, sizeof name);
        must(!was_opened(notes));
        must_equal(strcmp(name, "a_known_function"), 0); /* from the file that the kernel says is mapped */
        vg_reader_close(reader);
        must_equal(close(open(decoy, O_RDONLY | O_CLOEXEC)), 0);
        must(was_opened(notes)); /* or the test would see nothing at all */
        must_equal(close(notes), 0);
    }
    must_equal(close(end[1]), 0);
    int status = 0;
    must_equal(waitpid(child, &status, 0), child);
    (void)unlink(record);
    (void)unlink(decoy);
    (void)rmdir(directory);
    if (!lives && WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* not allowed here */
    must_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(a_path_that_another_user_chose_is_not_opened),
    };
    return run_all(tests);
}
