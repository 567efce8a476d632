package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// provider gives client-go the metrics that Kubernetes' own components use: Prometheus, labelled by queue name,
// with the buckets of k8s.io/component-base.
type provider struct{}

var (
	labels  = []string{"name"}
	buckets = prometheus.ExponentialBuckets(10e-9, 10, 12)

	depth        = gauge("depth")
	unfinished   = gauge("unfinished_work_seconds")
	longest      = gauge("longest_running_processor_seconds")
	adds         = counter("adds_total")
	retries      = counter("retries_total")
	latency      = histogram("queue_duration_seconds")
	workDuration = histogram("work_duration_seconds")
)

func init() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(depth, unfinished, longest, adds, retries, latency, workDuration)
}

func gauge(name string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "workqueue", Name: name}, labels)
}

func counter(name string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "workqueue", Name: name}, labels)
}

func histogram(name string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Subsystem: "workqueue", Name: name, Buckets: buckets}
	return prometheus.NewHistogramVec(opts, labels)
}

func (provider) NewDepthMetric(name string) workqueue.GaugeMetric  { return depth.WithLabelValues(name) }
func (provider) NewAddsMetric(name string) workqueue.CounterMetric { return adds.WithLabelValues(name) }

func (provider) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return latency.WithLabelValues(name)
}

func (provider) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return workDuration.WithLabelValues(name)
}

func (provider) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return unfinished.WithLabelValues(name)
}

func (provider) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return longest.WithLabelValues(name)
}

func (provider) NewRetriesMetric(name string) workqueue.CounterMetric {
	return retries.WithLabelValues(name)
}
