/* SPDX-License-Identifier: MIT */
/* sqlite_check.c - whether the file, its file system and the settings keep what the SQLite engine promises; counts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "sqlite.h"

enum {
    LONG_LOG = 8000 /* pages: twice the size at which the log is emptied */
};

static void check_place(struct vg_jobs_conn *conn, vg_jobs_doubt_fn say, void *arg)
{
    struct statfs info;
    if (conn->site->users >= 0) {
        say(arg, VG_JOBS_DOUBT_ASKED, "the queue is in memory: it is gone when the machine stops");
        return;
    }
    if (statfs(conn->site->path, &info) != 0)
        return;
    switch ((unsigned long)info.f_type & 0xffffffff) {
    case 0x01021994: /* tmpfs */
    case 0x858458f6: /* ramfs */
        say(arg, VG_JOBS_DOUBT_LASTS, "the file lies in memory (tmpfs): it is gone when the machine stops");
        break;
    case 0x6969:     /* nfs */
    case 0x517b:     /* smb */
    case 0xff534d42: /* cifs */
    case 0xfe534d42: /* smb2 */
    case 0x01021997: /* 9p */
        say(arg, VG_JOBS_DOUBT_LASTS,
            "the file lies on a network file system, whose locks SQLite cannot rely on: jobs may be lost or run twice");
        break;
    default:
        break;
    }
}

static void first_word(struct vg_jobs_conn *conn, const char *sql, char *word, size_t room)
{
    sqlite3_stmt *statement = NULL;
    word[0] = '\0';
    if (sqlite3_prepare_v2(conn->db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        (void)snprintf(word, room, "%s", (const char *)sqlite3_column_text(statement, 0));
    (void)sqlite3_finalize(statement);
}

int vg_jobs_sqlite_check(struct vg_jobs_conn *conn, int64_t old_ms, vg_jobs_doubt_fn say, void *arg)
{
    char word[32], line[160];
    int pages = -1, emptied = -1;
    (void)old_ms; /* SQLite knows no ages of transactions; the log tells */
    check_place(conn, say, arg);
    first_word(conn, "PRAGMA synchronous", word, sizeof word);
    if (conn->site->users < 0 && strcmp(word, "2") != 0 && strcmp(word, "3") != 0)
        say(arg, conn->site->fast ? VG_JOBS_DOUBT_ASKED : VG_JOBS_DOUBT_LASTS,
            "synchronous is less than FULL: a power cut may undo the last commits");
    first_word(conn, "PRAGMA journal_mode", word, sizeof word);
    if (strcmp(word, "wal") != 0) {
        (void)snprintf(line, sizeof line,
                       "journal_mode is %s and cannot be WAL here: readers and writers wait for each other", word);
        say(arg, VG_JOBS_DOUBT_SLOW, line);
    }
    (void)sqlite3_wal_checkpoint_v2(conn->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &emptied);
    if (pages > LONG_LOG && emptied < pages) {
        (void)snprintf(line, sizeof line, "the log has %d pages, of which %d cannot be emptied: a reader holds them",
                       pages, pages - emptied);
        say(arg, VG_JOBS_DOUBT_SLOW, line);
    }
    return 0;
}

int vg_jobs_sqlite_count(struct vg_jobs_conn *conn, void (*see)(const vigil_jobs_tally *tally, void *arg), void *arg)
{
    sqlite3_stmt *rows = vg_jobs_sqlite_get(conn, VG_SQL_TALLY);
    if (rows == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int64(rows, 1, vg_jobs_sqlite_now(conn->site));
    int seen = 0, step;
    for (; (step = sqlite3_step(rows)) == SQLITE_ROW; seen++) {
        vigil_jobs_tally tally = VIGIL_JOBS_TALLY_INIT;
        tally.kind = (const char *)sqlite3_column_text(rows, 0);
        tally.priority = (vigil_priority)sqlite3_column_int(rows, 1);
        tally.state = (vigil_jobs_state)sqlite3_column_int(rows, 2);
        tally.count = (uint64_t)sqlite3_column_int64(rows, 3);
        tally.oldest_ms = (uint64_t)sqlite3_column_int64(rows, 4);
        tally.paused = sqlite3_column_int(rows, 5) != 0;
        see(&tally, arg);
    }
    int error = step == SQLITE_DONE ? 0 : vg_jobs_sqlite_error(conn, "it cannot be counted");
    (void)sqlite3_reset(rows);
    return error != 0 ? error : seen;
}
