//! The networks of a pod, from its annotation: the NICs of its CNF.

use std::net::IpAddr;

use serde::Deserialize;
use thiserror::Error;

use crate::cnf::NicFact;
use crate::model::names::NETWORKS_ANNOTATION;

/// The NIC of the pod network, which every pod has.
pub const POD_NIC: &str = "eth0";

/// The annotation is not of a CNF.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the annotation {NETWORKS_ANNOTATION} is unusable: {0}")]
pub struct NetworksError(String);

#[derive(Deserialize)]
struct NetworksAnnotation {
    #[serde(default)]
    interface: Vec<AnnotatedInterface>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnnotatedInterface {
    interface: String,
    #[serde(default)]
    ip_address: Option<String>,
}

/// Returns the NICs of a pod: that of the pod network with the pod's address, then those of the
/// annotation in their order.
///
/// # Errors
/// The annotation is not JSON of its form, or names a NIC twice.
pub fn pod_nics(annotation: Option<&str>, address: IpAddr) -> Result<Vec<NicFact>, NetworksError> {
    let networks: NetworksAnnotation = match annotation {
        Some(text) => serde_json::from_str(text).map_err(|error| NetworksError(error.to_string()))?,
        None => NetworksAnnotation { interface: Vec::new() },
    };
    let nic = |name: &str, addresses| NicFact { name: name.into(), addresses, ..NicFact::default() };
    let mut nics = vec![nic(POD_NIC, vec![address])];
    for AnnotatedInterface { interface, ip_address } in networks.interface {
        if nics.iter().any(|nic| nic.name == interface) {
            return Err(NetworksError(format!("the NIC {interface} is there twice")));
        }
        let address = ip_address.as_deref().map(|text| text.split('/').next().unwrap_or_default());
        let address = match address.filter(|text| !text.is_empty()) {
            Some(text) => Some(text.parse().map_err(|_| NetworksError(format!("{text} is no address")))?),
            None => None,
        };
        nics.push(nic(&interface, address.into_iter().collect()));
    }
    Ok(nics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nics_are_those_of_the_annotation_behind_the_pod_network() {
        let text = r#"{"type":"ovn4nfv","interface":[
            {"name":"ovn-net1","interface":"net0","defaultGateway":"false","ipAddress":"172.16.44.2/24"},
            {"name":"ovn-net2","interface":"net1","defaultGateway":"false"}]}"#;
        let address: IpAddr = "127.30.0.1".parse().unwrap();
        let nics = pod_nics(Some(text), address).unwrap();
        assert_eq!(nics.iter().map(|nic| &*nic.name).collect::<Vec<_>>(), ["eth0", "net0", "net1"]);
        assert_eq!(nics[0].addresses, [address]);
        assert_eq!(nics[1].addresses, ["172.16.44.2".parse::<IpAddr>().unwrap()]);
        assert_eq!(pod_nics(None, address).unwrap().len(), 1);
    }

    #[test]
    fn an_unusable_annotation_is_an_error_with_the_reason() {
        let address: IpAddr = "127.30.0.1".parse().unwrap();
        for (text, reason) in [
            ("{", "EOF"),
            (r#"{"interface":[{"interface":"a"},{"interface":"a"}]}"#, "twice"),
            (r#"{"interface":[{"interface":"a","ipAddress":"x"}]}"#, "x is no address"),
        ] {
            let error = pod_nics(Some(text), address).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(NETWORKS_ANNOTATION), "{error}");
        }
    }
}
