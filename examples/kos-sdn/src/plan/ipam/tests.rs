use super::*;

fn attachment() -> NetworkAttachment {
    NetworkAttachment::new("n", "a", "node-1", "s")
}

fn subnet(vni: u32, block: &str) -> Subnet {
    let mut subnet = Subnet::new("n", "s", vni, block);
    subnet.status.validated = true;
    subnet
}

fn key(address: [u8; 4]) -> AddressKey {
    AddressKey { vni: Vni::new(1).unwrap(), address: address.into() }
}

/// The attachment with an address in its status.
fn holding(subnet: &Subnet, address: [u8; 4]) -> NetworkAttachment {
    let status = assigned(&attachment(), subnet, key(address), &Uid::new("lock").unwrap());
    NetworkAttachment { status, ..attachment() }
}

#[test]
fn invalid_subnet_yields_no_pool() {
    let check = |subnet: Option<&Subnet>, expected| assert_eq!(address_pool(&attachment(), subnet), expected);
    check(None, Err(AddressFailure::Missing("s".into())));
    let mut unexamined = subnet(1, "10.0.0.0/24");
    unexamined.status.validated = false;
    check(Some(&unexamined), Ok(None));
    unexamined.status.errors = vec!["x".into()];
    check(Some(&unexamined), Err(AddressFailure::Failed("s".into())));
    let malformed = AddressFailure::Malformed("s".into(), "fd00::/64".into());
    check(Some(&subnet(1, "fd00::/64")), Err(malformed));
}

#[test]
fn pool_has_the_usable_addresses_of_the_subnet() {
    let pool = address_pool(&attachment(), Some(&subnet(1, "10.0.0.0/24"))).unwrap().unwrap();
    let contained = [0, 1, 2, 254, 255].map(|last| pool.contains(&key([10, 0, 0, last])));
    assert_eq!((contained, pool.size()), ([false, false, true, true, false], 253));
    assert_eq!(pool.name().to_string(), "n/s");
}

#[test]
fn an_attachment_without_subnet_loses_its_address() {
    let had = holding(&subnet(1, "10.0.0.0/24"), [10, 0, 0, 2]);
    let without = AddressFailure::Missing("s".into()).written(&had);
    assert_eq!((without.lock_uid.as_str(), without.address_vni, without.ipv4.as_str()), ("", 0, ""));
    assert_eq!((without.errors.ipam, without.prefix_length), (vec!["Subnet s does not exist".into()], None));
}

#[test]
fn status_records_the_address_and_its_lock() {
    let mut has = holding(&subnet(1, "10.0.0.0/24"), [10, 0, 0, 2]);
    assert_eq!((has.status.lock_uid.as_str(), has.status.address_vni), ("lock", 1));
    assert_eq!(recorded_address(&has), Some(key([10, 0, 0, 2])));
    assert_eq!(recorded_address(&attachment()), None);
    assert!(!is_on_interface(&has, key([10, 0, 0, 2])));
    has.status.ifc_name = interface_name(Mac::of(Vni::new(1).unwrap(), [10, 0, 0, 2].into()));
    assert!(is_on_interface(&has, key([10, 0, 0, 2])) && !is_on_interface(&has, key([10, 0, 0, 3])));
}

#[test]
fn prefix_length_follows_the_subnet() {
    for (block, length) in [("10.0.0.0/24", 24), ("10.0.0.0/16", 16)] {
        let has = holding(&subnet(1, block), [10, 0, 0, 2]);
        assert_eq!(has.status.prefix_length, Some(length));
    }
}

#[test]
fn address_contention_is_recorded() {
    let full = AddressFailure::Full.written(&attachment());
    assert_eq!(
        (full.address_contention, full.errors.ipam.concat()),
        (true, AddressFailure::Full.to_string())
    );
    let waits = NetworkAttachment { status: full, ..attachment() };
    let status = assigned(&waits, &subnet(1, "10.0.0.0/24"), key([10, 0, 0, 2]), &Uid::new("lock").unwrap());
    assert_eq!((status.address_contention, status.errors.ipam.is_empty()), (true, true));
}
