/* SPDX-License-Identifier: MIT */
/* Lines, words and bytes of a file, as wc(1) counts them, on all processors: words FILE */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vigil/parallel.h>

struct counts {
    size_t lines, words;
};

/* A word begins at a letter behind a blank: one look back, also across the border of a piece. */
static int count_piece(void *arg, size_t begin, size_t end, void *value)
{
    const unsigned char *text = arg;
    struct counts *counts = value;
    for (size_t i = begin; i < end; i++) {
        counts->lines += text[i] == '\n';
        counts->words += !isspace(text[i]) && (i == 0 || isspace(text[i - 1]));
    }
    return 0;
}

static void add_counts(void *arg, void *value, void *right)
{
    struct counts *sum = value, *more = right;
    (void)arg;
    sum->lines += more->lines;
    sum->words += more->words;
}

int main(int argc, char **argv)
{
    const int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    struct stat file;
    vigil_pool *pool;
    if (fd < 0 || fstat(fd, &file) < 0 || vigil_pool_create(&pool, NULL) < 0) {
        fprintf(stderr, "usage: words FILE\n");
        return 1;
    }
    const size_t length = (size_t)file.st_size;
    void *text = length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    vigil_reducer counter = VIGIL_REDUCER_INIT;
    counter.bytes = sizeof(struct counts);
    counter.fold = count_piece;
    counter.merge = add_counts;
    struct counts counts = {0};
    int rc = text == MAP_FAILED ? -EIO : vigil_parallel_reduce(pool, 0, length, &counter, text, NULL, &counts);
    if (rc == 0)
        printf("%zu %zu %zu %s\n", counts.lines, counts.words, length, argv[1]);
    else
        fprintf(stderr, "words: %s\n", vigil_strerror(rc));
    vigil_pool_destroy(pool);
    return rc != 0;
}
