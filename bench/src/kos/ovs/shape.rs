//! The measured shapes.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OvsShape {
    /// Attachments of one node, created together.
    Together { attachments: usize },
    /// Attachments of one node, each created when the one before it is implemented.
    Alone { attachments: usize },
    /// An agent restarts with a complete switch.
    Adopt { locals: usize, peers: usize },
    /// The flows of a switch are compared with the interfaces; none differs.
    Audit { peers: usize, times: usize },
    /// The switch restarts without flows.
    Refill { locals: usize, peers: usize },
    /// TCP between two hosts.
    Pipeline { seconds: usize },
    /// The first two echo requests between two hosts.
    FirstPing,
}
