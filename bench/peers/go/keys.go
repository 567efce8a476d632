package main

import (
	"fmt"
	"time"
)

// makeKeys are n distinct texts of 24 bytes, the same as the Rust side's.
func makeKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("ns-%04d/object-%09d", i%1000, i)
	}
	return keys
}

// indexOf reads a key's number back out of its text.
func indexOf(key string) int {
	n := 0
	for _, digit := range []byte(key[len(key)-9:]) {
		n = n*10 + int(digit-'0')
	}
	return n
}

// chance is the same small generator (SplitMix64) as the Rust side's, so that both meet the same orders and delays.
type chance uint64

func (c *chance) next() uint64 {
	*c += 0x9e3779b97f4a7c15
	z := uint64(*c)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (c *chance) below(n int) int { return int(c.next() % uint64(n)) }

// From this many keys on, they are visited in a random order: a small queue sits in the cache anyway.
const shuffledFrom = 100_000

// order says in which order n keys are visited.
func order(n int) []uint32 {
	indexes := make([]uint32, n)
	for i := range indexes {
		indexes[i] = uint32(i)
	}
	if n >= shuffledFrom {
		c := chance(1)
		for i := n - 1; i > 0; i-- {
			j := c.below(i + 1)
			indexes[i], indexes[j] = indexes[j], indexes[i]
		}
	}
	return indexes
}

// delays are two to two and a quarter hours, so that nothing falls due while a shape runs.
func delays(n int) []time.Duration {
	c := chance(2)
	waits := make([]time.Duration, n)
	for i := range waits {
		waits[i] = 2*time.Hour + time.Duration(c.below(900_000))*time.Millisecond
	}
	return waits
}

// readd is the delay with which pass p adds key i again: later than it waits (the add merges into what is there), or,
// if sooner, for every second key sooner (its entry moves).
func readd(wait time.Duration, sooner bool, pass, i int) time.Duration {
	step := time.Duration(pass+1) * 10 * time.Second
	if sooner && (pass+i)%2 == 0 {
		return wait - step
	}
	return wait + step
}
