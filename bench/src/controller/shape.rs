//! What is measured.

/// Runs that there may be at once, where that is limited.
pub(super) const WORKERS: u16 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ControllerShape {
    /// Changes of a source in the process, through to a reconcile that does nothing, for a time: so many are under way, or with 0 as
    /// many as the source can make.
    Reconciles { objects: usize, ms: u64, under_way: usize, is_limited: bool },
    /// One change at a time, at a steady rate, from the source until the reconcile begins.
    Hops { objects: usize, events: usize, every_us: u64 },
    /// What is kept of objects that were all reconciled once.
    Idle { objects: usize },
    /// Over the wire: a write for each object, and then changes at a steady rate.
    Status { objects: usize, events: usize, every_us: u64 },
}
