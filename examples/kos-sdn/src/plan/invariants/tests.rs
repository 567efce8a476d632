use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("n"), name).unwrap()
}

fn host(low: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, low)
}

fn attachment(name: &str, node: &str, address: &str, on: u8) -> Arc<NetworkAttachment> {
    let mut one = NetworkAttachment::new("n", name, node, "s");
    one.metadata.uid = Some(format!("uid-{name}"));
    one.status.lock_uid = format!("lock-{name}");
    one.status.address_vni = 1;
    one.status.ipv4 = address.into();
    one.status.host_ip = host(on).to_string();
    Arc::new(one)
}

fn lock(of: &NetworkAttachment) -> Arc<IPLock> {
    let uid = of.metadata.uid.clone().unwrap();
    let owner = OwnerReference { uid, ..OwnerReference::default() };
    let mut lock = IPLock::new("n", &name_of_key(&address_key(of).unwrap()).unwrap(), "s", owner);
    lock.metadata.uid = Some(of.status.lock_uid.clone());
    Arc::new(lock)
}

fn node(
    node: &str,
    on: u8,
    locals: &[&Arc<NetworkAttachment>],
    remotes: &[&Arc<NetworkAttachment>],
) -> NodeInterfaces {
    let place = |one: &&Arc<NetworkAttachment>| address_key(one).unwrap();
    let locals =
        locals.iter().map(place).map(|place| LocalInterface::new(place.vni, place.address)).collect();
    let remotes = remotes.iter().map(|one| {
        let place = place(one);
        RemoteInterface::new(place.vni, place.address, one.status.host_ip.parse().unwrap())
    });
    NodeInterfaces {
        node: node.into(),
        host: host(on),
        interfaces: InterfaceList { locals, remotes: remotes.collect(), ..InterfaceList::default() },
    }
}

#[test]
fn shared_address_is_a_violation() {
    let (mut invariants, a, b) =
        (Invariants::default(), attachment("a", "x", "10.0.0.2", 1), attachment("b", "x", "10.0.0.2", 1));
    assert_eq!(invariants.attachment(&key("a"), Some(&a)), None);
    assert_eq!(invariants.attachment(&key("a"), Some(&a)), None);
    let found = invariants.attachment(&key("b"), Some(&b)).unwrap();
    assert_eq!(found.to_string(), "n/a and n/b had 10.0.0.2 of network 1 at once");
    invariants.attachment(&key("b"), None);
    invariants.attachment(&key("a"), Some(&NetworkAttachment::default()));
    assert_eq!(invariants.attachment(&key("b"), Some(&b)), None);
}

#[test]
fn validated_overlap_is_a_violation() {
    let mut invariants = Invariants::default();
    let validated = |name: &str, block: &str| {
        let mut subnet = Subnet::new("n", name, 1, block);
        subnet.status.validated = true;
        subnet
    };
    let (a, b) = (validated("a", "10.0.0.0/24"), validated("b", "10.0.0.0/25"));
    assert_eq!(invariants.subnet(&key("a"), Some(&a)), None);
    assert_eq!(invariants.subnet(&key("b"), Some(&Subnet::new("n", "b", 1, "10.0.0.0/25"))), None);
    let found = invariants.subnet(&key("b"), Some(&b));
    assert_eq!(found, Some(Violation::Overlap { one: key("a"), other: key("b") }));
    invariants.subnet(&key("a"), None);
    assert_eq!(invariants.subnet(&key("b"), Some(&b)), None);
}

#[test]
fn unexpected_interface_is_a_violation() {
    let mut invariants = Invariants::default();
    let (a, b, c) = (
        attachment("a", "x", "10.0.0.2", 1),
        attachment("b", "y", "10.0.0.3", 2),
        attachment("c", "y", "10.0.0.4", 2),
    );
    invariants.attachment(&key("a"), Some(&a));
    invariants.attachment(&key("b"), Some(&b));
    assert_eq!(invariants.node(&node("x", 1, &[&a], &[&b])), []);
    assert_eq!(invariants.node(&node("x", 1, &[&a, &b], &[])).len(), 1, "an interface of another node");
    assert_eq!(invariants.node(&node("x", 1, &[], &[&c])).len(), 1, "a remote interface of no attachment");
    assert_eq!(invariants.node(&node("z", 3, &[], &[&b])).len(), 1, "a network without local attachment");
    let elsewhere = attachment("b", "y", "10.0.0.3", 9);
    assert_eq!(
        invariants.node(&node("x", 1, &[], &[&elsewhere])).len(),
        1,
        "a remote interface on the wrong node"
    );
}

#[test]
fn differences_after_convergence_are_violations() {
    let (a, b) = (attachment("a", "x", "10.0.0.2", 1), attachment("b", "y", "10.0.0.3", 2));
    let locks = [lock(&a), lock(&b)];
    let all = [a.clone(), b.clone()];
    let good = [node("x", 1, &[&a], &[&b]), node("y", 2, &[&b], &[&a])];
    assert_eq!(converged_violations(&all, &locks, &good), []);
    let wrong = |all: &[Arc<NetworkAttachment>], locks: &[Arc<IPLock>], nodes: &[NodeInterfaces]| -> String {
        let [Violation::NotConverged(wrong)] = &converged_violations(all, locks, nodes)[..] else {
            panic!("one thing is wrong")
        };
        wrong.clone()
    };
    assert_eq!(wrong(&all[..1], &locks, &[node("x", 1, &[&a], &[])]), "the lock v1-1-10-0-0-3 has no owner");
    assert_eq!(wrong(&all, &locks[..1], &good), "n/b has an address without a lock");
    let mut other = (*lock(&b)).clone();
    other.metadata.uid = Some("another".into());
    assert!(converged_violations(&all, &[locks[0].clone(), Arc::new(other)], &good).len() == 2);
    assert!(wrong(&all, &locks, &[node("x", 1, &[], &[&b])]).contains("x lacks the interface"));
    assert!(wrong(&all, &locks, &[node("x", 1, &[&a], &[])]).contains("lacks the remote interface"));
    assert!(wrong(&all, &locks, &[node("z", 3, &[], &[&b])]).contains("has an undesired remote interface"));
    let mut waits = (*b).clone();
    (waits.status.lock_uid, waits.status.ipv4, waits.status.host_ip) = Default::default();
    waits.status.address_vni = 0;
    assert_eq!(
        converged_violations(&[a.clone(), Arc::new(waits)], &locks, &[node("x", 1, &[&a], &[])]),
        [],
        "it keeps its lock"
    );
}
