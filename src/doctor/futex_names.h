/* SPDX-License-Identifier: MIT */
/* futex_names.h - words that do not say what they are: the functions on the stack do. */
#ifndef VG_DOCTOR_FUTEX_NAMES_H
#define VG_DOCTOR_FUTEX_NAMES_H

#include "exam.h"

/* Fill in kind and text of thread->wait, if its innermost functions are known. False: they are not. */
bool vg_futex_name(const vg_exam_thread *thread, vg_need *wait);

/* Of a wait in pthread_once: the thread whose stack shows that it runs such a function; -1: none, or several. */
int vg_futex_once_holder(const vg_exam *exam, unsigned index);

/* A text that says more of a mutex than its address: the dynamic loader's, malloc's; NULL: none. */
const char *vg_futex_lock_of(const vg_exam_thread *thread);

#endif
