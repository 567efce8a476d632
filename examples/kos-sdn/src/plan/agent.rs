//! What a node does next about one attachment, from what there is.
//!
//! One step at a time: whoever takes it notes what came of it and asks again, until nothing is left to do. So a crash between two
//! steps is a question that is asked again, and nothing more.

use std::net::Ipv4Addr;

use super::{Local, Remote};
use crate::model::{AttachmentStatus, ExecReport, NetworkAttachment, Vni};

/// Keeps an attachment, and with it its address, until its node has no interface of it.
pub const FINALIZER: &str = "network.example.com/interface";

/// What a node has for an attachment, or should have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    /// An interface of its own.
    Local(Local),
    /// The way to one on another node.
    Remote(Remote),
}

/// What is known of attachments on other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// Nothing that matters here.
    Nothing,
    /// It has an address there, on the node with this one.
    There(Vni, Ipv4Addr, Ipv4Addr),
    /// Two things, one of them late. The end of that is told.
    Unclear,
}

/// What a node sees of one attachment.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// Which node looks: the address of it, in the network below.
    pub host: Ipv4Addr,
    /// The attachment, if it is on this node.
    pub here: Option<&'a NetworkAttachment>,
    /// What is known of it otherwise.
    pub elsewhere: Elsewhere,
    /// What the node has for it.
    pub have: Option<&'a Interface>,
    /// What became of the program that ran when that was made, or was said of that, if it was found.
    pub report: Option<&'a ExecReport>,
    /// What is wrong with it here: with its programs, or with what was tried for it just now.
    pub wrong: &'a [String],
    /// Something was tried just now, and failed: it is to be said, and nothing else tried.
    pub failed: bool,
}

/// What there is to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Put the finalizer on, before anything is made.
    Hold,
    /// Make this.
    Make(Interface),
    /// Take this away.
    Unmake(Interface),
    /// Write this status.
    Say(Box<AttachmentStatus>),
    /// Take the finalizer off: nothing is left here.
    LetGo,
    /// Nothing.
    Rest,
}

/// Says what is next.
#[must_use]
pub fn next(sight: &Sight<'_>) -> Step {
    let wanted = match (sight.here, sight.elsewhere) {
        (Some(here), _) => wanted_here(here),
        (None, Elsewhere::Nothing) => None,
        (None, Elsewhere::There(vni, address, host)) => {
            Some(Interface::Remote(Remote::new(vni, address, host)))
        }
        (None, Elsewhere::Unclear) => return Step::Rest,
    };
    if !sight.failed && wanted.as_ref() != sight.have {
        return match (sight.have, wanted) {
            (Some(have), _) => Step::Unmake(have.clone()),
            (None, Some(Interface::Local(_))) if !sight.here.is_some_and(is_held) => Step::Hold,
            (None, Some(wanted)) => Step::Make(wanted),
            (None, None) => Step::Rest,
        };
    }
    let Some(here) = sight.here else { return Step::Rest };
    let said = said(here, sight);
    let is_going = here.metadata.deletion_timestamp.is_some();
    match sight.have {
        None if is_going && is_held(here) && !sight.failed => Step::LetGo,
        _ if said != here.status => Step::Say(Box::new(said)),
        _ => Step::Rest,
    }
}

/// The network that an attachment makes matter to its node.
#[must_use]
pub fn network_of(here: &NetworkAttachment) -> Option<Vni> {
    match wanted_here(here) {
        Some(Interface::Local(local)) => Some(local.vni),
        _ => None,
    }
}

/// The interface that an attachment should have on its node: none, as long as it has no address or is going.
pub fn wanted_here(here: &NetworkAttachment) -> Option<Interface> {
    let status = &here.status;
    if here.metadata.deletion_timestamp.is_some() || status.lock_uid.is_empty() {
        return None;
    }
    let (vni, address) = (Vni::new(status.address_vni).ok()?, status.ipv4.parse().ok()?);
    Some(Interface::Local(Local::new(vni, address)))
}

/// What the node has to say. It says nothing of an interface that is not there: in the original that stayed for ever.
fn said(here: &NetworkAttachment, sight: &Sight<'_>) -> AttachmentStatus {
    let mut status = here.status.clone();
    status.errors.host = sight.wrong.to_vec();
    match sight.have {
        Some(Interface::Local(local)) => {
            status.mac_address = local.mac.to_string();
            status.ifc_name.clone_from(&local.name);
            status.host_ip = sight.host.to_string();
            let is_said = match (&status.post_create_exec_report, sight.report) {
                (Some(said), Some(report)) => said.says_as(report),
                (said, report) => said.is_none() && report.is_none(),
            };
            if !is_said {
                status.post_create_exec_report = sight.report.cloned();
            }
        }
        _ => {
            status.mac_address.clear();
            status.ifc_name.clear();
            status.host_ip.clear();
            status.post_create_exec_report = None;
        }
    }
    status
}

fn is_held(here: &NetworkAttachment) -> bool {
    here.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

#[cfg(test)]
mod tests;
