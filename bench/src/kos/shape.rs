//! What is measured.

/// One whole life: agents begin, attachments are made, all is known where it matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KosLoad {
    pub(super) nodes: usize,
    pub(super) attachments: usize,
    /// They are dealt to so many networks, of one size, and to nodes in turn.
    pub(super) networks: usize,
    /// A stream for each network of a node, as any Kubernetes wants it, instead of one for each node.
    pub(super) per_key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum KosShape {
    /// Few, more and most attachments, with as many peers each; what counts is that one costs the same.
    Slope { nodes: usize, sizes: [usize; 3], peers: usize },
    /// Few and more attachments in as many networks: what peers cost.
    Fixed { nodes: usize, sizes: [usize; 2], networks: usize },
    /// The same by one stream for each node, and by one for each network of a node.
    Streams { nodes: usize, attachments: usize, peers: usize },
}
