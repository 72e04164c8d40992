/* SPDX-License-Identifier: MIT */
/*
 * The pool's idle protocol, a second time: by hand in Promela, for Spin, beside the checker that runs the C code. The letters are those
 * of src/pool/IDLE.md, and so are the names. What is shown: when nothing moves any more, no task is queued beside a parked
 * worker and no token is left over; though a task may wait for another one and so never end by itself.
 *
 * Memory. Every plain store of the protocol is a push (the injector's next place, a deque's bottom), and each thread pushes to one
 * place only. So a store buffer is the number of pushes that have not come out yet: `buffered[t]`. They come out in order, at any
 * time, by process `memory`. Their own thread sees them at once. Everything else (word, bits, wake words, taking) is an atomic
 * read-modify-write. These take effect at once but do not empty the store buffer, which is less than x86 gives and what Arm
 * may do. A full fence empties the own buffer, a heavy one (membarrier) the buffers of all.
 * A load that a missing fence would let pass an earlier read-modify-write is, in the broken twin, done before it.
 *
 * Left out: classes beyond one (so retract), spares and credits, mail, spinning, and that an injector can be in the hands of one who moves it.
 * The queues themselves are taken as right; the checker looks at them.
 *
 * Sizes:   WORKERS, TASKS (submitted from outside), PARENTS (how many of these spawn a child and wait until another worker has started
 *          it), TOGETHER (each task, child or not, waits until all have been started), SYMMETRIC (no membarrier), AT_REST (begin with all
 *          workers parked instead of starting), IN_HAND (begin with worker 0 about to run the first task), COARSE (a whole look at the queues is one step), SC (no store buffers)
 * Twins:   NO_A NO_A_SPAWN NO_B NO_C NO_D LIGHT_C LATE_C NO_LOOK NO_CHAIN NO_TOKEN_BACK FLAG_AFTER_LOOK UNCOUNTED; each is explained
 *          where it is.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef PARENTS
#define PARENTS 0
#endif
#define ALL       (TASKS + PARENTS)
#define SUBMITTER WORKERS /* its place among the store buffers */
#define THREADS   (WORKERS + 1)

/* the word */
byte searching;
byte parked;
bit ready;
/* beside it */
byte bits;         /* one for each parked worker */
bit wake[WORKERS]; /* the call, which stays until it is heard */

/* queues: what has come out of the store buffers, and what has been taken */
byte pushed[THREADS]; /* by worker w to its deque; by the submitter to the injector */
byte taken[THREADS];
byte buffered[THREADS];

byte started; /* tasks that have been started */

#define queued(q) (pushed[q] > taken[q])

/* ---- fences ------------------------------------------------------------------------------------------------------ */

inline full_fence()
{
    d_step { pushed[me] = pushed[me] + buffered[me]; buffered[me] = 0 }
}

inline heavy_fence()
{
#ifdef SYMMETRIC
    full_fence()
#else
    d_step {
        i = 0;
        do
        :: i < THREADS -> pushed[i] = pushed[i] + buffered[i]; buffered[i] = 0; i++
        :: else -> break
        od;
        i = 0
    }
#endif
}

inline light_fence()
{
#ifdef SYMMETRIC
    full_fence()
#else
    skip
#endif
}

/* A plain store. */
inline push()
{
#ifdef SC
    pushed[me]++
#else
    buffered[me]++
#endif
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

/* visible: one load after the other, as the code does it. The own deque is seen through the own store buffer. */
inline look_step_by_step()
{
    visible = queued(SUBMITTER);
    i = 0;
    do
    :: !visible && i < WORKERS ->
       atomic {
           visible = queued(i) || (i == me && buffered[me] > 0);
           i++
       }
    :: else -> break
    od;
    i = 0
}

inline look()
{
#ifdef COARSE
    atomic { look_step_by_step() }
#else
    look_step_by_step()
#endif
}

inline look_at_word()
{
    d_step { saw_ready = ready; wants_wake = (searching == 0 && parked > 0) }
}

/* ---- waking ------------------------------------------------------------------------------------------------------ */

inline wake_one()
{
    again = true;
    do
    :: !again -> break
    :: again ->
       again = false;
       if
       :: atomic { searching == 0 && parked > 0 -> searching++ }; /* the token: one wake in flight */
          snapshot = bits;
          claimed = WORKERS;
          i = 0;
          do
          :: i < WORKERS && claimed == WORKERS ->
             atomic {
                 if
                 :: (snapshot >> i) & 1 && (bits >> i) & 1 -> bits = bits - (1 << i); claimed = i
                 :: else
                 fi;
                 i++
             }
          :: else -> break
          od;
          i = 0;
          if
          :: claimed < WORKERS ->
             parked--;
             /* the call is a release: what is in the store buffer comes out before it */
             atomic { full_fence(); wake[claimed] = 1; claimed = 0; snapshot = 0 }
          :: else ->
#ifdef NO_TOKEN_BACK
             /* twin: nobody could be claimed, and the token is kept */
             skip
#else
#ifdef NO_D
             /* twin: without D bits and queues may be read before the token is given back */
             snapshot = bits;
             look();
             atomic { searching--; last = (searching == 0); claimed = 0 };
#else
             atomic { searching--; last = (searching == 0); claimed = 0; snapshot = 0 };
#endif
             if
             :: last ->
#ifndef NO_D
                full_fence(); /* D */
                snapshot = bits;
                if
                :: snapshot != 0 -> look()
                :: else
                fi;
#endif
                again = (snapshot != 0 && visible && ready);
                atomic { snapshot = 0; visible = 0; last = 0 }
             :: else -> atomic { snapshot = 0; visible = 0 }
             fi
#endif
          fi
       :: atomic { else -> skip } /* somebody searches, or there is nobody to wake */
       fi
    od
}

inline announce_from_word()
{
    look_at_word();
    if
    :: !saw_ready -> d_step { wants_wake = (searching == 0 && parked > 0); ready = 1 }
    :: else
    fi;
    if
    :: wants_wake -> atomic { wants_wake = 0; saw_ready = 0 }; wake_one()
    :: else -> atomic { wants_wake = 0; saw_ready = 0 }
    fi
}

inline announce()
{
#ifndef NO_A
    full_fence(); /* A. Twin NO_A: the push may still be in the store buffer when the word is read */
#endif
    announce_from_word()
}

/* A push to the own deque. */
inline spawn()
{
    push();
    light_fence(); /* A' */
    look_at_word();
    if
    :: d_step { saw_ready && searching == 0 && parked == 0 -> saw_ready = 0; wants_wake = 0 }
    :: d_step { else -> saw_ready = 0; wants_wake = 0 };
#ifndef NO_A_SPAWN
       full_fence(); /* twin NO_A_SPAWN: the light fence only, though somebody searches or sleeps */
#endif
       announce_from_word()
    fi
}

/* ---- a worker ---------------------------------------------------------------------------------------------------- */

#define NOTHING 0
#define CHILD   1
#define PLAIN   2
#define PARENT  3

inline take_step_by_step()
{
    found = NOTHING;
    looked = 0;
    if
    :: ready || pushed[me] + buffered[me] > taken[me] ->
       looked = 1;
       /* the own deque; its pop has fences of its own */
       if
       :: atomic {
              pushed[me] + buffered[me] > taken[me] ->
              if
              :: buffered[me] > 0 -> buffered[me]--
              :: else -> pushed[me]--
              fi;
              found = CHILD
          }
       :: atomic { else -> skip }
       fi;
       if
       :: atomic {
              found == NOTHING && queued(SUBMITTER) ->
              found = (taken[SUBMITTER] < PARENTS -> PARENT : PLAIN);
              taken[SUBMITTER]++
          }
       :: atomic { else -> skip }
       fi;
       i = 0;
       do
       :: found == NOTHING && i < WORKERS ->
          atomic {
              if
              :: i != me && queued(i) -> taken[i]++; found = CHILD
              :: else
              fi;
              i++
          }
       :: else -> break
       od;
       i = 0
    :: atomic { else -> skip }
    fi
}

inline take()
{
#ifdef COARSE
    atomic { take_step_by_step() }
#else
    take_step_by_step()
#endif
}

inline run_task()
{
    started++;
    if
    :: found == PARENT ->
       found = NOTHING;
       spawn();
       (taken[me] == pushed[me] && buffered[me] == 0) /* waits until another worker has taken the child */
    :: else -> found = NOTHING
    fi;
#ifdef TOGETHER
    (started == ALL)
#endif
}

inline search_end()
{
#ifdef NO_B
    look(); /* twin: without B the queues may be read before the token is given back */
#endif
    atomic { searching--; last = (searching == 0) };
    if
    :: last ->
#ifndef NO_CHAIN /* twin: who has found a task runs it, and leaves the rest to others */
#ifndef NO_B
       full_fence(); /* B */
#endif
       look_at_word();
       if
       :: wants_wake && saw_ready ->
          atomic { wants_wake = 0; saw_ready = 0 };
#ifndef NO_B
          look();
#endif
          if
          :: visible -> atomic { visible = 0; last = 0 }; wake_one()
          :: else
          fi
       :: else
       fi;
#endif
       atomic { visible = 0; last = 0; wants_wake = 0; saw_ready = 0 }
    :: else -> atomic { visible = 0; last = 0 }
    fi
}

/* Leaves with alone == true if it got up by itself and is not counted (a twin only). */
inline park()
{
#ifdef NO_C
    look(); /* twin: without C the queues may be read before word and bit show this worker parked */
#endif
    atomic {
        searching--;
        last = (searching == 0);
        parked++;
#ifndef FLAG_AFTER_LOOK
        if
        :: looked -> ready = 0
        :: else
        fi
#endif
    };
    bits = bits | (1 << me);
#ifndef NO_C
#ifdef LIGHT_C
    full_fence(); /* twin: a fence for this thread alone, though a spawn has only a light one */
#else
#ifdef LATE_C
    /* twin: heavy only for the last searcher, since the others leave somebody behind who will look */
    if
    :: last -> heavy_fence()
    :: else -> full_fence()
    fi;
#else
    heavy_fence(); /* C */
#endif
#endif
#ifndef NO_LOOK /* twin: no look after that */
    look();
#endif
#endif
    last = 0;
#ifdef FLAG_AFTER_LOOK
    /* twin: the class is called not ready when it has been seen empty, and not before */
    if
    :: looked && !visible -> ready = 0
    :: else
    fi;
#endif
    if
    :: visible ->
       visible = 0;
#ifdef UNCOUNTED
       /* twin: there is work, so up again; nobody needs to be told */
       if
       :: atomic { (bits >> me) & 1 -> bits = bits - (1 << me); alone = true };
          atomic { parked--; ready = 1 }
       :: atomic { else -> skip }
       fi
#else
       if
       :: looked -> looked = 0; announce()
       :: else ->
          look_at_word();
          if
          :: wants_wake && saw_ready -> atomic { wants_wake = 0; saw_ready = 0 }; wake_one()
          :: else -> atomic { wants_wake = 0; saw_ready = 0 }
          fi
       fi
#endif
    :: else -> looked = 0
    fi
}

inline sleep_until_called()
{
    atomic { wake[me] -> wake[me] = 0 };
    if
    :: atomic { (bits >> me) & 1 -> bits = bits - (1 << me) };
       atomic { parked--; searching++ } /* nobody has claimed us */
    :: atomic { else -> skip }
    fi
}

proctype worker(byte me)
{
    byte found, i, claimed, snapshot;
    bit looked, visible, last, again, saw_ready, wants_wake, alone;

#ifdef AT_REST
    goto asleep_;
#endif
#ifdef IN_HAND
    if
    :: me == 0 -> found = PARENT; run_task()
    :: else
    fi;
#endif
active_:
    take();
    if
    :: found != NOTHING -> run_task(); goto active_
    :: else -> searching++
    fi;
searching_:
    take();
    if
    :: found != NOTHING -> search_end(); run_task(); goto active_
    :: else -> park()
    fi;
    if
    :: alone -> alone = false; goto active_
    :: else
    fi;
asleep_:
    sleep_until_called();
    goto searching_
}

proctype submitter(byte me)
{
    byte n, i, claimed, snapshot;
    bit visible, last, again, saw_ready, wants_wake;

    n = pushed[me];
    do
    :: n < TASKS -> push(); n++; announce()
    :: else -> break
    od
}

proctype memory()
{
    do
    :: atomic { buffered[0] > 0 -> pushed[0]++; buffered[0]-- }
    :: atomic { buffered[1] > 0 -> pushed[1]++; buffered[1]-- }
    :: atomic { buffered[2] > 0 -> pushed[2]++; buffered[2]-- }
#if WORKERS > 2
    :: atomic { buffered[3] > 0 -> pushed[3]++; buffered[3]-- }
#endif
    od
}

init
{
    byte w;
    bit work;
    atomic {
#ifdef IN_HAND
        pushed[SUBMITTER] = 1;
        taken[SUBMITTER] = 1;
        ready = 1;
#endif
#ifdef AT_REST
        parked = WORKERS;
        bits = (1 << WORKERS) - 1;
#endif
        w = 0;
        do
        :: w < WORKERS -> run worker(w); w++
        :: else -> break
        od;
        run submitter(SUBMITTER);
        run memory()
    };
    /* when nothing moves any more */
    timeout;
    d_step {
        w = 0;
        do
        :: w < THREADS -> work = work || queued(w); w++
        :: else -> break
        od
    };
    assert(!work || parked == 0);
    assert(searching == 0);
    assert(ALL > WORKERS || started == ALL)
}
