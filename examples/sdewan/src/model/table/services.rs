//! Kinds that controllers resolve into others, applications, and the statuses of CNFs.

use super::{RULE, SdewanKind};
use crate::model::check::Check;
use crate::model::collection::CollectionId;
use crate::model::field::{Field, Shape};
use crate::model::kind::StatusForm;

pub(in crate::model) const CNF_SERVICE: SdewanKind = SdewanKind {
    kind: "CNFService",
    plural: "cnfservices",
    about: "A service behind a port of the CNF.",
    finalizer: "cnfservice.finalizers.sdewan.akraino.org",
    fields: &[
        Field::text("fullname", "The DNS name of the service.").check(Check::DnsName, "invalid fullname"),
        Field::number("port", "The port of the CNF.").check(Check::Port, "invalid port"),
        Field::number("dport", "The port of the service.").check(Check::Port, "invalid dport"),
        Field::text("cidr", "The sources that may use the port.").check(Check::Prefix, "invalid cidr"),
    ],
    status: StatusForm::Resolved(&["sip", "port", "dport"]),
    ..RULE
};

pub(in crate::model) const CNF_LOCAL_SERVICE: SdewanKind = SdewanKind {
    kind: "CNFLocalService",
    plural: "cnflocalservices",
    about: "A local service in the place of a remote one.",
    finalizer: "cnflocalservice.finalizers.sdewan.akraino.org",
    fields: &[
        Field::text("localservice", "The DNS name of the local service.")
            .check(Check::DnsName, "invalid localservice"),
        Field::number("localport", "The port of the local service.").check(Check::Port, "invalid localport"),
        Field::text("remoteservice", "The DNS name of the remote service.")
            .check(Check::DnsName, "invalid remoteservice"),
        Field::number("remoteport", "The port of the remote service.")
            .check(Check::Port, "invalid remoteport"),
    ],
    status: StatusForm::Resolved(&["localip", "localport", "remoteips[]", "remoteport"]),
    ..RULE
};

pub(in crate::model) const CNF_HUB_SITE: SdewanKind = SdewanKind {
    kind: "CNFHubSite",
    plural: "cnfhubsites",
    about: "A site behind a hub, or a device of it.",
    finalizer: "cnfhubsite.finalizers.sdewan.akraino.org",
    fields: &[
        Field::text("type", "Hub or Device.").check(Check::OneOf(&["Hub", "Device"]), "invalid type"),
        Field::text("site", "The DNS name of the site.").check(Check::DnsName, "invalid site"),
        Field::text("subnet", "The prefix of the site.").check(Check::Prefix, "invalid subnet"),
        Field::text("hubip", "The address of the hub.").check(Check::Address, "invalid hubip"),
        Field::text("devicepip", "The own address of the device.").check(Check::Address, "invalid devicepip"),
    ],
    status: StatusForm::Resolved(&["type", "remoteips[]", "subnet", "hubip", "devicepip"]),
    ..RULE
};

pub(in crate::model) const SDEWAN_APPLICATION: SdewanKind = SdewanKind {
    kind: "SdewanApplication",
    plural: "sdewanapplications",
    about: "An application whose pods are routed by the table of the CNF.",
    collection: Some(CollectionId::Applications),
    fields: &[
        Field::of("podSelector", Shape::Selector, "The labels of the pods of the application.").cr_only(),
        Field::text("appNamespace", "The namespace of the pods.").cr_only(),
        Field::number("servicePort", "Unused, as in the original.").cr_only(),
        Field::number("cnfPort", "Unused, as in the original.").cr_only(),
        Field::text("iplist", "The addresses of the pods, with commas between them.")
            .rest_only()
            .check(Check::AddressList, "Invalid Source IP Address"),
    ],
    ..RULE
};

pub(in crate::model) const CNF_STATUS: SdewanKind = SdewanKind {
    kind: "CNFStatus",
    plural: "cnfstatuses",
    about: "The statuses of CNFs, as their pods report them.",
    fields: &[],
    status: StatusForm::CnfStatus,
    ..RULE
};
