package main

import (
	"runtime"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"
)

// lap sums the wall and CPU time of one or more timed stretches.
type lap struct {
	wall, cpu  time.Duration
	startedAt  time.Time
	startedCPU time.Duration
}

func (l *lap) start() {
	l.startedCPU = cpuTime()
	l.startedAt = time.Now()
}

func (l *lap) stop() {
	l.wall += time.Since(l.startedAt)
	l.cpu += cpuTime() - l.startedCPU
}

// per is the time of one of n operations.
func (l *lap) per(n int) Figures {
	return Figures{"ns": float64(l.wall.Nanoseconds()) / float64(n), "cpu_ns": float64(l.cpu.Nanoseconds()) / float64(n)}
}

func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // Linux always has this clock
	}
	return time.Duration(t.Nano())
}

// liveHeap is the heap after a full collection: what is reachable.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // the first one may leave finalizers and sweeping to the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// peakHeap watches the heap, garbage included, until stopped.
type peakHeap struct {
	stop chan struct{}
	peak chan float64
}

func watchHeap() peakHeap {
	watch := peakHeap{stop: make(chan struct{}), peak: make(chan float64)}
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		peak := 0.0
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			peak = max(peak, float64(sample[0].Value.Uint64()))
			select {
			case <-watch.stop:
				watch.peak <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return watch
}

func (w peakHeap) finish() float64 {
	close(w.stop)
	return <-w.peak
}
