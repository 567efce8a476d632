//! Names of address locks.

use std::net::Ipv4Addr;

use machinery::controllers::{KeyError, KeyReader, KeyWriter, LockKey, Member};

use crate::model::Vni;

/// An address of a network: the key of its lock, which is named `v1-VNI-O1-O2-O3-O4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressKey {
    /// VNI of the network.
    pub vni: Vni,
    /// The address.
    pub address: Ipv4Addr,
}

/// The version prefix of the names.
const FORM: &str = "v1";

impl LockKey for AddressKey {
    fn write(&self, parts: &mut KeyWriter) {
        parts.text(FORM);
        self.vni.number().write(parts);
        self.address.write(parts);
    }

    fn read(parts: &mut KeyReader<'_>) -> Result<Self, KeyError> {
        parts.exactly(FORM)?;
        let vni = parts.parsed("the number of a network", |text| Vni::new(text.parse().ok()?).ok())?;
        Ok(Self { vni, address: LockKey::read(parts)? })
    }
}

impl Member for AddressKey {
    type Space = Vni;

    fn space(&self) -> Vni {
        self.vni
    }

    fn number(&self) -> u128 {
        self.address.number()
    }

    fn at(vni: &Vni, number: u128) -> Option<Self> {
        Some(Self { vni: *vni, address: Member::at(&(), number)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery::controllers::{key_of_name, name_of_key};
    use proptest::prelude::*;

    #[test]
    fn lock_name_format_is_stable() {
        let key = AddressKey { vni: Vni::new(66051).unwrap(), address: [10, 1, 2, 3].into() };
        assert_eq!(name_of_key(&key).unwrap(), "v1-66051-10-1-2-3");
        for wrong in [
            "v2-1-10-0-0-2",
            "v1-0-10-0-0-2",
            "v1-2097152-10-0-0-2",
            "v1-01-10-0-0-2",
            "v1-1-10-0-0",
            "v1-1-10-0-0-2-3",
            "v1-1-10-0-0-256",
            "v1-1-10-0-0-+2",
            "v1-1-10-0-0--2",
            "",
        ] {
            assert!(key_of_name::<AddressKey>(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_two_addresses_share_a_lock(vni in 1..=Vni::MAX, address: u32) {
            let key = AddressKey { vni: Vni::new(vni).unwrap(), address: address.into() };
            let name = name_of_key(&key).unwrap();
            prop_assert_eq!(key_of_name::<AddressKey>(&name), Ok(key));
        }
    }
}
