//! What is measured.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum InformerShape {
    /// Events from a source in the process, through to a handler, for a time, while readers list and touch everything: so many
    /// are under way, or with 0 as many as the source can make.
    Writes { objects: usize, readers: usize, ms: u64, under_way: usize },
    /// Getting objects, and listing all that have one value of a field or a label.
    Reads { objects: usize, passes: usize },
    /// One event at a time, from the source to the handler's call.
    Hop { objects: usize, events: usize },
    /// Making objects of the pages that come over the wire, and nothing else.
    Decode { objects: usize, passes: usize },
    /// An informer of all objects of a server over the wire, until it is whole: as they are, or less of each.
    Sync { objects: usize, of: Projection },
    /// Ours on the server's handle in one process; who has no such thing goes over the wire.
    Near { objects: usize },
    /// A watch ends with 410, after so many objects have changed.
    Relist { objects: usize, changed: usize },
    /// Agents that each hold a few keys, and events under all of them.
    Agents { agents: usize, each: usize, events: usize, edits: usize },
    /// What an event costs the server with few and with many keys in one interest.
    Keys { few: usize, many: usize, events: usize },
}

/// What is kept of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Projection {
    /// k8s-openapi's `ConfigMap`, and Go's.
    Whole,
    /// The same without `metadata.managedFields`.
    Slim,
    /// The same contents in a type of ours, whose metadata is what informers need: peers keep what they keep of the whole.
    Lean,
    /// Namespace, name, version and two texts.
    Five,
}
