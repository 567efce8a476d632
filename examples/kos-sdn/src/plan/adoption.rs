//! The interfaces that exist when an agent starts. Pure.

use super::Interface;
use crate::model::Vni;

/// The peers of a network, as far as the agent knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKnowledge {
    /// No attachment of the node is in the network: it has no remote interfaces.
    Unneeded,
    /// The peers are not known yet: remote interfaces stay as they are.
    Pending,
    /// All peers are known.
    Complete,
}

/// Returns whether an interface that no attachment has claimed has certainly no owner.
pub fn is_orphan(interface: &Interface, is_desired: bool, peers_of: impl Fn(Vni) -> PeerKnowledge) -> bool {
    match interface {
        Interface::Local(_) => !is_desired,
        Interface::Remote(remote) => match peers_of(remote.vni) {
            PeerKnowledge::Unneeded => true,
            PeerKnowledge::Pending => false,
            PeerKnowledge::Complete => !is_desired,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{LocalInterface, RemoteInterface};

    #[test]
    fn remote_interfaces_stay_until_their_peers_are_known() {
        let vni = Vni::new(17).unwrap();
        let local = Interface::Local(LocalInterface::new(vni, [10, 1, 0, 2].into()));
        let remote =
            Interface::Remote(RemoteInterface::new(vni, [10, 1, 0, 3].into(), [192, 0, 2, 9].into()));
        for knowledge in [PeerKnowledge::Unneeded, PeerKnowledge::Pending, PeerKnowledge::Complete] {
            let check = |interface, is_desired| is_orphan(interface, is_desired, |_| knowledge);
            assert!(check(&local, false) && !check(&local, true));
            assert_eq!(check(&remote, false), knowledge != PeerKnowledge::Pending, "{knowledge:?}");
            assert_eq!(check(&remote, true), knowledge == PeerKnowledge::Unneeded, "{knowledge:?}");
        }
    }
}
