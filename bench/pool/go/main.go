// SPDX-License-Identifier: MIT

// The pool benches for Go. The measuring is that of harness.c, written again: goroutines cannot be driven from C at a fair
// price. The scheduler with GOMAXPROCS = workers is the pool, `go f()` is submit.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe" // and for go:linkname
)

const (
	warmUpTasks = 10000
	warmUpWakes = 100
	fibLimit    = 27
)

var (
	bench                        string
	workers, producers, n, param int
	startOfAll                   = time.Now()
)

func now() int64 { return int64(time.Since(startOfAll)) }

func emit(key string, value float64) { fmt.Printf("%s %.6f\n", key, value) }

// ---- counting: a counter for each P, because a goroutine has no thread of its own

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

type slot struct {
	count uint64
	_     [120]byte
}

var slots [2048]slot

func count() {
	mine := &slots[procPin()]
	atomic.StoreUint64(&mine.count, mine.count+1) // one writer: pinned to its P
	procUnpin()
}

func counted() (sum uint64) {
	for i := range slots[:runtime.GOMAXPROCS(0)] {
		sum += atomic.LoadUint64(&slots[i].count)
	}
	return
}

func waitCounted(total uint64) {
	for counted() < total {
		time.Sleep(100 * time.Microsecond)
	}
}

// ---- pool-submit, pool-scale

func work(rounds uint64) uint64 {
	x := rounds | 1
	for i := uint64(0); i < rounds; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

var (
	sink       uint64
	workRounds uint64
)

func workTask() {
	if work(workRounds) == 0 { // never: xorshift does not reach 0, but the compiler does not know
		atomic.StoreUint64(&sink, 1)
	}
	count()
}

func rounds(ns int64) uint64 {
	const steps = 200000
	best := int64(1) << 62
	for i := 0; i < 20; i++ {
		start := now()
		if work(steps) == 0 {
			atomic.StoreUint64(&sink, 1)
		}
		if took := now() - start; took < best {
			best = took
		}
	}
	return uint64((steps*ns + best/2) / best)
}

// Before any other goroutine runs, the main one may set the counters back.
func resetCounts() {
	for i := range slots {
		slots[i].count = 0
	}
}

func submitAll(f func()) int64 {
	for i := 0; i < warmUpTasks; i++ {
		go count()
	}
	waitCounted(warmUpTasks)
	var wait sync.WaitGroup
	wait.Add(producers)
	start := now()
	for p := 0; p < producers; p++ {
		share := n*(p+1)/producers - n*p/producers
		go func() {
			for i := 0; i < share; i++ {
				go f()
			}
			wait.Done()
		}()
	}
	wait.Wait()
	waitCounted(uint64(warmUpTasks + n))
	return now() - start
}

func poolScale() {
	n = n / param
	workRounds = rounds(int64(param))
	start := now()
	for i := 0; i < n; i++ {
		workTask()
	}
	serial := now() - start
	resetCounts()
	took := submitAll(workTask)
	lanes := workers
	if cpus := runtime.NumCPU(); lanes > cpus {
		lanes = cpus
	}
	emit("efficiency", float64(serial)/(float64(took)*float64(lanes)))
	emit("ns_per_op", float64(took)/float64(n))
}

// ---- pool-wake

func sleepInKernel(d time.Duration) {
	rest := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&rest, &rest) == syscall.EINTR {
	}
}

type cpuSet [16]uint64

var firstCPU cpuSet

func setAffinity(tid int, cpus *cpuSet) {
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), unsafe.Sizeof(*cpus), uintptr(unsafe.Pointer(cpus)))
}

// Keep all threads, and those that they start, off the first CPU; as bench_pin(0).
func leaveFirstCPU() {
	var others cpuSet
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(others), uintptr(unsafe.Pointer(&others)))
	for i, word := range others {
		if word != 0 {
			firstCPU[i] = word & -word
			others[i] &^= firstCPU[i]
			break
		}
	}
	if others == (cpuSet{}) {
		trouble("it needs two CPUs")
	}
	tasks, _ := filepath.Glob("/proc/self/task/[0-9]*")
	for _, task := range tasks {
		tid, _ := strconv.Atoi(filepath.Base(task))
		setAffinity(tid, &others)
	}
}

func poolWake() {
	runtime.LockOSThread() // a thread outside the pool that sleeps in the kernel, as for the other peers
	if param != 0 {
		leaveFirstCPU()
	}
	samples := make([]int64, n+warmUpWakes)
	var seen int64
	for i := range samples {
		if i == warmUpWakes && param != 0 {
			setAffinity(0, &firstCPU)
		}
		sleepInKernel(time.Millisecond)
		for atomic.LoadInt64(&seen) != int64(i) {
			sleepInKernel(100 * time.Microsecond)
		}
		sample := &samples[i]
		sent := now()
		go func() {
			*sample = now() - sent
			atomic.AddInt64(&seen, 1)
		}()
		runtime.Gosched() // gives the scheduler's P away at once, instead of when sysmon finds out
	}
	for atomic.LoadInt64(&seen) != int64(len(samples)) {
		sleepInKernel(100 * time.Microsecond)
	}
	samples = samples[warmUpWakes:]
	sort.Slice(samples, func(a, b int) bool { return samples[a] < samples[b] })
	emit("p50_us", float64(samples[n/2])/1e3)
	emit("p99_us", float64(samples[n*99/100])/1e3)
}

// ---- pool-idle

func numberAfter(path, label string) (number uint64) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, label) {
			words := strings.Fields(line[len(label):])
			if len(words) > 0 {
				number, _ = strconv.ParseUint(words[0], 10, 64)
			}
			return
		}
	}
	return
}

func activity() (switches, cpu uint64) {
	tasks, _ := filepath.Glob("/proc/self/task/[0-9]*")
	for _, task := range tasks {
		if filepath.Base(task) == strconv.Itoa(syscall.Gettid()) {
			continue
		}
		switches += numberAfter(task+"/status", "voluntary_ctxt_switches:")
		cpu += numberAfter(task+"/schedstat", "")
	}
	return
}

func poolIdle() {
	runtime.LockOSThread()
	for i := 0; i < warmUpTasks; i++ {
		go count()
	}
	waitCounted(warmUpTasks)
	calm := 500 * time.Millisecond
	if n < 1000 {
		calm = time.Duration(n/2) * time.Millisecond
	}
	sleepInKernel(calm)
	switches, cpu := activity()
	start := now()
	sleepInKernel(time.Duration(n) * time.Millisecond)
	seconds := float64(now()-start) / 1e9
	switchesAfter, cpuAfter := activity()
	emit("switches_per_s", float64(switchesAfter-switches)/seconds)
	emit("cpu_us_per_s", float64(cpuAfter-cpu)/1e3/seconds)
}

// ---- pool-spawn

func fibCalls(n int) float64 {
	last, calls := 1.0, 1.0
	for i := 2; i <= n; i++ {
		last, calls = calls, last+calls+1
	}
	return calls
}

//go:noinline
func serialFib(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return serialFib(n-1) + serialFib(n-2)
}

func spawnFib(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	var left uint64
	var wait sync.WaitGroup
	wait.Add(1)
	go func() {
		left = spawnFib(n - 1)
		wait.Done()
	}()
	right := spawnFib(n - 2)
	wait.Wait()
	return left + right
}

func poolSpawn() {
	if n > fibLimit {
		n = fibLimit
	}
	serial := int64(1) << 62
	for i := 0; i < 3; i++ {
		start := now()
		sink = serialFib(n)
		if took := now() - start; took < serial {
			serial = took
		}
	}
	spawnFib(20)
	start := now()
	value := spawnFib(n)
	took := now() - start
	if value != sink {
		trouble("fib by goroutines is wrong")
	}
	emit("ns_per_op", float64(took)/fibCalls(n))
	emit("over_serial_ns_per_spawn", float64(took-serial)/((fibCalls(n)-1)/2))
}

func trouble(text string) {
	fmt.Println("trouble", text)
	os.Exit(3)
}

func main() {
	bench = "nothing"
	if len(os.Args) > 1 {
		bench = os.Args[1]
		for _, word := range os.Args[2:] {
			parts := strings.SplitN(word, "=", 2)
			number, err := strconv.Atoi(parts[len(parts)-1])
			place := map[string]*int{"workers": &workers, "producers": &producers, "n": &n, "param": &param}[parts[0]]
			if place == nil || err != nil {
				trouble("unknown word " + word)
			}
			*place = number
		}
	}
	runtime.GOMAXPROCS(workers)
	if bench == "pool-wake" || bench == "pool-idle" {
		debug.SetGCPercent(-1) // its few KB need no collection, whose threads would be counted
	}
	switch bench {
	case "pool-submit", "pool-crowd":
		emit("ns_per_op", float64(submitAll(count))/float64(n))
	case "pool-scale", "pool-short", "pool-short-spawned": // a goroutine makes all others in any case
		poolScale()
	case "pool-wake":
		poolWake()
	case "pool-idle":
		poolIdle()
	case "pool-spawn":
		poolSpawn()
	default:
		trouble("this peer has no " + bench)
	}
}
