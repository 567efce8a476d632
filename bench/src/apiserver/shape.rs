//! What is measured. Objects are custom resources of 1 KiB.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ApiserverShape {
    /// Clients create objects on an empty server, each waiting until its object is durable; then they replace them.
    Writes { clients: usize, seconds: f64 },
    /// All of many objects are listed, by so many clients at once, on a server that was started on them; as
    /// they are stored, or indented, for which each is read.
    Lists { objects: usize, clients: usize, indented: bool },
    /// So many watches, each with a selector of its own: idle, and then idle again after one event for each. One on a connection
    /// is of HTTP/1.1, more are of HTTP/2.
    Watches { watches: usize, per_connection: usize },
}
