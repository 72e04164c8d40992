/* SPDX-License-Identifier: MIT */
/* Runs at build time: constants TABLE HEADER MODULE writes the C header and the JavaScript file of the table (js/constants.txt). */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 64

typedef struct group {
    char how[32], name[32], prefix[32];
    bool camel;
    unsigned count;
    struct {
        char name[32];
        long value;
    } members[MEMBERS];
} group;

static int fail(const char *what, const char *name)
{
    (void)fprintf(stderr, "constants: %s %s\n", what, name);
    return 1;
}

/* READ_FILE -> readFile */
static const char *camel(const char *name, char *out)
{
    char *to = out;
    bool upper = false;
    for (; *name; name++) {
        if (*name == '_') {
            upper = true;
            continue;
        }
        *to++ = upper ? *name : (char)tolower((unsigned char)*name);
        upper = false;
    }
    *to = 0;
    return out;
}

static void write_header(FILE *out, const group *it)
{
    char text[32];
    if (strncmp(it->prefix, "VIGIL_", 6) != 0) {
        (void)fprintf(out, "enum { /* %s */\n", it->name);
        for (unsigned i = 0; i < it->count; i++)
            (void)fprintf(out, "    %s%s = %ld,\n", it->prefix, it->members[i].name, it->members[i].value);
        (void)fprintf(out, "};\n");
    }
    (void)fprintf(out, "#define VG_EACH_%s(X)", it->name);
    for (unsigned i = 0; i < it->count; i++)
        (void)fprintf(out, " \\\n    X(%s, %s, %ld)", it->members[i].name, camel(it->members[i].name, text),
                      it->members[i].value);
    (void)fprintf(out, "\n#define VG_COUNT_%s %uU\n\n", it->name, it->count);
}

static void write_module(FILE *out, const group *it)
{
    char text[32];
    (void)fprintf(out, "  %s: {", it->name);
    for (unsigned i = 0; i < it->count; i++)
        (void)fprintf(out, " %s: %ld,", it->camel ? camel(it->members[i].name, text) : it->members[i].name,
                      it->members[i].value);
    (void)fprintf(out, " },\n");
}

static bool read_line(const char *line, group *groups, unsigned *count, unsigned room)
{
    char first[32] = "", second[32] = "", third[32] = "", fourth[8];
    int words = sscanf(line, "%31s %31s %31s %7s", first, second, third, fourth);
    group *it = *count ? &groups[*count - 1] : NULL;
    if (words < 1 || first[0] == '#')
        return true;
    if (words >= 3) {
        if (*count == room)
            return false;
        it = &groups[(*count)++];
        memcpy(it->how, first, sizeof it->how);
        memcpy(it->name, second, sizeof it->name);
        memcpy(it->prefix, third, sizeof it->prefix);
        it->camel = words == 4;
        return strcmp(first, "count") == 0 || strcmp(first, "flags") == 0 || strcmp(first, "number") == 0;
    }
    if (!it || it->count == MEMBERS || (words == 2) != (strcmp(it->how, "number") == 0))
        return false;
    memcpy(it->members[it->count].name, first, sizeof first);
    it->members[it->count].value = words == 2                      ? strtol(second, NULL, 0)
                                   : strcmp(it->how, "flags") == 0 ? 1L << it->count
                                                                   : (long)it->count;
    it->count++;
    return true;
}

int main(int argc, char **argv)
{
    static group groups[32];
    unsigned count = 0;
    char line[256];
    FILE *table = argc == 4 ? fopen(argv[1], "r") : NULL, *header, *module;
    if (!table)
        return fail("cannot read", argc > 1 ? argv[1] : "a table: none was named");
    while (fgets(line, sizeof line, table))
        if (!read_line(line, groups, &count, sizeof groups / sizeof *groups))
            return fail("does not understand", line);
    (void)fclose(table);
    header = fopen(argv[2], "w");
    module = fopen(argv[3], "w");
    if (!header || !module)
        return fail("cannot write", header ? argv[3] : argv[2]);
    (void)fputs(
        "/* Made by tool/constants.c of constants.txt. */\n#ifndef VG_JS_CONSTANTS_H\n#define VG_JS_CONSTANTS_H\n\n",
        header);
    (void)fputs("// Made by tool/constants.c of constants.txt.\nmodule.exports = {\n", module);
    for (unsigned i = 0; i < count; i++) {
        write_header(header, &groups[i]);
        write_module(module, &groups[i]);
    }
    (void)fputs("#endif\n", header);
    (void)fputs("};\n", module);
    return fclose(header) == 0 && fclose(module) == 0 ? 0 : fail("cannot write", argv[2]);
}
