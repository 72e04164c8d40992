/* SPDX-License-Identifier: MIT */
#include "futex_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first that fits counts. Names are as they are shown: of C++ and Rust without mangling. */
static const struct {
    const char *part; /* of a function's name */
    unsigned within;  /* so many of the innermost frames: those further out only called what waits */
    vg_need_kind kind;
    const char *text; /* the address is put behind it */
} futex_waits[] = {
    {"cxa_guard_acquire", 3, VG_NEED_LOCK_WORD, "the end of a static variable's initialization, guard"},
    {"pthread_once", 4, VG_NEED_LOCK_WORD, "the end of the function of pthread_once"},
    {"once::futex", 4, VG_NEED_LOCK_WORD, "the end of the function of the Rust Once"},
    {"std::latch::", 10, VG_NEED_BARRIER, "the std::latch"},
    {"std::barrier<", 10, VG_NEED_BARRIER, "the std::barrier"},
    {"std::__tree_barrier", 10, VG_NEED_BARRIER, "the std::barrier"},
    {"std::__atomic_semaphore::", 10, VG_NEED_SEMAPHORE, "a release of the C++ semaphore"},
    {"std::counting_semaphore<", 10, VG_NEED_SEMAPHORE, "a release of the C++ semaphore"},
    {"_M_futex_wait_until", 4, VG_NEED_CONDITION, "the result of a std::future, word"},
    {"std::__atomic_base<", 10, VG_NEED_FUTEX, "a change of the std::atomic"},
    {"std::__detail::__platform_wait", 4, VG_NEED_FUTEX, "a change of the std::atomic"},
};

bool vg_futex_name(const vg_exam_thread *thread, vg_need *wait)
{
    for (unsigned k = 0; k < sizeof futex_waits / sizeof futex_waits[0]; k++)
        for (unsigned i = 0; i < futex_waits[k].within && i < thread->frame_count; i++) {
            if (strstr(thread->frames[i].function, futex_waits[k].part) == NULL)
                continue;
            wait->kind = futex_waits[k].kind;
            (void)snprintf(wait->text, sizeof wait->text, "%s 0x%" PRIx64, futex_waits[k].text, wait->address);
            return true;
        }
    return false;
}

static bool is_once(const char *function)
{
    return strstr(function, "pthread_once") != NULL;
}

/* How many calls of pthread_once are on the stack. Frames of one call follow each other. */
static unsigned calls_of_once(const vg_exam_thread *thread)
{
    unsigned calls = 0;
    bool before = false;
    for (unsigned i = 0; i < thread->frame_count; i++) {
        const bool once = is_once(thread->frames[i].function);
        calls += once && !before;
        before = once;
    }
    return calls;
}

static bool waits_for_once(const vg_exam_thread *thread)
{
    for (unsigned i = 0; i < 4 && i < thread->frame_count; i++)
        if (is_once(thread->frames[i].function))
            return thread->in_call;
    return false;
}

int vg_futex_once_holder(const vg_exam *exam, unsigned index)
{
    const vg_exam_process *process = &exam->processes[exam->threads[index].process];
    int holder = -1;
    if (!waits_for_once(&exam->threads[index]))
        return -1;
    for (unsigned i = process->first; i < process->first + process->count; i++) {
        const vg_exam_thread *thread = &exam->threads[i];
        if (thread->gone || calls_of_once(thread) <= (unsigned)waits_for_once(thread))
            continue;
        if (holder >= 0)
            return -1;
        holder = (int)i;
    }
    return holder;
}

const char *vg_futex_lock_of(const vg_exam_thread *thread)
{
    static const char *const locks[][2] = {
        {"dl_iterate_phdr", "the dynamic loader's lock"},
        {"_dl_add_to_namespace", "the dynamic loader's lock"},
        {"_dl_map_object", "the dynamic loader's lock"},
        {"_dl_open", "the dynamic loader's lock"},
        {"_dl_close", "the dynamic loader's lock"},
        {"dlopen", "the dynamic loader's lock"},
        {"dlsym", "the dynamic loader's lock"},
        {"dl_find_dso", "the dynamic loader's lock"},
        {"malloc", "a lock of malloc"},
        {"calloc", "a lock of malloc"},
        {"realloc", "a lock of malloc"},
        {"_int_free", "a lock of malloc"},
        {"cfree", "a lock of malloc"},
        {"tzset", "the lock of the time zone"},
        {"__tz_convert", "the lock of the time zone"},
        {"run_exit_handlers", "the lock of exit handlers"},
        {"__cxa_finalize", "the lock of exit handlers"},
    };
    /* Only the functions right above those that lock: who calls malloc with something else held is not meant. */
    unsigned first = 0;
    while (first < thread->frame_count && (strstr(thread->frames[first].function, "lock") != NULL ||
                                           strstr(thread->frames[first].function, "futex") != NULL))
        first++;
    for (unsigned i = first; i < first + 3 && i < thread->frame_count; i++)
        for (unsigned k = 0; k < sizeof locks / sizeof locks[0]; k++)
            if (strstr(thread->frames[i].function, locks[k][0]) != NULL && thread->frames[i].module[0] == 'l')
                return locks[k][1];
    return NULL;
}
