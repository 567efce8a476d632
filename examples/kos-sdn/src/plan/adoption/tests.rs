use std::net::Ipv4Addr;

use super::*;
use crate::drive::FabricError;
use crate::plan::{LocalInterface, RemoteInterface};

fn vni(number: u32) -> Vni {
    Vni::new(number).unwrap()
}

fn local(low: u8) -> LocalInterface {
    LocalInterface::new(vni(17), Ipv4Addr::new(10, 1, 0, low))
}

fn remote(number: u32, low: u8, host: u8) -> RemoteInterface {
    RemoteInterface::new(vni(number), Ipv4Addr::new(10, 1, 0, low), Ipv4Addr::new(192, 0, 2, host))
}

fn unclaimed() -> UnclaimedInterfaces {
    let error = FabricError::Unavailable { reason: "x".into() };
    let broken = BrokenInterface { interface: Interface::Local(local(4)), error };
    UnclaimedInterfaces::new(InterfaceList {
        locals: vec![local(2), local(3)],
        remotes: vec![remote(17, 9, 1), remote(18, 9, 1)],
        broken: vec![broken],
    })
}

#[test]
fn desired_interfaces_are_adopted_once() {
    let mut unclaimed = unclaimed();
    let (own, moved) = (Interface::Local(local(2)), Interface::Remote(remote(17, 9, 2)));
    assert_eq!(unclaimed.claim(&own), AdoptionClaim::Adopted);
    assert_eq!(unclaimed.claim(&own), AdoptionClaim::Vacant);
    assert_eq!(unclaimed.claim(&Interface::Local(local(4))), AdoptionClaim::Broken);
    let former = Interface::Remote(remote(17, 9, 1));
    for _ in 0..2 {
        assert_eq!(unclaimed.claim(&moved), AdoptionClaim::Blocked(former.clone()));
    }
    assert!(unclaimed.remove(&former) && !unclaimed.remove(&former));
    assert_eq!((unclaimed.claim(&moved), unclaimed.len()), (AdoptionClaim::Vacant, 2));
}

#[test]
fn remote_interfaces_stay_until_their_peers_are_known() {
    let unclaimed = unclaimed();
    let orphans = |desired: &[Interface], knowledge: [PeerKnowledge; 2]| {
        let peers_of = |vni: Vni| knowledge[(vni.number() - 17) as usize];
        let found = unclaimed.orphans(|interface| desired.contains(interface), peers_of);
        found.into_iter().map(|(interface, _)| interface).collect::<Vec<_>>()
    };
    let [own, spare, broken] = [2, 3, 4].map(|low| Interface::Local(local(low)));
    let [peer, other] = [17, 18].map(|number| Interface::Remote(remote(number, 9, 1)));
    let known = [own.clone(), broken.clone()];
    assert_eq!(orphans(&known, [PeerKnowledge::Pending; 2]), [spare.clone()]);
    assert_eq!(
        orphans(&known, [PeerKnowledge::Pending, PeerKnowledge::Unneeded]),
        [spare.clone(), other.clone()]
    );
    let known = [own, broken, peer];
    assert_eq!(orphans(&known, [PeerKnowledge::Complete; 2]), [spare, other]);
}

#[test]
fn a_failure_is_new_once() {
    let mut unclaimed = unclaimed();
    let spare = Interface::Local(local(3));
    assert!(unclaimed.failed(&spare, "busy".into()));
    assert!(!unclaimed.failed(&spare, "busy".into()));
    assert!(unclaimed.failed(&spare, "gone".into()));
    let failures = unclaimed.orphans(|one| *one != spare, |_| PeerKnowledge::Pending);
    assert_eq!(failures, [(spare.clone(), 3)]);
    assert!(unclaimed.contains(&spare) && unclaimed.remove(&spare) && !unclaimed.contains(&spare));
}
