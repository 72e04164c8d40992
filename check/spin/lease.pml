/* SPDX-License-Identifier: MIT */
/*
 * One job, its lease and its fencing number (jobs/PROTOCOL.md), between workers that may die, be stopped, and send an end twice.
 * Each statement of the database is one atomic step, as a transaction is. A lease may run out at any time: the model has no clock, so
 * every order of expiry, beat and end is seen. What is shown: an end is accepted from the owner of a running job alone, the job is
 * in one place at each moment, and when nothing moves any more it has ended.
 *
 * Sizes:   WORKERS, RESCUES (of jobs whose worker lives), DEATHS, ERRORS
 * Twins:   BY_STATE        an end asks whether the job runs, not for the number
 *          KEEP_RESCUED    a rescue does not raise the number
 *          KEEP_FAILED     a failure does not raise the number
 *          TWO_STEPS       an end looks, and writes in a second step without the condition
 *          BLIND_RESCUE    so does the rescue
 *          TAKE_OUT        the claim deletes the job
 *          NO_RESCUE       nobody looks for leases that ran out
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef RESCUES
#define RESCUES 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef ERRORS
#define ERRORS 1
#endif
#define NOBODY 255

mtype = { WAITING, RUNNING, GONE };
mtype state = WAITING; /* of the row; GONE: it is not in the table */
byte number;
byte owner = NOBODY;   /* of the current claim: the model's own knowledge, which the database lacks */
byte ended;            /* rows in the table of ended jobs */
byte rescues, deaths, errors;
bit dead[WORKERS];

/* What must hold whenever an end was accepted. */
inline accepted(me, mine)
{
    assert(state == RUNNING && owner == me && number == mine)
}

/* The condition of an end. PostgreSQL asks for the number alone, so the model does. */
#ifdef BY_STATE
#define may_end(mine) (state == RUNNING)
#else
#define may_end(mine) (state != GONE && number == mine)
#endif

inline complete(me, mine)
{
#ifdef TWO_STEPS
    if
    :: atomic { may_end(mine) -> skip };
        atomic { ended++; state = GONE }
    :: atomic { else -> skip }
    fi
#else
    atomic {
        if
        :: may_end(mine) -> accepted(me, mine); state = GONE; owner = NOBODY; ended++
        :: else
        fi
    }
#endif
}

inline fail(me, mine)
{
    atomic {
        if
        :: may_end(mine) -> accepted(me, mine); state = WAITING; owner = NOBODY;
#ifndef KEEP_FAILED
            number++
#endif
        :: else
        fi
    }
}

proctype worker(byte me)
{
    byte mine;
    do
    :: atomic { /* claim */
        state == WAITING && !dead[me] ->
        number++;
        mine = number;
        owner = me;
#ifdef TAKE_OUT
        state = GONE
#else
        state = RUNNING
#endif
        };
        if
        :: atomic { me > 0 && deaths < DEATHS -> deaths++; dead[me] = 1; break } /* the last one lives */
        :: complete(me, mine);
            if
            :: skip
            :: complete(me, mine) /* the answer was lost: sent again */
            fi
        :: atomic { errors < ERRORS -> errors++ };
            fail(me, mine);
            if
            :: skip
            :: fail(me, mine)
            fi
        fi
    :: atomic { ended > 0 || dead[me] -> break }
    od
}

/* Any process may do it. A worker that is dead is found in the end; one that lives loses its lease at most RESCUES times. */
active proctype rescuer()
{
#ifdef NO_RESCUE
    skip
#else
    do
    :: atomic { state == RUNNING && (rescues < RESCUES || dead[owner]) ->
        if
        :: rescues < RESCUES -> rescues++
        :: else
        fi;
#ifndef BLIND_RESCUE
        state = WAITING;
        owner = NOBODY;
#ifndef KEEP_RESCUED
        number++
#endif
#endif
        };
#ifdef BLIND_RESCUE
        atomic { state = WAITING; owner = NOBODY; number++ }
#endif
    :: atomic { ended > 0 -> break }
    od
#endif
}

/* Conservation: the row is in one place, always. */
active proctype account()
{
    do
    :: atomic { ended + (state != GONE) != 1 -> assert(false) }
    :: atomic { ended > 0 && timeout -> break }
    od
}

init {
    atomic {
        byte i;
        for (i : 0 .. WORKERS - 1) {
            run worker(i)
        }
    }
    /* Nothing moves any more. */
    timeout -> assert(ended == 1 && state == GONE)
}
