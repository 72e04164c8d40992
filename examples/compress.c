/* SPDX-License-Identifier: MIT */
/*
 * compress FILE [OUT]: gzip on all processors with bounded memory and a progress bar. Blocks of 1 MiB are read in
 * order, compressed by all workers and written in order; each is a gzip member, so `gunzip` reads the result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vigil/graph.h>
#include <zlib.h>

enum {
    BLOCK = 1 << 20
};

struct job {
    FILE *in, *out;
    double size, done;
    int bar; /* standard error is a terminal */
};

struct block {
    size_t length, packed;
    unsigned char bytes[BLOCK];
    unsigned char gzip[BLOCK + BLOCK / 512 + 64];
};

static int read_block(void *arg, void **item)
{
    struct job *job = arg;
    struct block *block = malloc(sizeof *block);
    if (block == NULL)
        return -ENOMEM;
    *item = block;
    block->length = fread(block->bytes, 1, sizeof block->bytes, job->in);
    if (block->length > 0)
        return 1;
    free(block);
    return ferror(job->in) ? -EIO : 0;
}

static int compress_block(void *arg, void **item)
{
    struct block *block = *item;
    z_stream z = {.next_in = block->bytes, .avail_in = (uInt)block->length};
    (void)arg;
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    z.next_out = block->gzip;
    z.avail_out = sizeof block->gzip;
    const int end = deflate(&z, Z_FINISH);
    block->packed = z.total_out;
    deflateEnd(&z);
    return end == Z_STREAM_END ? 0 : -EIO;
}

static int write_block(void *arg, void **item)
{
    struct job *job = arg;
    struct block *block = *item;
    const size_t written = fwrite(block->gzip, 1, block->packed, job->out);
    const int rc = written == block->packed ? 0 : -EIO;
    job->done += (double)block->length;
    free(block);
    if (job->bar)
        fprintf(stderr, "\r%-50.*s| %3.0f %%", (int)(job->done / job->size * 50),
                "##################################################", job->done / job->size * 100);
    return rc;
}

static void drop_block(void *user, void *item)
{
    (void)user;
    free(item);
}

int main(int argc, char **argv)
{
    vigil_pool *pool;
    struct stat stat;
    struct job job = {.bar = isatty(2)};
    vigil_pipeline_options options = VIGIL_PIPELINE_OPTIONS_INIT;
    options.drop = drop_block; /* options.tokens stays 0: at most two blocks for each worker */
    const vigil_stage stages[] = {
        {VIGIL_STAGE_SERIAL, read_block, &job},
        {VIGIL_STAGE_PARALLEL, compress_block, NULL},
        {VIGIL_STAGE_SERIAL, write_block, &job},
    };
    if (argc < 2 || (job.in = fopen(argv[1], "rb")) == NULL || fstat(fileno(job.in), &stat) != 0 ||
        (job.out = argc > 2 ? fopen(argv[2], "wb") : stdout) == NULL || vigil_pool_create(&pool, NULL) < 0) {
        fprintf(stderr, "usage: compress FILE [OUT]\n");
        return 2;
    }
    job.size = stat.st_size > 0 ? (double)stat.st_size : 1;
    int rc = vigil_pipeline_run(pool, stages, 3, &options);
    if (fclose(job.out) != 0 && rc == 0)
        rc = -EIO;
    fclose(job.in);
    if (rc < 0)
        fprintf(stderr, "compress: %s\n", vigil_strerror(rc));
    else if (job.bar)
        fprintf(stderr, "\n");
    vigil_pool_destroy(pool);
    return rc < 0;
}
