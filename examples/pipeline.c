/* SPDX-License-Identifier: MIT */
/*
 * A filter with bounded memory: reads standard input in blocks of 64 KiB, computes a checksum of each on all processors, and
 * prints them in order: pipeline < FILE
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vigil/graph.h>

struct block {
    size_t number, length;
    uint32_t sum;
    unsigned char bytes[65536];
};

static int read_block(void *arg, void **item)
{
    size_t *number = arg;
    struct block *block = malloc(sizeof *block);
    if (block == NULL)
        return -ENOMEM;
    *block = (struct block){.number = (*number)++};
    block->length = fread(block->bytes, 1, sizeof block->bytes, stdin);
    *item = block;
    if (block->length > 0)
        return 1;
    free(block);
    return ferror(stdin) ? -EIO : 0;
}

static int adler32(void *arg, void **item)
{
    struct block *block = *item;
    uint32_t a = 1, b = 0;
    (void)arg;
    for (size_t i = 0; i < block->length; i++) {
        a = (a + block->bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    block->sum = b << 16 | a;
    return 0;
}

static int print_sum(void *arg, void **item)
{
    struct block *block = *item;
    (void)arg;
    const int written = printf("%zu %08x\n", block->number, block->sum);
    free(block);
    return written < 0 ? -EIO : 0;
}

static void drop_block(void *user, void *item)
{
    (void)user;
    free(item);
}

int main(void)
{
    vigil_pool *pool;
    size_t number = 0;
    const vigil_stage stages[] = {
        {VIGIL_STAGE_SERIAL, read_block, &number},
        {VIGIL_STAGE_PARALLEL, adler32, NULL},
        {VIGIL_STAGE_SERIAL, print_sum, NULL},
    };
    vigil_pipeline_options options = VIGIL_PIPELINE_OPTIONS_INIT;
    options.tokens = 16; /* at most 1 MiB is in flight */
    options.drop = drop_block;
    if (vigil_pool_create(&pool, NULL) < 0)
        return 1;
    const int rc = vigil_pipeline_run(pool, stages, 3, &options);
    if (rc < 0)
        fprintf(stderr, "pipeline: %s\n", vigil_strerror(rc));
    vigil_pool_destroy(pool);
    return rc < 0;
}
