//! The measured shapes. Objects are custom resources of 1 KiB.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ApiserverShape {
    /// Clients create objects on an empty server, each waiting for durability; then they replace
    /// them.
    Writes { clients: usize, seconds: f64 },
    /// `clients` concurrent lists of all objects, on a server started on them; as stored, or
    /// indented, which decodes each object.
    Lists { objects: usize, clients: usize, indented: bool },
    /// Watches with selectors of their own: idle, and idle again after one event each. One watch
    /// per connection uses HTTP/1.1, several use HTTP/2.
    Watches { watches: usize, per_connection: usize },
    /// A server with one definition and no objects, at rest.
    Idle,
    /// A client with ten requests a second: alone, and beside floods with this many connections of
    /// each kind.
    Polite { connections: usize, seconds: f64 },
}
