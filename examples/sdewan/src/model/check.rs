//! Checks of values, at admission and in the CNF.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A check of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every text passes.
    Any,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// `0` or `1`.
    Boolean,
    /// `yes` or `no`.
    YesNo,
    /// An integer above 0.
    Positive,
    /// An integer of 0 or more.
    Natural,
    /// A port from 1 to 65535, or a range `a-b`.
    Port,
    /// An IP address.
    Address,
    /// An IP address, or one with the length of a prefix.
    Prefix,
    /// The same with an optional `!` before it.
    NegatablePrefix,
    /// A prefix, or the word `default`.
    Destination,
    /// A MAC address.
    Mac,
    /// A mark, with an optional mask and an optional `!`: `0x10/0xff`.
    Mark,
    /// A hexadecimal mark of at most ten characters: `0x110`.
    HexMark,
    /// A routing table: `main`, `local`, `default` or an integer above 0.
    Table,
    /// The name of a zone: at most eleven characters.
    ZoneName,
    /// A comma-separated list of addresses.
    AddressList,
    /// Base64, several values joined by `_` or `^`.
    Certificates,
    /// A DNS name.
    DnsName,
}

/// The longest name of a zone: the chain names of the firewall have no room for more.
pub const ZONE_NAME_LENGTH: usize = 11;

impl Check {
    /// Returns the reason why a value fails the check.
    ///
    /// # Errors
    /// The value fails; the text names the expected form.
    pub fn check(self, value: &str) -> Result<(), String> {
        let expected = match self {
            Self::Any => return Ok(()),
            Self::OneOf(words) if words.contains(&value) => return Ok(()),
            Self::OneOf(words) if words.len() > 12 => "is not one of the known names".to_owned(),
            Self::OneOf(words) => format!("must be one of {}", words.join(", ")),
            Self::Boolean if matches!(value, "0" | "1") => return Ok(()),
            Self::Boolean => "must be \"0\" or \"1\"".to_owned(),
            Self::YesNo if matches!(value, "yes" | "no") => return Ok(()),
            Self::YesNo => "must be yes or no".to_owned(),
            Self::Positive if integer(value).is_some_and(|number| number > 0) => return Ok(()),
            Self::Positive => "must be an integer above 0".to_owned(),
            Self::Natural if integer(value).is_some() => return Ok(()),
            Self::Natural => "must be an integer of 0 or more".to_owned(),
            Self::Port if is_port(value) => return Ok(()),
            Self::Port => "must be a port from 1 to 65535, or a range like 80-90".to_owned(),
            Self::Address if is_address(value) => return Ok(()),
            Self::Address => "must be an IP address".to_owned(),
            Self::Prefix if is_prefix(value) => return Ok(()),
            Self::Prefix => "must be an IP address, or a prefix like 192.168.1.0/24".to_owned(),
            Self::NegatablePrefix if is_prefix(value.strip_prefix('!').unwrap_or(value)) => return Ok(()),
            Self::NegatablePrefix => "must be an IP address or a prefix, optionally after !".to_owned(),
            Self::Destination if value == "default" || is_prefix(value) => return Ok(()),
            Self::Destination => "must be `default`, an IP address or a prefix".to_owned(),
            Self::Mac if is_mac(value) => return Ok(()),
            Self::Mac => "must be a MAC address like aa:bb:cc:dd:ee:ff".to_owned(),
            Self::Mark if is_mark(value) => return Ok(()),
            Self::Mark => "must be a mark like 0x10, 0x10/0xff or !0x10".to_owned(),
            Self::HexMark if value.len() <= 10 && hexadecimal(value).is_some() => return Ok(()),
            Self::HexMark => "must be a hexadecimal mark of at most ten characters, like 0x110".to_owned(),
            Self::Table if is_table(value) => return Ok(()),
            Self::Table => "must be main, local, default, or an integer above 0".to_owned(),
            Self::ZoneName if value.len() <= ZONE_NAME_LENGTH => return Ok(()),
            Self::ZoneName => format!("must have at most {ZONE_NAME_LENGTH} characters"),
            Self::AddressList if value.split(',').all(is_address) => return Ok(()),
            Self::AddressList => "must be IP addresses with commas between them".to_owned(),
            Self::Certificates if are_certificates(value) => return Ok(()),
            Self::Certificates => "must be base64; several values are joined by _".to_owned(),
            Self::DnsName if is_dns_name(value) => return Ok(()),
            Self::DnsName => "must be a DNS name".to_owned(),
        };
        Err(expected)
    }
}

/// Parses an unsigned decimal integer without sign or space.
fn integer(value: &str) -> Option<u64> {
    value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok())?
}

fn hexadecimal(value: &str) -> Option<u32> {
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"))?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

fn is_port(value: &str) -> bool {
    let port = |text| integer(text).filter(|port| (1..=65535).contains(port));
    match value.split_once('-') {
        Some((first, last)) => port(first).zip(port(last)).is_some_and(|(first, last)| first <= last),
        None => port(value).is_some(),
    }
}

fn is_address(value: &str) -> bool {
    value.parse::<Ipv4Addr>().is_ok() || value.parse::<Ipv6Addr>().is_ok()
}

fn is_prefix(value: &str) -> bool {
    let Some((address, length)) = value.split_once('/') else { return is_address(value) };
    let within = |most| integer(length).is_some_and(|length| length <= most);
    (address.parse::<Ipv4Addr>().is_ok() && within(32))
        || (address.parse::<Ipv6Addr>().is_ok() && within(128))
}

fn is_mac(value: &str) -> bool {
    let octet = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    value.split(':').count() == 6 && value.split(':').all(octet)
}

fn is_mark(value: &str) -> bool {
    let number = |text: &str| match hexadecimal(text) {
        Some(_) => true,
        None => integer(text).is_some_and(|number| u32::try_from(number).is_ok()),
    };
    let value = value.strip_prefix('!').unwrap_or(value);
    match value.split_once('/') {
        Some((mark, mask)) => number(mark) && number(mask),
        None => number(value),
    }
}

fn is_table(value: &str) -> bool {
    matches!(value, "main" | "local" | "default") || Check::Positive.check(value).is_ok()
}

fn are_certificates(value: &str) -> bool {
    use base64::Engine as _;
    let is_base64 = |part: &str| {
        let text: String = part.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        base64::engine::general_purpose::STANDARD.decode(text).is_ok_and(|decoded| !decoded.is_empty())
    };
    let mut parts = value.split(['_', '^']).filter(|part| !part.is_empty()).peekable();
    parts.peek().is_some() && parts.all(is_base64)
}

fn is_dns_name(value: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let value = value.strip_suffix('.').unwrap_or(value);
    value.len() <= 253 && value.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_accept_and_refuse_the_forms_of_the_original() {
        let cases: &[(Check, &[&str], &[&str])] = &[
            (Check::Boolean, &["0", "1"], &["", "2", "true", "01"]),
            (
                Check::Port,
                &["1", "80", "65535", "80-90"],
                &["0", "65536", "-1", "+80", "90-80", "80,90", " 80", "8o"],
            ),
            (Check::Positive, &["1", "600"], &["0", "-1", "1.5", "", "99999999999999999999"]),
            (Check::Natural, &["0", "7"], &["-1", "x", ""]),
            (
                Check::Prefix,
                &["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "fd00::/64"],
                &["10.0.0", "10.0.0.0/33", "x", "10.0.0.0/", "10.0.0.256"],
            ),
            (Check::NegatablePrefix, &["!10.0.0.0/8", "10.0.0.1"], &["!!10.0.0.1", "!"]),
            (Check::Destination, &["default", "10.0.0.0/8"], &["main", ""]),
            (
                Check::Mac,
                &["aa:bb:cc:dd:ee:FF"],
                &["aa:bb:cc:dd:ee", "aa:bb:cc:dd:ee:ff:00", "aa:bb:cc:dd:ee:f"],
            ),
            (Check::Mark, &["0x10", "16", "0x10/0xff", "!0x10"], &["0x", "x", "0x10/", "0x1ffffffff"]),
            (Check::HexMark, &["0x110", "0xffffffff"], &["110", "0x", "0x1ffffffff"]),
            (Check::Table, &["main", "40"], &["cnf", "0", ""]),
            (Check::ZoneName, &["wan1", "abcdefghijk"], &["abcdefghijkl"]),
            (Check::AddressList, &["10.0.0.1,10.0.0.2"], &["10.0.0.1,", "a"]),
            (Check::Certificates, &["YWJj", "YWJj_YWJj", "YWJj^^YWJj"], &["", "_", "a b!", "YWJ"]),
            (Check::DnsName, &["db.default.svc.cluster.local"], &["", "a..b", "-a", "a b"]),
        ];
        for (check, good, bad) in cases {
            for value in *good {
                assert_eq!(check.check(value), Ok(()), "{check:?} {value:?}");
            }
            for value in *bad {
                assert!(check.check(value).is_err(), "{check:?} {value:?}");
            }
        }
    }
}
