/* SPDX-License-Identifier: MIT */
/* Memory, threads, mutexes, clocks and descriptors: each finding, and each thing that must work. */
#include <vigil_check.h>
#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* ---- heap ---- */

size_t selftest_many = SIZE_MAX / 2;
void *selftest_pointer; /* not static: what goes through here the compiler cannot see through */

static void *get(size_t size)
{
    selftest_pointer = malloc(size);
    return selftest_pointer;
}

VGC_SCENARIO(heap_use_after_free, "reading a freed block is found", .expect = VGC_USE_AFTER_FREE)
{
    int *p = get(sizeof *p);
    *p = 1;
    free(p);
    vgc_assert(*(volatile int *)p == 1, "never reached");
}

VGC_SCENARIO(heap_behind_the_end, "writing behind a block is found", .expect = VGC_USE_AFTER_FREE)
{
    char *p = get(10);
    ((volatile char *)p)[10] = 1;
    free(p);
}

VGC_SCENARIO(heap_double_free, "freeing twice is found", .expect = VGC_DOUBLE_FREE)
{
    void *p = get(8);
    free(p);
    free(p);
}

VGC_SCENARIO(heap_moved_mapping, "a mapping that moves keeps its bytes, and its old place is gone",
             .expect = VGC_USE_AFTER_FREE)
{
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[8191] = 5;
    char *q = mremap(p, 8192, 16384, MREMAP_MAYMOVE);
    vgc_assert(q != MAP_FAILED && q[8191] == 5 && q[8192] == 0, "the bytes are there");
    char *place = mmap(NULL, 32768, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *r = mremap(q, 16384, 32768, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    vgc_assert(r == place && r[8191] == 5 && r[32767] == 0, "at the place that was asked for");
    munmap(r, 32768);
    selftest_pointer = p;
    *(volatile char *)selftest_pointer = 1;
}

VGC_SCENARIO(heap_array, "an array grows, and a size that is too large is refused")
{
    int *p = reallocarray(NULL, 4, sizeof *p);
    p[3] = 9;
    p = reallocarray(p, 8, sizeof *p);
    vgc_assert(p[3] == 9 && malloc_usable_size(p) >= 8 * sizeof *p, "the bytes are there");
    vgc_assert(reallocarray(p, selftest_many, sizeof *p) == NULL && errno == ENOMEM, "there is no such memory");
    free(p);
}

static _Thread_local int selftest_own = 41;
static _Atomic int selftest_turns;

static void *say_errors(void *arg)
{
    vgc_assert(strcmp(strerror(EINVAL), strerror(EDOM)) != 0, "known errors have their sentences");
    vgc_assert(strstr(strerror(99999), "99999") != NULL, "unknown ones have their number");
    vgc_assert(isdigit('7') && toupper('a') == 'A', "the C library knows the thread's locale");
    vgc_assert(++selftest_own == 42, "each thread has its own");
    atomic_fetch_add(&selftest_turns, 1);
    return arg;
}

VGC_SCENARIO(thread_locals, "the C library's thread-local data is there in each thread and execution")
{
    say_errors(NULL);
    pthread_t t = vgc_thread_start(say_errors, NULL);
    atomic_fetch_add(&selftest_turns, 1);
    vgc_assert(strstr(strerror(88888), "88888") != NULL, "behind the snapshot too");
    vgc_thread_join(t);
}

VGC_SCENARIO(heap_leak, "a block that nobody frees is found", .expect = VGC_LEAK)
{
    void *volatile kept = get(8);
    (void)kept;
}

VGC_SCENARIO(heap_leak_allowed, "... unless that is allowed", .opt.allow_leaks = true)
{
    void *volatile kept = get(8);
    (void)kept;
}

VGC_SCENARIO(heap_fails, "an allocation may fail if there is a budget", .expect = VGC_CRASH, .opt.fail_alloc = 1)
{
    char *p = get(8), *q = get(8);
    *(volatile char *)q = 1;
    free(p);
    free(q);
}

VGC_SCENARIO(heap_handled, "code that handles failure passes", .opt.fail_alloc = 2)
{
    char *p = get(8), *q = get(8);
    vgc_assert(vgc_live_blocks() == (size_t)(p != NULL) + (size_t)(q != NULL), "blocks are counted");
    free(p);
    free(q);
}

static _Atomic(int *) shared;

static void *use_shared(void *arg)
{
    int *p = atomic_load_explicit(&shared, memory_order_acquire);
    if (p != NULL)
        *p = 2;
    return arg;
}

VGC_SCENARIO(heap_free_races, "a use that may come after the free is found", .expect = VGC_USE_AFTER_FREE)
{
    int *p = get(sizeof *p);
    atomic_store_explicit(&shared, p, memory_order_release);
    pthread_t t = vgc_thread_start(use_shared, NULL);
    free(p);
    vgc_thread_join(t);
}

VGC_SCENARIO(heap_mappings, "mmap, trimming and munmap work")
{
    char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    vgc_assert(p[0] == 0 && p[16383] == 0, "pages are zero");
    p[5000] = 1;
    munmap(p, 4096);
    munmap(p + 12288, 4096);
    vgc_assert(p[5000] == 1, "the middle stays");
    munmap(p + 4096, 8192);
}

static int *unordered;
static _Atomic int used;

static void *use_and_tell(void *arg)
{
    *unordered = 3;
    atomic_store_explicit(&used, 1, memory_order_relaxed);
    return arg;
}

VGC_SCENARIO(heap_free_not_ordered, "a free after the last use, but not ordered with it, is a race",
             .expect = VGC_DATA_RACE)
{
    unordered = get(sizeof *unordered);
    pthread_t t = vgc_thread_start(use_and_tell, NULL);
    while (atomic_load_explicit(&used, memory_order_relaxed) == 0)
        ;
    free(unordered);
    vgc_thread_join(t);
}

/* ---- threads and their data ---- */

static _Thread_local int mine = 5;
static _Atomic(int *) somebodys;
static int statics = 3;

static void *count_mine(void *arg)
{
    mine++;
    int *expected = NULL;
    atomic_compare_exchange_strong_explicit(&somebodys, &expected, &mine, memory_order_acq_rel, memory_order_acquire);
    vgc_assert(mine == 6 && expected != &mine, "each thread has its own, at an address of its own");
    errno = (int)(intptr_t)arg;
    atomic_load_explicit(&somebodys, memory_order_relaxed);
    vgc_assert(errno == (int)(intptr_t)arg, "errno too");
    return NULL;
}

VGC_SCENARIO(thread_local_data, "thread-local data is per model thread and starts anew")
{
    vgc_assert(statics == 3 && mine == 5, "every execution starts from the initial values");
    statics++;
    mine++;
    pthread_t t = vgc_thread_start(count_mine, (void *)1), u = vgc_thread_start(count_mine, (void *)2);
    vgc_thread_join(t);
    vgc_thread_join(u);
    vgc_assert(mine == 6, "untouched by the others");
}

static void *nothing(void *arg)
{
    return arg;
}

VGC_SCENARIO(thread_create_fails, "thread creation may fail if there is a budget", .expect = VGC_ASSERTION,
             .opt.fail_thread = 1)
{
    pthread_t t;
    int rc = pthread_create(&t, NULL, nothing, NULL);
    if (rc == 0)
        pthread_join(t, NULL);
    vgc_assert(rc == 0, "it worked");
}

VGC_SCENARIO(thread_result, "join returns what the thread returned, and the name of a thread stays")
{
    pthread_t t;
    void *value;
    char name[16];
    vgc_assert(pthread_create(&t, NULL, nothing, &statics) == 0, "created");
    pthread_setname_np(t, "worker");
    pthread_getname_np(t, name, sizeof name);
    vgc_assert(strcmp(name, "worker") == 0, "the name");
    vgc_assert(pthread_join(t, &value) == 0 && value == &statics, "the value");
    vgc_assert(pthread_equal(pthread_self(), pthread_self()) != 0, "self");
}

static int plain;
static void *write_plain(void *arg)
{
    plain = 9;
    return arg;
}

VGC_SCENARIO(join_orders, "join orders the thread's plain writes before what follows")
{
    pthread_t t = vgc_thread_start(write_plain, NULL);
    vgc_thread_join(t);
    vgc_assert(plain == 9, "seen");
}

static void *read_plain(void *arg)
{
    vgc_assert(plain == 4, "seen");
    return arg;
}

VGC_SCENARIO(create_orders, "creation orders what came before it")
{
    plain = 4;
    pthread_t t = vgc_thread_start(read_plain, NULL);
    vgc_thread_join(t);
}

VGC_SCENARIO(quiesce_sees, "quiesce waits for the others and sees their plain writes")
{
    pthread_t t = vgc_thread_start(write_plain, NULL);
    vgc_quiesce();
    vgc_assert(plain == 9, "seen");
    vgc_thread_join(t);
}

/* ---- mutex ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *add_locked(void *arg)
{
    pthread_mutex_lock(&mutex);
    counter++;
    pthread_mutex_unlock(&mutex);
    return arg;
}

VGC_SCENARIO(mutex_protects, "a mutex orders plain accesses")
{
    pthread_t t = vgc_thread_start(add_locked, NULL), u = vgc_thread_start(add_locked, NULL);
    vgc_thread_join(t);
    vgc_thread_join(u);
    vgc_assert(counter == 2, "both counted");
}

static void *lock_both(void *arg)
{
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&second);
    return arg;
}

VGC_SCENARIO(mutex_crossed, "two mutexes taken in different order deadlock", .expect = VGC_DEADLOCK)
{
    pthread_t t = vgc_thread_start(lock_both, NULL);
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&mutex);
    vgc_thread_join(t);
}

static int order_taken;
static void *take_note(void *arg)
{
    pthread_mutex_lock(&mutex);
    order_taken = order_taken * 10 + (int)(intptr_t)arg;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

VGC_SCENARIO(mutex_both_orders, "a mutex is tried in every order", .expect = VGC_ASSERTION)
{
    pthread_t a = vgc_thread_start(take_note, (void *)1), b = vgc_thread_start(take_note, (void *)2),
              c = vgc_thread_start(take_note, (void *)3);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_thread_join(c);
    vgc_assert(order_taken != 321, "the last order");
}

static _Atomic int tried;
static void *hold(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

VGC_SCENARIO(mutex_trylock, "trylock fails while another holds it", .expect = VGC_ASSERTION)
{
    pthread_t t = vgc_thread_start(hold, NULL);
    int rc = pthread_mutex_trylock(&mutex);
    if (rc == 0)
        pthread_mutex_unlock(&mutex);
    vgc_thread_join(t);
    vgc_assert(rc == 0, "it was free");
}

/* ---- clock ---- */

static _Atomic unsigned word;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

VGC_SCENARIO(clock_jumps, "the clock goes to the next deadline when nobody can move")
{
    struct timespec span = {.tv_sec = 3};
    uint64_t before = now();
    long rc = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0);
    vgc_assert(rc == -1 && errno == ETIMEDOUT && now() - before == 3000000000u, "three seconds later");
    nanosleep(&span, NULL);
    vgc_assert(now() - before == 6000000000u, "and three more");
}

static void *timed_sleep(void *arg)
{
    struct timespec span = {.tv_sec = 1};
    if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0) == -1 && errno == ETIMEDOUT)
        atomic_store_explicit(&tried, 1, memory_order_relaxed);
    return arg;
}

VGC_SCENARIO(clock_no_early_timeouts, "without a budget a time-out does not beat a wake that comes")
{
    pthread_t t = vgc_thread_start(timed_sleep, NULL);
    atomic_store_explicit(&word, 1, memory_order_relaxed);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    vgc_thread_join(t);
    vgc_assert(atomic_load_explicit(&tried, memory_order_relaxed) == 0, "woken, not timed out");
}

VGC_SCENARIO(clock_early_timeouts, "with a budget it may", .expect = VGC_ASSERTION, .opt.early_timeouts = 1)
{
    pthread_t t = vgc_thread_start(timed_sleep, NULL);
    atomic_store_explicit(&word, 1, memory_order_relaxed);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    vgc_thread_join(t);
    vgc_assert(atomic_load_explicit(&tried, memory_order_relaxed) == 0, "woken, not timed out");
}

/* ---- descriptors ---- */

static int event_fd;

static void *write_event(void *arg)
{
    uint64_t one = 1;
    plain = 11;
    vgc_assert(write(event_fd, &one, sizeof one) == sizeof one, "written");
    return arg;
}

VGC_SCENARIO(epoll_wakes, "a write to an eventfd ends epoll_wait, once if edge-triggered")
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = 7}, got;
    event_fd = eventfd(0, EFD_NONBLOCK);
    int set = epoll_create1(0);
    vgc_assert(epoll_ctl(set, EPOLL_CTL_ADD, event_fd, &event) == 0, "added");
    pthread_t t = vgc_thread_start(write_event, NULL);
    vgc_assert(epoll_wait(set, &got, 1, -1) == 1 && got.data.u32 == 7, "woken");
    vgc_assert(plain == 11, "what was written before the event is seen");
    vgc_assert(epoll_wait(set, &got, 1, 0) == 0, "the edge is used up");
    vgc_thread_join(t);
    uint64_t value;
    vgc_assert(read(event_fd, &value, sizeof value) == 8 && value == 1, "and the counter still there");
    close(set);
    close(event_fd);
}

VGC_SCENARIO(epoll_nobody_writes, "waiting for an event that does not come is a deadlock", .expect = VGC_DEADLOCK,
             .opt.allow_leaks = true)
{
    struct epoll_event event = {.events = EPOLLIN}, got;
    event_fd = eventfd(0, 0);
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, event_fd, &event);
    epoll_wait(set, &got, 1, -1);
}

VGC_SCENARIO(descriptor_leak, "a descriptor that stays open is found", .expect = VGC_LEAK)
{
    event_fd = eventfd(0, 0);
}

VGC_SCENARIO(timerfd_fires, "a timerfd moves the clock when somebody waits for it")
{
    struct itimerspec when = {.it_value.tv_sec = 2};
    struct epoll_event event = {.events = EPOLLIN}, got;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), set = epoll_create1(0);
    uint64_t before = now(), count;
    timerfd_settime(timer, 0, &when, NULL);
    epoll_ctl(set, EPOLL_CTL_ADD, timer, &event);
    vgc_assert(epoll_wait(set, &got, 1, 5000) == 1, "it fired");
    vgc_assert(now() - before == 2000000000u, "after two seconds");
    vgc_assert(read(timer, &count, sizeof count) == 8 && count == 1, "once");
    vgc_assert(epoll_wait(set, &got, 1, 10) == 0 && now() - before == 2010000000u, "then the time-out of the call");
    close(set);
    close(timer);
}

static int ends[2];
static void *send_pointer(void *arg)
{
    int *p = malloc(sizeof *p);
    *p = 77;
    vgc_assert(write(ends[1], &p, sizeof p) == sizeof p, "sent");
    return arg;
}

VGC_SCENARIO(pipe_hands_over, "a pointer through a pipe brings what it points to")
{
    int *p;
    vgc_assert(pipe2(ends, 0) == 0, "made");
    pthread_t t = vgc_thread_start(send_pointer, NULL);
    vgc_assert(read(ends[0], &p, sizeof p) == sizeof p && *p == 77, "received");
    free(p);
    vgc_thread_join(t);
    close(ends[0]);
    close(ends[1]);
}
