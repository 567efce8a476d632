//! The measured shapes.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum InformerShape {
    /// Events from an in-process source to a handler, for a time, while readers list all objects:
    /// `under_way` in flight, or unlimited if 0.
    Writes { objects: usize, readers: usize, ms: u64, under_way: usize },
    /// Gets, and lists by one value of a field or a label.
    Reads { objects: usize, passes: usize },
    /// One event at a time, from the source to the handler.
    Hop { objects: usize, events: usize },
    /// Decoding of pages alone.
    Decode { objects: usize, passes: usize },
    /// An informer of all objects of a server over the wire, until it has synced: whole objects, or
    /// a projection.
    Sync { objects: usize, of: Projection },
    /// Ours over the server's in-process handle; peers without one go over the wire.
    Near { objects: usize },
    /// A watch ends with 410, after `changed` objects have changed.
    Relist { objects: usize, changed: usize },
    /// Agents that hold a few keys each, with events under all keys.
    Agents { agents: usize, each: usize, events: usize, edits: usize },
    /// The server's cost of an event with few and with many keys in one interest.
    Keys { few: usize, many: usize, events: usize },
}

/// The part of an object that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Projection {
    /// k8s-openapi's `ConfigMap`, and Go's.
    Whole,
    /// The whole without `metadata.managedFields`.
    #[serde(rename = "slim")]
    WithoutManagedFields,
    /// The same content in a type of ours with minimal metadata; peers keep the whole.
    Lean,
    /// Namespace, name, version and two texts.
    Five,
}
