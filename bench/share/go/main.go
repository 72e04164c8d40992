// SPDX-License-Identifier: MIT

// The bench of green channels for Go: goroutines and its own channels. An unbounded one does not exist there.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	words := map[string]int{"producers": 1, "n": 1000, "param": 0}
	for _, word := range os.Args[2:] {
		key, value, _ := strings.Cut(word, "=")
		words[key], _ = strconv.Atoi(value)
	}
	if os.Args[1] != "share-green" || words["param"] < 0 {
		fmt.Println("trouble Go has no unbounded channel")
		return
	}
	producers := words["producers"]
	each := words["n"] / producers
	messages := make(chan uint64, words["param"])
	sums := make([]uint64, producers)
	var all sync.WaitGroup
	all.Add(2 * producers)
	begin := time.Now()
	for i := 0; i < producers; i++ {
		go func() {
			for m := 1; m <= each; m++ {
				messages <- uint64(m)
			}
			all.Done()
		}()
		go func(sum *uint64) {
			s := uint64(0)
			for m := 0; m < each; m++ {
				s += <-messages
			}
			*sum = s
			all.Done()
		}(&sums[i])
	}
	all.Wait()
	took := time.Since(begin)
	sum := uint64(0)
	for _, s := range sums {
		sum += s
	}
	if sum != uint64(each)*uint64(each+1)/2*uint64(producers) {
		fmt.Println("trouble a message was lost")
		return
	}
	fmt.Printf("ns_per_op %.6f\n", float64(took.Nanoseconds())/float64(each*producers))
}
