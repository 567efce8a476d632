//! The shape of a load: sizes of networks, and blocks of their subnets.

use std::net::Ipv4Addr;

use crate::model::{Cidr, Vni};

/// The distribution of network sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadShape {
    /// Number of networks.
    pub nets: u32,
    /// Size of the largest network at bias 0.
    pub top: f64,
    /// Bias: flattens the head of the distribution.
    pub bias: f64,
    /// Exponent: steepness of the distribution.
    pub exponent: f64,
    /// Addresses of a subnet per attachment.
    pub factor: f64,
    /// Whether each network has one subnet instead of two.
    pub single_subnet: bool,
}

/// A network of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSize {
    /// Index, from 1.
    pub index: u32,
    /// Maximum number of concurrent attachments.
    pub size: u64,
}

/// A subnet of a network of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSubnet {
    /// Name of the subnet.
    pub name: String,
    /// Address block of the subnet.
    pub block: Cidr,
    /// Maximum number of concurrent attachments.
    pub size: u64,
}

/// Limit of concurrent attachments, above the capacity of any machine.
const SLOTS: u64 = 1 << 20;

impl LoadShape {
    /// Validates the parameters.
    ///
    /// # Errors
    /// A parameter is out of range; the text states the range.
    pub fn check(&self) -> Result<(), String> {
        let Self { nets, top, bias, exponent, factor, .. } = *self;
        if nets == 0 || nets > Vni::MAX {
            return Err(format!("{nets} networks: must be from 1 to {}", Vni::MAX));
        }
        let numbers = [
            ("top size", top, 1.0),
            ("bias", bias, 0.0),
            ("exponent", exponent, 0.0),
            ("size factor", factor, 0.0),
        ];
        for (name, number, least) in numbers {
            if !number.is_finite() || number < least {
                return Err(format!("the {name} {number}: must be a number of at least {least}"));
            }
        }
        let mut slots = 0_u64;
        for net in self.nets() {
            slots = slots.saturating_add(net.size);
            if slots > SLOTS {
                return Err(format!(
                    "more than {SLOTS} concurrent attachments: reduce the size or number of networks"
                ));
            }
        }
        Ok(())
    }

    /// Returns the size of a network by its index, from 1.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a whole number of at least 1"
    )]
    pub fn size(&self, index: u32) -> u64 {
        let Self { top, bias, exponent, .. } = *self;
        let size = ((1.0 + bias) * top / (f64::from(index) + bias).powf(exponent)).ceil();
        size.max(1.0) as u64
    }

    /// Returns all networks.
    pub fn nets(&self) -> impl Iterator<Item = NetworkSize> + '_ {
        (1..=self.nets).map(|index| NetworkSize { index, size: self.size(index) })
    }

    /// Returns the number of concurrent attachments.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.nets().map(|net| net.size).sum()
    }

    /// Returns the average size of an attachment's network.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "printed with two digits")]
    pub fn average_peers(&self) -> f64 {
        self.nets().map(|net| net.size * net.size).sum::<u64>() as f64 / self.slots() as f64
    }

    /// Returns the index of the first network of size 1.
    #[must_use]
    pub fn break_point(&self) -> Option<u32> {
        self.nets().find(|net| net.size == 1).map(|net| net.index)
    }

    /// Returns the prefix length of a block for `size` attachments and the three reserved
    /// addresses.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "of 32 bits at most"
    )]
    pub fn length(&self, size: u64) -> u8 {
        let bits = (size as f64 * self.factor + 3.0).log2().ceil();
        32 - bits.clamp(0.0, 32.0) as u8
    }

    /// Returns the subnets of a network, two of almost equal size or one, with consecutive blocks
    /// from an address on.
    #[must_use]
    pub fn subnets(&self, net: &NetworkSize, vni: Vni, from: Ipv4Addr) -> Vec<PlannedSubnet> {
        let sizes = if self.single_subnet || net.size == 1 {
            vec![net.size]
        } else {
            vec![net.size.div_ceil(2), net.size / 2]
        };
        let mut from = u32::from(from);
        let names = sizes.into_iter().zip(["a", "b"]);
        let subnet = |(size, letter)| {
            let block = Cidr::new(from.into(), self.length(size));
            from = u32::from(block.last()).wrapping_add(1);
            PlannedSubnet { name: format!("{:06x}-{letter}", vni.number()), block, size }
        };
        names.map(subnet).collect()
    }

    /// Returns the name of an attachment, zero-padded to `digits`.
    #[must_use]
    pub fn attachment(vni: Vni, index: u64, digits: usize) -> String {
        format!("{:06x}-{index:0digits$}", vni.number())
    }
}

/// Returns the VNI of a network: consecutive from one of 32 random starts, never zero.
#[must_use]
pub fn vni_of(chance: u32, index: u32) -> Vni {
    let first = 1 + 65_536 * (chance % 32);
    let number = (first - 1 + index.saturating_sub(1)) % Vni::MAX + 1;
    Vni::new(number).unwrap_or_else(|_| unreachable!("a remainder of the highest number, and one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(nets: u32, top: f64, bias: f64, exponent: f64) -> LoadShape {
        LoadShape { nets, top, bias, exponent, factor: 1.0, single_subnet: false }
    }

    #[test]
    fn network_sizes_match_the_original() {
        let check = |load: LoadShape, slots: u64, peers: &str, break_point: Option<u32>, sizes: &[u64]| {
            assert_eq!((load.slots(), load.break_point()), (slots, break_point));
            assert_eq!(format!("{:.2}", load.average_peers()), peers);
            assert_eq!(load.nets().map(|net| net.size).take(sizes.len()).collect::<Vec<_>>(), sizes);
        };
        let sizes = [100, 50, 34, 25, 20, 17, 15, 13, 12, 10];
        check(load(10, 100.0, 0.0, 1.0), 296, "52.73", None, &sizes);
        check(load(100, 100.0, 0.0, 1.0), 573, "29.21", Some(100), &sizes);
        check(load(1000, 500.0, 5.0, 1.2), 7373, "80.76", Some(785), &[350, 291, 248]);
    }

    #[test]
    fn invalid_load_parameters_are_rejected() {
        let good = load(10, 100.0, 0.0, 1.0);
        assert_eq!(good.check(), Ok(()));
        for (bad, why) in [
            (LoadShape { nets: 0, ..good }, "0 networks"),
            (LoadShape { nets: u32::MAX, ..good }, "4294967295 networks"),
            (LoadShape { top: 1e12, ..good }, "more than 1048576"),
            (LoadShape { top: -5.0, ..good }, "top size -5"),
            (LoadShape { bias: f64::NAN, ..good }, "bias NaN"),
            (LoadShape { exponent: f64::INFINITY, ..good }, "exponent inf"),
            (LoadShape { factor: -1.0, ..good }, "size factor -1"),
        ] {
            let error = bad.check().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn subnets_of_a_network_are_consecutive() {
        let load = load(10, 100.0, 0.0, 1.0);
        let subnets = |size: u64, load: &LoadShape| -> Vec<String> {
            let vni = Vni::new(0x1_0001).unwrap();
            let of = load.subnets(&NetworkSize { index: 1, size }, vni, [172, 24, 0, 0].into());
            of.iter().map(|subnet| format!("{} {} {}", subnet.name, subnet.block, subnet.size)).collect()
        };
        assert_eq!(subnets(100, &load), ["010001-a 172.24.0.0/26 50", "010001-b 172.24.0.64/26 50"]);
        assert_eq!(subnets(3, &load), ["010001-a 172.24.0.0/29 2", "010001-b 172.24.0.8/30 1"]);
        assert_eq!(subnets(1, &load), ["010001-a 172.24.0.0/30 1"]);
        assert_eq!(subnets(3, &LoadShape { single_subnet: true, ..load }), ["010001-a 172.24.0.0/29 3"]);
        assert_eq!(LoadShape::attachment(Vni::new(255).unwrap(), 7, 3), "0000ff-007");
    }

    #[test]
    fn vnis_are_consecutive_and_not_zero() {
        let check =
            |chance: u32, index: u32, expected: u32| assert_eq!(vni_of(chance, index).number(), expected);
        check(0, 1, 1);
        check(31, 1, 1 + 65_536 * 31);
        check(32, 2, 2);
        check(31, 65_535, Vni::MAX);
        check(31, 65_536, 1);
    }
}
