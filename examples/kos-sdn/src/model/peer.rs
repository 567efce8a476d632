//! What nodes need to know of attachments on others.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::kube_core::{NamespaceResourceScope, Resource};
use serde::{Deserialize, Deserializer, Serialize};

use super::{GROUP, NetworkAttachment, VERSION, Vni};

/// An attachment as other nodes see it. All else of the object is skipped as it is read, and takes no memory.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Peer {
    /// Its name, its UID and its version, and nothing else.
    #[serde(deserialize_with = "lean")]
    pub metadata: ObjectMeta,
    /// Where it is.
    #[serde(default)]
    pub status: PeerStatus,
}

/// Where an attachment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PeerStatus {
    /// The network that its address is in; 0 without one.
    #[serde(rename = "addressVNI")]
    pub address_vni: u32,
    /// Its address.
    #[serde(deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Addr>,
    /// The address of its node, in the network below.
    #[serde(rename = "hostIP", deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    pub host_ip: Option<Ipv4Addr>,
}

impl Peer {
    /// Its network, its address and its node, if it has all of them.
    #[must_use]
    pub fn place(&self) -> Option<(Vni, Ipv4Addr, Ipv4Addr)> {
        let PeerStatus { address_vni, ipv4, host_ip } = self.status;
        Some((Vni::new(address_vni).ok()?, ipv4?, host_ip?))
    }
}

/// What is no address is none: who wrote it is another's matter.
fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Ipv4Addr>, D::Error> {
    Ok(Cow::<str>::deserialize(from)?.parse().ok())
}

fn lean<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Lean {
        name: Option<String>,
        namespace: Option<String>,
        uid: Option<String>,
        resource_version: Option<String>,
    }
    let Lean { name, namespace, uid, resource_version } = Lean::deserialize(from)?;
    Ok(ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() })
}

impl Resource for Peer {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        NetworkAttachment::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        NetworkAttachment::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_peer_is_what_matters_of_an_attachment() {
        let object = json!({
            "apiVersion": "network.example.com/v1alpha1", "kind": "NetworkAttachment",
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"app": "x"}},
            "spec": {"node": "node-1", "subnet": "s"},
            "status": {"addressVNI": 17, "ipv4": "10.1.0.2", "hostIP": "192.0.2.1", "lockUID": "l"},
        });
        let peer = Peer::deserialize(&object).unwrap();
        assert_eq!(peer.place(), Some((Vni::new(17).unwrap(), [10, 1, 0, 2].into(), [192, 0, 2, 1].into())));
        assert_eq!((peer.metadata.labels, peer.metadata.uid.as_deref()), (None, Some("u")));
        for wrong in
            [json!({"addressVNI": 17}), json!({"addressVNI": 17, "ipv4": "x", "hostIP": ""}), json!({})]
        {
            let mut object = object.clone();
            object["status"] = wrong;
            assert_eq!(Peer::deserialize(&object).unwrap().place(), None);
        }
    }
}
