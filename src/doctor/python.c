/* SPDX-License-Identifier: MIT */
/*
 * CPython 3.7 to 3.11 keep the lock in _PyRuntime: the switch interval (5000 us unless changed), the thread state of
 * the last holder, and whether it is held. The struct's place changes between versions, this sequence does not, so it
 * is searched for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "python.h"
#include "memory.h"
#include "sights.h"

#include <stdlib.h>
#include <string.h>

enum {
    PYTHON_INTERVAL = 5000,
    PYTHON_MOST = 1 << 20, /* bytes of the runtime */
    PYTHON_STATE = 40      /* words of a thread state that may hold its thread's number */
};

/* The thread of a thread state: 3.11 has its number there, older ones the address of its struct pthread. */
static int thread_of_state(const vg_exam *exam, unsigned process, uint64_t state)
{
    uint64_t words[PYTHON_STATE];
    if (!vg_memory_read(exam, process, state, words, sizeof words))
        return -1;
    for (unsigned i = 0; i < PYTHON_STATE; i++) {
        uint64_t self = 0;
        int32_t tid = 0;
        if (words[i] > 1 << 22 && words[i] % 64 == 0 &&
            vg_memory_read(exam, process, words[i] + 16, &self, sizeof self) && self == words[i] &&
            vg_memory_read(exam, process, words[i] + 720, &tid, sizeof tid)) {
            const int thread = vg_sight_thread(exam, process, tid);
            if (thread >= 0)
                return thread;
        }
    }
    return -1;
}

void vg_python_find(vg_exam *exam)
{
    for (unsigned p = 0; p < exam->process_count; p++) {
        vg_exam_process *process = &exam->processes[p];
        if (process->runtime == 0 || process->runtime_bytes > PYTHON_MOST)
            continue;
        uint64_t *words = malloc(process->runtime_bytes + 8);
        const size_t got =
            words != NULL ? vg_memory_read_some(exam, p, process->runtime, words, process->runtime_bytes) / 8 : 0;
        for (size_t i = 0; i + 2 < got; i++) {
            if (words[i] != PYTHON_INTERVAL || (uint32_t)words[i + 2] != 1)
                continue;
            const int thread = thread_of_state(exam, p, words[i + 1]);
            if (thread >= 0) {
                process->gil_thread = thread;
                break;
            }
        }
        free(words);
    }
}
