/* SPDX-License-Identifier: MIT */
/* Runs at build time: embed OUTPUT (NAME FILE)... writes a C file with the contents of the files, found by name at run time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *name)
{
    (void)fputs("embed: cannot ", stderr);
    (void)fputs(what, stderr);
    (void)fputs(name, stderr);
    (void)fputs("\n", stderr);
    return 1;
}

/* The library's own files are programs that see three names. A function around them would be read twice: once to find its end, once when
   it is called. */
static const char head[] = "'use strict';{const {module,binding,load}=this;", tail[] = "\n}";

static bool is_part(const char *name)
{
    return strncmp(name, "npm/", 4) != 0 && strcmp(name, "boot.js") != 0;
}

static size_t put(FILE *out, const char *bytes, unsigned *column)
{
    size_t count = 0;
    for (; bytes[count]; count++) {
        char text[8];
        snprintf(text, sizeof text, "%d,", (unsigned char)bytes[count]);
        (void)fputs(text, out);
        if (++*column % 32 == 0)
            (void)putc('\n', out);
    }
    return count;
}

int main(int argc, char **argv)
{
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    size_t *lengths = calloc((size_t)argc, sizeof *lengths);
    if (!out || !lengths)
        return fail("write ", argc > 1 ? argv[1] : "nothing: no file was named");
    (void)fputs("/* Made by embed.c. */\n#include \"library.h\"\n", out);
    for (int i = 2; i + 1 < argc; i += 2) {
        FILE *in = fopen(argv[i + 1], "rb");
        char text[64];
        int c;
        unsigned column = 0;
        if (!in)
            return fail("read ", argv[i + 1]);
        const bool part = is_part(argv[i]);
        snprintf(text, sizeof text, "static const unsigned char file_%d[] = {\n", i / 2);
        (void)fputs(text, out);
        if (part)
            lengths[i] += put(out, head, &column);
        while ((c = getc(in)) != EOF)
            lengths[i] += put(out, (const char[]){(char)c, 0}, &column);
        if (part)
            lengths[i] += put(out, tail, &column);
        (void)fputs("0};\n", out);
        (void)fclose(in);
    }
    (void)fputs("const vg_embedded vg_js_library[] = {\n", out);
    for (int i = 2; i + 1 < argc; i += 2) {
        char text[512];
        snprintf(text, sizeof text, "    {\"%s\", file_%d, %zu},\n", argv[i], i / 2, lengths[i]);
        (void)fputs(text, out);
    }
    (void)fputs("};\nconst size_t vg_js_library_count = sizeof vg_js_library / sizeof *vg_js_library;\n", out);
    free(lengths);
    return fclose(out) == 0 ? 0 : fail("write ", argv[1]);
}
