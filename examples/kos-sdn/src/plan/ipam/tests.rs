use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

fn attachment(uid: &str) -> NetworkAttachment {
    let mut attachment = NetworkAttachment::new("n", "a", "node-1", "s");
    attachment.metadata.uid = Some(uid.into());
    attachment
}

fn subnet(vni: u32, block: &str) -> Subnet {
    let mut subnet = Subnet::new("n", "s", vni, block);
    subnet.status.validated = true;
    subnet
}

fn lock(uid: &str, owner: &str, vni: u32, address: [u8; 4], second: i64) -> OwnedLock {
    OwnedLock {
        key: AddressKey { vni: Vni::new(vni).unwrap(), address: address.into() },
        uid: uid.into(),
        owner_uid: owner.into(),
        created: Timestamp::from_second(second).ok(),
    }
}

#[track_caller]
fn check(
    attachment: &NetworkAttachment,
    subnet: Option<&Subnet>,
    locks: &[OwnedLock],
    release: &[&str],
    step: &IpamStep,
) {
    let view = IpamView { attachment: Some(attachment), gone: None, subnet, locks };
    let decision = decide(&view);
    let released: Vec<&str> = decision.release.iter().map(|lock| lock.uid.as_str()).collect();
    assert_eq!((released.as_slice(), &decision.step), (release, step));
}

/// The attachment with the address of a lock in its status.
fn holding(attachment: NetworkAttachment, lock: &OwnedLock, subnet: &Subnet) -> NetworkAttachment {
    let status = locked_address(lock).unwrap().written(&attachment, subnet);
    NetworkAttachment { status, ..attachment }
}

fn writes(lock: &OwnedLock) -> IpamStep {
    IpamStep::Write(locked_address(lock).unwrap())
}

#[test]
fn invalid_subnet_clears_the_address_and_keeps_locks() {
    let (a, mine) = (attachment("u"), [lock("l", "u", 1, [10, 0, 0, 2], 1)]);
    check(&a, None, &mine, &[], &IpamStep::None(AddressFailure::Missing("s".into())));
    let mut unexamined = subnet(1, "10.0.0.0/24");
    unexamined.status.validated = false;
    check(&a, Some(&unexamined), &mine, &[], &IpamStep::Wait);
    let mut failed = unexamined;
    failed.status.errors = vec!["x".into()];
    check(&a, Some(&failed), &mine, &[], &IpamStep::None(AddressFailure::Failed("s".into())));
    let malformed = subnet(1, "fd00::/64");
    check(
        &a,
        Some(&malformed),
        &mine,
        &[],
        &IpamStep::None(AddressFailure::Malformed("s".into(), "fd00::/64".into())),
    );

    let good = subnet(1, "10.0.0.0/24");
    let had = holding(a, &mine[0], &good);
    let without = AddressFailure::Missing("s".into()).written(&had);
    assert_eq!((without.lock_uid.as_str(), without.address_vni, without.ipv4.as_str()), ("", 0, ""));
    assert_eq!(without.errors.ipam, ["Subnet s does not exist"]);
    let back = NetworkAttachment { status: without, ..had };
    check(&back, Some(&good), &mine, &[], &writes(&mine[0]));
}

#[test]
fn attachment_without_lock_allocates() {
    let step = IpamStep::Pick { vni: Vni::new(1).unwrap(), range: 0x0a00_0002..=0x0a00_00fe };
    check(&attachment("u"), Some(&subnet(1, "10.0.0.0/24")), &[], &[], &step);
    let former = [lock("l", "former", 1, [10, 0, 0, 2], 1)];
    check(&attachment("u"), Some(&subnet(1, "10.0.0.0/24")), &former, &[], &step);
}

#[test]
fn oldest_lock_is_kept_and_others_released() {
    let good = subnet(1, "10.0.0.0/24");
    let locks = [
        lock("c", "u", 1, [10, 0, 0, 4], 2),
        lock("a", "u", 1, [10, 0, 0, 2], 1),
        lock("b", "u", 1, [10, 0, 0, 3], 1),
        lock("other", "v", 1, [10, 0, 0, 5], 0),
    ];
    check(&attachment("u"), Some(&good), &locks, &[], &writes(&locks[2]));
    let has = holding(attachment("u"), &locks[2], &good);
    check(&has, Some(&good), &locks, &["c", "a"], &IpamStep::Done);
    let has = holding(attachment("u"), &locks[0], &good);
    check(&has, Some(&good), &locks, &["a", "b"], &IpamStep::Done);
}

#[test]
fn lock_outside_the_subnet_is_released_after_its_interface() {
    let (old, new) = (lock("old", "u", 1, [10, 0, 0, 2], 1), lock("new", "u", 1, [10, 0, 1, 2], 2));
    let mut a = holding(attachment("u"), &old, &subnet(1, "10.0.0.0/24"));
    let moved = subnet(1, "10.0.1.0/24");
    let pick = IpamStep::Pick { vni: Vni::new(1).unwrap(), range: 0x0a00_0102..=0x0a00_01fe };
    check(&a, Some(&moved), std::slice::from_ref(&old), &[], &pick);
    let cleared = NetworkAttachment { status: AddressFailure::Full.written(&a), ..a.clone() };
    check(&cleared, Some(&moved), std::slice::from_ref(&old), &["old"], &pick);
    a.status.ifc_name = interface_name(Mac::of(old.key.vni, old.key.address));
    check(&a, Some(&moved), std::slice::from_ref(&old), &[], &pick);
    check(&a, Some(&moved), &[old.clone(), new.clone()], &[], &writes(&new));
    let mut a = holding(a, &new, &moved);
    check(&a, Some(&moved), &[old.clone(), new.clone()], &[], &IpamStep::Done);
    a.status.ifc_name = interface_name(Mac::of(new.key.vni, new.key.address));
    check(&a, Some(&moved), &[old, new], &["old"], &IpamStep::Done);
}

#[test]
fn deleting_attachment_keeps_its_lock() {
    let good = subnet(1, "10.0.0.0/24");
    let mine = lock("l", "u", 1, [10, 0, 0, 2], 1);
    let mut a = holding(attachment("u"), &mine, &good);
    a.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    check(&a, Some(&good), std::slice::from_ref(&mine), &[], &IpamStep::Done);
    check(&a, None, &[mine], &[], &IpamStep::Done);
}

/// The original released the lock of a recreated attachment that its cache lacked.
#[test]
fn only_locks_of_the_deleted_uid_are_released() {
    let locks = [lock("old", "u", 1, [10, 0, 0, 2], 1), lock("new", "v", 1, [10, 0, 0, 3], 2)];
    let check = |gone: Option<&str>, release: &[OwnedLock]| {
        let decision = decide(&IpamView { attachment: None, gone, subnet: None, locks: &locks });
        assert_eq!(decision, IpamDecision { release: release.to_vec(), step: IpamStep::Done });
    };
    check(Some("u"), &locks[..1]);
    check(None, &[]);
}

/// The original ignored some errors of creating the lock, and wrote the address all the same.
#[test]
fn an_address_is_never_written_without_its_lock() {
    assert_eq!(locked_address(&lock("", "u", 1, [10, 0, 0, 2], 1)), None);
    let (a, good, mine) = (attachment("u"), subnet(1, "10.0.0.0/24"), lock("l", "u", 1, [10, 0, 0, 2], 1));
    let status = locked_address(&mine).unwrap().written(&a, &good);
    assert_eq!((status.lock_uid.as_str(), status.address_vni, status.ipv4.as_str()), ("l", 1, "10.0.0.2"));
}

#[test]
fn prefix_length_follows_the_subnet() {
    let (mine, narrow) = (lock("l", "u", 1, [10, 0, 0, 2], 1), subnet(1, "10.0.0.0/24"));
    let a = holding(attachment("u"), &mine, &narrow);
    assert_eq!(a.status.prefix_length, Some(24));
    let wide = subnet(1, "10.0.0.0/16");
    check(&a, Some(&wide), std::slice::from_ref(&mine), &[], &writes(&mine));
    let a = holding(a, &mine, &wide);
    assert_eq!(a.status.prefix_length, Some(16));
    check(&a, Some(&wide), &[mine], &[], &IpamStep::Done);
    assert_eq!(AddressFailure::Full.written(&a).prefix_length, None);
}

#[test]
fn address_contention_is_recorded() {
    let a = attachment("u");
    let full = AddressFailure::Full.written(&a);
    assert_eq!(
        (full.address_contention, full.errors.ipam.as_slice()),
        (true, &["Referenced subnet has run out of IPs".to_owned()][..])
    );
    let (a, mine) = (NetworkAttachment { status: full, ..a }, lock("l", "u", 1, [10, 0, 0, 2], 1));
    let good = subnet(1, "10.0.0.0/24");
    let has = holding(a, &mine, &good);
    assert_eq!((has.status.address_contention, has.status.errors.ipam.is_empty()), (true, true));
    check(&has, Some(&good), &[mine], &[], &IpamStep::Done);
}
