use std::net::Ipv4Addr;

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use machinery::k8s_openapi::jiff::Timestamp;

use super::*;

const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);

fn vni() -> Vni {
    Vni::new(17).unwrap()
}

fn addressed() -> NetworkAttachment {
    let mut here = NetworkAttachment::new("n", "a", "node-1", "s");
    here.status.lock_uid = "lock".into();
    here.status.address_vni = 17;
    here.status.ipv4 = ADDRESS.to_string();
    here
}

/// A node that executes each step.
#[derive(Default)]
struct ModelNode {
    actual: Option<Interface>,
    steps: Vec<String>,
}

impl ModelNode {
    fn run_to_completion(&mut self, here: &mut Option<NetworkAttachment>, location: PeerLocation) {
        for _ in 0..10 {
            let sight = AgentView {
                host: HOST,
                here: here.as_ref(),
                location,
                actual: self.actual.as_ref(),
                report: None,
                errors: &[],
                now: jiff::Timestamp::UNIX_EPOCH,
                failed: false,
            };
            let step = next_step(&sight);
            let taken = match step {
                AgentStep::Done => return,
                AgentStep::AddFinalizer => {
                    here.as_mut().unwrap().metadata.finalizers = Some(vec![FINALIZER.into()]);
                    "add finalizer"
                }
                AgentStep::Create(interface) => {
                    assert!(self.actual.replace(interface).is_none(), "one interface per attachment");
                    "create"
                }
                AgentStep::Delete(interface) => {
                    assert_eq!(self.actual.take(), Some(interface), "it deletes the existing interface");
                    "delete"
                }
                AgentStep::WriteStatus(status) => {
                    here.as_mut().unwrap().status = *status;
                    "write status"
                }
                AgentStep::RemoveFinalizer => {
                    assert!(self.actual.is_none(), "the interface is deleted");
                    *here = None;
                    "remove finalizer"
                }
            };
            self.steps.push(taken.into());
        }
        panic!("no end of steps: {:?}", self.steps);
    }

    fn take_steps(&mut self) -> Vec<String> {
        std::mem::take(&mut self.steps)
    }
}

#[test]
fn finalizer_spans_the_life_of_the_interface() {
    let (mut node, mut here) = (ModelNode::default(), Some(addressed()));
    node.run_to_completion(&mut here, PeerLocation::Absent);
    assert_eq!(node.take_steps(), ["add finalizer", "create", "write status"]);
    let status = &here.as_ref().unwrap().status;
    assert_eq!((&*status.ifc_name, &*status.host_ip), ("kos060100020011", "192.0.2.1"));

    here.as_mut().unwrap().metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    node.run_to_completion(&mut here, PeerLocation::Absent);
    assert_eq!(node.take_steps(), ["delete", "remove finalizer"]);
    assert!(here.is_none() && node.actual.is_none());
}

/// The original's status named an interface that no longer existed.
#[test]
fn lost_address_deletes_the_interface_and_clears_the_status() {
    let (mut node, mut here) = (ModelNode::default(), Some(addressed()));
    node.run_to_completion(&mut here, PeerLocation::Absent);
    let _ = node.take_steps();
    let status = &mut here.as_mut().unwrap().status;
    (status.lock_uid, status.ipv4, status.address_vni) = (String::new(), String::new(), 0);
    node.run_to_completion(&mut here, PeerLocation::Absent);
    assert_eq!(node.take_steps(), ["delete", "write status"]);
    let mut status = here.unwrap().status;
    let conditions = std::mem::take(&mut status.conditions);
    assert!(conditions.find("Ready").is_some_and(|ready| ready.status == "False"), "{conditions:?}");
    assert_eq!(status, AttachmentStatus::default());
}

#[test]
fn changed_network_replaces_the_interface() {
    let (mut node, mut here) = (ModelNode::default(), Some(addressed()));
    node.run_to_completion(&mut here, PeerLocation::Absent);
    let _ = node.take_steps();
    assert_eq!(network_of(here.as_ref().unwrap()), Some(vni()));
    here.as_mut().unwrap().status.address_vni = 18;
    node.run_to_completion(&mut here, PeerLocation::Absent);
    assert_eq!(node.take_steps(), ["delete", "create", "write status"]);
    let key = here.unwrap().key();
    let local = LocalInterface::new(Vni::new(18).unwrap(), ADDRESS).with_workload(key, None);
    assert_eq!(node.actual, Some(Interface::Local(local)));
}

#[test]
fn remote_interface_follows_its_peer() {
    let (mut node, mut here) = (ModelNode::default(), None);
    node.run_to_completion(&mut here, PeerLocation::At(vni(), ADDRESS, OTHER));
    assert_eq!(node.actual, Some(Interface::Remote(RemoteInterface::new(vni(), ADDRESS, OTHER))));
    node.run_to_completion(&mut here, PeerLocation::Ambiguous);
    assert_eq!(node.take_steps(), ["create"], "an ambiguous location changes nothing");
    let third = Ipv4Addr::new(192, 0, 2, 3);
    node.run_to_completion(&mut here, PeerLocation::At(vni(), ADDRESS, third));
    assert_eq!(node.take_steps(), ["delete", "create"]);
    node.run_to_completion(&mut here, PeerLocation::Absent);
    assert_eq!((node.take_steps(), node.actual), (vec!["delete".into()], None));
}

/// The original retried fabric errors forever without reporting them.
#[test]
fn failed_step_is_reported_once_and_stops() {
    let mut here = addressed();
    here.metadata.finalizers = Some(vec![FINALIZER.into()]);
    let errors = ["the switch cannot be reached".to_owned()];
    let of = |here: &NetworkAttachment| {
        let location = PeerLocation::Absent;
        next_step(&AgentView {
            host: HOST,
            here: Some(here),
            location,
            actual: None,
            report: None,
            errors: &errors,
            now: jiff::Timestamp::UNIX_EPOCH,
            failed: true,
        })
    };
    let AgentStep::WriteStatus(desired_status) = of(&here) else { panic!("no status is written") };
    assert_eq!(desired_status.errors.host, errors);
    here.status = *desired_status;
    assert_eq!(of(&here), AgentStep::Done);
    here.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(of(&here), AgentStep::Done, "the interface may still exist");
}

/// An address without a lock is an error of its writer.
#[test]
fn unlocked_address_creates_no_interface() {
    let mut here = addressed();
    here.status.lock_uid.clear();
    let (mut node, mut here) = (ModelNode::default(), Some(here));
    node.run_to_completion(&mut here, PeerLocation::Absent);
    assert!(node.actual.is_none() && node.take_steps().is_empty());
}
