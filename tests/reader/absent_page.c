/* SPDX-License-Identifier: MIT */
/* The lock that a thread waits for lies in a page that never arrives. Whoever reads it waits for ever, so the reader does not. */
#include "watch_test.h"

#include "base/present.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static char *place; /* the same in parent and child */
static size_t page;

/* Two pages: the first one is there, the second belongs to a userfaultfd that nobody serves. */
static void keeps_a_page(struct shared_words *words)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)place + page, page}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &range) != 0)
        event_set(&words->more);
    pthread_mutex_t *mutex = (pthread_mutex_t *)(void *)place;
    (void)pthread_mutex_init(mutex, NULL);
    (void)pthread_mutex_lock(mutex);
    mutex->__data.__lock = 2; /* as if somebody waited */
    event_set(&words->ready);
    for (;;)
        (void)pause();
}

static void a_page_that_never_arrives_is_not_read(void **state)
{
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    place = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(place != MAP_FAILED);
    struct shared_words *words = share_words();
    const pid_t child = start_child(keeps_a_page, words);
    wait_shared(&words->ready);
    must_equal(vg_process_mutex_owner(child, (uintptr_t)place, 2), child);
    must(vg_present(child, (uintptr_t)place, page) && vg_present_command(child, 256));
    if (!event_is_set(&words->more)) {
        must_equal(vg_process_mutex_owner(child, (uintptr_t)place + page, 2), 0);
        must(!vg_present(child, (uintptr_t)place + page, 1) && !vg_present(child, (uintptr_t)place, page + 1));
    } else {
        (void)fprintf(stderr, "  this user may not have such a page\n");
    }
    must_equal(kill(child, SIGKILL), 0);
    (void)child_status(child);
    must_equal(munmap(place, 2 * page), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(a_page_that_never_arrives_is_not_read),
    };
    return run_all(tests);
}
