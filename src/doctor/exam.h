/* SPDX-License-Identifier: MIT */
/*
 * exam.h - the examination of a process that hangs: what is known of its threads, what they wait for, and the verdicts.
 *
 * The patient needs no preparation and runs no code of ours. Threads that sleep are never stopped: the kernel says
 * where they sleep and with which arguments, and their memory is read from outside. DOCTOR.md has the argument.
 */
#ifndef VG_DOCTOR_EXAM_H
#define VG_DOCTOR_EXAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    VG_EXAM_FRAMES = 40,     /* of a stack that are kept */
    VG_EXAM_PROCESSES = 64,  /* the patient and those it waits for */
    VG_EXAM_THREADS = 16384, /* of all of them */
    VG_EXAM_PEERS = 8,       /* processes that could end one wait */
    VG_EXAM_CHAIN = 32,      /* threads that one verdict names */
    VG_MEMORY_DIRECT = -1,   /* vg_exam_process.pagemap */
};

typedef struct vg_frame {
    uint64_t pc;
    char function[128]; /* "": unknown */
    char file[128];     /* "": unknown */
    char module[64];    /* the file that the code is mapped from, without its directories */
    uint64_t offset;    /* in the module */
    int line;
    bool inlined;
} vg_frame;

typedef enum vg_need_kind {
    VG_NEED_NONE, /* it runs, or wants to */
    VG_NEED_MUTEX,
    VG_NEED_STDIO,
    VG_NEED_READ_LOCK,
    VG_NEED_WRITE_LOCK,
    VG_NEED_CONDITION,
    VG_NEED_SEMAPHORE,
    VG_NEED_BARRIER,
    VG_NEED_JOIN,
    VG_NEED_LOCK_WORD, /* a lock whose word does not say who holds it: Rust, musl, malloc */
    VG_NEED_FUTEX,
    VG_NEED_SPIN_LOCK,
    VG_NEED_PIPE_READ,
    VG_NEED_PIPE_WRITE,
    VG_NEED_SOCKET_READ,
    VG_NEED_SOCKET_WRITE,
    VG_NEED_CHILD,
    VG_NEED_FILE_LOCK,
    VG_NEED_SLEEP,
    VG_NEED_POLL,
    VG_NEED_SIGNAL,
    VG_NEED_INPUT, /* a terminal, a listening socket, a device: the world outside */
    VG_NEED_OTHER,
} vg_need_kind;

/* Who could end a wait. */
typedef enum vg_waker {
    VG_BY_ITSELF,  /* it runs, or its time runs out */
    VG_BY_OUTSIDE, /* the network, a terminal, a signal, the disk: nobody we see */
    VG_BY_OWNER,   /* one thread */
    VG_BY_PROCESS, /* any thread that shares the memory */
    VG_BY_PEERS,   /* any thread of some processes */
} vg_waker;

typedef struct vg_need {
    vg_need_kind kind;
    vg_waker by;
    uint64_t address; /* of the lock, or 0 */
    int owner;        /* index of the thread, or -1 */
    pid_t owner_tid;  /* as the memory says; 0: unknown */
    bool owner_gone;  /* that thread has ended */
    bool limited;     /* it has a timeout */
    bool certain;     /* the owner is read from memory whose layout is known */
    bool shared;      /* between processes */
    int fd;
    unsigned peer_count;
    unsigned peers[VG_EXAM_PEERS]; /* indices of processes */
    char text[160];                /* "waits for the mutex 0x55..." */
} vg_need;

typedef struct vg_exam_thread {
    unsigned process; /* index */
    pid_t tid;
    pid_t inner_tid; /* in its own PID namespace: what its memory calls it */
    char name[32];
    char state; /* as in /proc: R S D T t Z */
    bool same;  /* it slept in the same call during all looks, and did not run */
    bool gone;
    bool ready; /* it could run in all looks */
    uint64_t first_switches, switches, blocks, first_blocks, first_run_ns, run_ns, first_queue_ns, queue_ns;
    uint64_t first_seen_ns, seen_ns;
    uint64_t calm_ns, calm_run_ns, calm_switches; /* the last look before any thread was stopped */
    unsigned looks;
    bool in_call;
    long call; /* -1: none */
    uint64_t arg[6], sp, bp, ip;
    uint64_t regs[17]; /* by their DWARF numbers; only of a thread that was stopped */
    bool has_regs;
    char where[48];              /* wchan */
    int policy, nice, processor; /* processor: where it ran last, -1 unknown */
    vg_need wait;
    bool can_move; /* after the graph was solved */
    bool spins;
    long spin_call;    /* in a loop over this system call; -1: none, or several */
    bool yields;       /* it gives its processor up whenever it gets one */
    bool owner_steady; /* the holder of what it waits for was the same in all looks */
    bool stop_seen;    /* it was stopped in an earlier look, too */
    pid_t owner_before;
    bool is_main;
    unsigned frame_count;
    vg_frame *frames; /* in memory that the examination owns */
} vg_exam_thread;

typedef struct vg_exam_process {
    pid_t pid;
    char name[32];
    char exe[256];
    char command[256];
    const char *language; /* "C", "C++", "Rust", "Go", "Java", "Python", "Node"; NULL: not told apart */
    bool musl, vigil, stripped;
    bool readable;         /* its memory may be read */
    int pagemap;           /* in a child that may be killed: how it reads. A descriptor: only what is in memory, and
                              nothing else; VG_MEMORY_DIRECT: everything. 0 in the doctor itself (memory.c) */
    char refusal[320];     /* why not; "" */
    unsigned tracer;       /* the process that traces it; 0 */
    unsigned first, count; /* its threads in the examination; count is 0 until it was looked at */
    pid_t parent;
    bool gone, dead;      /* dead: a core file */
    bool grew;            /* threads came during the looks */
    bool handles_signals; /* of those that others send, or a timer */
    uint64_t runtime;     /* Python: where its runtime's struct is */
    uint64_t runtime_bytes;
    int gil_thread; /* Python: the thread that holds the interpreter's lock, -1 unknown */
} vg_exam_process;

typedef enum vg_diagnosis_kind {
    VG_DIAGNOSIS_DEADLOCK, /* a circle */
    VG_DIAGNOSIS_SELF,     /* a thread waits for a lock that it holds itself */
    VG_DIAGNOSIS_ORPHAN,   /* the owner of a lock has ended */
    VG_DIAGNOSIS_LOST,     /* nobody is left that could end the wait */
    VG_DIAGNOSIS_HELD,     /* a lock is held by a thread that waits for something else */
    VG_DIAGNOSIS_CONVOY,   /* many wait for one owner */
    VG_DIAGNOSIS_SPIN,
    VG_DIAGNOSIS_STARVED,
    VG_DIAGNOSIS_THROTTLED,
    VG_DIAGNOSIS_STOPPED,
    VG_DIAGNOSIS_DISK,
    VG_DIAGNOSIS_DESCRIPTORS,
    VG_DIAGNOSIS_MEMORY,
    VG_DIAGNOSIS_THREADS,
    VG_DIAGNOSES
} vg_diagnosis_kind;

typedef struct vg_diagnosis {
    vg_diagnosis_kind kind;
    bool certain; /* else probable */
    char title[512];
    char advice[512];
    unsigned count;                /* threads that it names */
    unsigned chain[VG_EXAM_CHAIN]; /* indices; of a circle: each waits for the next, the last for the first */
    unsigned more;                 /* threads that are not named */
} vg_diagnosis;

typedef struct vg_exam_options {
    bool no_stop;
    bool no_stacks;     /* names and lines are not looked up */
    uint64_t span_ns;   /* how long it looks; 0: 800 ms */
    uint64_t stacks_ns; /* how long reading stacks may take; 0: 40 s */
} vg_exam_options;

typedef struct vg_core vg_core;

typedef struct vg_exam {
    vg_exam_options options;
    unsigned process_count, thread_count, finding_count;
    vg_exam_process processes[VG_EXAM_PROCESSES];
    vg_exam_thread *threads;
    vg_diagnosis findings[32];
    char notes[16][320]; /* what the reader should know besides */
    unsigned note_count;
    uint64_t began_ns, took_ns, stopped_ns; /* stopped_ns: the longest stop of one thread */
    unsigned stops;
    unsigned thread_room;
    vg_frame *frames; /* shared memory, see stacks.c */
    size_t frames_bytes;
    bool stacks_cut; /* reading them took too long or failed */
    vg_core *core;   /* of a core file, else NULL */
    bool *absent;    /* for each process: a page of its memory did not arrive */
} vg_exam;

/* Examine a process. The result is freed by vg_exam_free, also after an error that left one.
   0; -ESRCH no such process; -ENOMEM. A process that may not be read gives a result with a refusal. */
int vg_exam_process_run(vg_exam **result, pid_t pid, const vg_exam_options *options);

/* Examine a core file. 0; -ENOEXEC it is none; or another negative errno. */
int vg_exam_core_run(vg_exam **result, const char *path, const vg_exam_options *options);

void vg_exam_free(vg_exam *exam);

/* Add a note, once. */
void vg_exam_note(vg_exam *exam, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
