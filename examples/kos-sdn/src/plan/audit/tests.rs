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
    let mut lock = IPLock::new("n", &name_of_key(&place_of(of).unwrap()).unwrap(), "s", owner);
    lock.metadata.uid = Some(of.status.lock_uid.clone());
    Arc::new(lock)
}

fn seen(node: &str, on: u8, locals: &[&Arc<NetworkAttachment>], remotes: &[&Arc<NetworkAttachment>]) -> Seen {
    let place = |one: &&Arc<NetworkAttachment>| place_of(one).unwrap();
    let locals = locals.iter().map(place).map(|place| Local::new(place.vni, place.address)).collect();
    let remotes = remotes.iter().map(|one| {
        let place = place(one);
        Remote::new(place.vni, place.address, one.status.host_ip.parse().unwrap())
    });
    Seen { node: node.into(), host: host(on), has: Listed { locals, remotes: remotes.collect() } }
}

#[test]
fn two_with_one_address_are_found_and_one_after_the_other_is_fine() {
    let (mut changes, a, b) =
        (Changes::default(), attachment("a", "x", "10.0.0.2", 1), attachment("b", "x", "10.0.0.2", 1));
    assert_eq!(changes.attachment(&key("a"), Some(&a)), None);
    assert_eq!(changes.attachment(&key("a"), Some(&a)), None);
    let found = changes.attachment(&key("b"), Some(&b)).unwrap();
    assert_eq!(found.to_string(), "n/a and n/b had 10.0.0.2 of network 1 at once");
    assert!(changes.has_heard_of(&[a.clone(), b.clone()], &[]));
    assert!(!changes.has_heard_of(std::slice::from_ref(&a), &[]));
    changes.attachment(&key("b"), None);
    changes.attachment(&key("a"), Some(&NetworkAttachment::default()));
    assert_eq!(changes.attachment(&key("b"), Some(&b)), None);
}

#[test]
fn two_that_count_in_each_others_way_are_found() {
    let mut changes = Changes::default();
    let counting = |name: &str, block: &str| {
        let mut subnet = Subnet::new("n", name, 1, block);
        subnet.status.validated = true;
        subnet
    };
    let (a, b) = (counting("a", "10.0.0.0/24"), counting("b", "10.0.0.0/25"));
    assert_eq!(changes.subnet(&key("a"), Some(&a)), None);
    assert_eq!(changes.subnet(&key("b"), Some(&Subnet::new("n", "b", 1, "10.0.0.0/25"))), None);
    let found = changes.subnet(&key("b"), Some(&b));
    assert_eq!(found, Some(Finding::Overlap { one: key("a"), other: key("b") }));
    let (a_now, b_now) = (Arc::new(a.clone()), Arc::new(b.clone()));
    assert!(changes.has_heard_of(&[], &[a_now.clone(), b_now]));
    assert!(!changes.has_heard_of(&[], &[a_now]));
    changes.subnet(&key("a"), None);
    assert_eq!(changes.subnet(&key("b"), Some(&b)), None);
}

#[test]
fn what_a_node_never_was_to_have_is_found() {
    let mut changes = Changes::default();
    let (a, b, c) = (
        attachment("a", "x", "10.0.0.2", 1),
        attachment("b", "y", "10.0.0.3", 2),
        attachment("c", "y", "10.0.0.4", 2),
    );
    changes.attachment(&key("a"), Some(&a));
    changes.attachment(&key("b"), Some(&b));
    assert_eq!(changes.node(&seen("x", 1, &[&a], &[&b])), []);
    assert_eq!(changes.node(&seen("x", 1, &[&a, &b], &[])).len(), 1, "an interface of another node");
    assert_eq!(changes.node(&seen("x", 1, &[], &[&c])).len(), 1, "a way to nobody");
    assert_eq!(changes.node(&seen("z", 3, &[], &[&b])).len(), 1, "a network that does not matter");
    let elsewhere = attachment("b", "y", "10.0.0.3", 9);
    assert_eq!(changes.node(&seen("x", 1, &[], &[&elsewhere])).len(), 1, "a way to the wrong node");
}

#[test]
fn what_is_left_at_rest_is_found() {
    let (a, b) = (attachment("a", "x", "10.0.0.2", 1), attachment("b", "y", "10.0.0.3", 2));
    let locks = [lock(&a), lock(&b)];
    let all = [a.clone(), b.clone()];
    let good = [seen("x", 1, &[&a], &[&b]), seen("y", 2, &[&b], &[&a])];
    assert_eq!(at_rest(&all, &locks, &good), []);
    let wrong = |all: &[Arc<NetworkAttachment>], locks: &[Arc<IPLock>], nodes: &[Seen]| -> String {
        let [Finding::AtRest(wrong)] = &at_rest(all, locks, nodes)[..] else { panic!("one thing is wrong") };
        wrong.clone()
    };
    assert_eq!(wrong(&all[..1], &locks, &[seen("x", 1, &[&a], &[])]), "the lock v1-1-10-0-0-3 is nobody's");
    assert_eq!(wrong(&all, &locks[..1], &good), "n/b has an address without a lock");
    let mut other = (*lock(&b)).clone();
    other.metadata.uid = Some("another".into());
    assert!(at_rest(&all, &[locks[0].clone(), Arc::new(other)], &good).len() == 2);
    assert!(wrong(&all, &locks, &[seen("x", 1, &[], &[&b])]).contains("x has not the interface"));
    assert!(wrong(&all, &locks, &[seen("x", 1, &[&a], &[])]).contains("has not the way"));
    assert!(wrong(&all, &locks, &[seen("z", 3, &[], &[&b])]).contains("has, and should not have, the way"));
    let mut waits = (*b).clone();
    (waits.status.lock_uid, waits.status.ipv4, waits.status.host_ip) = Default::default();
    waits.status.address_vni = 0;
    assert_eq!(
        at_rest(&[a.clone(), Arc::new(waits)], &locks, &[seen("x", 1, &[&a], &[])]),
        [],
        "it kept its lock"
    );
}
