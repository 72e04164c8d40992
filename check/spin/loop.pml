/* SPDX-License-Identifier: MIT */
/*
 * How the event loop sleeps and is woken, in Promela with explicit store buffers: a second opinion beside the checker that runs the C
 * code. The letters are those of src/loop/SLEEP.md. What is shown: when nothing moves any more, every accepted post has been run; if
 * there was a shutdown the loop has ended, and each post was run or refused; a descriptor that was registered has been served.
 *
 * Memory. A producer gets its place by a read-modify-write on the word that also closes the door, and publishes it by a plain
 * store, which waits in the producer's store buffer (`stored` minus `out`) and comes out in order at any time, by process `memory`.
 * The state changes by compare-exchange, which takes effect at once but empties no store buffer: less than x86 gives. A
 * full fence empties the own buffer, a membarrier everybody's. A load that a missing fence would let pass an earlier compare-exchange is, in the twin, done before it.
 *
 * Sizes:   PRODUCERS (1 or 2), POSTS of each, SHUTDOWN (one process asks for it at any time), POLLER (sleeps in the poller from the
 *          start), SWITCH (sleeps on the futex until a process registers a descriptor, which is ready at once)
 *          SYMMETRIC (no membarrier: W1' and S2' are full fences)
 * Twins:   NO_W1 NO_HEAVY NO_IDLE NO_S2 NO_S3 STORE_RUNNING STORE_SLEEPING WAKE_FIRST SILENT_SHUTDOWN NO_BED NO_DOOR; each is explained where it is.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef POSTS
#define POSTS 1
#endif
#define PLACES (PRODUCERS * POSTS)

#define RUNNING     0
#define ON_FUTEX    1 /* Sleeping, and where */
#define IN_POLLER   2
#define TERMINATING 3
#define TERMINATED  4
#define sleeps(s)   (s == ON_FUTEX || s == IN_POLLER)

byte state;

/* ingress */
byte places; /* given out */
bit closed;  /* the door: same word as places */
bit published[PLACES + 1];
byte next;   /* the owner's: the next place to take */
byte refused;

/* store buffers of the producers: which places they publish, how many are stored, how many have come out */
byte place_of[PLACES];
byte stored[PRODUCERS];
byte out[PRODUCERS];

/* the kernel */
bit on_futex; /* the owner sleeps there */
bit rung;     /* the wake descriptor has an event that no poll has returned yet */

/* a registered descriptor: the store buffer of the one who registers, and what has come out */
bit wanted_stored, wanted;
bit readable, served;

inline comes_out(p)
{
    published[place_of[p * POSTS + out[p]]] = 1;
    out[p]++
}

inline system_call(was)
{
    if
    :: was == IN_POLLER -> rung = 1
    :: else -> on_futex = 0
    fi
}

/* vg_loop_wake, after the fence W1. `saw` is the caller's. */
inline wake_if_sleeping()
{
    saw = state; /* W2 */
    if
    :: sleeps(saw) ->
#ifdef WAKE_FIRST
       /* twin: the system call first, then the word */
       system_call(saw);
       d_step {
           if
           :: state == saw -> state = RUNNING
           :: else
           fi
       }
#else
       if
       :: atomic { state == saw -> state = RUNNING }; /* W3 */
          system_call(saw)
       :: atomic { else -> skip }
       fi
#endif
    :: else
    fi;
    saw = 0
}

proctype producer(byte me)
{
    byte n, saw;
    do
    :: n < POSTS ->
       if
       :: d_step {
              !closed -> place_of[me * POSTS + stored[me]] = places;
              places++
          };
          stored[me]++; /* publish: a plain store */
#if defined(SYMMETRIC) && !defined(NO_W1)
          d_step { /* W1'. Twin NO_W1: the place may still be in the store buffer when the state is read */
              do
              :: out[me] < stored[me] -> comes_out(me)
              :: else -> break
              od
          };
#endif
          wake_if_sleeping()
       :: d_step { closed -> refused++ }
       fi;
       n++
    :: else -> break
    od
}

#ifdef SHUTDOWN
proctype shutdown()
{
    byte saw;
    d_step { saw = state; state = TERMINATING };
#ifndef SILENT_SHUTDOWN /* twin: the loop will see it */
    if
    :: sleeps(saw) -> system_call(saw)
    :: else
    fi
#endif
}
#endif

#ifdef SWITCH
proctype registrar()
{
    byte saw;
    readable = 1;
    wanted_stored = 1;
    d_step { wanted = wanted_stored }; /* W1 */
    wake_if_sleeping()
}
#endif

inline look()
{
#ifdef NO_BED
    pending = published[next] /* twin: no look whether the bed is still the right one */
#else
    pending = published[next];
    pending = pending || wanted != (bed == IN_POLLER)
#endif
}

/* After Sleeping: nobody has a place that was not taken, or whoever has one is made to publish it or to see Sleeping. */
inline stragglers()
{
#ifdef NO_IDLE
    skip /* twin: the word is not asked */
#else
    if
    :: atomic { next == places -> skip } /* the addition of nothing to the word */
    :: atomic { else -> skip };
       if
       :: published[next]
       :: else ->
#if !defined(SYMMETRIC) && !defined(NO_HEAVY) /* S2'. Twin NO_HEAVY: the place may stay in its store buffer */
          d_step {
              do
              :: out[0] < stored[0] -> comes_out(0)
#if PRODUCERS > 1
              :: out[1] < stored[1] -> comes_out(1)
#endif
              :: else -> break
              od
          }
#else
          skip
#endif
       fi
    fi
#endif
}

inline get_up()
{
#ifdef STORE_RUNNING
    state = RUNNING /* twin: whatever it was */
#else
    d_step {
        if
        :: state == bed -> state = RUNNING
        :: else
        fi
    }
#endif
}

inline block()
{
    if
    :: bed == IN_POLLER ->
       /* the event of the wake descriptor waits in the kernel; so does a readable descriptor */
       atomic { rung || (readable && !served) -> rung = 0; served = readable }
    :: else ->
       do
       :: state == bed ->
          /* the kernel compares again, under its own lock */
          if
          :: atomic { state == bed -> on_futex = 1 }; (!on_futex)
          :: atomic { else -> skip }
          fi
       :: state != bed -> break
       od
    fi
}

proctype owner()
{
    byte bed;
    bit pending;

turn:
    do
    :: published[next] -> next++
    :: else -> break
    od;
    bed = (wanted -> IN_POLLER : ON_FUTEX);
#ifdef NO_S2
    look(); /* twin: without S2 the sources may be read before Sleeping is published */
#endif
#ifdef STORE_SLEEPING
    if
    :: state == RUNNING -> state = bed /* twin: S1 as a store after a look */
    :: else -> goto ending
    fi;
#else
    if
    :: atomic { state == RUNNING -> state = bed } /* S1 */
    :: atomic { else -> goto ending }
    fi;
#endif
#ifndef NO_S3 /* twin: no second look */
#ifndef NO_S2
    stragglers();
    look(); /* S3 */
#endif
#endif
    if
    :: pending -> pending = 0
    :: else -> block() /* S4 */
    fi;
    get_up(); /* S5 */
    bed = 0;
    goto turn;

ending:
    bed = 0;
#ifndef NO_DOOR /* twin: the door stays open while the loop ends */
    closed = 1;
#endif
    do
    :: next < places -> (published[next]); next++ /* an accepted post is waited for */
    :: else -> break
    od;
    state = TERMINATED
}

proctype memory()
{
    do
    :: atomic { out[0] < stored[0] -> comes_out(0) }
#if PRODUCERS > 1
    :: atomic { out[1] < stored[1] -> comes_out(1) }
#endif
#ifdef SWITCH
    :: atomic { wanted_stored && !wanted -> wanted = 1 }
#endif
    od
}

init
{
    atomic {
#ifdef POLLER
        wanted = 1;
#endif
        run owner();
        run producer(0);
#if PRODUCERS > 1
        run producer(1);
#endif
#ifdef SHUTDOWN
        run shutdown();
#endif
#ifdef SWITCH
        run registrar();
#endif
        run memory()
    };
    /* when nothing moves any more */
    timeout;
    assert(next == places);
    assert(places + refused == PLACES);
#ifdef SHUTDOWN
    assert(state == TERMINATED);
#else
    assert(refused == 0 && sleeps(state));
#ifdef SWITCH
    assert(served && state == IN_POLLER)
#endif
#endif
}
