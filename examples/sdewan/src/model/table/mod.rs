//! The rows of the table of kinds, by class.

mod firewall;
mod interfaces;
mod ipsec;
mod mwan3;
mod services;
mod words;

pub(super) use firewall::{FIREWALL_DNAT, FIREWALL_FORWARDING, FIREWALL_RULE, FIREWALL_SNAT, FIREWALL_ZONE};
pub(super) use interfaces::{CNF_NAT, CNF_ROUTE, CNF_ROUTE_RULE, NETWORK_FIREWALL_RULE};
pub(super) use ipsec::{IPSEC_HOST, IPSEC_PROPOSAL, IPSEC_SITE};
pub(super) use mwan3::{MWAN3_POLICY, MWAN3_RULE};
pub(super) use services::{CNF_HUB_SITE, CNF_LOCAL_SERVICE, CNF_SERVICE, CNF_STATUS, SDEWAN_APPLICATION};

use super::kind::{SdewanKind, StatusForm};

/// The finalizer that several kinds share.
const RULE_FINALIZER: &str = "rule.finalizers.sdewan.akraino.org";

/// The parts that most rows have in common.
const RULE: SdewanKind = SdewanKind {
    kind: "",
    plural: "",
    about: "",
    finalizer: RULE_FINALIZER,
    collection: None,
    fields: &[],
    forced: &[],
    rules: &[],
    is_in_page_group: false,
    status: StatusForm::Rule,
};
