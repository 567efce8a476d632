//! The measured shapes.

/// The load of one run: agents start, attachments are created, and all nodes learn of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KosLoad {
    pub(super) nodes: usize,
    pub(super) attachments: usize,
    /// Number of networks of equal size; nodes take attachments in turn.
    pub(super) networks: usize,
    /// One stream per network of a node, as for any Kubernetes server, instead of one per node.
    pub(super) per_key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum KosShape {
    /// Three numbers of attachments, with equally many peers each; the cost of one should be
    /// constant.
    Slope { nodes: usize, sizes: [usize; 3], peers: usize },
    /// Two numbers of attachments in equally many networks: the cost of peers.
    Fixed { nodes: usize, sizes: [usize; 2], networks: usize },
    /// One stream per node, against one per network of a node.
    Streams { nodes: usize, attachments: usize, peers: usize },
}
