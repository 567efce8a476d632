//! Promise 9, spans: one per run.

use crate::fixture::{Fixture, controlled, next, of, part, plane};
use machinery_controllers::{Controller, Next, Run};
use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::sync::Once;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Subscriber, subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

/// Records the fields of each span in order. The subscriber is global and its interest is cached
/// for all threads, so records are per thread.
struct FieldLayer;

/// Fields recorded on this thread.
pub(crate) fn noted() -> Vec<String> {
    NOTES.take()
}

thread_local! {
    static NOTES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn noting() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| subscriber::set_global_default(Registry::default().with(FieldLayer)).unwrap());
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for FieldLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        attributes.record(&mut FieldVisitor(attributes.metadata().name()));
    }

    fn on_record(&self, _: &Id, record: &Record<'_>, _: Context<'_, S>) {
        record.record(&mut FieldVisitor("then"));
    }
}

struct FieldVisitor(&'static str);

impl Visit for FieldVisitor {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let note = format!("{} {}={value:?}", self.0, field.name());
        NOTES.with_borrow_mut(|notes| notes.push(note));
    }
}

#[tokio::test(start_paused = true)]
async fn p09_a_run_is_one_span() {
    noting();
    let stage = Fixture::new();
    let plane = plane();
    plane.put(part("n/a"));
    let controller = of(&stage.informer(&plane)).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    let first = next(&mut started).await;
    let ids =
        |run: &Run| run.traceparent().map(|own| (own.trace().to_string(), own.span().to_string())).unwrap();
    let (trace, span) = ids(&first.run);
    first.answers(Err("no".into()));
    let second = next(&mut started).await;
    let (other_trace, other_span) = ids(&second.run);
    second.done();
    tokio::task::yield_now().await;
    let expected = [
        "reconcile controller=parts",
        "reconcile object=n/a",
        "reconcile attempt=0",
        r#"reconcile causes=["parts added 1 (×1)"]"#,
        &format!("then trace_id={trace}"),
        &format!("then span_id={span}"),
        r#"then result="failed""#,
        "reconcile controller=parts",
        "reconcile object=n/a",
        "reconcile attempt=1",
        r#"reconcile causes=["parts added 1 (×1)", "retry 1 (×1)"]"#,
        &format!("then trace_id={other_trace}"),
        &format!("then span_id={other_span}"),
        r#"then result="done""#,
    ];
    assert_eq!(NOTES.take(), expected);
}

/// A key whose `Display` panics.
#[derive(Clone, PartialEq, Eq, Hash)]
struct UndisplayableKey(u32);

impl fmt::Display for UndisplayableKey {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

#[tokio::test(start_paused = true)]
async fn p03_a_key_with_panicking_display_loses_no_worker() {
    noting();
    let stage = Fixture::new();
    let controller = Controller::of_requests("odd").build().unwrap();
    let (runs, stopping) = (controller.clone(), stage.stopping.clone());
    let reconcile = |_: UndisplayableKey, _: Run| async { Ok::<_, Infallible>(Next::Done) };
    stage.tasks.spawn(async move { runs.run(reconcile, stopping).await });
    while !controller.request(UndisplayableKey(0), &"asked for").await {
        tokio::task::yield_now().await;
    }
    for number in 1..100 {
        assert!(controller.request(UndisplayableKey(number), &"asked for").await);
    }
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    let counts = controller.state().counts;
    assert!(counts.panicked >= 100, "more than there are workers: {counts:?}");
}
