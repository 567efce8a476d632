//! The projection of attachments that agents cache for other nodes.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use machinery::kube::KeyMetadata;
use machinery::objects::{Labels, Object, ObjectKey, ResourceVersion};
use serde::{Deserialize, Deserializer};

use super::sections::Section;
use super::vni::Vni;

/// An attachment on another node. All other fields are skipped while decoding.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Peer {
    /// Key and resourceVersion.
    pub metadata: KeyMetadata,
    /// Section write times.
    #[serde(default)]
    pub extended_metadata: PeerWrites,
    /// The location.
    #[serde(default)]
    pub status: PeerStatus,
}

/// The location of an attachment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PeerStatus {
    /// VNI of the network; 0 without an address.
    #[serde(rename = "addressVNI")]
    pub address_vni: u32,
    /// The attachment's address.
    #[serde(deserialize_with = "address")]
    pub ipv4: Option<Ipv4Addr>,
    /// Underlay address of the attachment's node.
    #[serde(rename = "hostIP", deserialize_with = "address")]
    pub host_ip: Option<Ipv4Addr>,
    /// Time of the write of the subnet's spec.
    #[serde(deserialize_with = "moment")]
    pub subnet_creation_time: MicroTimestamp,
}

/// Section write times of an attachment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerWrites {
    /// Time of the latest write of the spec.
    pub spec: MicroTimestamp,
    /// Time of the latest write of the interface status.
    pub implementation: MicroTimestamp,
}

/// An optional time to the microsecond, in eight bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
// Cached for each peer: an `Option<Timestamp>` takes at least twice as much.
pub struct MicroTimestamp(i64);

impl MicroTimestamp {
    /// Returns the time, if there is one.
    #[must_use]
    pub fn time(self) -> Option<Timestamp> {
        Some(self.0).filter(|micros| *micros != 0).and_then(|micros| Timestamp::from_microsecond(micros).ok())
    }

    fn read(text: &str) -> Self {
        Self(text.parse::<Timestamp>().map(Timestamp::as_microsecond).unwrap_or_default())
    }
}

impl Peer {
    /// Returns VNI, address and underlay address of the node, if all are set.
    #[must_use]
    pub fn location(&self) -> Option<(Vni, Ipv4Addr, Ipv4Addr)> {
        let PeerStatus { address_vni, ipv4, host_ip, .. } = self.status;
        Some((Vni::new(address_vni).ok()?, ipv4?, host_ip?))
    }
}

/// An unparsable address counts as absent: the writer's validation reports it.
fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Ipv4Addr>, D::Error> {
    Ok(Cow::<str>::deserialize(from)?.parse().ok())
}

fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<MicroTimestamp, D::Error> {
    Ok(MicroTimestamp::read(&Cow::<str>::deserialize(from)?))
}

impl<'de> Deserialize<'de> for PeerWrites {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Extended<'a> {
            #[serde(borrow, default)]
            writes: Vec<Write<'a>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Write<'a> {
            #[serde(borrow)]
            section: Cow<'a, str>,
            #[serde(borrow)]
            server_time: Cow<'a, str>,
        }
        let Extended { writes } = Extended::deserialize(from)?;
        let of = |section: Section| {
            let write = writes.iter().find(|write| write.section == section.as_ref());
            write.map(|write| MicroTimestamp::read(&write.server_time)).unwrap_or_default()
        };
        Ok(Self { spec: of(Section::Spec), implementation: of(Section::Implementation) })
    }
}

impl Object for Peer {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn peer_is_decoded_from_an_attachment() {
        let object = json!({
            "apiVersion": "network.example.com/v1alpha1", "kind": "NetworkAttachment",
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"app": "x"}},
            "spec": {"node": "node-1", "subnet": "s"},
            "status": {"addressVNI": 17, "ipv4": "10.1.0.2", "hostIP": "192.0.2.1", "lockUID": "l",
                "subnetCreationTime": "1970-01-01T00:00:01.000001Z"},
            "extendedMetadata": {"writes": [
                {"section": "status.impl", "serverTime": "1970-01-01T00:00:03.000000Z"},
                {"section": "spec", "serverTime": "1970-01-01T00:00:02.000000Z"},
            ]},
        });
        let peer = Peer::deserialize(&object).unwrap();
        assert_eq!(
            peer.location(),
            Some((Vni::new(17).unwrap(), [10, 1, 0, 2].into(), [192, 0, 2, 1].into()))
        );
        assert_eq!((peer.key().to_string().as_str(), peer.version()), ("n/a", ResourceVersion::new("7")));
        let times = [
            peer.status.subnet_creation_time,
            peer.extended_metadata.spec,
            peer.extended_metadata.implementation,
        ];
        let micros = times.map(|time| time.time().map(Timestamp::as_microsecond));
        assert_eq!(micros, [Some(1_000_001), Some(2_000_000), Some(3_000_000)]);
        assert_eq!(MicroTimestamp::default().time(), None);
        assert!(size_of::<Peer>() <= 80, "a node has many: {}", size_of::<Peer>());
        for errors in
            [json!({"addressVNI": 17}), json!({"addressVNI": 17, "ipv4": "x", "hostIP": ""}), json!({})]
        {
            let mut object = object.clone();
            object["status"] = errors;
            assert_eq!(Peer::deserialize(&object).unwrap().location(), None);
        }
    }
}
