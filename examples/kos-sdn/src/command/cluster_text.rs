//! The texts of `kos up`: attachments, pings and next steps.

use std::sync::Arc;

use machinery::apiserver::Access;

use super::cluster::home;
use super::up::UpArguments;
use crate::model::NetworkAttachment;
use crate::up::{ClusterFabric, PingResult};

pub(super) fn row(one: &Arc<NetworkAttachment>) -> [String; 6] {
    let (name, status) = (machinery::objects::Object::key(&**one).to_string(), &one.status);
    let vni = status.address_vni.to_string();
    [
        name,
        one.spec.node.clone(),
        vni,
        status.ipv4.clone(),
        status.mac_address.clone(),
        status.ifc_name.clone(),
    ]
}

pub(super) fn pings_text(pings: &[PingResult], fabric: &ClusterFabric) -> String {
    if *fabric == ClusterFabric::Log {
        return "\nno frame was sent: the fabric log carries none\n".into();
    }
    let count = |expected| {
        let of_them = pings.iter().filter(|one| one.expected == expected);
        (of_them.clone().filter(|one| one.is_right()).count(), of_them.count())
    };
    let ((within, of_within), (between, of_between)) = (count(true), count(false));
    let mut text = format!(
        "\npings, by frames: {within} of {of_within} within a network are answered, {between} of {of_between} between networks are not\n"
    );
    for wrong in pings.iter().filter(|one| !one.is_right()) {
        let PingResult { from, to, reason, .. } = wrong;
        let what = if wrong.answered { "is answered unexpectedly" } else { "is not answered" };
        text += &format!("  {from} to {to} {what}: {reason}\n");
    }
    text
}

pub(super) fn next_steps(
    access: &Access,
    all: &[Arc<NetworkAttachment>],
    fabric: &ClusterFabric,
    arguments: &UpArguments,
) -> String {
    let is_lab = matches!(fabric, ClusterFabric::Ovs(_));
    let Access { url, kubeconfig, .. } = access;
    let kos = if std::env::var_os("CARGO").is_some() { "cargo run -qp kos --" } else { "kos" };
    let two: Vec<_> =
        all.iter().filter(|one| one.status.address_vni == all[0].status.address_vni).take(2).collect();
    let mut text = format!("\nserving {url}; in another terminal:\n");
    if let [from, to] = two[..] {
        let address = &to.status.ipv4;
        let [from, to] = [from, to].map(|one| machinery::objects::Object::key(&**one));
        text += &format!("  {kos} ping {from} {to}\n  {kos} trace {from} {to}\n");
        if is_lab {
            text += &format!("  {kos} exec {from} -- ping {address}\n");
        }
    }
    if is_lab {
        let is_default = arguments.lab_dir == home().join("lab");
        let directory = arguments.lab_dir.display();
        let option = if is_default { String::new() } else { format!(" --lab-dir {directory}") };
        text += &format!("  {kos} lab{option} exec node-1 -- ovs-vsctl show\n");
    }
    text += &format!(
        "  KUBECONFIG={} kubectl get subnets,networkattachments,iplocks\nCtrl-C ends it\n",
        kubeconfig.display()
    );
    text
}
