//! The configured features and limits of a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The features of a server, and limits for its responses:
/// `ServerProfile { watches_state: false, ..ServerProfile::kubernetes() }`.
#[derive(Clone, Debug)]
pub struct ServerProfile {
    /// Whether it is a server of Machinery, which supports interests and enforces fences. Other
    /// servers ignore a fence, so none is sent to them.
    pub machinery: bool,
    /// Whether a watch can begin with the state (`sendInitialEvents`). Kubernetes has it by default
    /// in 1.32 and from 1.34 on; a server since 1.27 with the feature turned off is detected, and
    /// reported as [`Unsupported`](machinery_objects::SourceError::Unsupported). Set `false` for
    /// older servers: they ignore the parameter, and never report the end of the state.
    pub watches_state: bool,
    /// Whether versions are numbers of one store. Kubernetes guarantees it from 1.35 on, and etcd
    /// did before. Set `false` for an aggregated API with its own storage.
    pub versions_are_ordered: bool,
    /// Timeout of a complete response, or of the start of a watch. Kubernetes servers give up after
    /// 60 seconds.
    pub response_timeout: Duration,
    /// Maximum bytes of a response. A longer one is an error; use pages.
    pub answer_bytes: usize,
    /// Maximum bytes of a watch event. A longer one is an error, and ends the watch.
    pub line_bytes: usize,
    /// The source of interest ids.
    pub ids: InterestIds,
}

impl ServerProfile {
    /// The profile of any recent Kubernetes.
    #[must_use]
    pub fn kubernetes() -> Self {
        Self {
            machinery: false,
            watches_state: true,
            versions_are_ordered: true,
            // Above the 60 seconds of servers, so that the server's own error arrives first.
            response_timeout: Duration::from_secs(90),
            answer_bytes: 1 << 30,
            line_bytes: 16 << 20,
            ids: InterestIds::default(),
        }
    }

    /// The profile of a server of Machinery.
    #[must_use]
    pub fn machinery() -> Self {
        Self { machinery: true, ..Self::kubernetes() }
    }
}

/// A source of unique interest ids. By default from the operating system.
#[derive(Clone)]
pub struct InterestIds(Arc<dyn Fn() -> u128 + Send + Sync>);

impl InterestIds {
    /// Creates a source from a function, for simulations.
    pub fn new(next: impl Fn() -> u128 + Send + Sync + 'static) -> Self {
        Self(Arc::new(next))
    }

    /// Returns the id of an interest: it contains a decimal digit.
    pub(crate) fn next(&self) -> String {
        // An ID needs a decimal digit, which a random number may lack in hexadecimal.
        format!("0{:032x}", (self.0)())
    }
}

impl Default for InterestIds {
    /// # Panics
    /// On use, if the operating system has no random numbers.
    fn default() -> Self {
        Self::new(|| {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).expect("the operating system gives randomness");
            u128::from_le_bytes(bytes)
        })
    }
}

impl fmt::Debug for InterestIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InterestIds")
    }
}
