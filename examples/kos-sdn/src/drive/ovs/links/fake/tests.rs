use machinery::tokio;

use super::*;
use crate::drive::ovs::links::LinkChange;

fn name() -> NamespaceName {
    NamespaceName::of_attachment("default", "a").unwrap()
}

fn fake() -> FakeLinks {
    FakeLinks::new(InterfaceAddress { address: [192, 0, 2, 1].into(), prefix: 24 }, 1500)
}

fn steps(index: u32) -> Vec<LinkStep> {
    let place = LinkPlace::Workload(name());
    let address = InterfaceAddress { address: [10, 0, 0, 2].into(), prefix: 24 };
    let change = LinkChange { mac: Some(Mac([2; 6])), mtu: Some(1450), up: Some(true) };
    vec![
        LinkStep::CreateNamespace(name()),
        LinkStep::loopback_up(name()),
        LinkStep::Move { name: "kos1".into(), index, to: name() },
        LinkStep::AddAddress { place: place.clone(), name: "kos1".into(), address },
        LinkStep::Set { place, name: "kos1".into(), change },
    ]
}

#[tokio::test]
async fn a_port_is_moved_and_configured() {
    let fake = fake();
    let index = fake.add_port("kos1");
    let mut events = fake.watch().await.unwrap();
    fake.apply(&steps(index)).await.unwrap();
    let list = fake.list().await.unwrap();
    assert_eq!(list.underlay_mtu([192, 0, 2, 1].into()), Some(1500));
    let moved: Vec<_> = list.named("kos1").collect();
    assert_eq!((moved.len(), moved[0].mtu, moved[0].up), (1, 1450, true));
    assert_eq!(moved[0].place, LinkPlace::Workload(name()));
    assert!(list.namespaces[0].loopback_up);
    assert_eq!(events.next().await, Some(LinkEvent::Link { name: "kos1".into() }));
    assert_eq!(events.next().await, Some(LinkEvent::Namespace { name: name() }));
    assert_eq!(fake.take_steps(), steps(index));
}

#[tokio::test]
async fn a_killed_switch_leaves_orphans() {
    let fake = fake();
    let index = fake.add_port("kos1");
    fake.apply(&steps(index)).await.unwrap();
    fake.kill_switch();
    assert!(matches!(fake.list().await, Err(LinkError::SwitchUnknown { .. })));
    fake.start_switch();
    fake.add_port("kos1");
    let list = fake.list().await.unwrap();
    assert_eq!(list.named("kos1").map(|link| link.carrier).collect::<Vec<_>>(), [false, false]);
    let place = LinkPlace::Workload(name());
    let delete = |index| [LinkStep::Delete { place: place.clone(), name: "kos1".into(), index }];
    let failed = fake.apply(&delete(index + 1)).await.unwrap_err();
    assert!(matches!(failed.error, LinkError::Replaced { .. }));
    fake.apply(&delete(index)).await.unwrap();
    assert_eq!(fake.list().await.unwrap().named("kos1").count(), 1);
}

#[tokio::test]
async fn foreign_namespaces_are_refused() {
    let fake = fake();
    fake.add_foreign_namespace(name());
    let failed = fake.apply(&steps(2)).await.unwrap_err();
    assert!(matches!(failed, LinkStepError { done: 0, error: LinkError::NamespaceTaken { .. } }));
    let failed = fake.apply(&[LinkStep::DeleteNamespace(name())]).await.unwrap_err();
    assert!(matches!(failed.error, LinkError::NamespaceTaken { .. }));
    assert_eq!(fake.list().await.unwrap().namespaces, []);
}

#[tokio::test]
async fn an_injected_failure_stops_the_steps() {
    let fake = fake();
    let index = fake.add_port("kos1");
    fake.fail_step(2, LinkError::Closed);
    let failed = fake.apply(&steps(index)).await;
    assert_eq!(failed, Err(LinkStepError { done: 2, error: LinkError::Closed }));
    fake.apply(&steps(index)).await.unwrap();
}
