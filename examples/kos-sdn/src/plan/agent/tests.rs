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

/// A node that does what it is told, and what it has in the end.
#[derive(Default)]
struct Node {
    have: Option<Interface>,
    steps: Vec<String>,
}

impl Node {
    fn comes_to_rest(&mut self, here: &mut Option<NetworkAttachment>, elsewhere: Elsewhere) {
        for _ in 0..10 {
            let sight = Sight {
                host: HOST,
                here: here.as_ref(),
                elsewhere,
                have: self.have.as_ref(),
                report: None,
                wrong: &[],
                failed: false,
            };
            let step = next(&sight);
            let said = match step {
                Step::Rest => return,
                Step::Hold => {
                    here.as_mut().unwrap().metadata.finalizers = Some(vec![FINALIZER.into()]);
                    "hold"
                }
                Step::Make(interface) => {
                    assert!(self.have.replace(interface).is_none(), "one for each");
                    "make"
                }
                Step::Unmake(interface) => {
                    assert_eq!(self.have.take(), Some(interface), "it takes away what is there");
                    "unmake"
                }
                Step::Say(status) => {
                    here.as_mut().unwrap().status = *status;
                    "say"
                }
                Step::LetGo => {
                    assert!(self.have.is_none(), "nothing is left");
                    *here = None;
                    "let go"
                }
            };
            self.steps.push(said.into());
        }
        panic!("it never rests: {:?}", self.steps);
    }

    fn took(&mut self) -> Vec<String> {
        std::mem::take(&mut self.steps)
    }
}

#[test]
fn nothing_is_made_before_it_is_held_and_nothing_is_let_go_before_it_is_gone() {
    let (mut node, mut here) = (Node::default(), Some(addressed()));
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    assert_eq!(node.took(), ["hold", "make", "say"]);
    let status = &here.as_ref().unwrap().status;
    assert_eq!((&*status.ifc_name, &*status.host_ip), ("kos060100020011", "192.0.2.1"));

    here.as_mut().unwrap().metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    assert_eq!(node.took(), ["unmake", "let go"]);
    assert!(here.is_none() && node.have.is_none());
}

/// In the original the status told of an interface that was no more.
#[test]
fn who_loses_its_address_loses_its_interface_and_it_is_said() {
    let (mut node, mut here) = (Node::default(), Some(addressed()));
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    let _ = node.took();
    let status = &mut here.as_mut().unwrap().status;
    (status.lock_uid, status.ipv4, status.address_vni) = (String::new(), String::new(), 0);
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    assert_eq!(node.took(), ["unmake", "say"]);
    assert_eq!(here.unwrap().status, AttachmentStatus::default());
}

#[test]
fn who_moves_to_another_network_gets_another_interface() {
    let (mut node, mut here) = (Node::default(), Some(addressed()));
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    let _ = node.took();
    assert_eq!(network_of(here.as_ref().unwrap()), Some(vni()));
    here.as_mut().unwrap().status.address_vni = 18;
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    assert_eq!(node.took(), ["unmake", "make", "say"]);
    assert_eq!(node.have, Some(Interface::Local(Local::new(Vni::new(18).unwrap(), ADDRESS))));
}

#[test]
fn the_way_to_one_elsewhere_is_made_follows_it_and_goes() {
    let (mut node, mut here) = (Node::default(), None);
    node.comes_to_rest(&mut here, Elsewhere::There(vni(), ADDRESS, OTHER));
    assert_eq!(node.have, Some(Interface::Remote(Remote::new(vni(), ADDRESS, OTHER))));
    node.comes_to_rest(&mut here, Elsewhere::Unclear);
    assert_eq!(node.took(), ["make"], "what is unclear stays as it is");
    let third = Ipv4Addr::new(192, 0, 2, 3);
    node.comes_to_rest(&mut here, Elsewhere::There(vni(), ADDRESS, third));
    assert_eq!(node.took(), ["unmake", "make"]);
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    assert_eq!((node.took(), node.have), (vec!["unmake".into()], None));
}

/// In the original a fabric's errors were repeated for ever, and told to nobody.
#[test]
fn what_fails_is_said_once_and_nothing_else_is_tried() {
    let mut here = addressed();
    here.metadata.finalizers = Some(vec![FINALIZER.into()]);
    let wrong = ["the switch cannot be reached".to_owned()];
    let of = |here: &NetworkAttachment| {
        let elsewhere = Elsewhere::Nothing;
        next(&Sight {
            host: HOST,
            here: Some(here),
            elsewhere,
            have: None,
            report: None,
            wrong: &wrong,
            failed: true,
        })
    };
    let Step::Say(said) = of(&here) else { panic!("it is said") };
    assert_eq!(said.errors.host, wrong);
    here.status = *said;
    assert_eq!(of(&here), Step::Rest);
    here.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(of(&here), Step::Rest, "who knows what is left");
}

/// An address without a lock is somebody's mistake.
#[test]
fn an_address_without_a_lock_makes_nothing() {
    let mut here = addressed();
    here.status.lock_uid.clear();
    let (mut node, mut here) = (Node::default(), Some(here));
    node.comes_to_rest(&mut here, Elsewhere::Nothing);
    assert!(node.have.is_none() && node.took().is_empty());
}
