/* SPDX-License-Identifier: MIT */
/* Files and directories through the pool: what was asked for is done, in whole or not at all, and an early end leaves nothing
   behind. */
#include "io_test.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct {
    vigil_loop *loop;
    vigil_pool *pool;
    vigil_files on;
    char folder[64];
} at;

static int begin(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    at.loop = loop_plain();
    must_equal(vigil_pool_create(&at.pool, &options), 0);
    at.on = (vigil_files)VIGIL_FILES_INIT;
    at.on.loop = at.loop;
    at.on.pool = at.pool;
    (void)strcpy(at.folder, "/tmp/vigil-test-files-XXXXXX");
    must(mkdtemp(at.folder) != NULL);
    return support_begin(state);
}

static int finish(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", at.folder);
    must_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of ours */
    must_equal(vigil_loop_destroy(at.loop), 0);
    must_equal(vigil_pool_destroy(at.pool), 0);
    return support_end(state);
}

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", at.folder, name);
    return path;
}

static vigil_value settled(vigil_promise *promise)
{
    vigil_value value;
    while (vigil_promise_state_get(promise) == VIGIL_PENDING) { /* it may be settled before the loop would sleep */
        must(vigil_loop_run(at.loop, VIGIL_RUN_NOWAIT) >= 0);
        yield();
    }
    must(vigil_promise_take(promise, &value) > 0);
    vigil_promise_unref(promise);
    return value;
}

/* The value must be nothing, or the status of a rejection is given. */
static int done(int rc, vigil_promise **promise)
{
    must_equal(rc, 0);
    const vigil_value value = settled(*promise);
    if (vigil_value_is_error(&value))
        return value.status;
    must_equal(value.kind, VIGIL_NONE);
    return 0;
}

static void store(const char *name, const char *text)
{
    vigil_promise *p;
    must_equal(done(vigil_promise_store_file(&at.on, in_folder(name), text, strlen(text), 0640, &p), &p), 0);
}

static bool holds(const char *name, const char *text)
{
    vigil_promise *p;
    must_equal(vigil_promise_load_file(&at.on, in_folder(name), 1000000, &p), 0);
    vigil_value value = settled(p);
    must(!vigil_value_is_error(&value));
    const vigil_bytes *bytes = value.pointer;
    const bool same = bytes->length == strlen(text) && strcmp((const char *)bytes->data, text) == 0;
    vigil_value_destroy(&value);
    return same;
}

static unsigned count_entries(void)
{
    vigil_promise *p;
    must_equal(vigil_promise_readdir(&at.on, at.folder, &p), 0);
    vigil_value value = settled(p);
    const unsigned count = (unsigned)((const vigil_entries *)value.pointer)->count;
    vigil_value_destroy(&value);
    return count;
}

static void an_open_file_is_read_and_written(void **state)
{
    (void)state;
    vigil_promise *p;
    must_equal(vigil_promise_open_file(&at.on, in_folder("one"), O_RDWR | O_CREAT, 0600, &p), 0);
    vigil_value opened = settled(p);
    vigil_file *file = vigil_value_move(&opened).pointer;
    must((fcntl(vigil_file_fd(file), F_GETFD) & FD_CLOEXEC) != 0);
    must_equal(vigil_promise_file_write(&at.on, file, "hello world", 11, 0, &p), 0);
    must_equal(settled(p).integer, 11);
    must_equal(vigil_promise_file_write(&at.on, file, "WORLD", 5, 6, &p), 0);
    must_equal(settled(p).integer, 5);
    must_equal(done(vigil_promise_file_sync(&at.on, file, &p), &p), 0);
    must_equal(vigil_promise_file_read(&at.on, file, 100, 4, &p), 0);
    vigil_value read = settled(p);
    must_equal(strcmp((const char *)((vigil_bytes *)read.pointer)->data, "o WORLD"), 0);
    vigil_value_destroy(&read);
    must_equal(vigil_promise_file_read(&at.on, file, 3, -1, &p), 0);
    read = settled(p);
    must_equal(strcmp((const char *)((vigil_bytes *)read.pointer)->data, "hel"), 0);
    vigil_value_destroy(&read);
    must_equal(done(vigil_promise_file_truncate(&at.on, file, 5, &p), &p), 0);
    must_equal(vigil_promise_file_stat(&at.on, file, &p), 0);
    vigil_value stat = settled(p);
    must_equal(((struct stat *)stat.pointer)->st_size, 5);
    vigil_value_destroy(&stat);
    must_equal(vigil_promise_file_sync(&at.on, file, &p), 0);
    vigil_file_close(file); /* what is under way has a reference of its own */
    must_equal(settled(p).kind, VIGIL_NONE);
    must(holds("one", "hello"));
}

static void errors_are_those_of_the_system(void **state)
{
    (void)state;
    vigil_promise *p;
    must_equal(done(vigil_promise_unlink(&at.on, in_folder("none"), &p), &p), -ENOENT);
    must_equal(done(vigil_promise_open_file(&at.on, in_folder("none"), O_RDONLY, 0, &p), &p), -ENOENT);
    must_equal(done(vigil_promise_load_file(&at.on, at.folder, 10, &p), &p), -EISDIR);
    must_equal(done(vigil_promise_readdir(&at.on, "/etc/hostname", &p), &p), -ENOTDIR);
    must_equal(done(vigil_promise_copy_file(&at.on, at.folder, in_folder("x"), &p), &p), -EISDIR);
    must_equal(done(vigil_promise_store_file(&at.on, "/no/such/folder/x", "", 0, 0600, &p), &p), -ENOENT);
    must_equal(done(vigil_promise_rmdir(&at.on, in_folder("none"), &p), &p), -ENOENT);
    must_equal(done(vigil_promise_stat(&at.on, in_folder("none"), true, &p), &p), -ENOENT);
    must_equal(done(vigil_promise_readlink(&at.on, at.folder, &p), &p), -EINVAL);
    must_equal(count_entries(), 0);
}

static void names_are_changed(void **state)
{
    (void)state;
    vigil_promise *p;
    store("a", "text");
    must_equal(done(vigil_promise_rename(&at.on, in_folder("a"), in_folder("b"), &p), &p), 0);
    must_equal(done(vigil_promise_link(&at.on, in_folder("b"), in_folder("c"), &p), &p), 0);
    must_equal(done(vigil_promise_symlink(&at.on, "b", in_folder("d"), &p), &p), 0);
    must_equal(done(vigil_promise_mkdir(&at.on, in_folder("e"), 0700, &p), &p), 0);
    must_equal(done(vigil_promise_chmod(&at.on, in_folder("b"), 0600, &p), &p), 0);
    must_equal(vigil_promise_readlink(&at.on, in_folder("d"), &p), 0);
    vigil_value link = settled(p);
    must_equal(strcmp((const char *)((vigil_bytes *)link.pointer)->data, "b"), 0);
    vigil_value_destroy(&link);
    for (int follow = 0; follow < 2; follow++) {
        must_equal(vigil_promise_stat(&at.on, in_folder("d"), follow == 1, &p), 0);
        vigil_value stat = settled(p);
        must_equal(S_ISLNK(((struct stat *)stat.pointer)->st_mode), follow == 0);
        if (follow == 1)
            must_equal(((struct stat *)stat.pointer)->st_mode & 0777, 0600);
        vigil_value_destroy(&stat);
    }
    must_equal(vigil_promise_readdir(&at.on, at.folder, &p), 0);
    vigil_value listed = settled(p);
    const vigil_entries *entries = listed.pointer;
    must_equal(entries->count, 4);
    for (size_t i = 0; i < 4; i++)
        must_equal(entries->entries[i].name[0], 'b' + (int)i); /* in their order */
    must(entries->entries[3].type == DT_DIR || entries->entries[3].type == DT_UNKNOWN);
    vigil_value_destroy(&listed);
    must_equal(done(vigil_promise_rmdir(&at.on, in_folder("e"), &p), &p), 0);
    must_equal(done(vigil_promise_unlink(&at.on, in_folder("c"), &p), &p), 0);
    must(holds("d", "text"));
}

static void whole_files_are_whole(void **state)
{
    (void)state;
    vigil_promise *p;
    store("a", "first");
    store("a", "second, which is longer");
    must(holds("a", "second, which is longer"));
    store("empty", "");
    must(holds("empty", ""));
    must_equal(done(vigil_promise_load_file(&at.on, in_folder("a"), 22, &p), &p), -EFBIG);
    must_equal(vigil_promise_load_file(&at.on, in_folder("a"), 23, &p), 0);
    vigil_value value = settled(p);
    must_equal(((vigil_bytes *)value.pointer)->length, 23);
    vigil_value_destroy(&value);
    must_equal(vigil_promise_load_file(&at.on, "/proc/self/status", 100000, &p), 0); /* its length is said to be 0 */
    value = settled(p);
    must(((vigil_bytes *)value.pointer)->length > 100);
    vigil_value_destroy(&value);
    must_equal(count_entries(), 2); /* nothing is left beside them */
}

static void a_copy_is_the_same(void **state)
{
    (void)state;
    enum {
        LENGTH = 3000000
    };
    static unsigned char bytes[LENGTH];
    vigil_promise *p;
    for (size_t i = 0; i < LENGTH; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 1000);
    must_equal(done(vigil_promise_store_file(&at.on, in_folder("a"), bytes, LENGTH, 0741, &p), &p), 0);
    must_equal(vigil_promise_copy_file(&at.on, in_folder("a"), in_folder("b"), &p), 0);
    must_equal(settled(p).integer, LENGTH);
    must_equal(vigil_promise_load_file(&at.on, in_folder("b"), LENGTH, &p), 0);
    vigil_value value = settled(p);
    must_equal(((vigil_bytes *)value.pointer)->length, LENGTH);
    must_equal(memcmp(((vigil_bytes *)value.pointer)->data, bytes, LENGTH), 0);
    vigil_value_destroy(&value);
    must_equal(vigil_promise_stat(&at.on, in_folder("b"), true, &p), 0);
    value = settled(p);
    must_equal(((struct stat *)value.pointer)->st_mode & 0777, 0741);
    vigil_value_destroy(&value);
    must_equal(vigil_promise_copy_file(&at.on, "/proc/self/status", in_folder("c"), &p), 0);
    must(settled(p).integer > 100);
    must_equal(count_entries(), 3);
}

struct blocked {
    struct event entered, go;
};

static vigil_value block(void *arg)
{
    struct blocked *it = arg;
    event_set(&it->entered);
    event_wait(&it->go);
    return vigil_value_none();
}

static void an_early_end_leaves_nothing(void **state)
{
    (void)state;
    struct blocked blocked[2];
    vigil_promise *blocks[2];
    vigil_promise *p[3];
    vigil_cancel_source *source;
    memset(blocked, 0, sizeof blocked);
    must_equal(vigil_cancel_create(&source), 0);
    for (int i = 0; i < 2; i++) { /* both workers are busy */
        must_equal(vigil_async(at.loop, at.pool, block, &blocked[i], NULL, &blocks[i]), 0);
        event_wait(&blocked[i].entered);
    }
    at.on.token = vigil_cancel_token_of(source);
    char name[128];
    (void)strcpy(name, in_folder("never"));
    char data[16] = "data";
    must_equal(vigil_promise_store_file(&at.on, name, data, 4, 0600, &p[0]), 0);
    must_equal(vigil_promise_open_file(&at.on, name, O_CREAT | O_RDWR, 0600, &p[1]), 0);
    at.on.token = NULL;
    at.on.timeout_ns = 1;
    must_equal(vigil_promise_mkdir(&at.on, name, 0700, &p[2]), 0);
    at.on.timeout_ns = VIGIL_FOREVER;
    memset(name, 0, sizeof name); /* ours again */
    memset(data, 0, sizeof data);
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    for (int i = 0; i < 3; i++)
        must_equal(settled(p[i]).status, i == 2 ? -ETIMEDOUT : -ECANCELED);
    for (int i = 0; i < 2; i++) {
        event_set(&blocked[i].go);
        (void)settled(blocks[i]);
    }
    must_equal(count_entries(), 0);
    vigil_cancel_destroy(source);
    /* An open file that nobody takes is closed: the sanitizers, and the number of the next one, say so. */
    must_equal(vigil_promise_open_file(&at.on, at.folder, O_RDONLY, 0, &p[0]), 0);
    vigil_value value = settled(p[0]);
    const int fd = vigil_file_fd(value.pointer);
    vigil_value_destroy(&value);
    must_equal(fcntl(fd, F_GETFD), -1);
}

#define file_test(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        file_test(an_open_file_is_read_and_written),
        file_test(errors_are_those_of_the_system),
        file_test(names_are_changed),
        file_test(whole_files_are_whole),
        file_test(a_copy_is_the_same),
        file_test(an_early_end_leaves_nothing),
    };
    return run_all(tests);
}
