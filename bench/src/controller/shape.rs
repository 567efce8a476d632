//! The measured shapes.

/// Concurrent reconciles, where limited.
pub(super) const WORKERS: u16 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ControllerShape {
    /// Changes of an in-process source through to a no-op reconciler, for a time: `under_way` in
    /// flight, or unlimited if 0.
    Reconciles { objects: usize, ms: u64, under_way: usize, is_limited: bool },
    /// One change at a time at a steady rate, from the source to the start of the reconcile.
    Hops { objects: usize, events: usize, every_us: u64 },
    /// Memory for objects that were all reconciled once.
    Idle { objects: usize },
    /// Over the wire: one write per object, and then changes at a steady rate.
    Status { objects: usize, events: usize, every_us: u64 },
    /// Over the wire: a member of a range for each owner.
    Allocations { owners: usize },
    /// Over the wire: a range of one member, which is released again and again.
    HandOvers { waiting: usize, releases: usize },
}
