//! Request URIs: absolute, or an absolute path.

use std::net::Ipv6Addr;

/// Returns whether Go accepts it as a request URI, which Kubernetes calls a URL:
/// `https://a.example:8080/b?c`, `/b`.
pub fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|c| c < b' ' || c == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        None => is_escaped(rest),
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            is_authority(scheme, authority) && is_escaped(path)
        }
    }
}

/// Splits off the scheme, which may be empty; `None` if a colon precedes it.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (i, c) in text.bytes().enumerate() {
        match c {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return None,
            b':' => return Some((&text[..i], &text[i + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    match authority.rsplit_once('@') {
        Some((user, host)) => is_user(user) && is_host(scheme, host),
        None => is_host(scheme, authority),
    }
}

fn is_user(user: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&c);
    user.bytes().all(plain) && is_escaped(user)
}

fn is_host(scheme: &str, host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.rsplit_once(']') else { return false };
        let (address, zone) = address.split_once("%25").unwrap_or((address, "-"));
        return is_port(port) && is_zone(zone) && address.parse::<Ipv6Addr>().is_ok();
    }
    // Lists of hosts with ports are accepted, as in database URLs.
    let colon = if is_web(scheme) { host.find(':') } else { host.rfind(':') };
    let (name, port) = host.split_at(colon.unwrap_or(host.len()));
    // Escapes in a host are non-ASCII, except the zone sign.
    let foreign = |(i, _): (usize, _)| {
        let code = &name[i..];
        code.starts_with("%25") || code.as_bytes().get(1).is_some_and(|c| !(b'0'..b'8').contains(c))
    };
    is_port(port) && name.bytes().all(of_host) && is_escaped(name) && name.match_indices('%').all(foreign)
}

/// Returns whether a byte is allowed in a host, or starts an escape.
fn of_host(c: u8) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:]<>\"%".contains(&c)
}

/// Returns whether a zone is valid: escapes of spaces, and otherwise plain characters.
fn is_zone(zone: &str) -> bool {
    let escapes = zone.split('%').skip(1).filter_map(|after| u8::from_str_radix(after.get(..2)?, 16).ok());
    !zone.is_empty()
        && zone.bytes().all(of_host)
        && is_escaped(zone)
        && escapes.into_iter().all(|c| c == b' ' || of_host(c))
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn is_port(port: &str) -> bool {
    port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|c| c.is_ascii_digit()))
}

/// Returns whether each percent sign precedes two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.as_bytes().get(..2).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit)))
}
