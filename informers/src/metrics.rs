//! Metrics of informers for a prometheus-client registry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use machinery_metrics::{Described, Description, MetricSet, Sampled, SampledFamilies};
use machinery_objects::Object;
use machinery_sync::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::{Informer, KeyedInformers, KeyedState, SelectorKey, State};

/// A collector of the metrics of informers. Each has the label `name`.
///
/// ```
/// # #[cfg(feature = "testing")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use machinery_informers::testing::{FakeSource, TestObject};
/// # use machinery_objects::{Capabilities, ListWatch};
/// use machinery_informers::{Informer, Metrics};
/// use prometheus_client::{encoding::text, registry::Registry};
///
/// # let fake = FakeSource::of_test_objects(Capabilities::ALL);
/// # let source: std::sync::Arc<dyn ListWatch<TestObject>> = std::sync::Arc::new(fake);
/// let things = Informer::<TestObject>::builder(source).build();
/// let metrics = Metrics::new();
/// metrics.watch("things", &things)?;
/// let mut registry = Registry::default();
/// registry.register_collector(Box::new(metrics));
///
/// let mut page = String::new();
/// text::encode(&mut page, &registry)?;
/// assert!(page.contains("machinery_informer_synced{name=\"things\"} 0\n"));
/// # Ok(()) }
/// # #[cfg(not(feature = "testing"))] fn main() {}
/// ```
#[derive(Clone, Default)]
pub struct Metrics {
    informers: Arc<Mutex<BTreeMap<String, Weak<dyn ObservedInformer>>>>,
}

/// Another informer is registered under the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another informer is registered as {name:?}; use another name, or drop that informer first")]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

/// An informer of any type, as a source of metrics.
pub(crate) trait ObservedInformer: Send + Sync {
    fn observe(&self) -> ObservedState;
}

/// The state of an informer.
pub(crate) enum ObservedState {
    One(Box<State>),
    Keyed(Box<KeyedState>),
}

impl Metrics {
    /// Creates a collector without informers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an informer under a name, for as long as it exists.
    ///
    /// # Errors
    /// The name is taken by another informer that still exists.
    pub fn watch<T: Object>(&self, name: impl Into<String>, informer: &Informer<T>) -> Result<(), NameTaken> {
        self.add(name.into(), informer.observed())
    }

    /// Adds keyed informers under a name, for as long as they exist.
    ///
    /// # Errors
    /// The name is taken by other informers that still exist.
    pub fn watch_keyed<F: SelectorKey, T: Object>(
        &self,
        name: impl Into<String>,
        informers: &KeyedInformers<F, T>,
    ) -> Result<(), NameTaken> {
        self.add(name.into(), informers.observed())
    }

    /// Returns the descriptions of all metrics.
    pub fn descriptions() -> impl Iterator<Item = Description> {
        INFORMERS.descriptions()
    }

    fn add(&self, name: String, observed: Weak<dyn ObservedInformer>) -> Result<(), NameTaken> {
        let mut informers = self.informers.lock();
        informers.retain(|_, other| other.strong_count() > 0);
        if informers.contains_key(&name) {
            return Err(NameTaken { name });
        }
        informers.insert(name, observed);
        Ok(())
    }

    /// Returns the state of each informer, and forgets dropped ones.
    fn observe(&self) -> Vec<(String, ObservedState)> {
        let mut live = Vec::new();
        self.informers.lock().retain(|name, informer| {
            let informer = informer.upgrade();
            live.extend(informer.as_ref().map(|informer| (name.clone(), informer.clone())));
            informer.is_some()
        });
        live.into_iter().map(|(name, informer)| (name, informer.observe())).collect()
    }
}

fn one<T>(seen: &ObservedState, of: impl Fn(&State) -> T) -> Option<T> {
    if let ObservedState::One(state) = seen { Some(of(state)) } else { None }
}

fn keyed<T>(seen: &ObservedState, of: impl Fn(&KeyedState) -> T) -> Option<T> {
    if let ObservedState::Keyed(state) = seen { Some(of(state)) } else { None }
}

fn either<T>(seen: &ObservedState, one: impl Fn(&State) -> T, keyed: impl Fn(&KeyedState) -> T) -> Option<T> {
    Some(match seen {
        ObservedState::One(state) => one(state),
        ObservedState::Keyed(state) => keyed(state),
    })
}

/// The metrics of all informers.
const INFORMERS: SampledFamilies<ObservedState> = SampledFamilies {
    row: "Informers",
    families: &[
        Sampled::counter("machinery_informer_lists", "Pages of lists requested", |seen| {
            either(seen, |s| s.counts.lists, |s| s.counts.lists)
        }),
        Sampled::counter("machinery_informer_watches", "Watches requested", |seen| {
            either(seen, |s| s.counts.watches, |s| s.counts.opened)
        }),
        Sampled::counter("machinery_informer_edits", "Edits of interest streams requested", |seen| {
            keyed(seen, |s| s.counts.edits)
        }),
        Sampled::counter("machinery_informer_events", "Events of objects received", |seen| {
            either(seen, |s| s.counts.events, |s| s.counts.events)
        }),
        Sampled::counter(
            "machinery_informer_late",
            "Changes received after a newer version of their object",
            |seen| either(seen, |s| s.counts.late, |s| s.counts.late),
        ),
        Sampled::counter("machinery_informer_fenced", "Events for a key without interest", |seen| {
            keyed(seen, |s| s.counts.fenced)
        }),
        Sampled::counter("machinery_informer_troubles", "Errors of reflectors", |seen| {
            either(seen, |s| s.counts.troubles, |s| s.counts.troubles)
        }),
        Sampled::counter(
            "machinery_informer_unreadable",
            "Unreadable objects received, with repetitions",
            |seen| either(seen, |s| s.counts.unreadable, |s| s.counts.unreadable),
        ),
        Sampled::counter("machinery_informer_index_panics", "Panics of index functions", |seen| {
            one(seen, |s| s.counts.index_panics)
        }),
        Sampled::counter("machinery_informer_audits", "Drift checks", |seen| {
            one(seen, |s| s.counts.drift_checks)
        }),
        Sampled::counter("machinery_informer_drifts", "Objects found to have drifted", |seen| {
            one(seen, |s| s.counts.drifts)
        }),
        Sampled::flag("machinery_informer_synced", "Whether the initial list is complete", |seen| {
            one(seen, |s| s.synced.into())
        }),
        Sampled::gauge("machinery_informer_objects", "Cached objects, or names of keyed informers", |seen| {
            either(seen, |s| s.objects as u64, |s| s.names as u64)
        }),
        Sampled::gauge(
            "machinery_informer_unreadable_now",
            "Unreadable objects, at most a thousand",
            |seen| either(seen, |s| s.unreadable.len() as u64, |s| s.unreadable.len() as u64),
        ),
        Sampled::gauge("machinery_informer_troubled", "Streams with an error", |seen| {
            either(seen, |s| s.trouble.is_some().into(), |s| s.troubled as u64)
        }),
        Sampled::gauge("machinery_informer_handlers", "Event handlers", |seen| {
            either(seen, |s| s.handlers as u64, |s| s.handlers as u64)
        }),
        Sampled::gauge("machinery_informer_handler_due", "Keys queued for the slowest handler", |seen| {
            either(seen, |s| s.lag.due as u64, |s| s.lag.due as u64)
        }),
        Sampled::gauge("machinery_informer_handler_panics", "Panics of the current handlers", |seen| {
            either(seen, |s| s.lag.panics, |s| s.lag.panics)
        }),
        Sampled::gauge("machinery_informer_keys", "Keys with an interest", |seen| {
            keyed(seen, |s| s.keys as u64)
        }),
        Sampled::gauge("machinery_informer_keys_complete", "Complete keys", |seen| {
            keyed(seen, |s| s.complete as u64)
        }),
        Sampled::gauge("machinery_informer_interests", "Interests in keys", |seen| {
            keyed(seen, |s| s.interests as u64)
        }),
        Sampled::gauge("machinery_informer_streams", "Open streams", |seen| keyed(seen, |s| s.streams)),
        Sampled::age(
            "machinery_informer_silent_seconds",
            "Time since the last event of the source",
            |seen| {
                either(seen, |s| Some(s.silent_for), |s| s.silent_for)
                    .flatten()
                    .map(|silent| silent.as_secs_f64())
            },
        ),
        Sampled::age(
            "machinery_informer_handler_lag_seconds",
            "Age of the oldest undelivered change",
            |seen| either(seen, |s| s.lag.waiting.as_secs_f64(), |s| s.lag.waiting.as_secs_f64()),
        ),
    ],
};

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        INFORMERS.encode(&mut encoder, &self.observe())
    }
}

impl Described for Metrics {
    fn register(&self, set: &mut MetricSet) {
        set.collect(self.clone(), Self::descriptions());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.informers.lock().keys()).finish()
    }
}
