/* SPDX-License-Identifier: MIT */
/* The tests themselves. The outcomes of the named ones were written down from
 * the literature, not from any program. */
#include "tables.h"

const struct classic classics[] = {
    /* store buffering: each side writes its own word and reads the other's */
    {"SB rlx", "x=1@rlx; r0=y@rlx || y=1@rlx; r1=x@rlx", "r0=0 r1=0", ALLOWED},
    {"SB rel/acq", "x=1@rel; r0=y@acq || y=1@rel; r1=x@acq", "r0=0 r1=0", ALLOWED},
    {"SB sc", "x=1@sc; r0=y@sc || y=1@sc; r1=x@sc", "r0=0 r1=0", FORBIDDEN},
    {"SB sc fences", "x=1@rlx; F@sc; r0=y@rlx || y=1@rlx; F@sc; r1=x@rlx", "r0=0 r1=0", FORBIDDEN},
    {"SB one sc fence", "x=1@rlx; F@sc; r0=y@rlx || y=1@rlx; r1=x@rlx", "r0=0 r1=0", ALLOWED},
    {"SB acq_rel fences", "x=1@rlx; F@ar; r0=y@rlx || y=1@rlx; F@ar; r1=x@rlx", "r0=0 r1=0", ALLOWED},
    {"SB fence against sc", "x=1@rlx; F@sc; r0=y@rlx || y=1@sc; r1=x@sc", "r0=0 r1=0", FORBIDDEN},
    {"SB sc store, rlx load", "x=1@sc; r0=y@rlx || y=1@sc; r1=x@rlx", "r0=0 r1=0", ALLOWED},
    {"SB rmw is no fence", "r2=x+1@ar; r0=y@rlx || r3=y+1@ar; r1=x@rlx", "r0=0 r1=0", ALLOWED},
    {"SB rmw sc", "r2=x+1@sc; r0=y@sc || r3=y+1@sc; r1=x@sc", "r0=0 r1=0", FORBIDDEN},
    {"SB membarrier, light side", "x=1@rlx; r0=y@rlx || y=1@rlx; MB; r1=x@rlx", "r0=0 r1=0", FORBIDDEN},
    {"SB membarrier, late", "x=1@rlx; r0=y@rlx || y=1@rlx; r1=x@rlx; MB", "r0=0 r1=0", ALLOWED},
    {"SB membarrier, two light", "x=1@rlx; r0=y@rlx || y=1@rlx; r1=x@rlx || z=1@rlx; MB; r2=z@rlx", "r0=0 r1=0",
     ALLOWED},
    {"MP membarrier both", "x=1@rlx; y=1@rlx || MB; r0=y@rlx; r1=x@rlx", "r0=1 r1=0", ALLOWED},
    {"MP membarrier between", "x=1@rlx; MB; y=1@rlx || r0=y@rlx; r1=x@rlx", "r0=1 r1=0", FORBIDDEN},
    /* message passing */
    {"MP rlx", "x=1@rlx; y=1@rlx || r0=y@rlx; r1=x@rlx", "r0=1 r1=0", ALLOWED},
    {"MP rel/acq", "x=1@rlx; y=1@rel || r0=y@acq; r1=x@rlx", "r0=1 r1=0", FORBIDDEN},
    {"MP rel only", "x=1@rlx; y=1@rel || r0=y@rlx; r1=x@rlx", "r0=1 r1=0", ALLOWED},
    {"MP acq only", "x=1@rlx; y=1@rlx || r0=y@acq; r1=x@rlx", "r0=1 r1=0", ALLOWED},
    {"MP fences", "x=1@rlx; F@rel; y=1@rlx || r0=y@rlx; F@acq; r1=x@rlx", "r0=1 r1=0", FORBIDDEN},
    {"MP fence and acquire", "x=1@rlx; F@rel; y=1@rlx || r0=y@acq; r1=x@rlx", "r0=1 r1=0", FORBIDDEN},
    {"MP release and fence", "x=1@rlx; y=1@rel || r0=y@rlx; F@acq; r1=x@rlx", "r0=1 r1=0", FORBIDDEN},
    {"MP fence too late", "x=1@rlx; y=1@rlx; F@rel || r0=y@acq; r1=x@rlx", "r0=1 r1=0", ALLOWED},
    {"MP wrong fences", "x=1@rlx; F@acq; y=1@rlx || r0=y@rlx; F@rel; r1=x@rlx", "r0=1 r1=0", ALLOWED},
    {"MP sc", "x=1@rlx; y=1@sc || r0=y@sc; r1=x@rlx", "r0=1 r1=0", FORBIDDEN},
    /* release sequences */
    {"MP rmw carries on", "x=1@rlx; y=1@rel || r2=y+1@rlx || r0=y@acq; r1=x@rlx", "r0=2 r1=0 r2=1", FORBIDDEN},
    {"MP store breaks it", "x=1@rlx; y=1@rel; y=2@rlx || r0=y@acq; r1=x@rlx", "r0=2 r1=0", ALLOWED},
    {"MP foreign store breaks it", "x=1@rlx; y=1@rel || y=2@rlx || r0=y@acq; r1=x@rlx", "r0=2 r1=0 y=2", ALLOWED},
    {"MP rmw after fence", "x=1@rlx; F@rel; y=1@rlx || r2=y+1@rlx || r0=y@acq; r1=x@rlx", "r0=2 r1=0 r2=1", FORBIDDEN},
    /* load buffering */
    {"LB rlx", "r0=x@rlx; y=1@rlx || r1=y@rlx; x=1@rlx", "r0=1 r1=1", LIMIT},
    {"LB rel/acq", "r0=x@acq; y=1@rel || r1=y@acq; x=1@rel", "r0=1 r1=1", FORBIDDEN},
    {"LB one side ordered", "r0=x@acq; y=1@rlx || r1=y@rlx; x=1@rel", "r0=1 r1=1", FORBIDDEN},
    {"LB acquire alone", "r0=x@acq; y=1@rlx || r1=y@acq; x=1@rlx", "r0=1 r1=1", LIMIT},
    {"LB fences", "r0=x@rlx; F@ar; y=1@rlx || r1=y@rlx; F@ar; x=1@rlx", "r0=1 r1=1", FORBIDDEN},
    /* independent reads of independent writes */
    {"IRIW rlx", "x=1@rlx || y=1@rlx || r0=x@rlx; r1=y@rlx || r2=y@rlx; r3=x@rlx", "r0=1 r1=0 r2=1 r3=0", ALLOWED},
    {"IRIW rel/acq", "x=1@rel || y=1@rel || r0=x@acq; r1=y@acq || r2=y@acq; r3=x@acq", "r0=1 r1=0 r2=1 r3=0", ALLOWED},
    {"IRIW sc", "x=1@sc || y=1@sc || r0=x@sc; r1=y@sc || r2=y@sc; r3=x@sc", "r0=1 r1=0 r2=1 r3=0", FORBIDDEN},
    {"IRIW sc loads", "x=1@rlx || y=1@rlx || r0=x@sc; r1=y@sc || r2=y@sc; r3=x@sc", "r0=1 r1=0 r2=1 r3=0", FORBIDDEN},
    {"IRIW sc fences",
     "x=1@rlx || y=1@rlx || r0=x@rlx; F@sc; r1=y@rlx || r2=y@rlx; F@sc; "
     "r3=x@rlx",
     "r0=1 r1=0 r2=1 r3=0", FORBIDDEN},
    {"IRIW one fence", "x=1@rlx || y=1@rlx || r0=x@rlx; F@sc; r1=y@rlx || r2=y@acq; r3=x@acq", "r0=1 r1=0 r2=1 r3=0",
     ALLOWED},
    /* two plus two writes */
    {"2+2W rlx", "x=1@rlx; y=2@rlx || y=1@rlx; x=2@rlx", "x=1 y=1", ALLOWED},
    {"2+2W rel", "x=1@rel; y=2@rel || y=1@rel; x=2@rel", "x=1 y=1", ALLOWED},
    {"2+2W sc", "x=1@sc; y=2@sc || y=1@sc; x=2@sc", "x=1 y=1", FORBIDDEN},
    {"2+2W sc fences", "x=1@rlx; F@sc; y=2@rlx || y=1@rlx; F@sc; x=2@rlx", "x=1 y=1", FORBIDDEN},
    /* write to read causality, and longer chains */
    {"WRC rlx", "x=1@rlx || r0=x@rlx; y=1@rlx || r1=y@rlx; r2=x@rlx", "r0=1 r1=1 r2=0", ALLOWED},
    {"WRC rel/acq", "x=1@rel || r0=x@acq; y=1@rel || r1=y@acq; r2=x@rlx", "r0=1 r1=1 r2=0", FORBIDDEN},
    {"WRC last release only", "x=1@rlx || r0=x@rlx; y=1@rel || r1=y@acq; r2=x@rlx", "r0=1 r1=1 r2=0", FORBIDDEN},
    {"WRC no release", "x=1@rel || r0=x@acq; y=1@rlx || r1=y@acq; r2=x@rlx", "r0=1 r1=1 r2=0", ALLOWED},
    {"ISA2 rel/acq", "x=1@rlx; y=1@rel || r0=y@acq; z=1@rel || r1=z@acq; r2=x@rlx", "r0=1 r1=1 r2=0", FORBIDDEN},
    {"ISA2 gap", "x=1@rlx; y=1@rel || r0=y@rlx; z=1@rel || r1=z@acq; r2=x@rlx", "r0=1 r1=1 r2=0", ALLOWED},
    {"S rel/acq", "x=2@rlx; y=1@rel || r0=y@acq; x=1@rlx", "r0=1 x=2", FORBIDDEN},
    {"S rlx", "x=2@rlx; y=1@rlx || r0=y@rlx; x=1@rlx", "r0=1 x=2", ALLOWED},
    {"R sc fences", "x=1@rlx; F@sc; y=1@rlx || y=2@rlx; F@sc; r0=x@rlx", "r0=0 y=2", FORBIDDEN},
    {"R rel/acq", "x=1@rlx; y=1@rel || y=2@rel; r0=x@acq", "r0=0 y=2", ALLOWED},
    /* coherence: one location, always in order */
    {"CoRR", "x=1@rlx || r0=x@rlx; r1=x@rlx", "r0=1 r1=0", FORBIDDEN},
    {"CoRR two readers", "x=1@rlx || x=2@rlx || r0=x@rlx; r1=x@rlx || r2=x@rlx; r3=x@rlx", "r0=1 r1=2 r2=2 r3=1",
     FORBIDDEN},
    {"CoWR", "x=1@rlx; r0=x@rlx || x=2@rlx", "r0=2 x=1", FORBIDDEN},
    {"CoWR initial", "x=1@rlx; r0=x@rlx || r1=x@rlx", "r0=0", FORBIDDEN},
    {"CoRW", "r0=x@rlx; x=1@rlx || x=2@rlx", "r0=2 x=2", FORBIDDEN},
    {"CoRW own", "r0=x@rlx; x=1@rlx", "r0=1", FORBIDDEN},
    {"CoWW", "x=1@rlx; x=2@rlx", "x=1", FORBIDDEN},
    {"CoWW other reads", "x=1@rlx; x=2@rlx || r0=x@rlx; r1=x@rlx", "r0=2 r1=1", FORBIDDEN},
    /* read-modify-write */
    {"RMW two counters", "r0=x+1@rlx || r1=x+1@rlx", "r0=0 r1=0", FORBIDDEN},
    {"RMW between", "r0=x+1@rlx || x=5@rlx", "r0=0 x=1", FORBIDDEN},
    {"RMW exchange chain", "r0=x:1@rlx || r1=x:2@rlx || r2=x@rlx; r3=x@rlx", "r0=0 r1=1 r2=2 r3=1", FORBIDDEN},
    {"RMW placed early", "y=1@rlx; x=5@rlx || r1=x@rlx; r0=y+1@rlx; y=7@rlx || r2=y@rlx", "r1=5 r0=0 r2=7 y=1",
     ALLOWED},
    {"RMW stays together", "r0=x+1@rlx; y=1@rlx || r1=y@rlx; x=5@rlx", "r0=0 r1=1 x=1", FORBIDDEN},
    {"RMW in the middle", "x=1@rlx; y=1@rlx || r0=y@rlx; r1=x+4@rlx", "r0=1 r1=0 x=1", ALLOWED},
};
const size_t classic_count = sizeof classics / sizeof classics[0];

const struct shape shapes[] = {
    {"SB", "x=1@?; F@?; r0=y@? || y=1@?; F@?; r1=x@?"},
    {"MP", "x=1@?; F@?; y=1@? || r0=y@?; F@?; r1=x@?"},
    {"LB", "r0=x@?; F@?; y=1@? || r1=y@?; F@?; x=1@?"},
    {"2+2W", "x=1@?; F@?; y=2@? || y=1@?; F@?; x=2@?"},
    {"S", "x=2@?; F@?; y=1@? || r0=y@?; F@?; x=1@?"},
    {"R", "x=1@?; F@?; y=1@? || y=2@?; F@?; r0=x@?"},
    {"WRC", "x=1@? || r0=x@?; F@?; y=1@? || r1=y@?; F@?; r2=x@?"},
    {"ISA2", "x=1@?; y=1@? || r0=y@?; F@?; z=1@? || r1=z@?; F@?; r2=x@?"},
    {"IRIW", "x=1@? || y=1@? || r0=x@?; F@?; r1=y@? || r2=y@?; F@?; r3=x@?"},
    {"RWC", "x=1@? || r0=x@?; F@?; r1=y@? || y=1@?; F@?; r2=x@?"},
    {"W+RWC", "x=1@?; y=1@? || r0=y@?; F@?; r1=z@? || z=1@?; F@?; r2=x@?"},
    {"Z6", "x=1@?; F@?; y=1@? || y=2@?; F@?; z=1@? || z=2@?; F@?; r0=x@?"},
    {"3.SB", "x=1@?; F@?; r0=y@? || y=1@?; F@?; r1=z@? || z=1@?; F@?; r2=x@?"},
    {"CoRR", "x=1@? || x=2@? || r0=x@?; r1=x@?"},
    {"CoRW", "r0=x@?; x=1@? || x=2@?; r1=x@?"},
    {"RelSeq", "x=1@?; y=1@? || r2=y+1@? || r0=y@?; r1=x@?"},
    {"RelSeq own", "x=1@?; y=1@?; y=2@? || r0=y@?; F@?; r1=x@?"},
    {"RMW SB", "r0=x+1@?; r1=y@? || r2=y+1@?; r3=x@?"},
    {"RMW 2+2W", "r0=x:1@?; y=2@? || r1=y:1@?; x=2@?"},
    {"Exchange", "x=1@?; r0=y:1@? || r1=y:2@?; r2=x@?"},
};
const size_t shape_count = sizeof shapes / sizeof shapes[0];

const struct mutation mutations[] = {
    {"no old values for loads", VGC_RULE_STALE_LOADS},
    {"stores always newest", VGC_RULE_OLD_STORES},
    {"acquire takes nothing", VGC_RULE_ACQUIRE},
    {"release publishes nothing", VGC_RULE_RELEASE},
    {"acquire fence is nothing", VGC_RULE_ACQUIRE_FENCE},
    {"release fence is nothing", VGC_RULE_RELEASE_FENCE},
    {"no release sequences", VGC_RULE_RELEASE_SEQUENCE},
    {"seq_cst fence is acq_rel", VGC_RULE_SC_FENCE},
    {"seq_cst access is acq_rel", VGC_RULE_SC_ACCESS},
    {"no coherence", VGC_RULE_COHERENCE},
    {"rmw not atomic", VGC_RULE_ATOMICITY},
    {"membarrier is a local fence", VGC_RULE_MEMBARRIER},
    {"store races not reversed", VGC_RULE_REVERSE_RACES},
    {"sleep sets never wake", VGC_RULE_SLEEP_WAKE},
};
const size_t mutation_count = sizeof mutations / sizeof mutations[0];
