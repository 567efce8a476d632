//! The metrics page of a queue.

use super::{default, ms, until};
use machinery_workqueue::{Config, Metrics, NameTaken, Queue};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

fn page(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics.clone()));
    let mut page = String::new();
    text::encode(&mut page, &registry).unwrap();
    page
}

/// client-go's `TestMetrics`, by the names that its dashboards use.
#[test]
fn the_names_are_client_gos() {
    let (queue, clock) = default();
    let metrics = Metrics::new();
    metrics.watch("hosts", &queue).unwrap();
    queue.add(1).unwrap();
    queue.add(1).unwrap();
    queue.add(2).unwrap();
    queue.add_after(3, ms(60_000)).unwrap();
    clock.advance(ms(3));
    let work = queue.try_get().unwrap();
    clock.advance(ms(1500));
    work.retry("no");
    let out = queue.try_get().unwrap();
    clock.advance(ms(700));

    let page = page(&metrics);
    let has = |line: &str| assert!(page.contains(line), "no {line:?} in:\n{page}");
    has("workqueue_depth{name=\"hosts\"} 1\n");
    has("workqueue_adds_total{name=\"hosts\"} 3\n");
    has("workqueue_retries_total{name=\"hosts\"} 1\n");
    has("workqueue_delayed{name=\"hosts\"} 1\n");
    has("workqueue_out{name=\"hosts\"} 1\n");
    has("workqueue_merged_total{name=\"hosts\"} 1\n");
    has("workqueue_unfinished_work_seconds{name=\"hosts\"} 0.7");
    has("workqueue_longest_running_processor_seconds{name=\"hosts\"} 0.7");
    has("workqueue_work_duration_seconds_sum{name=\"hosts\"} 1.5");
    has("workqueue_work_duration_seconds_bucket{le=\"1.024\",name=\"hosts\"} 0");
    has("workqueue_work_duration_seconds_bucket{le=\"2.048\",name=\"hosts\"} 1");
    has("workqueue_queue_duration_seconds_count{name=\"hosts\"} 2");
    has("workqueue_queue_duration_seconds_bucket{le=\"0.004\",name=\"hosts\"} 1");
    out.done();
}

/// A worker that waited for a cache after its work inflated the work duration.
#[test]
fn a_held_key_is_not_counted_as_worked_on() {
    let (queue, clock) = default();
    let metrics = Metrics::new();
    metrics.watch("hosts", &queue).unwrap();
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    clock.advance(ms(100));
    work.hold();
    clock.advance(ms(5000));
    work.hold();
    let now = page(&metrics);
    let has = |page: &str, line: &str| assert!(page.contains(line), "no {line:?} in:\n{page}");
    has(&now, "workqueue_out{name=\"hosts\"} 0\n");
    has(&now, "workqueue_held{name=\"hosts\"} 1\n");
    has(&now, "workqueue_unfinished_work_seconds{name=\"hosts\"} 0.0");
    has(&now, "workqueue_longest_running_processor_seconds{name=\"hosts\"} 0.0");
    queue.add(1).unwrap();
    assert!(queue.try_get().is_none(), "it is out as before");
    work.done();
    let then = page(&metrics);
    has(&then, "workqueue_held{name=\"hosts\"} 0\n");
    has(&then, "workqueue_work_duration_seconds_sum{name=\"hosts\"} 0.1");
    has(&then, "workqueue_held_duration_seconds_sum{name=\"hosts\"} 5.0");
    assert!(queue.try_get().is_some());
}

#[test]
fn many_queues_are_one_family_each_and_names_are_unique() {
    let (metrics, (first, _), (second, _)) = (Metrics::new(), default(), default());
    metrics.watch("a", &first).unwrap();
    metrics.watch("b", &second).unwrap();
    assert_eq!(metrics.watch("a", &second), Err(NameTaken { name: "a".into() }));
    let both = page(&metrics);
    assert_eq!(both.matches("# TYPE workqueue_depth gauge").count(), 1, "{both}");
    assert_eq!(both.matches("\nworkqueue_depth{name=").count(), 2);
}

/// client-go's `TestMetricShutdown`: a dropped queue is not reported, and the collector does not
/// keep it alive.
#[tokio::test]
async fn a_dropped_queue_leaves_the_scrape_and_frees_its_name() {
    let metrics = Metrics::new();
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    metrics.watch("a", &queue).unwrap();
    assert!(page(&metrics).contains("name=\"a\""));
    drop(queue);
    let (next, _clock) = default();
    // The driver may hold the queue for the moment of an advance.
    until(|| metrics.watch("a", &next).is_ok()).await;
    assert_eq!(page(&metrics).matches("workqueue_depth{").count(), 1);
}
