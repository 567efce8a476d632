//! The firewall: zones, and the rules between them.

use super::words::{FAMILIES, ICMP_TYPES, PROTOCOLS, TARGETS, VERDICTS};
use super::{RULE, SdewanKind};
use crate::model::check::Check;
use crate::model::collection::CollectionId;
use crate::model::field::{Field, Reference};
use crate::model::kind::ObjectRule;

const ZONE: Reference = Reference::Object(CollectionId::Zones);

pub(in crate::model) const FIREWALL_ZONE: SdewanKind = SdewanKind {
    kind: "FirewallZone",
    plural: "firewallzones",
    about: "A zone of the firewall: networks with common policies. Its name has at most eleven characters.",
    collection: Some(CollectionId::Zones),
    fields: &[
        Field::text("name", "Ignored: the name of the object is the name of the zone.").cr_only(),
        Field::list("network", "The names of networks in the annotation of the CNF.")
            .required()
            .spelled(&["newtork"])
            .refers_to(Reference::Network)
            .check(Check::Any, "invalid network"),
        Field::number("masq", "Whether traffic that leaves the zone is masqueraded: \"1\" or \"0\".")
            .check(Check::Boolean, "invalid masq"),
        Field::list("masq_src", "The sources that are masqueraded; with `!`, those that are not.")
            .check(Check::NegatablePrefix, "invalid masq_src"),
        Field::list("masq_dest", "The destinations that are masqueraded; with `!`, those that are not.")
            .check(Check::NegatablePrefix, "invalid masq_dest"),
        Field::number("masq_allow_invalid", "Whether invalid packets are masqueraded too: \"1\" or \"0\".")
            .check(Check::Boolean, "invalid masq_allow_invalid"),
        Field::number("mtu_fix", "Whether the segment size of TCP follows the path: \"1\" or \"0\".")
            .check(Check::Boolean, "invalid mtu_fix"),
        Field::text("input", "The policy for packets to the CNF.")
            .check(Check::OneOf(VERDICTS), "invalid input"),
        Field::text("forward", "The policy for packets within the zone.")
            .check(Check::OneOf(VERDICTS), "invalid forward"),
        Field::text("output", "The policy for packets from the CNF.")
            .check(Check::OneOf(VERDICTS), "invalid output"),
        Field::text("family", "The address family: ipv4, ipv6 or any.")
            .check(Check::OneOf(FAMILIES), "invalid family"),
        Field::list("subnet", "The prefixes of the zone, besides its networks.")
            .check(Check::Prefix, "invalid subnet"),
        Field::text("extra_src", "A further match of packets from the zone."),
        Field::text("etra_dest", "A further match of packets to the zone; spelled as in the original.")
            .spelled(&["extra_dest"]),
    ],
    ..RULE
};

pub(in crate::model) const FIREWALL_FORWARDING: SdewanKind = SdewanKind {
    kind: "FirewallForwarding",
    plural: "firewallforwardings",
    about: "Permits the forwarding of packets from a zone to another.",
    finalizer: "forwarding.finalizers.sdewan.akraino.org",
    collection: Some(CollectionId::Forwardings),
    fields: &[
        Field::text("name", "Ignored: the name of the object is used.").cr_only(),
        Field::text("src", "The zone from which packets come.")
            .required_by_cnf()
            .refers_to(ZONE)
            .check(Check::Any, "invalid src"),
        Field::text("dest", "The zone to which packets go.")
            .required_by_cnf()
            .refers_to(ZONE)
            .check(Check::Any, "invalid dest"),
        Field::text("family", "The address family: ipv4, ipv6 or any.")
            .check(Check::OneOf(FAMILIES), "invalid family"),
    ],
    ..RULE
};

/// A match of a rule, with the original's message.
const SRC: Field =
    Field::text("src", "The zone from which packets come.").refers_to(ZONE).check(Check::Any, "invalid src");
const DEST: Field =
    Field::text("dest", "The zone to which packets go.").refers_to(ZONE).check(Check::Any, "invalid dest");
pub(super) const SRC_IP: Field =
    Field::text("src_ip", "The source address or prefix.").check(Check::Prefix, "invalid src_ip");
pub(super) const SRC_MAC: Field =
    Field::text("src_mac", "The source MAC address.").check(Check::Mac, "invalid src_mac");
pub(super) const SRC_PORT: Field =
    Field::number("src_port", "The source port.").check(Check::Port, "invalid src_port");
pub(super) const PROTO: Field =
    Field::text("proto", "The protocol.").check(Check::OneOf(PROTOCOLS), "invalid proto");
pub(super) const DEST_IP: Field =
    Field::text("dest_ip", "The destination address or prefix.").check(Check::Prefix, "invalid dest_ip");
pub(super) const DEST_PORT: Field =
    Field::number("dest_port", "The destination port.").check(Check::Port, "invalid dest_port");
pub(super) const MARK: Field = Field::number("mark", "The mark of matched packets; with `!`, of others.")
    .check(Check::Mark, "invalid mark");
pub(super) const FAMILY: Field = Field::text("family", "The address family: ipv4, ipv6 or any.")
    .check(Check::OneOf(FAMILIES), "invalid family");
pub(super) const ICMP_TYPE: Field = Field::list("icmp_type", "The ICMP types, with the protocol icmp.")
    .check(Check::OneOf(ICMP_TYPES), "invalid icmp_type");
pub(super) const TARGET: Field = Field::text("target", "ACCEPT, REJECT, DROP, MARK or NOTRACK.")
    .check(Check::OneOf(TARGETS), "invalid target");
pub(super) const SET_MARK: Field =
    Field::number("set_mark", "The mark that MARK sets.").check(Check::Mark, "invalid set_mark");
pub(super) const SET_XMARK: Field =
    Field::number("set_xmark", "The mark that MARK combines by exclusive or.")
        .check(Check::Mark, "invalid set_xmark");
pub(super) const EXTRA: Field = Field::text("extra", "A further match of packets.");
const NAME: Field = Field::text("name", "Ignored: the name of the object is used.").cr_only();

pub(super) const MARK_NEEDS_A_MARK: ObjectRule = ObjectRule {
    when: &[("target", "MARK")],
    needs_one_of: &["set_mark", "set_xmark"],
    message: "set_mark or set_xmark is required for MARK",
};

pub(in crate::model) const FIREWALL_RULE: SdewanKind = SdewanKind {
    kind: "FirewallRule",
    plural: "firewallrules",
    about: "A rule of the firewall: the verdict on packets from, to or between zones.",
    collection: Some(CollectionId::FirewallRules),
    fields: &[
        NAME, SRC, SRC_IP, SRC_MAC, SRC_PORT, PROTO, ICMP_TYPE, DEST, DEST_IP, DEST_PORT, MARK, TARGET,
        SET_MARK, SET_XMARK, FAMILY, EXTRA,
    ],
    rules: &[MARK_NEEDS_A_MARK],
    ..RULE
};

const SRC_DIP: Field = Field::text(
    "src_dip",
    "The address of the CNF: for SNAT the new source, for DNAT the destination matched.",
)
.check(Check::Prefix, "invalid src_dip");
const SRC_DPORT: Field = Field::number("src_dport", "The port of the CNF, of the same address.")
    .check(Check::Port, "invalid src_port");
const REDIRECT_TARGET: Field = Field::text("target", "Ignored: the kind decides between SNAT and DNAT.")
    .check(Check::OneOf(&["DNAT", "SNAT"]), "invalid target");

const REDIRECT: &[Field] = &[
    NAME,
    SRC,
    SRC_IP,
    SRC_DIP,
    SRC_MAC,
    SRC_PORT,
    SRC_DPORT,
    PROTO,
    DEST,
    DEST_IP,
    DEST_PORT,
    MARK,
    REDIRECT_TARGET,
    FAMILY,
];

pub(in crate::model) const FIREWALL_SNAT: SdewanKind = SdewanKind {
    kind: "FirewallSNAT",
    plural: "firewallsnats",
    about: "Source NAT of packets that leave by a zone.",
    finalizer: "snat.finalizers.sdewan.akraino.org",
    collection: Some(CollectionId::Redirects),
    fields: REDIRECT,
    forced: &[("target", "SNAT")],
    rules: &[
        ObjectRule {
            when: &[("target", "SNAT")],
            needs_one_of: &["src_dip"],
            message: "src_dip is required for SNAT",
        },
        ObjectRule {
            when: &[("target", "SNAT")],
            needs_one_of: &["dest"],
            message: "dest is required for SNAT",
        },
    ],
    ..RULE
};

pub(in crate::model) const FIREWALL_DNAT: SdewanKind = SdewanKind {
    kind: "FirewallDNAT",
    plural: "firewalldnats",
    about: "Destination NAT of packets that come by a zone.",
    finalizer: "dnat.finalizers.sdewan.akraino.org",
    collection: Some(CollectionId::Redirects),
    fields: REDIRECT,
    forced: &[("target", "DNAT")],
    rules: &[ObjectRule {
        when: &[("target", "DNAT")],
        needs_one_of: &["src"],
        message: "src is required for DNAT",
    }],
    ..RULE
};
