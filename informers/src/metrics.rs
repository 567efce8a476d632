//! Informers in a prometheus-client registry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use machinery_objects::Object;
use machinery_sync::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::{Informer, KeyedInformers, KeyedState, SelectorKey, State};

/// The informers of a process, for one registry. Each metric is one family with the label `name`.
///
/// ```
/// # #[cfg(feature = "testing")]
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use machinery_informers::testing::{FakeSource, TestObject};
/// # use machinery_objects::{Capabilities, ListWatch};
/// use machinery_informers::{Informer, Metrics};
/// use prometheus_client::{encoding::text, registry::Registry};
///
/// # let source: std::sync::Arc<dyn ListWatch<TestObject>> = std::sync::Arc::new(FakeSource::of_test_objects(Capabilities::ALL));
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

/// Others are watched under the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("others are watched as {name:?}; give each its own name, or drop those first")]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

/// What an informer of any type says of itself.
pub(crate) trait ObservedInformer: Send + Sync {
    fn observe(&self) -> ObservedState;
}

/// What is shown.
pub(crate) enum ObservedState {
    One(Box<State>),
    Keyed(Box<KeyedState>),
}

impl Metrics {
    /// No informers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows an informer under a name, as long as it exists.
    ///
    /// # Errors
    /// Others that still exist have the name.
    pub fn watch<T: Object>(&self, name: impl Into<String>, informer: &Informer<T>) -> Result<(), NameTaken> {
        self.add(name.into(), informer.observed())
    }

    /// Shows keyed informers under a name, as long as they exist.
    ///
    /// # Errors
    /// Others that still exist have the name.
    pub fn watch_keyed<F: SelectorKey, T: Object>(
        &self,
        name: impl Into<String>,
        informers: &KeyedInformers<F, T>,
    ) -> Result<(), NameTaken> {
        self.add(name.into(), informers.observed())
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

    /// What each says. Those that are gone are forgotten.
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

/// One family: name, help, and where its number is in whatever has it.
struct MetricFamily<T>(&'static str, &'static str, fn(&ObservedState) -> Option<T>);

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

const COUNTERS: [MetricFamily<u64>; 11] = [
    MetricFamily("machinery_informer_lists", "Pages that were asked for", |seen| {
        either(seen, |s| s.counts.lists, |s| s.counts.lists)
    }),
    MetricFamily("machinery_informer_watches", "Watches that were asked for", |seen| {
        either(seen, |s| s.counts.watches, |s| s.counts.opened)
    }),
    MetricFamily("machinery_informer_edits", "Edits of an interest that were asked for", |seen| {
        keyed(seen, |s| s.counts.edits)
    }),
    MetricFamily("machinery_informer_events", "Events of objects that came", |seen| {
        either(seen, |s| s.counts.events, |s| s.counts.events)
    }),
    MetricFamily("machinery_informer_late", "Changes that came after those that they came before", |seen| {
        either(seen, |s| s.counts.late, |s| s.counts.late)
    }),
    MetricFamily("machinery_informer_fenced", "Events for a key that nobody wanted any more", |seen| {
        keyed(seen, |s| s.counts.fenced)
    }),
    MetricFamily("machinery_informer_troubles", "Times that something was wrong", |seen| {
        either(seen, |s| s.counts.troubles, |s| s.counts.troubles)
    }),
    MetricFamily("machinery_informer_unreadable", "Objects that could not be read, each time", |seen| {
        either(seen, |s| s.counts.unreadable, |s| s.counts.unreadable)
    }),
    MetricFamily("machinery_informer_index_panics", "Times that a function of an index panicked", |seen| {
        one(seen, |s| s.counts.index_panics)
    }),
    MetricFamily("machinery_informer_audits", "Comparisons with a list", |seen| {
        one(seen, |s| s.counts.drift_checks)
    }),
    MetricFamily("machinery_informer_drifts", "Objects that differed from it", |seen| {
        one(seen, |s| s.counts.drifts)
    }),
];

const GAUGES: [MetricFamily<u64>; 11] = [
    MetricFamily("machinery_informer_synced", "Whether the cache has once been whole", |seen| {
        one(seen, |s| s.synced.into())
    }),
    MetricFamily("machinery_informer_objects", "Objects, or names, that are there", |seen| {
        either(seen, |s| s.objects as u64, |s| s.names as u64)
    }),
    MetricFamily(
        "machinery_informer_unreadable_now",
        "Objects that cannot be read, a thousand at most",
        |seen| either(seen, |s| s.unreadable.len() as u64, |s| s.unreadable.len() as u64),
    ),
    MetricFamily("machinery_informer_troubled", "Streams that are not up to date", |seen| {
        either(seen, |s| s.trouble.is_some().into(), |s| s.troubled as u64)
    }),
    MetricFamily("machinery_informer_handlers", "Those who are told", |seen| {
        either(seen, |s| s.handlers as u64, |s| s.handlers as u64)
    }),
    MetricFamily(
        "machinery_informer_handler_due",
        "Keys that the slowest of them is yet to be told of",
        |seen| either(seen, |s| s.lag.due as u64, |s| s.lag.due as u64),
    ),
    MetricFamily("machinery_informer_handler_panics", "Panics of those that there are", |seen| {
        either(seen, |s| s.lag.panics, |s| s.lag.panics)
    }),
    MetricFamily("machinery_informer_keys", "Keys that are wanted", |seen| keyed(seen, |s| s.keys as u64)),
    MetricFamily("machinery_informer_keys_complete", "Of these, those of which all has come", |seen| {
        keyed(seen, |s| s.complete as u64)
    }),
    MetricFamily("machinery_informer_interests", "Interests in keys", |seen| {
        keyed(seen, |s| s.interests as u64)
    }),
    MetricFamily("machinery_informer_streams", "Streams that are there", |seen| keyed(seen, |s| s.streams)),
];

const SECONDS: [MetricFamily<f64>; 2] = [
    MetricFamily("machinery_informer_silent_seconds", "For how long the source has said nothing", |seen| {
        either(seen, |s| Some(s.silent_for), |s| s.silent_for).flatten().map(|silent| silent.as_secs_f64())
    }),
    MetricFamily("machinery_informer_handler_lag_seconds", "How long something has been due", |seen| {
        either(seen, |s| s.lag.waiting.as_secs_f64(), |s| s.lag.waiting.as_secs_f64())
    }),
];

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let seen = self.observe();
        for each in &COUNTERS {
            family(&mut encoder, each, MetricType::Counter, &seen, |number, mut encoder| {
                encoder.encode_counter::<NoLabelSet, _, u64>(&number, None)
            })?;
        }
        for each in &GAUGES {
            family(&mut encoder, each, MetricType::Gauge, &seen, |number, mut encoder| {
                encoder.encode_gauge(&i64::try_from(number).unwrap_or(i64::MAX))
            })?;
        }
        for each in &SECONDS {
            family(&mut encoder, each, MetricType::Gauge, &seen, |number, mut encoder| {
                encoder.encode_gauge(&number)
            })?;
        }
        Ok(())
    }
}

fn family<T>(
    encoder: &mut DescriptorEncoder<'_>,
    MetricFamily(name, help, of): &MetricFamily<T>,
    kind: MetricType,
    seen: &[(String, ObservedState)],
    write: impl Fn(T, MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let numbers: Vec<_> = seen.iter().filter_map(|(name, seen)| Some((name, of(seen)?))).collect();
    if numbers.is_empty() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, kind)?;
    for (name, number) in numbers {
        write(number, family.encode_family(&[("name", name.as_str())])?)?;
    }
    Ok(())
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.informers.lock().keys()).finish()
    }
}
