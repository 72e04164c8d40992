/* SPDX-License-Identifier: MIT */
/* peers.h - who is at the other end of a descriptor, a child, a file lock or shared memory. */
#ifndef VG_DOCTOR_PEERS_H
#define VG_DOCTOR_PEERS_H

#include "exam.h"

/* Which process has which pipe, socket and eventfd open (ends.h); gathered once, when it is first needed. */
typedef struct vg_peers vg_peers;

vg_peers *vg_peers_create(void);
void vg_peers_free(vg_peers *peers);

/* Each fills in thread->wait, and enters the processes that it finds into the examination. */
void vg_peers_descriptor(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, int fd, bool write);
void vg_peers_epoll(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, int fd);
void vg_peers_children(vg_exam *exam, vg_exam_thread *thread, pid_t child); /* 0: any */
void vg_peers_file_lock(vg_exam *exam, vg_exam_thread *thread, int fd);
void vg_peers_shared(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread);

/* A wait for several descriptors: nobody could end it until one is added who can. */
void vg_peers_poll_begin(vg_exam *exam, vg_exam_thread *thread);
void vg_peers_poll_add(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, int fd, bool write);

#endif
