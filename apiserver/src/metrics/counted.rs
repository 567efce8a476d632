//! Counters of limits, timeouts and failures, for operators of a server.

use machinery_metrics::{Description, MetricSet};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// A limit that was reached, or a timeout or failure: an event that operators count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A request handler panicked.
    Panic,
    /// The limit of concurrent requests, or of buffered bodies, was reached.
    TooManyRequests,
    TooManyWatches,
    /// A request exceeded its time limit.
    LateAnswer,
    /// The limit of concurrent guard checks of a kind was reached.
    TooManyGuards,
    /// A guard check exceeded its time limit.
    LateGuard,
    /// A webhook call failed, or had no valid response.
    FailedWebhook,
    /// The body of a request was incomplete at its deadline.
    LateBody,
    /// A handshake, or a request's head, was incomplete at its deadline.
    #[cfg(feature = "server")]
    LateHead,
    /// A connection without requests was closed by its idle timeout.
    #[cfg(feature = "server")]
    Idle,
    /// A client did not read its response before the write-stall timeout.
    #[cfg(feature = "server")]
    SlowReader,
    /// A watcher did not read its events before the write-stall timeout.
    #[cfg(feature = "server")]
    SlowWatch,
    /// An HTTP/2 connection was closed because its client did not authenticate.
    #[cfg(feature = "server")]
    UnknownClient,
    /// A connection whose client had not authenticated was closed in favour of another one.
    #[cfg(feature = "server")]
    Displaced,
    /// A connection was closed because the client's certificate had expired.
    #[cfg(feature = "server")]
    ExpiredCertificate,
    /// A connection could not be accepted, because the process or the system had no descriptor.
    #[cfg(feature = "server")]
    NoDescriptor,
}

/// A counter per [`Event`].
#[derive(Clone, Debug, Default)]
pub(crate) struct EventCounters(Family<Label, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    why: &'static str,
}

impl Event {
    /// Returns the name in metrics.
    const fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::TooManyRequests => "too_many_requests",
            Self::TooManyWatches => "too_many_watches",
            Self::LateAnswer => "late_answer",
            Self::TooManyGuards => "too_many_guards",
            Self::LateGuard => "late_guard",
            Self::FailedWebhook => "failed_webhook",
            Self::LateBody => "late_body",
            #[cfg(feature = "server")]
            Self::LateHead => "late_head",
            #[cfg(feature = "server")]
            Self::Idle => "idle",
            #[cfg(feature = "server")]
            Self::SlowReader => "slow_reader",
            #[cfg(feature = "server")]
            Self::SlowWatch => "slow_watch",
            #[cfg(feature = "server")]
            Self::UnknownClient => "unknown_client",
            #[cfg(feature = "server")]
            Self::Displaced => "displaced",
            #[cfg(feature = "server")]
            Self::ExpiredCertificate => "expired_certificate",
            #[cfg(feature = "server")]
            Self::NoDescriptor => "no_descriptor",
        }
    }
}

impl EventCounters {
    pub(crate) fn add(&self, event: Event) {
        self.0.get_or_create(&Label { why: event.name() }).inc();
    }

    #[cfg(feature = "server")]
    pub(crate) fn add_all(&self, event: Event, times: usize) {
        self.0.get_or_create(&Label { why: event.name() }).inc_by(times as u64);
    }

    #[cfg(test)]
    pub(crate) fn of(&self, event: Event) -> u64 {
        self.0.get_or_create(&Label { why: event.name() }).get()
    }

    pub(super) fn register(&self, set: &mut MetricSet) {
        let help = "Requests, watches and connections that a limit or failure ended, by reason";
        let refused = Description::counter("machinery_refused", help).labels(&["why"]).row("Limits");
        set.register(refused, self.0.clone());
    }
}
