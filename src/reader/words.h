/* SPDX-License-Identifier: MIT */
/*
 * words.h - words for the numbers in a record.
 */
#ifndef VG_READER_WORDS_H
#define VG_READER_WORDS_H

/* Words for the numbers; never NULL. */
const char *vg_worker_state_name(unsigned state);
const char *vg_loop_state_name(unsigned state);
const char *vg_loop_phase_name(unsigned phase);
const char *vg_class_name(unsigned class_);
const char *vg_wait_name(unsigned kind);
const char *vg_event_name(unsigned kind);
const char *vg_io_kind_name(unsigned kind);
const char *vg_io_wait_name(unsigned wait);

#endif
