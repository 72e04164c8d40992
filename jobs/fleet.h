/* SPDX-License-Identifier: MIT */
/*
 * fleet.h - several servers behind one queue. Each server is a queue of its own, a member, with its own connections,
 * runner and heart, so one that is away costs its own jobs alone. The members share the pool. Every call of
 * vigil/jobs.h on the queue comes here and goes on to one member, or to all.
 *
 * A job's id says where it is: the member's place in the list is in the bits from VG_FLEET_SHIFT on. So the list may
 * grow at its end, and nothing that exists moves. A key goes to the member with the highest hash of key and place
 * (rendezvous): a new member takes its share of the keys from all others. Without a key the member with the fewest
 * waiting jobs is taken.
 */
#ifndef VG_JOBS_FLEET_H
#define VG_JOBS_FLEET_H

#include "struct.h"

enum {
    VG_FLEET_SHIFT = 48, /* ids stay below 2^53, which JavaScript's numbers hold */
    VG_FLEET_MOST = 32,
};

struct vg_jobs_fleet;

/* Whether `where` names several servers. */
bool vg_jobs_is_fleet(const char *where);
/* Open the members into *jobs, which has its options. At least one must be there; the others are tried again. */
int vg_jobs_fleet_open(vigil_jobs *jobs, const char *where);
void vg_jobs_fleet_close(vigil_jobs *jobs);

int vg_jobs_fleet_handle(vigil_jobs *jobs, const char *kind, vigil_jobs_fn fn, void *arg,
                         const vigil_jobs_kind *options);
int vg_jobs_fleet_start(vigil_jobs *jobs);
int vg_jobs_fleet_shutdown(vigil_jobs *jobs, int64_t timeout_ns);
int vg_jobs_fleet_stats(vigil_jobs *jobs, vigil_jobs_stats *stats);

/* For fleet_client.c. The member of this place, or NULL: it could not be reached yet. */
unsigned vg_jobs_fleet_count(vigil_jobs *jobs);
vigil_jobs *vg_jobs_fleet_member(vigil_jobs *jobs, unsigned place);
/* The place for a key; for no key. The second is negative if nobody is there. */
unsigned vg_jobs_fleet_place(vigil_jobs *jobs, const char *key);
int vg_jobs_fleet_least(vigil_jobs *jobs);
/* Something was enqueued there, or (count 0) the member did not answer. */
void vg_jobs_fleet_note(vigil_jobs *jobs, unsigned place, size_t count);

int vg_jobs_fleet_enqueue(vigil_jobs *jobs, vigil_jobs_item *items, size_t count, uint64_t *holder);
int vg_jobs_fleet_batch(vigil_jobs *jobs, uint64_t *batch);
int vg_jobs_fleet_batch_end(vigil_jobs *jobs, uint64_t batch);
int vg_jobs_fleet_look(vigil_jobs *jobs, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg);
int vg_jobs_fleet_wait(vigil_jobs *jobs, uint64_t id, int64_t timeout_ns, vigil_jobs_see_fn see, void *arg);
int vg_jobs_fleet_cancel(vigil_jobs *jobs, uint64_t id);
int vg_jobs_fleet_retry(vigil_jobs *jobs, uint64_t id);
int vg_jobs_fleet_edit(vigil_jobs *jobs, uint64_t id, const void *payload, size_t length);
int vg_jobs_fleet_remove(vigil_jobs *jobs, uint64_t id);
int vg_jobs_fleet_promise(vigil_jobs *jobs, vigil_loop *loop, uint64_t id, vigil_cancel_token *token,
                          vigil_promise **promise);
int vg_jobs_fleet_pause(vigil_jobs *jobs, const char *kind, bool paused);
int vg_jobs_fleet_audit(vigil_jobs *jobs, vigil_jobs_account *account);
int vg_jobs_fleet_schedule_set(vigil_jobs *jobs, const char *name, const vigil_jobs_schedule *schedule);
int vg_jobs_fleet_schedule_remove(vigil_jobs *jobs, const char *name);
int vg_jobs_fleet_schedule_look(vigil_jobs *jobs, vigil_jobs_schedule_fn see, void *arg);

#endif
