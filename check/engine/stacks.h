/* SPDX-License-Identifier: MIT */
/* Sizes that C and assembly share. */
#ifndef VGC_STACKS_H
#define VGC_STACKS_H

#define ENGINE_STACK_SIZE 131072 /* of the engine, for each model thread */
#define DEAD_STACK        512    /* how much below the stack pointer is wiped at each step of the stateful search */
#define CLEAN_STACK       8192   /* how much of a new thread's stack is zero */

#endif
