/* SPDX-License-Identifier: MIT */
/*
 * life.c - the life of the recorder, and what a fork does to it (FORMAT.md).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "block.h"
#include "directory.h"
#include "file.h"
#include "life.h"
#include "names.h"
#include "pages.h"
#include "recorder.h"
#include "ring.h"

#include "base/log.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <vigil/version.h>

enum {
    RECORD_LOG_ROOM = 512
};

vg_recorder vg_the_recorder;
vg_record_config vg_the_record_config = {.level = VIGIL_RECORD_EVENTS, .max_bytes = 64U << 20, .ring_events = 4096};
_Atomic uint32_t vg_record_epoch = 1;

/* ---- saying something -------------------------------------------------------------------------------------------- */

/* A message; aloud: on stderr if there is no hook. */
typedef struct record_words {
    char text[RECORD_LOG_ROOM];
    bool aloud;
} record_words;

/* Not under the lock. */
static void log_record_words(const record_words *words)
{
    vg_mutex_lock(&vg_the_recorder.lock);
    void (*log)(void *user, const char *text) = vg_the_record_config.log;
    void *user = vg_the_record_config.user;
    vg_mutex_unlock(&vg_the_recorder.lock);
    if (log != NULL)
        log(user, words->text);
    else if (words->aloud)
        vg_log(VG_LOG_RECORD, "%s", words->text);
}

void vg_record_log(const char *format, ...)
{
    record_words words = {.aloud = false};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words.text, sizeof words.text, format, args);
    va_end(args);
    log_record_words(&words);
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

/* A file of the system as a string; "" if unreadable. */
static size_t read_system_text(const char *path, char *text, size_t room)
{
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got;
        while (length < room - 1 && (got = read(fd, text + length, room - 1 - length)) != 0) {
            if (got < 0 && errno != EINTR)
                break;
            length += got > 0 ? (size_t)got : 0;
        }
        (void)close(fd);
    }
    text[length] = '\0';
    return length;
}

static uint64_t own_start_time(void)
{
    char stat[1024];
    (void)read_system_text("/proc/self/stat", stat, sizeof stat);
    const char *at = strrchr(stat, ')'); /* the name may contain anything */
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

static void describe_process(vg_file_header *header)
{
    header->pid = (uint64_t)getpid();
    header->pid_namespace = vg_pid_namespace();
    header->start_time = own_start_time();
    header->uid = geteuid();
    (void)read_system_text("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof header->boot_id);
    header->boot_id[strcspn(header->boot_id, "\n")] = '\0';
    (void)snprintf(header->library, sizeof header->library, "%d.%d.%d", VIGIL_VERSION_MAJOR, VIGIL_VERSION_MINOR,
                   VIGIL_VERSION_PATCH);
    size_t length = read_system_text("/proc/self/cmdline", header->command, sizeof header->command);
    while (length != 0 && header->command[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (header->command[i] == '\0')
            header->command[i] = ' ';
}

static void set_file_section(vg_file_header *header, vg_file_section_kind kind, size_t offset, size_t entry,
                             size_t entries)
{
    header->sections[kind] =
        (vg_file_section){.offset = offset, .entry_bytes = (uint32_t)entry, .entries = (uint32_t)entries};
}

static void fill_front(vg_recorder *recorder)
{
    vg_file_front *front = recorder->front;
    vg_file_header *header = &front->header;
    header->version = VG_FILE_VERSION;
    header->header_bytes = sizeof *header;
    header->byte_order = VG_FILE_ORDER;
    header->address_bits = 64;
    header->level = recorder->level;
    header->locked = recorder->file.locked;
    header->ring_events = recorder->ring_events;
    header->max_bytes = recorder->max_bytes;
    describe_process(header);
    const vg_tick_base now = vg_tick_base_now();
    header->born_ticks = now.ticks;
    header->born_ns = now.ns;
    vg_cell_set(&header->mark_ticks, now.ticks);
    vg_cell_set(&header->mark_ns, now.ns);
    struct timespec wall;
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    header->born_wall_ns = (uint64_t)wall.tv_sec * 1000000000U + (uint64_t)wall.tv_nsec;
    vg_cell_set(&header->file_bytes, recorder->file.bytes);
    set_file_section(header, VG_SECTION_DIRECTORY, offsetof(vg_file_front, directory), sizeof front->directory[0],
                     VG_FILE_BLOCKS);
    set_file_section(header, VG_SECTION_NAMES, offsetof(vg_file_front, names), sizeof front->names[0], VG_FILE_NAMES);
    set_file_section(header, VG_SECTION_MODULES, offsetof(vg_file_front, modules), sizeof front->modules[0],
                     VG_FILE_MODULES);
    set_file_section(header, VG_SECTION_VERDICTS, offsetof(vg_file_front, verdicts), sizeof front->verdicts[0],
                     VG_FILE_VERDICTS);
    set_file_section(header, VG_SECTION_ACTS, offsetof(vg_file_front, acts), sizeof front->acts[0], VG_FILE_ACTS);
    vg_names_publish(recorder);
    vg_modules_publish(recorder);
    /* release: the rest before the magic; pairs with the fence after the reader's look at it */
    atomic_store_explicit(&header->magic, VG_FILE_MAGIC, memory_order_release);
}

static unsigned record_level_in_force(void)
{
    static const char *const names[] = {"", "off", "counters", "events"};
    const char *wanted = secure_getenv("VIGIL_RECORD");
    for (unsigned level = VIGIL_RECORD_OFF; wanted != NULL && level <= VIGIL_RECORD_EVENTS; level++)
        if (strcmp(wanted, names[level]) == 0)
            return level;
    return vg_the_record_config.level;
}

static void recorder_before_fork(void)
{
    vg_mutex_lock(&vg_the_recorder.lock);
}

static void recorder_in_fork_parent(void)
{
    vg_mutex_unlock(&vg_the_recorder.lock);
}

/* Replace a shared mapping by private memory. */
static void make_mapping_private(void *memory, size_t bytes, bool copy)
{
    void *kept = copy ? vg_pages_get(bytes) : NULL;
    if (kept != NULL)
        memcpy(kept, memory, bytes);
    if (mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return; /* no address space: nothing that we could do here */
    if (kept != NULL) {
        memcpy(memory, kept, bytes);
        (void)munmap(kept, bytes);
    }
}

static void forget_recorder(vg_recorder *recorder)
{
    recorder->users = 0;
    recorder->front = NULL;
    recorder->file.bytes = 0;
    recorder->extent_count = 0;
    recorder->rings = 0;
    /* relaxed: users of rings are inside calls of holders, and there are none now */
    uint32_t epoch = atomic_load_explicit(&vg_record_epoch, memory_order_relaxed) + 1;
    atomic_store_explicit(&vg_record_epoch, epoch != 0 ? epoch : 1, memory_order_relaxed);
}

static void recorder_in_fork_child(void)
{
    vg_recorder *recorder = &vg_the_recorder;
    if (recorder->file.bytes != 0) {
        make_mapping_private(recorder->front, vg_pages_round(sizeof *recorder->front), false);
        for (unsigned i = 0; i < recorder->extent_count; i++)
            make_mapping_private(recorder->extents[i].memory, recorder->extents[i].bytes,
                                 recorder->extents[i].copy_fork);
    }
    if (recorder->users != 0)
        forget_recorder(recorder);
    vg_mutex_init(&recorder->lock);
}

static const char *error_text(int error)
{
#ifdef __GLIBC__
    return strerrordesc_np(error); /* the text in English, from constant memory */
#else
    return strerror(error); /* constant memory in musl */
#endif
}

/* Make the file in the first directory that works. `notice`: the usual one is not ours. */
static int make_record_file(vg_recorder *recorder, char *directory, size_t bytes, void **memory, record_words *notice)
{
    const char *chosen = vg_the_record_config.directory;
    char taken[VG_RECORD_PATH_ROOM] = "";
    int error;
    int first = -ENOENT;
    for (unsigned i = 0; (error = vg_record_directory_at(chosen, i, directory, VG_RECORD_PATH_ROOM)) == 0; i++) {
        error = vg_file_make(&recorder->file, directory, bytes, memory);
        if (i == 0)
            first = error;
        if (error == -EPERM && taken[0] == '\0')
            memcpy(taken, directory, sizeof taken);
        /* About the directory; with other errors the next one would not help. */
        if (error != -EPERM && error != -ENOENT && error != -EACCES && error != -EROFS)
            break;
    }
    if (error == 0 && taken[0] != '\0')
        (void)snprintf(notice->text, sizeof notice->text,
                       "%.180s belongs to another user, is open to others, or is no directory: the recorder does not "
                       "use it, and uses %.180s instead. Remove it, or set VIGIL_DIR",
                       taken, directory);
    notice->aloud = notice->text[0] != '\0';
    if (error != -ENOENT)
        return error;
    (void)vg_record_directory_at(chosen, 0, directory, VG_RECORD_PATH_ROOM);
    return first;
}

/* trouble: what went wrong, or "". */
static void make_recorder(vg_recorder *recorder, record_words *trouble)
{
    static bool guarded; /* under the lock */
    if (!guarded)
        guarded = pthread_atfork(recorder_before_fork, recorder_in_fork_parent, recorder_in_fork_child) == 0;
    recorder->level = record_level_in_force();
    recorder->max_bytes = vg_the_record_config.max_bytes;
    recorder->ring_events = vg_the_record_config.ring_events;
    recorder->modules_seen = 0;
    recorder->front = NULL;
    if (recorder->level == VIGIL_RECORD_OFF)
        return;
    const size_t bytes = vg_pages_round(sizeof *recorder->front);
    char directory[VG_RECORD_PATH_ROOM] = "";
    void *memory = NULL;
    int error = guarded ? make_record_file(recorder, directory, bytes, &memory, trouble) : -ENOMEM;
    if (error != 0) {
        memory = vg_pages_get(bytes);
        (void)snprintf(
            trouble->text, sizeof trouble->text,
            "the recorder has no file, so this process cannot be looked at from outside: %.200s/%ld: %s. Set "
            "VIGIL_DIR to a directory of your own on a disk with room, or VIGIL_RECORD=off",
            directory, (long)getpid(), error_text(-error));
    }
    recorder->front = memory;
    if (memory == NULL)
        recorder->level = VIGIL_RECORD_OFF;
    else
        fill_front(recorder);
    if (recorder->level == VIGIL_RECORD_EVENTS)
        vg_rings_begin();
}

static void unmake_recorder(vg_recorder *recorder)
{
    if (recorder->level == VIGIL_RECORD_EVENTS)
        vg_rings_end();
    if (recorder->front != NULL) {
        vg_cell_set(&recorder->front->header.ended, 1);
        vg_file_remove(&recorder->file);
        (void)munmap(recorder->front, vg_pages_round(sizeof *recorder->front));
    }
    for (unsigned i = 0; i < recorder->extent_count; i++)
        (void)munmap(recorder->extents[i].memory, recorder->extents[i].bytes);
    forget_recorder(recorder);
}

unsigned vg_record_hold(uint32_t *epoch)
{
    vg_recorder *recorder = &vg_the_recorder;
    record_words trouble = {.aloud = false};
    vg_mutex_lock(&recorder->lock);
    if (recorder->users++ == 0)
        make_recorder(recorder, &trouble);
    else if (recorder->front != NULL)
        vg_modules_publish(recorder);
    unsigned level = recorder->level;
    *epoch = atomic_load_explicit(&vg_record_epoch, memory_order_relaxed); /* written under the lock */
    vg_mutex_unlock(&recorder->lock);
    if (trouble.text[0] != '\0')
        log_record_words(&trouble);
    return level;
}

void vg_record_release(uint32_t epoch)
{
    vg_recorder *recorder = &vg_the_recorder;
    vg_mutex_lock(&recorder->lock);
    if (epoch == atomic_load_explicit(&vg_record_epoch, memory_order_relaxed) && --recorder->users == 0)
        unmake_recorder(recorder);
    vg_mutex_unlock(&recorder->lock);
}

/* ---- for the watchdog -------------------------------------------------------------------------------------------- */

vg_file_header *vg_record_header(void)
{
    return vg_the_recorder.front != NULL ? &vg_the_recorder.front->header : NULL;
}

vg_file_verdict *vg_record_verdicts(void)
{
    return vg_the_recorder.front != NULL ? vg_the_recorder.front->verdicts : NULL;
}

vg_file_act *vg_record_acts(void)
{
    return vg_the_recorder.front != NULL ? vg_the_recorder.front->acts : NULL;
}

void vg_record_mark(void)
{
    vg_recorder *recorder = &vg_the_recorder;
    vg_mutex_lock(&recorder->lock);
    if (recorder->users != 0 && recorder->front != NULL) {
        const vg_tick_base now = vg_tick_base_now();
        vg_cell_set(&recorder->front->header.mark_ticks, now.ticks);
        vg_cell_set(&recorder->front->header.mark_ns, now.ns);
        vg_modules_publish(recorder);
    }
    vg_mutex_unlock(&recorder->lock);
}
