//! What is measured. Objects are custom resources of 1 KiB.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Clients create objects on an empty server, each waiting until its object is durable; then they replace them.
    Writes { clients: usize, seconds: f64 },
    /// All of many objects are listed, by so many clients at once, on a server that was started on them.
    Lists { objects: usize, clients: usize },
}
