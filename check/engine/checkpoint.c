/* SPDX-License-Identifier: MIT */
/*
 * A search that takes a night can be stopped and taken up again. The search stack says what has been explored and what has not; beside it
 * go the counts, the places that are known to be shared, and the states or nodes that were seen. A file belongs to one build of one
 * program, one scenario and one set of options; any other is not taken up.
 *
 * Written aside and renamed, so that a crash while writing costs nothing. Removed when the search has come to its end.
 */
#define _GNU_SOURCE
#include "internal.h"
#include "state.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char *vgc_checkpoint_folder;
ENGINE_STATE const char *vgc_checkpoint_folder = NULL;

struct head {
    char magic[16];
    uint64_t program; /* which build */
    char scenario[128];
    struct vgc_options options;
    uint64_t executions, redundant, truncated, steps;
    double seconds;
    int longest, most_threads;
    uint32_t node_count;
    uint64_t shared_size, room, count;
};

static bool path_of(char *path, size_t room, const char *end)
{
    if (vgc_checkpoint_folder == NULL || G.opt.mode == VGC_PCT || G.opt.mode == VGC_RANDOM)
        return false;
    int n = snprintf(path, room, "%s/%s-%s%s%s", vgc_checkpoint_folder, G.scenario->name, vgc_mode_name(G.opt.mode),
                     G.opt.sc_memory ? "-sc" : "", end);
    return n > 0 && (size_t)n < room;
}

static uint64_t this_program(void)
{
    char block[4096 + 8];
    FILE *f = fopen("/proc/self/exe", "r");
    uint64_t h = 1;
    if (f == NULL)
        return 0;
    for (size_t n; (n = fread(block, 1, 4096, f)) > 0;) {
        memset(block + n, 0, 8);
        h = hash_words(block, block + ((n + 7) & ~(size_t)7), h);
    }
    fclose(f);
    return h;
}

static uint64_t **table_of(size_t **room, size_t **count)
{
    if (G.opt.mode == VGC_PREEMPT)
        return bounded_table(room, count);
    return G.opt.mode == VGC_STATEFUL ? state_table(room, count) : NULL;
}

static void fill(struct head *h)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, "vigil-check-1", 13);
    h->program = this_program();
    snprintf(h->scenario, sizeof h->scenario, "%s", G.scenario->name);
    memcpy(&h->options, &G.opt, sizeof h->options);
    h->options.time_limit = 0; /* more of it may be given next time */
}

void checkpoint_write(void)
{
    char path[400], aside[400];
    if (!path_of(path, sizeof path, ".checkpoint") || !path_of(aside, sizeof aside, ".new"))
        return;
    struct head h;
    fill(&h);
    const struct vgc_result *r = G.result;
    h.executions = r->executions;
    h.redundant = r->redundant;
    h.truncated = r->truncated;
    h.steps = r->steps;
    h.seconds = r->seconds;
    h.longest = r->longest;
    h.most_threads = r->most_threads;
    h.node_count = G.node_count;
    size_t shared_size, *room = NULL, *count = NULL;
    const void *shared = private_memory(&shared_size);
    uint64_t **table = table_of(&room, &count);
    h.shared_size = shared_size;
    h.room = table != NULL ? *room : 0;
    h.count = table != NULL ? *count : 0;
    FILE *f = fopen(aside, "w");
    bool ok = f != NULL && fwrite(&h, sizeof h, 1, f) == 1 && fwrite(shared, shared_size, 1, f) == 1 &&
              fwrite(G.nodes, sizeof *G.nodes, G.node_count, f) == G.node_count &&
              (table == NULL || fwrite(*table, sizeof **table, *room, f) == *room);
    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    if (!ok || rename(aside, path) != 0)
        fprintf(stderr, "vigil check: cannot write %s; the search goes on without it\n", path);
}

/* True: the search stack is where the last one was stopped. */
bool checkpoint_resume(void)
{
    char path[400];
    if (!path_of(path, sizeof path, ".checkpoint"))
        return false;
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return false;
    struct head h, mine;
    fill(&mine);
    size_t shared_size, *room = NULL, *count = NULL;
    void *shared = private_memory(&shared_size);
    uint64_t **table = table_of(&room, &count);
    bool ok = fread(&h, sizeof h, 1, f) == 1 && memcmp(h.magic, mine.magic, sizeof h.magic) == 0 &&
              h.program == mine.program && strcmp(h.scenario, mine.scenario) == 0 &&
              memcmp(&h.options, &mine.options, sizeof h.options) == 0 && h.shared_size == shared_size &&
              h.node_count > 0 && h.node_count < MAX_STEPS * 4;
    if (!ok) {
        fprintf(stderr, "vigil check: %s belongs to another program or other options, and is not taken up\n", path);
        fclose(f);
        return false;
    }
    ok = fread(shared, shared_size, 1, f) == 1 && fread(G.nodes, sizeof *G.nodes, h.node_count, f) == h.node_count;
    if (ok && table != NULL) {
        munmap(*table, *room * sizeof **table);
        *table = map_pages(h.room * sizeof **table);
        *room = h.room;
        *count = h.count;
        ok = fread(*table, sizeof **table, h.room, f) == h.room;
    }
    fclose(f);
    if (!ok) {
        fprintf(stderr, "vigil check: %s is damaged; remove it and begin again\n", path);
        _exit(2);
    }
    struct vgc_result *r = G.result;
    r->executions = h.executions;
    r->redundant = h.redundant;
    r->truncated = h.truncated;
    r->steps = h.steps;
    r->seconds = h.seconds;
    r->longest = h.longest;
    r->most_threads = h.most_threads;
    G.node_count = h.node_count;
    fprintf(stderr, "  %s: taken up after %llu executions and %.0f s\n", G.scenario->name,
            (unsigned long long)r->executions, r->seconds);
    return true;
}

/* Addresses belong to a state, so they must be the same next time. */
void checkpoint_fix_addresses(char **argv)
{
    const int now = personality(0xFFFFFFFF);
    if (now == -1 || (now & ADDR_NO_RANDOMIZE) || personality((unsigned long)now | ADDR_NO_RANDOMIZE) == -1)
        return;
    execv("/proc/self/exe", argv);
}

void checkpoint_done(void)
{
    char path[400];
    if (path_of(path, sizeof path, ".checkpoint"))
        unlink(path);
}
