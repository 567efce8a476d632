//! Errors of an OpenFlow connection.

/// The reason why an OpenFlow request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenFlowError {
    /// There is no connection. The request had no effect: it may be retried.
    #[error("the switch cannot be reached: {reason}")]
    Unavailable {
        /// The cause.
        reason: String,
    },
    /// The connection broke, or the switch was silent, after a change had been sent: dump the
    /// flows.
    #[error("the outcome of a change of flows is unknown: {reason}")]
    UnknownOutcome {
        /// The cause.
        reason: String,
    },
    /// The switch refused a flow. No change of the bundle was applied.
    #[error("the switch refused the flow `{flow}`: {reason}")]
    RefusedFlow {
        /// The flow as text.
        flow: String,
        /// The error of the switch.
        reason: String,
    },
    /// The switch refused a request that concerns no single flow. It had no effect.
    #[error("the switch refused {request}: {reason}")]
    Refused {
        /// The request.
        request: &'static str,
        /// The error of the switch.
        reason: String,
    },
    /// The switch lacks a feature that the fabric depends on.
    #[error("the switch has no {feature}: {remedy}")]
    Unsupported {
        /// The feature.
        feature: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The switch did not respond in time. The request changes nothing and may be retried.
    #[error("the switch did not respond to {request} within {milliseconds} ms: is ovsdb-server running?")]
    Silent {
        /// The request.
        request: &'static str,
        /// The time limit.
        milliseconds: u64,
    },
    /// The switch sent bytes that are no OpenFlow 1.5, or a message that answers no request.
    #[error("the switch sent {message} that is malformed: {reason}")]
    Malformed {
        /// The message.
        message: &'static str,
        /// The fault.
        reason: String,
    },
    /// A request or response exceeds a limit.
    #[error("{subject} exceeds the limit of {limit}: {remedy}")]
    TooLarge {
        /// The request or response.
        subject: &'static str,
        /// The limit.
        limit: usize,
        /// The remedy.
        remedy: &'static str,
    },
}

impl OpenFlowError {
    /// Returns whether the request had no effect for certain.
    #[must_use]
    pub const fn had_no_effect(&self) -> bool {
        !matches!(self, Self::UnknownOutcome { .. })
    }
}
