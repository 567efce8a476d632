//! What nodes need to know of attachments on others.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use machinery::kube::Identity;
use machinery::objects::{Labels, Object, ObjectKey, ResourceVersion};
use serde::{Deserialize, Deserializer};

use super::extended::Section;
use super::vni::Vni;

/// An attachment as other nodes see it. All else of the object is skipped as it is read, and takes no memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Peer {
    /// Its name and its version.
    pub metadata: Identity,
    /// When what was written.
    #[serde(default)]
    pub extended_metadata: PeerWrites,
    /// Where it is.
    #[serde(default)]
    pub status: PeerStatus,
}

/// Where an attachment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PeerStatus {
    /// The network that its address is in; 0 without one.
    #[serde(rename = "addressVNI")]
    pub address_vni: u32,
    /// Its address.
    #[serde(deserialize_with = "address")]
    pub ipv4: Option<Ipv4Addr>,
    /// The address of its node, in the network below.
    #[serde(rename = "hostIP", deserialize_with = "address")]
    pub host_ip: Option<Ipv4Addr>,
    /// When the spec of its subnet was written.
    #[serde(deserialize_with = "moment")]
    pub subnet_creation_time: Moment,
}

/// When sections of an attachment were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerWrites {
    /// The spec.
    pub spec: Moment,
    /// What its node says of it.
    pub implementation: Moment,
}

/// A time to the microsecond, or none, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    /// It, if there is one.
    #[must_use]
    pub fn time(self) -> Option<Timestamp> {
        Some(self.0).filter(|micros| *micros != 0).and_then(|micros| Timestamp::from_microsecond(micros).ok())
    }

    fn read(text: &str) -> Self {
        Self(text.parse::<Timestamp>().map(Timestamp::as_microsecond).unwrap_or_default())
    }
}

impl Peer {
    /// Its network, its address and its node, if it has all of them.
    #[must_use]
    pub fn place(&self) -> Option<(Vni, Ipv4Addr, Ipv4Addr)> {
        let PeerStatus { address_vni, ipv4, host_ip, .. } = self.status;
        Some((Vni::new(address_vni).ok()?, ipv4?, host_ip?))
    }
}

/// What is no address is none: who wrote it is another's matter.
fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Ipv4Addr>, D::Error> {
    Ok(Cow::<str>::deserialize(from)?.parse().ok())
}

fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<Moment, D::Error> {
    Ok(Moment::read(&Cow::<str>::deserialize(from)?))
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
            let write = writes.iter().find(|write| write.section == section.name());
            write.map(|write| Moment::read(&write.server_time)).unwrap_or_default()
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
    fn a_peer_is_what_matters_of_an_attachment() {
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
        assert_eq!(peer.place(), Some((Vni::new(17).unwrap(), [10, 1, 0, 2].into(), [192, 0, 2, 1].into())));
        assert_eq!((peer.key().to_string().as_str(), peer.version()), ("n/a", ResourceVersion::new("7")));
        let times = [
            peer.status.subnet_creation_time,
            peer.extended_metadata.spec,
            peer.extended_metadata.implementation,
        ];
        let micros = times.map(|time| time.time().map(Timestamp::as_microsecond));
        assert_eq!(micros, [Some(1_000_001), Some(2_000_000), Some(3_000_000)]);
        assert_eq!(Moment::default().time(), None);
        assert!(size_of::<Peer>() <= 80, "a node has many: {}", size_of::<Peer>());
        for wrong in
            [json!({"addressVNI": 17}), json!({"addressVNI": 17, "ipv4": "x", "hostIP": ""}), json!({})]
        {
            let mut object = object.clone();
            object["status"] = wrong;
            assert_eq!(Peer::deserialize(&object).unwrap().place(), None);
        }
    }
}
