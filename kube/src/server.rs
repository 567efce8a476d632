//! What is known of a server before it is asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a server can do, and how much is taken from it: `Server { watches_state: false, ..Server::kubernetes() }`.
#[derive(Clone, Debug)]
pub struct Server {
    /// It is Machinery's: it has interests, and holds fences. To a server that has none a fence is noise, so one that is not
    /// said to be ours is never sent one.
    pub machinery: bool,
    /// A watch can begin with the state. Kubernetes has it by default in 1.32 and from 1.34 on; a server since 1.27 that has it turned
    /// off is found out, and answered for with [`Unsupported`](machinery_objects::SourceError::Unsupported). Say `false`
    /// of what is older: it takes the parameter for noise, and never says that the state has ended.
    pub watches_state: bool,
    /// Its versions are numbers of one store. Kubernetes says so from 1.35 on, and it was so on etcd before. Say `false`
    /// of an aggregated API with a storage of its own.
    pub versions_are_ordered: bool,
    /// How long an answer may take: the whole of one, or the beginning of a watch. A server of Kubernetes gives up after 60
    /// seconds.
    pub patience: Duration,
    /// Bytes of an answer. A longer one is an error; ask for pages.
    pub answer_bytes: usize,
    /// Bytes of a line of a watch. A longer one is an error, and the watch is over.
    pub line_bytes: usize,
    /// Where the IDs of interests come from.
    pub ids: Ids,
}

impl Server {
    /// Any server of Kubernetes that is not old.
    #[must_use]
    pub fn kubernetes() -> Self {
        Self {
            machinery: false,
            watches_state: true,
            versions_are_ordered: true,
            patience: Duration::from_secs(90),
            answer_bytes: 1 << 30,
            line_bytes: 16 << 20,
            ids: Ids::default(),
        }
    }

    /// A server of Machinery.
    #[must_use]
    pub fn machinery() -> Self {
        Self { machinery: true, ..Self::kubernetes() }
    }
}

/// Numbers that nobody else has. By default the operating system gives them.
#[derive(Clone)]
pub struct Ids(Arc<dyn Fn() -> u128 + Send + Sync>);

impl Ids {
    /// From somewhere else, as a simulation wants it.
    pub fn new(next: impl Fn() -> u128 + Send + Sync + 'static) -> Self {
        Self(Arc::new(next))
    }

    /// As an interest is called: there is a decimal digit in it.
    pub(crate) fn next(&self) -> String {
        format!("0{:032x}", (self.0)())
    }
}

impl Default for Ids {
    /// # Panics
    /// Asked for one, if the system has no randomness to give.
    fn default() -> Self {
        Self::new(|| {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).expect("the operating system gives randomness");
            u128::from_le_bytes(bytes)
        })
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}
