/* SPDX-License-Identifier: MIT */
/* Examples of vigil/file.h, one for each function. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vigil/file.h>

static vigil_files on = VIGIL_FILES_INIT;
static char paths[4][64];

/* Runs the loop until the promise is settled, and takes its value. */
static vigil_value settle(int rc, vigil_promise **promise)
{
    vigil_value value;
    assert(rc == 0);
    while (vigil_promise_state_get(*promise) == VIGIL_PENDING)
        (void)vigil_loop_run(on.loop, VIGIL_RUN_ONCE);
    rc = vigil_promise_take(*promise, &value);
    assert(rc == VIGIL_FULFILLED);
    vigil_promise_unref(*promise);
    return value;
}

/* vigil_promise_open_file: open, or create */
static vigil_file *open_it(const char *path)
{
    vigil_promise *p;
    int rc =
        vigil_promise_open_file(&on, path, O_RDWR | O_CREAT, 0600, &p);
    return settle(rc, &p).pointer;
}

/* vigil_promise_file_write: write at the beginning */
static void write_it(vigil_file *file)
{
    vigil_promise *p;
    int rc = vigil_promise_file_write(&on, file, "hello", 5, 0, &p);
    assert(settle(rc, &p).integer == 5);
}

/* vigil_promise_file_read: read the beginning */
static void read_it(vigil_file *file)
{
    vigil_promise *p;
    int rc = vigil_promise_file_read(&on, file, 100, 0, &p);
    vigil_value value = settle(rc, &p);
    vigil_bytes *bytes = value.pointer;
    assert(bytes->length == 5);
    assert(strcmp((const char *)bytes->data, "hello") == 0);
    vigil_value_destroy(&value);
}

/* vigil_promise_file_sync: onto the disk */
static void sync_it(vigil_file *file)
{
    vigil_promise *p;
    int rc = vigil_promise_file_sync(&on, file, &p);
    (void)settle(rc, &p);
}

/* vigil_promise_file_truncate: make it shorter */
static void shorten_it(vigil_file *file)
{
    vigil_promise *p;
    int rc = vigil_promise_file_truncate(&on, file, 2, &p);
    (void)settle(rc, &p);
}

/* vigil_promise_file_stat: how long is it? */
static off_t length_of(vigil_file *file)
{
    vigil_promise *p;
    int rc = vigil_promise_file_stat(&on, file, &p);
    vigil_value value = settle(rc, &p);
    off_t length = ((struct stat *)value.pointer)->st_size;
    vigil_value_destroy(&value);
    return length;
}

/* vigil_file_fd: the descriptor, for a lock */
static void lock_it(const vigil_file *file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int rc = fcntl(vigil_file_fd(file), F_SETLK, &lock);
    assert(rc == 0);
}

/* vigil_file_close: give it back */
static void close_it(vigil_file *file)
{
    vigil_file_close(file);
}

/* vigil_promise_store_file: write a configuration, whole or not */
static void store_it(const char *path)
{
    vigil_promise *p;
    int rc = vigil_promise_store_file(&on, path, "a=1\n", 4, 0600, &p);
    (void)settle(rc, &p);
}

/* vigil_promise_load_file: read it, if it is not too long */
static void load_it(const char *path)
{
    vigil_promise *p;
    int rc = vigil_promise_load_file(&on, path, 65536, &p);
    vigil_value value = settle(rc, &p);
    assert(((vigil_bytes *)value.pointer)->length == 4);
    vigil_value_destroy(&value);
}

/* vigil_promise_copy_file: keep a copy */
static void copy_it(const char *from, const char *to)
{
    vigil_promise *p;
    int rc = vigil_promise_copy_file(&on, from, to, &p);
    assert(settle(rc, &p).integer == 4);
}

/* vigil_promise_stat: is it a directory? */
static bool is_folder(const char *path)
{
    vigil_promise *p;
    int rc = vigil_promise_stat(&on, path, true, &p);
    vigil_value value = settle(rc, &p);
    bool folder = S_ISDIR(((struct stat *)value.pointer)->st_mode);
    vigil_value_destroy(&value);
    return folder;
}

/* vigil_promise_rename: another name */
static void rename_it(const char *from, const char *to)
{
    vigil_promise *p;
    (void)settle(vigil_promise_rename(&on, from, to, &p), &p);
}

/* vigil_promise_link: a second name */
static void link_it(const char *from, const char *to)
{
    vigil_promise *p;
    (void)settle(vigil_promise_link(&on, from, to, &p), &p);
}

/* vigil_promise_symlink: a name that leads to another */
static void symlink_it(const char *target, const char *path)
{
    vigil_promise *p;
    (void)settle(vigil_promise_symlink(&on, target, path, &p), &p);
}

/* vigil_promise_readlink: where does it lead? */
static void where_to(const char *path, const char *expected)
{
    vigil_promise *p;
    int rc = vigil_promise_readlink(&on, path, &p);
    vigil_value value = settle(rc, &p);
    vigil_bytes *bytes = value.pointer;
    assert(strcmp((const char *)bytes->data, expected) == 0);
    vigil_value_destroy(&value);
}

/* vigil_promise_unlink: remove a file */
static void remove_it(const char *path)
{
    vigil_promise *p;
    (void)settle(vigil_promise_unlink(&on, path, &p), &p);
}

/* vigil_promise_chmod: only for its owner */
static void hide_it(const char *path)
{
    vigil_promise *p;
    (void)settle(vigil_promise_chmod(&on, path, 0600, &p), &p);
}

/* vigil_promise_mkdir: make a directory */
static void make_folder(const char *path)
{
    vigil_promise *p;
    (void)settle(vigil_promise_mkdir(&on, path, 0700, &p), &p);
}

/* vigil_promise_readdir: what is in it? */
static size_t count_entries(const char *path)
{
    vigil_promise *p;
    int rc = vigil_promise_readdir(&on, path, &p);
    vigil_value value = settle(rc, &p);
    const vigil_entries *them = value.pointer;
    size_t count = them->count;
    for (size_t i = 0; i < count; i++)
        assert(them->entries[i].name[0] != '.');
    vigil_value_destroy(&value);
    return count;
}

/* vigil_promise_rmdir: remove an empty directory */
static void remove_folder(const char *path)
{
    vigil_promise *p;
    (void)settle(vigil_promise_rmdir(&on, path, &p), &p);
}

/* ---- all of them ---- */

int main(void)
{
    char folder[] = "/tmp/vigil-files-XXXXXX";
    int rc = vigil_loop_create(&on.loop, NULL);
    assert(rc == 0);
    rc = vigil_pool_create(&on.pool, NULL);
    assert(rc == 0);
    char *made = mkdtemp(folder);
    assert(made != NULL);
    for (int i = 0; i < 4; i++)
        (void)snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);
    vigil_file *file = open_it(paths[0]);
    write_it(file);
    read_it(file);
    sync_it(file);
    shorten_it(file);
    assert(length_of(file) == 2);
    lock_it(file);
    close_it(file);
    store_it(paths[0]);
    load_it(paths[0]);
    copy_it(paths[0], paths[1]);
    rename_it(paths[1], paths[2]);
    link_it(paths[2], paths[1]);
    symlink_it("1", paths[3]);
    where_to(paths[3], "1");
    hide_it(paths[1]);
    assert(is_folder(folder));
    assert(count_entries(folder) == 4);
    for (int i = 0; i < 4; i++)
        remove_it(paths[i]);
    make_folder(paths[0]);
    remove_folder(paths[0]);
    remove_folder(folder);
    rc = vigil_loop_destroy(on.loop);
    assert(rc == 0);
    rc = vigil_pool_destroy(on.pool);
    assert(rc == 0);
    return 0;
}
