/* SPDX-License-Identifier: MIT */
/*
 * Which blocks of the code under check were reached. The compiler calls __sanitizer_cov_trace_pc at the beginning of each block
 * (-fsanitize-coverage=trace-pc, for library sources only); here a byte is set for it. At the end of the program the addresses go to a file
 * below $VGC_COVERAGE, and check/coverage puts the files of all programs together.
 */
#include "internal.h"
#include "state.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char __executable_start[], etext[];
ENGINE_STATE static unsigned char *reached = NULL;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    if (reached != NULL)
        reached[(const char *)__builtin_return_address(0) - __executable_start] = 1;
}

void coverage_begin(void)
{
    if (getenv("VGC_COVERAGE") != NULL && reached == NULL)
        reached = map_pages((size_t)(etext - __executable_start));
}

void coverage_end(const char *program)
{
    char path[4096];
    if (reached == NULL)
        return;
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    snprintf(path, sizeof path, "%s/%ld.reached", getenv("VGC_COVERAGE"), (long)getpid());
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        fprintf(stderr, "%s: cannot write %s\n", program, path);
        return;
    }
    fprintf(out, "%s\n", self);
    for (size_t i = 0; i < (size_t)(etext - __executable_start); i++)
        if (reached[i])
            fprintf(out, "%" PRIxPTR "\n", (uintptr_t)(__executable_start + i));
    fclose(out);
}
