//! IP addresses and CIDR ranges.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::Function;
use super::opaque::Opaque;
use crate::value::{Outcome, Val, fail, no_overload};

/// A CIDR range: the addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Cidr {
    pub(crate) addr: IpAddr,
    pub(crate) bits: u8,
}

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "ip" => |args| match args.values {
            [Val::String(text)] => match parse_ip(text.as_str()) {
                Ok(ip) => Ok(ip_val(ip)),
                Err(why) => fail(why),
            },
            [Val::Opaque(it)] => match **it {
                Opaque::Cidr(it) => Ok(ip_val(it.addr)),
                _ => no_overload(),
            },
            _ => no_overload(),
        },
        "isIP" => |args| text(args.values, |it| Ok(Val::Bool(parse_ip(it).is_ok()))),
        "ip.isCanonical" => |args| {
            text(args.values, |it| match parse_ip(it) {
                Ok(ip) => Ok(Val::Bool(ip.to_string() == it)),
                Err(why) => fail(why),
            })
        },
        "family" => |args| ip(args.values, |it| Val::Int(if it.is_ipv4() { 4 } else { 6 })),
        "isUnspecified" => |args| ip(args.values, |it| Val::Bool(it.is_unspecified())),
        "isLoopback" => |args| ip(args.values, |it| Val::Bool(it.is_loopback())),
        "isLinkLocalMulticast" => |args| ip(args.values, |it| Val::Bool(link_local_multicast(it))),
        "isLinkLocalUnicast" => |args| ip(args.values, |it| Val::Bool(link_local_unicast(it))),
        "isGlobalUnicast" => |args| ip(args.values, |it| Val::Bool(global_unicast(it))),
        "cidr" => |args| {
            text(args.values, |it| match parse_cidr(it) {
                Ok(cidr) => Ok(cidr_val(cidr)),
                Err(why) => fail(why),
            })
        },
        "isCIDR" => |args| text(args.values, |it| Ok(Val::Bool(parse_cidr(it).is_ok()))),
        "containsIP" => |args| contains_ip(args.values),
        "containsCIDR" => |args| contains_cidr(args.values),
        "masked" => |args| cidr(args.values, |it| cidr_val(it.masked())),
        "prefixLength" => |args| cidr(args.values, |it| Val::Int(it.bits.into())),
        _ => return None,
    })
}

fn ip_val<'a>(ip: IpAddr) -> Val<'a> {
    Val::Opaque(Arc::new(Opaque::Ip(ip)))
}

fn cidr_val<'a>(cidr: Cidr) -> Val<'a> {
    Val::Opaque(Arc::new(Opaque::Cidr(cidr)))
}

fn text<'a>(values: &[Val<'a>], of: impl Fn(&str) -> Outcome<'a>) -> Outcome<'a> {
    match values {
        [Val::String(text)] => of(text.as_str()),
        _ => no_overload(),
    }
}

fn ip<'a>(values: &[Val<'a>], of: impl Fn(IpAddr) -> Val<'a>) -> Outcome<'a> {
    match values {
        [Val::Opaque(it)] => match **it {
            Opaque::Ip(ip) => Ok(of(ip)),
            _ => no_overload(),
        },
        _ => no_overload(),
    }
}

fn cidr<'a>(values: &[Val<'a>], of: impl Fn(Cidr) -> Val<'a>) -> Outcome<'a> {
    match values {
        [Val::Opaque(it)] => match **it {
            Opaque::Cidr(cidr) => Ok(of(cidr)),
            _ => no_overload(),
        },
        _ => no_overload(),
    }
}

/// Parses an address. Zones and IPv4-mapped IPv6 addresses are refused.
fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let ip: IpAddr = match text.parse() {
        Ok(ip) => ip,
        Err(_) if text.contains('%') => {
            return Err(format!("IP address {text:?} with zone value is not allowed"));
        }
        Err(_) => return Err(format!("IP Address {text:?} parse error during conversion from string")),
    };
    match ip {
        IpAddr::V6(it) if it.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        ip => Ok(ip),
    }
}

fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let wrong = || format!("network address parse error during conversion from string: {text:?}");
    let (addr, bits) = text.split_once('/').ok_or_else(wrong)?;
    let addr: IpAddr = addr.parse().map_err(|_| wrong())?;
    if !bits.bytes().all(|it| it.is_ascii_digit())
        || bits.is_empty()
        || bits.len() > 1 && bits.starts_with('0')
    {
        return Err(wrong());
    }
    let bits: u8 = bits.parse().map_err(|_| wrong())?;
    if bits > if addr.is_ipv4() { 32 } else { 128 } {
        return Err(wrong());
    }
    if let IpAddr::V6(it) = addr
        && it.to_ipv4_mapped().is_some()
    {
        return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(Cidr { addr, bits })
}

impl Cidr {
    fn masked(self) -> Self {
        let addr = match self.addr {
            IpAddr::V4(it) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(it) & mask))
            }
            IpAddr::V6(it) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(it) & mask))
            }
        };
        Self { addr, bits: self.bits }
    }

    fn contains(self, ip: IpAddr) -> bool {
        self.addr.is_ipv4() == ip.is_ipv4()
            && Self { addr: ip, bits: self.bits }.masked().addr == self.masked().addr
    }
}

fn contains_ip<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let ip = match values {
        [_, Val::String(text)] => match parse_ip(text.as_str()) {
            Ok(ip) => ip,
            Err(why) => return fail(why),
        },
        [_, Val::Opaque(it)] => match **it {
            Opaque::Ip(ip) => ip,
            _ => return no_overload(),
        },
        _ => return no_overload(),
    };
    cidr(&values[..1], |it| Val::Bool(it.contains(ip)))
}

fn contains_cidr<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let other = match values {
        [_, Val::String(text)] => match parse_cidr(text.as_str()) {
            Ok(cidr) => cidr,
            Err(why) => return fail(why),
        },
        [_, Val::Opaque(it)] => match **it {
            Opaque::Cidr(cidr) => cidr,
            _ => return no_overload(),
        },
        _ => return no_overload(),
    };
    cidr(&values[..1], |it| Val::Bool(it.bits <= other.bits && it.contains(other.addr)))
}

fn link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(it) => it.octets()[..3] == [224, 0, 0],
        IpAddr::V6(it) => it.segments()[0] & 0xff0f == 0xff02,
    }
}

fn link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(it) => it.is_link_local(),
        IpAddr::V6(it) => it.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn global_unicast(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(it) if it.is_broadcast());
    !(broadcast || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || link_local_unicast(ip))
}
