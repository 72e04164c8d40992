/* SPDX-License-Identifier: MIT */
/*
 * What viewers call the callbacks of a program: "onRequest server.js:12".
 *
 * The loop knows one function of ours for all timers, and one for everything else. So the host tells it what really runs
 * (vigil_loop_shows), under an address that stands for the JavaScript function and has a name in the recorder (vigil_record_name). The
 * addresses are the bytes of `ids`, for the whole process; each host remembers which functions have one. When they are used up, or when
 * the functions come too fast for a look at each (lib/sched.js keeps the budget), they are all called "JavaScript".
 */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/record.h>

#define IDS   768 /* of the 1024 names that the recorder has */
#define FILES 512

static char ids[IDS];
static char anything; /* when there is no name */
static _Atomic unsigned used;

typedef struct known {
    const void *source;
    uint64_t key; /* offset, or the hash of a text */
    const char *id;
} known;

typedef struct file {
    const void *source;
    char name[40];
} file;

typedef struct vg_names {
    known known[IDS * 2]; /* open addressing; id NULL: free */
    unsigned count, files;
    file file[FILES]; /* the newest of each source wins */
    char text[40];    /* of the only text that was run, if there is one only */
    unsigned texts;
} vg_names;

static vg_names *names_of(vigil_js *js)
{
    if (!js->names) {
        js->names = calloc(1, sizeof *js->names);
        vigil_record_name((void (*)(void))(uintptr_t)&anything, "JavaScript");
    }
    return js->names;
}

void vg_js_names_end(vigil_js *js)
{
    free(js->names);
    js->names = NULL;
}

static void keep_base(char *into, size_t room, const char *path)
{
    const char *slash = strncmp(path, "vigil:", 6) == 0 ? NULL : strrchr(path, '/');
    snprintf(into, room, "%s", slash && slash[1] ? slash + 1 : path);
}

void vg_js_names_learn(vigil_js *js, vg_val result, const char *url)
{
    vg_names *names = names_of(js);
    vg_place place;
    if (!names)
        return;
    if (!result || !vg_function_place(js->engine, result, &place)) {
        keep_base(names->text, sizeof names->text, url);
        names->texts++;
        return;
    }
    file *at = &names->file[names->files++ % FILES];
    at->source = place.source;
    keep_base(at->name, sizeof at->name, url);
}

static const char *file_of(const vg_names *names, const void *source)
{
    unsigned count = names->files < FILES ? names->files : FILES;
    for (unsigned i = 0; i < count; i++) {
        const file *at = &names->file[(names->files - 1 - i) % FILES];
        if (at->source == source)
            return at->name;
    }
    return names->texts == 1 ? names->text : "";
}

static known *find(vg_names *names, const void *source, uint64_t key)
{
    uint64_t at = ((uint64_t)(uintptr_t)source ^ key) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    for (;; at++) {
        known *entry = &names->known[at % (IDS * 2)];
        if (!entry->id || (entry->source == source && entry->key == key))
            return entry;
    }
}

static const char *give_id(vg_names *names, known *entry, const void *source, uint64_t key, const char *name)
{
    /* relaxed: only the numbers must differ. The load keeps the count from running away. */
    unsigned at = atomic_load_explicit(&used, memory_order_relaxed) < IDS
                      ? atomic_fetch_add_explicit(&used, 1, memory_order_relaxed)
                      : IDS;
    if (at >= IDS || names->count >= IDS)
        return &anything;
    if (vigil_record_name((void (*)(void))(uintptr_t)&ids[at], name) < 0)
        return &anything;
    names->count++;
    *entry = (known){source, key, &ids[at]};
    return entry->id;
}

/* The id of a function; `anything` if it has none. */
static const char *id_of(vigil_js *js, vg_names *names, vg_val function)
{
    vg_place place;
    vg_val name, thrown;
    known *entry;
    char *text, shown[56];
    const char *where;
    if (!vg_function_place(js->engine, function, &place))
        return &anything;
    entry = find(names, place.source, (uint64_t)place.offset);
    if (entry->id)
        return entry->id;
    where = file_of(names, place.source);
    if (strncmp(where, "vigil:", 6) == 0)
        return &anything; /* the host's own */
    name = vg_get(js->engine, function, "name", &thrown);
    text = name && vg_type_of(js->engine, name) == VG_STRING ? vg_to_text(js->engine, name, NULL) : NULL;
    snprintf(shown, sizeof shown, "%.26s %.22s:%d", text && *text ? text : "(anonymous)", where, place.line);
    free(text);
    return give_id(names, entry, place.source, (uint64_t)place.offset, shown);
}

void vg_js_shows(vigil_js *js, vg_val function)
{
    vg_names *names = names_of(js);
    if (names && js->depth > 0)
        vigil_loop_shows(js->loop, function ? id_of(js, names, function) : &anything);
}

/* "name() at file:line": where a call that takes long has been found. */
void vg_js_shows_frame(vigil_js *js, const char *frame)
{
    vg_names *names = names_of(js);
    const char *place = strstr(frame, " at "), *bracket;
    uint64_t hash = 1469598103934665603U;
    char shown[56], base[40];
    known *entry;
    if (!names || !place)
        return;
    for (const char *c = frame; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    entry = find(names, NULL, hash);
    if (!entry->id) {
        bracket = memchr(frame, '(', (size_t)(place - frame));
        keep_base(base, sizeof base, place + 4);
        snprintf(shown, sizeof shown, "%.*s %.28s",
                 (int)((bracket ? bracket : place) - frame) > 26 ? 26 : (int)((bracket ? bracket : place) - frame),
                 frame == place || frame == bracket ? "(anonymous)" : frame, base);
        vigil_loop_shows(js->loop, give_id(names, entry, NULL, hash, shown));
        return;
    }
    vigil_loop_shows(js->loop, entry->id);
}
