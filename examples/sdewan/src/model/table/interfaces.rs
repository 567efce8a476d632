//! Rules between NICs, NAT between NICs, routes and rules of the routing policy.

use super::firewall::{
    DEST_IP, DEST_PORT, EXTRA, FAMILY, ICMP_TYPE, MARK, MARK_NEEDS_A_MARK, PROTO, SET_MARK, SET_XMARK,
    SRC_IP, SRC_MAC, SRC_PORT, TARGET,
};
use super::{RULE, SdewanKind};
use crate::model::check::Check;
use crate::model::collection::CollectionId;
use crate::model::field::{Field, Reference, Shape};
use crate::model::kind::ObjectRule;

const NAME: Field = Field::text("name", "Ignored: the name of the object is used.").cr_only();

const SRC: Field = Field::text("src", "The NIC by which packets come: its name, `#default` or `#IP`.")
    .refers_to(Reference::Nic)
    .check(Check::Any, "invalid src");
const DEST: Field = Field::text("dest", "The NIC by which packets leave: its name, `#default` or `#IP`.")
    .refers_to(Reference::Nic)
    .check(Check::Any, "invalid dest");

pub(in crate::model) const NETWORK_FIREWALL_RULE: SdewanKind = SdewanKind {
    kind: "NetworkFirewallRule",
    plural: "networkfirewallrules",
    about: "A rule of the firewall: the verdict on packets between NICs.",
    finalizer: "networkfirewallrule.finalizers.sdewan.akraino.org",
    collection: Some(CollectionId::NetworkFirewallRules),
    fields: &[
        NAME,
        SRC.required_by_cnf(),
        SRC_IP,
        SRC_MAC,
        SRC_PORT,
        PROTO,
        ICMP_TYPE,
        DEST,
        DEST_IP,
        DEST_PORT,
        MARK,
        TARGET.required_by_cnf(),
        SET_MARK,
        SET_XMARK,
        FAMILY,
        EXTRA,
    ],
    rules: &[MARK_NEEDS_A_MARK],
    ..RULE
};

pub(in crate::model) const CNF_NAT: SdewanKind = SdewanKind {
    kind: "CNFNAT",
    plural: "cnfnats",
    about: "NAT of packets between NICs.",
    finalizer: "cnfnat.finalizers.sdewan.akraino.org",
    collection: Some(CollectionId::Nats),
    fields: &[
        NAME,
        Field::text("src", "The NIC by which packets come: its name, `#default` or `#source`.")
            .refers_to(Reference::Nic)
            .check(Check::Any, "invalid src"),
        SRC_IP,
        Field::text("src_dip", "The address of the CNF.").check(Check::Prefix, "invalid src_dip"),
        SRC_PORT,
        Field::number("src_dport", "The port of the CNF.").check(Check::Port, "invalid src_port"),
        PROTO,
        Field::text("dest", "The NIC by which packets leave; `#source` is the one that has src_dip.")
            .refers_to(Reference::Nic)
            .check(Check::Any, "invalid dest"),
        DEST_IP,
        DEST_PORT,
        Field::text("target", "SNAT, DNAT or MASQUERADE.")
            .check(Check::OneOf(&["DNAT", "SNAT", "MASQUERADE"]), "invalid target"),
        Field::number("index", "The sort key among rules: lower first; 0 or absent is last.")
            .check(Check::Natural, "invalid index"),
    ],
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
        ObjectRule {
            when: &[("target", "MASQUERADE")],
            needs_one_of: &["dest"],
            message: "dest is required for SNAT MASQUERADE",
        },
        ObjectRule {
            when: &[("target", "DNAT")],
            needs_one_of: &["dest_ip", "dest_port"],
            message: "dest_ip or dest_port are required for DNAT",
        },
    ],
    ..RULE
};

pub(in crate::model) const CNF_ROUTE: SdewanKind = SdewanKind {
    kind: "CNFRoute",
    plural: "cnfroutes",
    about: "A route of the CNF.",
    collection: Some(CollectionId::Routes),
    fields: &[
        Field::text("dst", "The destination: a prefix or `default`.")
            .required_by_cnf()
            .check(Check::Destination, "Invalid Destination IP Address"),
        Field::text("src", "The source address of the route.")
            .rest_only()
            .check(Check::Address, "Invalid Source IP Address"),
        Field::text("gw", "The gateway.").check(Check::Address, "Invalid Gateway IP Address"),
        Field::text("dev", "The NIC: its name, `#default` or `#IP`.")
            .required_by_cnf()
            .refers_to(Reference::Nic),
        Field::text("table", "The table: `default`, or `cnf` for the table 40.")
            .check(Check::OneOf(&["default", "cnf"]), "Bad route table"),
    ],
    ..RULE
};

pub(in crate::model) const CNF_ROUTE_RULE: SdewanKind = SdewanKind {
    kind: "CNFRouteRule",
    plural: "cnfrouterules",
    about: "A rule of the routing policy: the table for some packets.",
    collection: Some(CollectionId::RouteRules),
    fields: &[
        Field::text("src", "The source prefix.").check(Check::Prefix, "Invalid Source IP Address"),
        Field::text("dst", "The destination prefix.").check(Check::Prefix, "Invalid Destination IP Address"),
        Field::of("not", Shape::Flag, "Whether the rule is about the packets that do not match.")
            .renamed("flag"),
        Field::number("prio", "The priority: lower first.").check(Check::Positive, "Invalid Prioroty"),
        Field::number("fwmark", "The mark of matched packets, hexadecimal.")
            .check(Check::HexMark, "Invalid fwmark"),
        Field::number("table", "The table: main, local, default or its number; absent is main.")
            .check(Check::Table, "Invalid Table"),
    ],
    rules: &[ObjectRule {
        when: &[],
        needs_one_of: &["src", "dst"],
        message: "src or dst are required for rule",
    }],
    ..RULE
};
