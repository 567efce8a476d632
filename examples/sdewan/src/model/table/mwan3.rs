//! Multi-WAN: policies, and rules that use them.

use super::{RULE, SdewanKind};
use crate::model::check::Check;
use crate::model::collection::CollectionId;
use crate::model::field::{Field, Reference, Shape};

pub(in crate::model) const MWAN3_POLICY: SdewanKind = SdewanKind {
    kind: "Mwan3Policy",
    plural: "mwan3policies",
    about: "A policy of multi-WAN: the networks that share or back up the traffic of its rules.",
    collection: Some(CollectionId::Policies),
    fields: &[Field::of(
        "members",
        Shape::Objects(MEMBERS),
        "The networks of the policy: the online ones of the lowest metric are active.",
    )
    .required()
    .check(Check::Any, "Incorrect policy member")],
    ..RULE
};

const MEMBERS: &[Field] = &[
    Field::text("network", "The name of a network in the annotation of the CNF.")
        .renamed("interface")
        .required()
        .refers_to(Reference::Network)
        .check(Check::Any, "invalid interface"),
    Field::of("metric", Shape::Integer, "The preference: the lowest metric of an online network is active.")
        .required()
        .check(Check::Positive, "metric should be greater than 0"),
    Field::of("weight", Shape::Integer, "The share of the traffic among active networks.")
        .required()
        .check(Check::Positive, "weight should be greater than 0"),
];

pub(in crate::model) const MWAN3_RULE: SdewanKind = SdewanKind {
    kind: "Mwan3Rule",
    plural: "mwan3rules",
    about: "A rule of multi-WAN: the traffic that uses a policy. The first rule that matches wins.",
    collection: Some(CollectionId::Mwan3Rules),
    fields: &[
        Field::text("policy", "The name of the Mwan3Policy.")
            .required()
            .refers_to(Reference::Object(CollectionId::Policies))
            .check(Check::Any, "invalid policy"),
        Field::text("src_ip", "The source address or prefix.").check(Check::Prefix, "invalid ip address"),
        Field::number("src_port", "The source port.").check(Check::Port, "invalid src_port"),
        Field::text("dest_ip", "The destination address or prefix.")
            .check(Check::Prefix, "invalid ip address"),
        Field::number("dest_port", "The destination port.").check(Check::Port, "invalid dest_port"),
        Field::text("proto", "The protocol: tcp, udp, icmp or all.")
            .check(Check::OneOf(&["tcp", "udp", "icmp", "all"]), "wrong proto"),
        Field::text("family", "The address family: ipv4, ipv6 or all.")
            .check(Check::OneOf(&["ipv4", "ipv6", "all"]), "wrong family"),
        Field::number("sticky", "Whether a source keeps its network: \"1\" or \"0\".")
            .check(Check::Boolean, "wrong sticky"),
        Field::number("timeout", "The seconds for which a source keeps its network.")
            .check(Check::Positive, "invalid timeout"),
    ],
    ..RULE
};
