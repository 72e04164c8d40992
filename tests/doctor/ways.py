#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test: clock - how long a thread is stopped depends on who else wants the processor
"""What the doctor does to its patient, where it can look, and what it says where it may not."""
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

VIGIL = os.environ["VIGIL"]
BIN = os.environ["DOCTOR_CORPUS"]
SANITIZED = "asan" in VIGIL
ROOT = os.geteuid() == 0


def start(*words, **how):
    patient = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True, **how)
    for line in patient.stdout:
        if line.startswith("ready"):
            return patient
    raise AssertionError(f"{words} ended")


def sick(name, program="sick"):
    return start(os.path.join(BIN, program), name)


def end(patient):
    try:
        os.killpg(patient.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    patient.communicate()


def doctor(*words, **how):
    return subprocess.run([VIGIL, "doctor", *map(str, words)], capture_output=True, text=True, timeout=120, **how)


def verdicts(patient, *words):
    for _ in range(10):  # until it has fallen asleep
        done = doctor("--json", *words, patient.pid)
        found = json.loads(done.stdout)["findings"]
        if found:
            return [f["kind"] for f in found]
    return []


class Patient(unittest.TestCase):
    def begin(self, *words, **how):
        patient = start(*words, **how)
        self.addCleanup(end, patient)
        return patient

    def test_no_system_call_is_disturbed(self):
        patient = self.begin(os.path.join(BIN, "calls"), "0", "1")
        for _ in range(3):
            done = doctor("--json", patient.pid)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(json.loads(done.stdout)["stops"], 0)  # the one that runs was looked at
        patient.stdin.write("\n")
        patient.stdin.flush()
        self.assertEqual(patient.stdout.readline(), "returned 0\n")

    def test_a_hundred_threads_are_stopped_for_twenty_milliseconds_at_most(self):
        patient = self.begin(os.path.join(BIN, "calls"), "86", "2")
        found = json.loads(doctor("--json", patient.pid).stdout)
        self.assertGreaterEqual(len(found["threads"]), 100)
        self.assertLess(found["longest_stop_ns"], 20e6 if not SANITIZED else 100e6)

    def test_a_thousand_threads(self):
        patient = self.begin(os.path.join(BIN, "calls"), "1000")
        began = os.times()
        found = json.loads(doctor("--json", patient.pid).stdout)
        self.assertGreater(len(found["threads"]), 1000)
        self.assertTrue(all(t["stack"] for t in found["threads"]))
        used = os.times()
        # The bar is 3 s on a machine with nothing else to do; processor time does not depend on that.
        self.assertLess(used.children_user + used.children_system - began.children_user - began.children_system,
                        2.2 if not SANITIZED else 20)

    def test_nothing_is_stopped_if_nothing_may_be(self):
        patient = sick("spin")
        self.addCleanup(end, patient)
        done = doctor("--no-stop", "--json", patient.pid)
        self.assertEqual(json.loads(done.stdout)["stops"], 0)

    @unittest.skipUnless(ROOT, "needs root")
    def test_in_another_namespace(self):
        patient = self.begin("unshare", "--pid", "--fork", "--mount", "--mount-proc", os.path.join(BIN, "sick"), "abba")
        with open(f"/proc/{patient.pid}/task/{patient.pid}/children") as file:
            inner = int(file.read().split()[0])
        for _ in range(10):
            done = doctor(inner)
            if done.returncode == 3:
                break
        self.assertIn("deadlock (certain)", done.stdout)
        self.assertRegex(done.stdout, r"lock_forwards at sick\.c:\d+")

    def test_a_core_file(self):
        patient = sick("abba")
        self.addCleanup(end, patient)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["gcore", "-o", f"{folder}/core", str(patient.pid)], capture_output=True, text=True) \
                if subprocess.run(["which", "gcore"], capture_output=True).returncode == 0 else None
            if done is None or done.returncode != 0:
                self.skipTest("no gcore")
            done = doctor(f"{folder}/core.{patient.pid}")
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn("deadlock (certain)", done.stdout)
            self.assertRegex(done.stdout, r"lock_backwards at sick\.c:\d+")
            # Cut off anywhere, it is refused or read as far as it goes.
            with open(f"{folder}/core.{patient.pid}", "rb") as file:
                whole = file.read()
            for length in (0, 3, 64, 1000, 5000, len(whole) // 2):
                with open(f"{folder}/cut", "wb") as file:
                    file.write(whole[:length])
                self.assertIn(doctor(f"{folder}/cut").returncode, (0, 1, 3))

    @unittest.skipUnless(ROOT, "needs root")
    def test_another_users_process_is_refused_with_a_sentence(self):
        patient = sick("abba")
        self.addCleanup(end, patient)
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = os.path.join(folder, "vigil")
            subprocess.run(["cp", VIGIL, copy], check=True)
            done = subprocess.run([copy, "doctor", str(patient.pid)], capture_output=True, text=True, user=65534, group=65534,
                                  extra_groups=[])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("It belongs to user 0, and you are user 65534", done.stdout)
        self.assertIn("as root (sudo)", done.stdout)

    def test_a_kernel_thread_and_an_ended_process(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        done = doctor(gone.pid)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not exist", done.stderr)
        if ROOT:
            self.assertIn(doctor(2).returncode, (0, 1))


class Beside(unittest.TestCase):
    def test_report_follows_the_locks_of_a_process_with_vigil(self):
        patient = start(os.environ["VIGIL_PATIENT"], "locks")
        self.addCleanup(end, patient)
        self.assertIn("deadlock", verdicts(patient))
        report = subprocess.run([VIGIL, "report", str(patient.pid)], capture_output=True, text=True, timeout=120)
        self.assertEqual(report.returncode, 3)
        self.assertIn("Locks: 1 thing is wrong", report.stdout)
        self.assertLess(report.stdout.index("Locks:"), report.stdout.index("Verdict:"))
        self.assertNotIn("nothing is wrong now\n", report.stdout)
        self.assertRegex(report.stdout, r"locks_in_order at patient\.c:\d+")
        report = subprocess.run([VIGIL, "report", "--json", str(patient.pid)], capture_output=True, text=True, timeout=120)
        self.assertEqual([f["kind"] for f in json.loads(report.stdout)["locks"]], ["deadlock"])

    def test_mutexes_of_vigil_have_owners(self):
        patient = start(os.environ["VIGIL_PATIENT"], "own-locks")
        self.addCleanup(end, patient)
        self.assertIn("deadlock", verdicts(patient))
        self.assertRegex(doctor(str(patient.pid)).stdout, r"waits for the Vigil mutex 0x[0-9a-f]+, held by thread \d+")

    def test_metrics_name_the_class_and_the_subject_of_a_verdict(self):
        patient = start(os.environ["VIGIL_PATIENT"], "all-blocked", env={**os.environ, "VIGIL_WATCHDOG": "on", "VIGIL_LOG": "off"})
        self.addCleanup(end, patient)
        text = ""
        for _ in range(600):  # the watchdog confirms what it finds
            text = subprocess.run([VIGIL, "metrics", str(patient.pid)], capture_output=True, text=True, timeout=120).stdout
            if "vigil_watchdog_verdict{" in text:
                break
            select.select([], [], [], 0.05)
        self.assertRegex(text, r'vigil_watchdog_verdict\{class="[a-z-]+",severity="[A-Z]+",number="\d+",subject="(worker \d+ of )?pool [^"]*"\} 1')

    def test_the_demo_has_patients(self):
        demo = lambda *words: subprocess.run([VIGIL, "demo", "--sick", *words], capture_output=True, text=True, timeout=120)
        names = [line.split()[0] for line in demo("list").stdout.splitlines()]
        self.assertGreaterEqual(len(names), 6)
        self.assertEqual(demo("nothing-like-it").returncode, 2)
        done = demo("abba")
        self.assertIn("transfer_money", done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)


class Words(unittest.TestCase):
    def test_what_is_no_patient(self):
        self.assertEqual(doctor().returncode, 2)
        self.assertIn("which process?", doctor().stderr)
        self.assertIn("no process and no file called 'nobody-is-called-so'", doctor("nobody-is-called-so").stderr)
        self.assertIn("is no core file", doctor(VIGIL).stderr)
        self.assertIn("is no core file", doctor("/dev/null").stderr)
        self.assertIn("No such file", doctor("/nowhere/core").stderr)

    def absent(self, what):
        """A patient with a page that never arrives."""
        patient = subprocess.Popen([os.path.join(BIN, "absent"), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(end, patient)
        line = patient.stdout.readline()
        if line.startswith("refused"):
            self.skipTest(f"a page that never arrives needs a right that this user lacks: {line.strip()}")
        self.assertEqual(line, "ready\n")
        return patient

    def test_a_page_that_never_arrives_does_not_keep_the_doctor(self):
        for what in ("lock", "stack", "words"):
            with self.subTest(what):
                patient = self.absent(what)
                told = json.loads(doctor("--json", "--all", patient.pid).stdout)
                self.assertIn("deadlock", [f["kind"] for f in told["findings"]])
                self.assertEqual(any("does not arrive" in note for note in told["notes"]), what == "lock", told["notes"])
                # The threads beside it have their stacks, and the page has cost nobody the time of all stacks.
                self.assertFalse(any("stacks" in note for note in told["notes"]), told["notes"])
                self.assertIn("absent.c:", doctor(patient.pid).stdout)

    def test_descriptors_without_another_end_are_named(self):
        for made, words in (("libc.timerfd_create(1, 0)", "the timer on descriptor 3, which is not set"),
                            ("libc.inotify_init()", "a change of a file (inotify on descriptor 3)")):
            with self.subTest(made):
                patient = subprocess.Popen([sys.executable, "-c", "import ctypes, os; libc = ctypes.CDLL(None); "
                                            f"fd = os.dup2({made}, 3); print('ready', flush=True); os.read(fd, 8)"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
                self.addCleanup(end, patient)
                self.assertEqual(patient.stdout.readline(), "ready\n")
                for _ in range(10):  # until it sleeps
                    told = doctor("--all", patient.pid).stdout
                    if words in told:
                        break
                self.assertIn(words, told)

    def test_a_tracer_is_named(self):
        code = ("import ctypes, os, signal; libc = ctypes.CDLL(None); pid = os.fork()\n"
                "if pid == 0: libc.ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGSTOP)\n"
                "os.waitpid(pid, os.WUNTRACED); print(pid, flush=True); signal.pause()")
        tracer = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  start_new_session=True)
        self.addCleanup(end, tracer)
        told = " ".join(doctor(int(tracer.stdout.readline())).stdout.split())
        with open(f"/proc/{tracer.pid}/comm") as name:
            self.assertIn(f"is stopped by a tracer, process {tracer.pid} ({name.read().strip()}).", told)
        self.assertIn("waits for its tracer: it is stopped", told)

    def test_semaphores_of_system_v_are_named_with_their_value(self):
        """A set of two; the child has acquired the second one, and has ended or sleeps."""
        for child, words in (("os._exit(0)", "changed it last, and has ended"), ("signal.pause()", ") changed it last")):
            with self.subTest(child):
                code = (f"""
import ctypes, os, signal
libc = ctypes.CDLL(None)
sets = libc.semget(0, 2, 0o600)
def step(number, by):
    return libc.semop(sets, (ctypes.c_short * 3)(number, by, 0), 1)
step(1, 3)
done, tell = os.pipe()
pid = os.fork()
if pid == 0:
    step(1, -2)
    os.write(tell, b"x")
    {child}
    os._exit(0)
os.read(done, 1)
if "_exit" in {child!r}:
    os.waitpid(pid, 0)
print("ready", sets, flush=True)
step(1, -2)
""")
                patient = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           text=True, start_new_session=True)
                self.addCleanup(end, patient)
                ready, number = patient.stdout.readline().split()
                self.assertEqual(ready, "ready")
                self.addCleanup(subprocess.run, ["ipcrm", "-s", number])
                for _ in range(10):  # until it sleeps
                    told = " ".join(doctor("--all", patient.pid).stdout.split())
                    if words in told:
                        break
                self.assertIn(f"the System V semaphore 1 of set {number}: it is 1 and has to be at least 2; process", told)
                self.assertIn(words, told)

    def test_a_page_that_never_arrives_does_not_keep_the_server(self):
        patient = self.absent("words")
        server = subprocess.Popen([VIGIL, "serve", "--port", "0", str(patient.pid)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (server.kill(), server.communicate()))
        url, _, token = server.stdout.readline().strip().partition("?token=")
        request = urllib.request.Request(url + "processes.json", headers={"Authorization": "Bearer " + token})
        with urllib.request.urlopen(request, timeout=120) as answer:
            found = {process["pid"]: process for process in json.loads(answer.read())["processes"]}
        self.assertEqual((found[patient.pid]["name"], found[patient.pid]["command"]), ("absent", ""))
        self.assertIn("ways.py", found[os.getpid()]["command"])

    def test_by_name_as_a_graph_and_watched(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "sick-by-name")
            subprocess.run(["cp", os.path.join(BIN, "sick"), program], check=True)
            patient = start(program, "abba")
            self.addCleanup(end, patient)
            self.assertIn("deadlock", verdicts(patient))
            self.assertIn("deadlock (certain)", doctor("sick-by-name").stdout)
            dot = doctor("--dot", patient.pid).stdout
            self.assertTrue(dot.startswith("digraph waits {") and dot.rstrip().endswith("}"))
            self.assertEqual(dot.count("color=red];\n"), 3 + 3)  # three threads, three waits
            watch = subprocess.Popen([VIGIL, "doctor", "--watch", "--interval", "1", str(patient.pid)], stdout=subprocess.PIPE,
                                     text=True)
            self.addCleanup(lambda: (watch.kill(), watch.communicate()))
            for line in watch.stdout:
                if "deadlock (certain)" in line:
                    break
            else:
                self.fail("the watch did not speak")
            end(patient)
            self.assertIn("has ended", watch.stdout.read())
            self.assertEqual(watch.wait(), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
