//! Network formats: IP and MAC addresses, CIDRs, host names and DNS labels.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;

/// An IPv4 address, with leading zeros allowed; or an IPv6 address that ends with one, which
/// Kubernetes accepts too.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (is_dotted(text) || is_ipv6_address(text))
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// An IP address with a prefix length.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match (is_dotted(address), is_ipv6_address(address)) {
        (true, _) => 32,
        (false, true) => 128,
        _ => return false,
    };
    is_digits(bits) && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// 6, 8 or 20 octets: `00:00:5e:00:53:01`, `00-00-5e-00-53-01` or `0000.5e00.5301`.
pub(super) fn is_mac(text: &str) -> bool {
    let groups = |sign: char, width: usize, counts: [usize; 3]| {
        let is_group = |group: &str| group.len() == width && group.bytes().all(|c| c.is_ascii_hexdigit());
        counts.contains(&text.split(sign).count()) && text.split(sign).all(is_group)
    };
    groups(':', 2, [6, 8, 20]) || groups('-', 2, [6, 8, 20]) || groups('.', 4, [3, 4, 10])
}

/// A name of a host: one label with at most one dash, which is second; or several, the last of
/// letters only.
pub(super) fn is_hostname(text: &str) -> bool {
    static HOST: LazyLock<Regex> = LazyLock::new(|| {
        let sign = r"0-9A-Za-z\p{S}\p{L}";
        let single = format!(r"[{sign}]-?[{sign}]{{0,62}}");
        let label = format!(r"[{sign}](?:[{sign}-]{{0,61}}[{sign}])?");
        let whole = format!(r"^(?:{single}|(?:{label}\.)+[A-Za-z\p{{L}}]{{2,63}})$");
        Regex::new(&whole).expect("it is a constant")
    });
    HOST.is_match(text) && text.len() <= 255 && text.split('.').all(|label| label.len() <= 63)
}

/// A DNS label in lower case.
pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

/// A DNS subdomain: labels separated by dots.
pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(plain)
        && bytes.last().copied().is_some_and(plain)
        && bytes.iter().all(|c| plain(*c) || *c == b'-')
}

fn is_dotted(text: &str) -> bool {
    let octet = |part: &str| is_digits(part) && part.parse::<u32>().is_ok_and(|octet| octet <= 255);
    text.split('.').count() == 4 && text.split('.').all(octet)
}

/// An IPv6 address without a zone. Zeros may lead within an IPv4 address at its end.
fn is_ipv6_address(text: &str) -> bool {
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            is_dotted(tail) && format!("{head}:0.0.0.0").parse::<Ipv6Addr>().is_ok()
        }
        _ => text.parse::<Ipv6Addr>().is_ok(),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit())
}
