/* SPDX-License-Identifier: MIT */
/* A thread that cannot stop keeps nobody waiting, and the end of the doctor lets the patient go. The patient's thread waits for
   the end of a vfork: inside the kernel, where no stop reaches it until we let it out. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "doctor/spins.h"
#include "support.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct vfork_patient {
    pid_t pid;
    int let_out, ran; /* closing one ends the vfork; a byte comes from the other when the thread has run again */
} vfork_patient;

static vfork_patient patient_start(void)
{
    int ready[2], out[2], ran[2];
    char byte = 0;
    must_equal(pipe2(ready, O_CLOEXEC), 0);
    must_equal(pipe2(out, O_CLOEXEC), 0);
    must_equal(pipe2(ran, O_CLOEXEC), 0);
    const pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(out[1]);
        if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0L) == 0) { /* vfork with memory of its own */
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)!write(ready[1], &byte, 1);
            (void)!read(out[0], &byte, 1);
            _exit(0);
        }
        (void)!write(ran[1], &byte, 1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    (void)close(out[0]);
    (void)close(ran[1]);
    must_equal(read(ready[0], &byte, 1), 1); /* from now on its parent does not come back from the kernel */
    (void)close(ready[0]);
    return (vfork_patient){.pid = pid, .let_out = out[1], .ran = ran[0]};
}

/* It runs when it may, and nobody traces it. */
static void patient_end(const vfork_patient *patient)
{
    char byte;
    int status;
    (void)close(patient->let_out);
    must_equal(read(patient->ran, &byte, 1), 1);
    (void)close(patient->ran);
    must_equal(kill(patient->pid, SIGKILL), 0);
    must_equal(waitpid(patient->pid, &status, 0), patient->pid);
}

static pid_t tracer_of(pid_t pid)
{
    char path[64], line[256];
    int tracer = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    must(file != NULL);
    while (fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "TracerPid: %d", &tracer) != 1) // NOLINT(cert-err34-c)
        continue;
    (void)fclose(file);
    must(tracer >= 0);
    return tracer;
}

static void examine(const vfork_patient *patient, vg_exam *exam)
{
    static vg_exam_thread thread;
    const unsigned only = 0;
    memset(exam, 0, sizeof *exam);
    thread = (vg_exam_thread){.tid = patient->pid, .state = 'R'};
    exam->threads = &thread;
    exam->thread_count = exam->process_count = 1;
    exam->processes[0] = (vg_exam_process){.pid = patient->pid, .count = 1, .readable = true};
    vg_spins_sample_these(exam, &only, 1);
}

static vg_exam exam;

/* A process that examines the patient again and again. */
static pid_t doctor_start(const vfork_patient *patient)
{
    const pid_t doctor = fork();
    must(doctor >= 0);
    if (doctor == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            examine(patient, &exam);
    }
    return doctor;
}

static pid_t await_tracer(pid_t pid)
{
    pid_t tracer;
    while ((tracer = tracer_of(pid)) == 0)
        sched_yield();
    return tracer;
}

static void a_thread_that_cannot_stop_keeps_nobody_waiting(void **state)
{
    (void)state;
    const vfork_patient patient = patient_start();
    examine(&patient, &exam);
    must_equal(exam.note_count, 1);
    must(strstr(exam.notes[0], "did not stop within two seconds") != NULL);
    must(!exam.threads[0].spins && !exam.threads[0].has_regs);
    must_equal(exam.stops, 0);
    must_equal(tracer_of(patient.pid), 0);
    patient_end(&patient);
}

static void a_killed_doctor_lets_its_patient_go(void **state)
{
    (void)state;
    const vfork_patient patient = patient_start();
    const pid_t doctor = doctor_start(&patient);
    int status;
    (void)await_tracer(patient.pid);
    must_equal(kill(doctor, SIGKILL), 0);
    must_equal(waitpid(doctor, &status, 0), doctor);
    while (tracer_of(patient.pid) != 0)
        sched_yield();
    patient_end(&patient);
}

static void a_stopped_doctor_lets_its_patient_go(void **state)
{
    (void)state;
    const vfork_patient patient = patient_start();
    const pid_t doctor = doctor_start(&patient);
    int status;
    (void)await_tracer(patient.pid);
    must_equal(kill(doctor, SIGSTOP), 0);
    must_equal(waitpid(doctor, &status, WUNTRACED), doctor);
    const pid_t tracer = tracer_of(patient.pid); /* it can have no successor now */
    if (tracer > 0 && tracer != getpid())        /* its parent for a moment, while it is detached */
        (void)kill(tracer, SIGSTOP);
    while (tracer_of(patient.pid) != 0)
        sched_yield();
    must_equal(kill(doctor, SIGKILL), 0);
    must_equal(waitpid(doctor, &status, 0), doctor);
    patient_end(&patient);
}

static void a_stop_whose_end_nobody_saw_is_counted(void **state)
{
    (void)state;
    const vfork_patient patient = patient_start();
    const pid_t killer = fork();
    int status;
    must(killer >= 0);
    if (killer == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            const pid_t tracer = await_tracer(patient.pid);
            if (tracer != getppid()) /* while it is detached, the system names its parent for a moment */
                (void)kill(tracer, SIGKILL);
        }
    }
    do /* the killer may come too late */
        examine(&patient, &exam);
    while (exam.stops == 0);
    must(exam.stopped_ns > 0);
    must_equal(kill(killer, SIGKILL), 0);
    must_equal(waitpid(killer, &status, 0), killer);
    patient_end(&patient);
}

/* It could run in all looks, and got no processor between them: what `looks` saw of it on a full machine. */
static void a_thread_that_gets_little_processor_is_looked_at_too(void **state)
{
    (void)state;
    static vg_exam_thread thread;
    const pid_t pid = fork();
    int status;
    must(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            sched_yield();
    }
    memset(&exam, 0, sizeof exam);
    thread = (vg_exam_thread){.tid = pid, .state = 'R', .ready = true, .looks = 4, .seen_ns = 700000000};
    exam.threads = &thread;
    exam.thread_count = exam.process_count = 1;
    exam.processes[0] = (vg_exam_process){.pid = pid, .count = 1, .readable = true};
    vg_spins_sample(&exam);
    must(thread.has_regs);
    while (!thread.yields) /* samples may be few, or lie between the calls */
        vg_spins_sample(&exam);
    must_equal(kill(pid, SIGKILL), 0);
    must_equal(waitpid(pid, &status, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_gets_little_processor_is_looked_at_too),
        cmocka_unit_test(a_thread_that_cannot_stop_keeps_nobody_waiting),
        cmocka_unit_test(a_killed_doctor_lets_its_patient_go),
        cmocka_unit_test(a_stopped_doctor_lets_its_patient_go),
        cmocka_unit_test(a_stop_whose_end_nobody_saw_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
