//! Marks of rows: the `external_ids` from which the interfaces are rebuilt.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use machinery::objects::ObjectKey;

use super::super::LocalInterface;
use crate::model::Vni;

/// The purpose of a port, according to its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortMark {
    /// The port of a local interface.
    Interface(LocalInterface),
    /// The tunnel port.
    Tunnel,
}

const NODE: &str = "kos-node";
const ROLE: &str = "kos-role";
const VNI: &str = "kos-vni";
const ADDRESS: &str = "kos-address";
const ATTACHMENT: &str = "kos-attachment";
const PREFIX_LENGTH: &str = "kos-prefix-length";

const BRIDGE: &str = "bridge";
const TUNNEL: &str = "tunnel";
const INTERFACE: &str = "interface";

/// Returns the marks of the bridge of a node.
#[must_use]
pub fn bridge_marks(node: &str) -> BTreeMap<String, String> {
    marks(node, BRIDGE, [])
}

/// Returns the marks of the tunnel port of a node.
#[must_use]
pub fn tunnel_marks(node: &str) -> BTreeMap<String, String> {
    marks(node, TUNNEL, [])
}

/// Returns the marks of the port of a local interface.
#[must_use]
pub fn interface_marks(node: &str, local: &LocalInterface) -> BTreeMap<String, String> {
    let workload = local.workload.as_ref();
    let optional = [
        (ATTACHMENT, workload.map(|workload| workload.attachment.to_string())),
        (
            PREFIX_LENGTH,
            workload.and_then(|workload| workload.prefix_length).map(|length| length.to_string()),
        ),
    ];
    let own = [(VNI, local.vni.to_string()), (ADDRESS, local.address.to_string())];
    let given = optional.into_iter().filter_map(|(key, value)| Some((key, value?)));
    marks(node, INTERFACE, own.into_iter().chain(given))
}

/// Reads the mark of a port of a node; `None` for ports of others.
#[must_use]
pub fn read_mark(node: &str, external_ids: &BTreeMap<String, String>) -> Option<PortMark> {
    let of = |key: &str| external_ids.get(key).map(String::as_str);
    if of(NODE) != Some(node) {
        return None;
    }
    match of(ROLE)? {
        TUNNEL => Some(PortMark::Tunnel),
        INTERFACE => {
            let vni = Vni::new(of(VNI)?.parse().ok()?).ok()?;
            let local = LocalInterface::new(vni, of(ADDRESS)?.parse::<Ipv4Addr>().ok()?);
            let Some(attachment) = of(ATTACHMENT) else { return Some(PortMark::Interface(local)) };
            let prefix_length = match of(PREFIX_LENGTH) {
                Some(text) => Some(text.parse::<u8>().ok().filter(|length| *length <= 32)?),
                None => None,
            };
            Some(PortMark::Interface(local.with_workload(key_of(attachment)?, prefix_length)))
        }
        _ => None,
    }
}

/// Parses the text of a key.
fn key_of(text: &str) -> Option<ObjectKey> {
    match text.split_once('/') {
        Some((namespace, name)) => ObjectKey::new(Some(namespace), name).ok(),
        None => ObjectKey::new(None, text).ok(),
    }
}

fn marks(
    node: &str,
    role: &str,
    others: impl IntoIterator<Item = (&'static str, String)>,
) -> BTreeMap<String, String> {
    let own = [(NODE, node.to_owned()), (ROLE, role.to_owned())];
    own.into_iter().chain(others).map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> LocalInterface {
        LocalInterface::new(Vni::new(7).unwrap(), [10, 0, 0, 2].into())
    }

    #[test]
    fn an_interface_is_rebuilt_from_its_marks() {
        let key = ObjectKey::new(Some("default"), "a").unwrap();
        for local in [local(), local().with_workload(key.clone(), Some(24)), local().with_workload(key, None)]
        {
            let marks = interface_marks("node-1", &local);
            assert_eq!(read_mark("node-1", &marks), Some(PortMark::Interface(local)));
            assert_eq!(read_mark("node-2", &marks), None, "the port of another node");
        }
    }

    #[test]
    fn malformed_marks_are_those_of_others() {
        let marks = interface_marks("n", &local());
        for (key, value) in [(VNI, "0"), (VNI, "x"), (ADDRESS, "10.0.0"), (ROLE, "x"), (ATTACHMENT, "a/..")] {
            let mut wrong = marks.clone();
            wrong.insert(key.into(), value.into());
            assert_eq!(read_mark("n", &wrong), None, "{key}={value}");
        }
        assert_eq!(read_mark("n", &BTreeMap::new()), None);
        assert_eq!(read_mark("n", &tunnel_marks("n")), Some(PortMark::Tunnel));
        assert_eq!(read_mark("n", &bridge_marks("n")), None);
    }
}
