//! What a store is opened with.

use std::time::Duration;

use crate::contract::Limits;

/// How a store behaves. The default is fit for a control plane on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How much it takes.
    pub limits: Limits,
    /// How long it remembers.
    pub retention: Retention,
    /// Seeds its hash tables. Any number does; another one than your neighbour's if strangers choose the keys.
    pub seed: u64,
}

/// How long old states and changes are kept, for reads at a revision and for watches that resume. Whichever limit is reached
/// first compacts. It is looked at when something is committed, so a store at rest keeps what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Compacts what is older than this. None: never by age.
    pub age: Option<Duration>,
    /// Compacts what lies further back than so many revisions. None: never by count.
    pub revisions: Option<u64>,
}

impl Retention {
    /// Compacts only when it is asked to.
    pub const MANUAL: Self = Self { age: None, revisions: None };
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Some(Duration::from_secs(300)), revisions: Some(200_000) }
    }
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Keys, deleted ones included as long as their history is kept.
    pub keys: u64,
    /// Bytes of keys and values, old versions included. What the quota is about.
    pub bytes: u64,
    /// Revisions after the compacted one.
    pub revisions: u64,
}
