//! Failures of items, of ports and of calls of an actuator.

use std::time::Duration;

/// The reason why a change of one item failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemFailure<E> {
    /// The port failed for this item.
    #[error("{0}")]
    Failed(E),
    /// The change made no progress for the time limit.
    #[error("the change made no progress for {limit:?}; it is repeated alone")]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// The port panicked.
    #[error("the change panicked: {text}")]
    Panicked {
        /// The text of the panic.
        text: Box<str>,
    },
    /// The port reports success, and the item differs again each time.
    #[error("the item differs again after {repairs} repairs: does another program change it?")]
    Unstable {
        /// Number of repairs in a row.
        repairs: u32,
    },
    /// The port lists the key more than once.
    #[error("the port lists the item more than once")]
    Ambiguous,
}

/// The reason why a port is degraded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortFailure<E> {
    /// The port failed as a whole.
    #[error("{0}")]
    Failed(E),
    /// A call of the port made no progress for the time limit.
    #[error("{call} made no progress for {limit:?}")]
    TimedOut {
        /// The call.
        call: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// A call of the port panicked.
    #[error("{call} panicked: {text}")]
    Panicked {
        /// The call.
        call: &'static str,
        /// The text of the panic.
        text: Box<str>,
    },
    /// The port lists more items than the actuator may have.
    #[error("{found} items exist, and the limit is {limit}: delete some, or raise the limit")]
    TooMany {
        /// Number of listed items.
        found: usize,
        /// The limit.
        limit: usize,
    },
}

/// The reason why a call of an [`Actuator`](super::Actuator) failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActuatorError<I, E> {
    /// The key has another item, which must be removed first.
    #[error("the key has another item already, which has to be removed first")]
    Taken {
        /// The other item.
        by: I,
    },
    /// The limit of items is reached.
    #[error("the limit of {limit} items is reached: remove some, or raise the limit")]
    Full {
        /// The limit.
        limit: usize,
    },
    /// The change of the item failed.
    #[error(transparent)]
    Item(ItemFailure<E>),
    /// The port is degraded; the actuator retries by itself.
    #[error(transparent)]
    Port(PortFailure<E>),
    /// The actuator has stopped, or runs already where it was started again.
    #[error("the actuator {name} has stopped or is not running")]
    Stopped {
        /// Name of the actuator.
        name: Box<str>,
    },
}
