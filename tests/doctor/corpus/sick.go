// SPDX-License-Identifier: MIT
// Two mutexes in two orders, while a timer keeps the runtime from noticing.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var left, right sync.Mutex
	var both sync.WaitGroup
	both.Add(2)
	cross := func(from, to *sync.Mutex) {
		from.Lock()
		both.Done()
		both.Wait()
		to.Lock()
	}
	go cross(&left, &right)
	go cross(&right, &left)
	both.Wait()
	fmt.Println("ready")
	for {
		time.Sleep(time.Second)
	}
}
