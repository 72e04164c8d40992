/* SPDX-License-Identifier: MIT */
/*
 * W8: The reader survives whatever is in a file: it answers or refuses, and never crashes, hangs or reads what is not its own.
 * By hand with the address sanitizer, VIGIL_FUZZ rounds at a time, each time with another VIGIL_FUZZ_SEED.
 */
#include "watch_test.h"

#include "reader/outside.h"

#include <vigil/io.h>

#include <fcntl.h>
#include <sys/resource.h>

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static uint64_t below(uint64_t bound)
{
    return next_random() % bound;
}

/* Numbers that are likely to hurt. */
static uint64_t evil(void)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       7,
                                       UINT64_MAX,
                                       UINT64_MAX - 4095,
                                       INT64_MAX,
                                       (uint64_t)INT64_MAX + 1,
                                       UINT32_MAX,
                                       UINT64_C(1) << 32,
                                       UINT64_C(1) << 48,
                                       4096,
                                       VG_FILE_BLOCKS,
                                       VG_FILE_BLOCKS + 1,
                                       VG_BLOCK_RING,
                                       VG_BLOCK_IO,
                                       VG_BLOCK_HISTS,
                                       VG_BLOCK_WORKERS};
    const uint64_t which = below(count_of(numbers) + 4);
    return which < count_of(numbers) ? numbers[which] : next_random() >> below(64);
}

static char *original;
static size_t original_bytes;
static char *mutant;
static int mutant_file;
static char mutant_path[128];

static int work(void *arg)
{
    return arg == NULL ? 0 : -EIO;
}

static void on_post(void *arg)
{
    (void)arg;
}

/* A file with everything in it. */
static void make_original(void)
{
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.ring_events = 64;
    must_equal(vigil_record_configure(&options), 0);
    vigil_pool *pool = pool_of(2);
    vigil_loop *loop = NULL;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(VIGIL_RECORD_NAME(work, "work"), 0);
    for (int i = 0; i < 100; i++) {
        must_equal(vigil_pool_call(pool, work, NULL, i % 7 == 0 ? &options : NULL, (vigil_priority)(i % 5)), 0);
        must_equal(vigil_loop_call(loop, on_post, NULL, NULL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    int ends[2];
    vigil_stream *streams[3];
    vigil_loop *other = NULL; /* the first has ended */
    must_equal(vigil_loop_create(&other, NULL), 0);
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (size_t i = 0; i < count_of(streams); i++) {
        must_equal(vigil_stream_open(&streams[i], other, fcntl(ends[0], F_DUPFD_CLOEXEC, 0), NULL), 0);
        must_equal(vigil_stream_name(streams[i], "a name"), 0);
    }
    char path[256];
    must(vigil_record_path(path, sizeof path) > 0);
    FILE *file = fopen(path, "rb");
    must(file != NULL);
    struct stat info;
    must_equal(fstat(fileno(file), &info), 0);
    original_bytes = (size_t)info.st_size;
    original = malloc(original_bytes);
    mutant = malloc(original_bytes);
    must(original != NULL && mutant != NULL);
    must_equal(fread(original, 1, original_bytes, file), original_bytes);
    must_equal(fclose(file), 0);
    for (size_t i = 0; i < count_of(streams); i++)
        must_equal(vigil_stream_close(streams[i]), 0);
    must_equal(close(ends[0]), 0);
    must_equal(close(ends[1]), 0);
    must_equal(vigil_loop_destroy(other), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    pool_close(pool);
}

/* Use everything that the snapshot gives, so that a bad pointer or an endless text is noticed. */
static uint64_t use(vg_reader *reader, const vg_snapshot *seen)
{
    uint64_t sum = strlen(seen->command) + strlen(seen->library);
    char name[64];
    for (size_t i = 0; i < seen->pool_count; i++) {
        const vg_pool_view *pool = &seen->pools[i];
        sum += strlen(pool->name) + vg_hist_quantile(&pool->wait[2], 0.99) + vg_hist_quantile(&pool->wake, 0.5);
        for (size_t w = 0; w < pool->worker_count; w++) {
            sum +=
                strlen(vg_worker_state_name(pool->workers[w].state)) + strlen(vg_wait_name(pool->workers[w].wait.kind));
            for (unsigned h = 0; h < pool->workers[w].changes; h++)
                sum += pool->workers[w].history[h].age_ns;
            vg_reader_name(reader, pool->workers[w].task_function, name, sizeof name);
            sum += strlen(name);
        }
    }
    for (size_t i = 0; i < seen->loop_count; i++)
        sum += strlen(seen->loops[i].name) + strlen(vg_loop_phase_name(seen->loops[i].phase)) +
               strlen(vg_loop_state_name(seen->loops[i].state)) + vg_hist_quantile(&seen->loops[i].callback, 0.5);
    for (size_t i = 0; i < seen->loop_count; i++)
        for (size_t k = 0; k < seen->loops[i].io_count; k++)
            sum += strlen(seen->loops[i].ios[k].name) + strlen(seen->loops[i].ios[k].address) +
                   strlen(vg_io_kind_name(seen->loops[i].ios[k].kind)) +
                   strlen(vg_io_wait_name(seen->loops[i].ios[k].wait));
    for (size_t i = 0; i < seen->verdict_count; i++)
        sum += strlen(seen->verdicts[i].reason) + strlen(seen->verdicts[i].evidence) + strlen(seen->verdicts[i].advice);
    for (size_t i = 0; i < seen->act_count; i++)
        sum += strlen(seen->acts[i].text);
    for (size_t i = 0; i < seen->thread_count; i++) {
        vg_event *events = NULL;
        uint64_t first = 0;
        size_t count = 0;
        sum += strlen(seen->threads[i].name);
        if (vg_reader_events(reader, seen->threads[i].serial, below(3) * next_random(), &events, &first, &count) != 0)
            continue;
        for (size_t k = 0; k < count; k++)
            sum +=
                strlen(vg_event_name(vg_event_kind_of(&events[k]))) + (uint64_t)vg_snapshot_age(seen, events[k].ticks);
        free(events);
    }
    return sum;
}

static unsigned answered, refused;

static void read_it(const char *path)
{
    vg_reader *reader = NULL;
    vg_snapshot *before = NULL;
    vg_snapshot *seen = NULL;
    int error = vg_reader_open_path(&reader, path);
    if (error == 0)
        error = vg_reader_snapshot(reader, &seen);
    if (error == 0 && below(4) == 0)
        (void)vg_reader_snapshot(reader, &before);
    if (error == 0) {
        answered++;
        must_equal(vg_outside_judge(reader, before, seen), 0);
        (void)use(reader, seen);
        if (before != NULL)
            must_equal(vg_outside_judge(reader, seen, before), 0);
        vg_snapshot_free(seen);
    } else {
        refused++;
        must(error == -EBADMSG || error == -EPROTO || error == -ENOMEM);
    }
    vg_snapshot_free(before);
    vg_reader_close(reader);
}

/* Where a change is most likely to be believed: header, directory, heads of blocks. */
static size_t somewhere(void)
{
    const vg_file_header *header = (const vg_file_header *)(const void *)original;
    switch (below(5)) {
    case 0:
        return below(sizeof *header) & ~(size_t)7;
    case 1:
    case 2:
        return (header->sections[VG_SECTION_DIRECTORY].offset + below(40 * sizeof(vg_file_block))) & ~(size_t)7;
    case 3:
        return below(original_bytes) & ~(size_t)4095;
    default:
        return below(original_bytes) & ~(size_t)7;
    }
}

/* A mutated file is written once; each round changes some words and puts them back afterwards. */
static void mutate_and_read(void)
{
    size_t at[8];
    const size_t changes = 1 + below(count_of(at));
    for (size_t i = 0; i < changes; i++) {
        at[i] = somewhere();
        if (at[i] > original_bytes - 8)
            at[i] = 0;
        const uint64_t word = evil();
        must_equal(pwrite(mutant_file, &word, 8, (off_t)at[i]), 8);
    }
    if (below(20) == 0)
        must_equal(ftruncate(mutant_file, (off_t)below(original_bytes)), 0);
    read_it(mutant_path);
    struct stat info;
    must_equal(fstat(mutant_file, &info), 0);
    if ((size_t)info.st_size != original_bytes)
        must_equal(pwrite(mutant_file, original, original_bytes, 0), (ssize_t)original_bytes);
    for (size_t i = 0; i < changes; i++)
        must_equal(pwrite(mutant_file, original + at[i], 8, (off_t)at[i]), 8);
}

static void mutated_files_are_answered_or_refused(void **state)
{
    (void)state;
    make_original();
    (void)snprintf(mutant_path, sizeof mutant_path, "%s/mutant", own_directory);
    mutant_file = open(mutant_path, O_RDWR | O_CREAT | O_EXCL, 0600);
    must(mutant_file >= 0);
    must_equal(pwrite(mutant_file, original, original_bytes, 0), (ssize_t)original_bytes);
    read_it(mutant_path);
    must_equal(answered, 1); /* the original itself */
    const char *wanted = getenv("VIGIL_FUZZ");
    const char *other = getenv("VIGIL_FUZZ_SEED");
    if (other != NULL)
        seed += strtoull(other, NULL, 10) * 2;
    const uint64_t rounds = wanted != NULL ? strtoull(wanted, NULL, 10) : scaled(10000, 300);
    for (uint64_t i = 0; i < rounds; i++)
        mutate_and_read();
    must(answered > rounds / 20 && refused > rounds / 50); /* else they were not the mutants that we wanted */
    must_equal(close(mutant_file), 0);
    free(original);
    free(mutant);
}

static long peak_kilobytes(void)
{
    struct rusage usage;
    must_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static vg_file_block *directory_of_original(void)
{
    const vg_file_header *header = (const vg_file_header *)(const void *)original;
    return (vg_file_block *)(void *)(original + header->sections[VG_SECTION_DIRECTORY].offset);
}

static void clear_directory(void)
{
    memset((void *)directory_of_original(), 0, VG_FILE_BLOCKS * sizeof(vg_file_block));
}

static void forge_block(unsigned i, uint64_t kind, uint64_t offset, uint64_t bytes, uint64_t entries)
{
    vg_file_block *block = &directory_of_original()[i];
    atomic_store_explicit(&block->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&block->offset, offset, memory_order_relaxed);
    atomic_store_explicit(&block->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&block->entries, entries, memory_order_relaxed);
    atomic_store_explicit(&block->owner, 1, memory_order_relaxed);
    atomic_store_explicit(&block->serial, i + 1, memory_order_relaxed);
}

/* Read the forged original, as a file of that length. */
static void read_forged(uint64_t length)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/forged", own_directory);
    FILE *file = fopen(path, "wb");
    must(file != NULL);
    must_equal(fwrite(original, 1, original_bytes, file), original_bytes);
    must_equal(fflush(file), 0);
    must_equal(ftruncate(fileno(file), (off_t)length), 0);
    must_equal(fclose(file), 0);
    const long before = peak_kilobytes();
    read_it(path);
    must(peak_kilobytes() - before < 64 * 1024);
    free(original);
    free(mutant);
}

/* Every entry of the directory claims the same large piece of the file, as workers of one pool. */
static void a_forged_directory_costs_bounded_memory(void **state)
{
    (void)state;
    make_original();
    const uint64_t entries =
        original_bytes / sizeof(vg_file_worker) < 4096 ? original_bytes / sizeof(vg_file_worker) : 4096;
    for (unsigned i = 0; i < VG_FILE_BLOCKS; i++)
        forge_block(i, i == 0 ? VG_BLOCK_POOL : VG_BLOCK_WORKERS, 0, original_bytes, entries);
    const unsigned before = refused;
    read_forged(original_bytes);
    must_equal(refused, before + 1);
}

/* A file of a hundred megabytes takes no room where it holds nothing; each block lies somewhere else in it. */
static void a_long_and_empty_file_costs_bounded_memory(void **state)
{
    (void)state;
    make_original();
    enum {
        WORKERS = 4096,
        CLAIMED = 120 << 20 /* copied thrice */
    };
    const uint64_t bytes = WORKERS * sizeof(vg_file_worker);
    uint64_t end = (original_bytes + 4095) & ~UINT64_C(4095);
    clear_directory();
    forge_block(0, VG_BLOCK_POOL, 0, sizeof(vg_file_pool), 1);
    for (unsigned i = 1; i < VG_FILE_BLOCKS && end < CLAIMED; i++, end += bytes)
        forge_block(i, VG_BLOCK_WORKERS, end, bytes, WORKERS);
    const unsigned before = refused;
    read_forged(end);
    must_equal(refused, before + 1);
}

/* So many workers that their length in bytes begins again at 0. */
static void a_number_of_entries_that_no_file_holds_is_not_believed(void **state)
{
    (void)state;
    make_original();
    clear_directory();
    forge_block(0, VG_BLOCK_POOL, 0, sizeof(vg_file_pool), 1);
    forge_block(1, VG_BLOCK_WORKERS, 4096, 2 * sizeof(vg_file_worker), UINT64_MAX / sizeof(vg_file_worker) + 2);
    forge_block(2, VG_BLOCK_HISTS, 4096, 2 * sizeof(vg_file_pool_hists), UINT64_MAX / sizeof(vg_file_pool_hists) + 2);
    const unsigned before = answered;
    read_forged(original_bytes);
    must_equal(answered, before + 1); /* without these blocks */
}

static void what_is_no_recorder_file_is_refused(void **state)
{
    (void)state;
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_path(&reader, "/dev/null"), -EBADMSG);
    must_equal(vg_reader_open_path(&reader, own_directory), -EBADMSG);
    must_equal(vg_reader_open_path(&reader, "/proc/self/exe"), -EBADMSG);
    must_equal(vg_reader_open_path(&reader, "/nowhere/at/all"), -ENOENT);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/pipe", own_directory);
    must_equal(mkfifo(path, 0600), 0);
    must_equal(vg_reader_open_path(&reader, path), -EBADMSG); /* and does not wait for it */
    vg_file_header header = {.version = 77};
    atomic_store_explicit(&header.magic, VG_FILE_MAGIC, memory_order_relaxed);
    (void)snprintf(path, sizeof path, "%s/newer", own_directory);
    FILE *file = fopen(path, "wb");
    must(file != NULL);
    must_equal(fwrite(&header, sizeof header, 1, file), 1);
    must_equal(fclose(file), 0);
    must_equal(vg_reader_open_path(&reader, path), -EPROTO);
    must_equal(vg_reader_open_pid(&reader, 1), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(mutated_files_are_answered_or_refused),
        watch_test(a_forged_directory_costs_bounded_memory),
        watch_test(a_long_and_empty_file_costs_bounded_memory),
        watch_test(a_number_of_entries_that_no_file_holds_is_not_believed),
        watch_test(what_is_no_recorder_file_is_refused),
    };
    return run_all(tests);
}
