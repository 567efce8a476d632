//! The client against a switch that is silent, sends nonsense, or lacks features.

use super::scripted::{ScriptedSwitch, honest, refusal, response};
use crate::drive::ovs::openflow::message::kind;
use crate::drive::ovs::openflow::{
    FakeSwitch, FlowChange, FlowSwitch, FoundFlow, OpenFlowError, SwitchStatus,
};
use crate::model::Vni;
use crate::plan::{Flow, LocalInterface, Port, default_drop_flows, local_flows};

fn flows() -> Vec<Flow> {
    local_flows(&LocalInterface::new(Vni::new(1).unwrap(), [10, 0, 0, 2].into()), Port(7))
}

fn additions() -> Vec<FlowChange> {
    flows().into_iter().map(FlowChange::Add).collect()
}

async fn status(of: &impl FlowSwitch, is: impl Fn(&SwitchStatus) -> bool) -> SwitchStatus {
    of.status().wait_for(|status| is(status)).await.unwrap().clone()
}

async fn connected(script: super::scripted::Script) -> ScriptedSwitch {
    let switch = ScriptedSwitch::start(script, usize::MAX);
    status(&switch.client, |status| status.is_connected).await;
    switch
}

#[tokio::test]
async fn responses_in_pieces_are_assembled() {
    let switch = ScriptedSwitch::start(honest, 1);
    status(&switch.client, |status| status.is_connected && status.is_monitored).await;
    assert_eq!(switch.client.apply(additions()).await, Ok(()));
    assert_eq!(switch.client.apply(Vec::new()).await, Ok(()));
    assert_eq!(switch.client.dump().await, Ok(Vec::new()));
    assert_eq!(switch.client.ports().await, Ok(Vec::new()));
    assert_eq!(switch.client.status().borrow().epoch, 1);
}

#[tokio::test]
async fn idle_connection_is_kept_by_echoes() {
    let switch = connected(|request| {
        let echo = response(request, kind::ECHO_REQUEST, b"are you there");
        if request[1] == kind::ECHO_REQUEST { [honest(request), echo].concat() } else { honest(request) }
    })
    .await;
    machinery::tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(switch.client.status().borrow().epoch, 1, "the same connection");
}

#[tokio::test]
async fn silent_switch_is_reconnected() {
    let switch = connected(|request| match request[1] {
        kind::ECHO_REQUEST => Vec::new(),
        kind::MULTIPART_REQUEST if request[9] == 1 => Vec::new(),
        _ => honest(request),
    })
    .await;
    let error = switch.client.dump().await.unwrap_err();
    assert_eq!(error, OpenFlowError::Silent { request: "a flow dump", milliseconds: 200 });
    status(&switch.client, |status| status.epoch > 1).await;
    status(&switch.client, |status| status.epoch > 2).await;
}

#[tokio::test]
async fn lost_response_of_a_commit_is_an_unknown_outcome() {
    let switch = connected(|request| {
        if request[1] == kind::BUNDLE_CONTROL && request[13] == 4 {
            vec![6, 0, 0, 3]
        } else {
            honest(request)
        }
    })
    .await;
    let error = switch.client.apply(additions()).await.unwrap_err();
    assert!(matches!(error, OpenFlowError::UnknownOutcome { .. }), "{error}");
    assert!(!error.had_no_effect());
}

#[tokio::test]
async fn missing_bundles_are_a_named_error() {
    let switch = connected(|request| match request[1] {
        kind::BUNDLE_CONTROL | kind::BUNDLE_ADD => refusal(request, 1, 1),
        _ => honest(request),
    })
    .await;
    let error = switch.client.apply(additions()).await.unwrap_err().to_string();
    assert!(error.starts_with("the switch has no bundles"), "{error}");
    assert_eq!(switch.client.dump().await, Ok(Vec::new()), "the connection is kept");
}

#[tokio::test]
async fn missing_monitor_is_reported_in_the_status() {
    let switch = connected(|request| {
        if request[1] == kind::MULTIPART_REQUEST && request[9] == 16 {
            refusal(request, 1, 2)
        } else {
            honest(request)
        }
    })
    .await;
    let status = switch.client.status().borrow().clone();
    assert!(status.is_connected && !status.is_monitored && status.flow_version().is_none());
}

#[tokio::test]
async fn older_versions_are_a_named_error() {
    let switch = ScriptedSwitch::start(|_| vec![1, 0, 0, 8, 0, 0, 0, 1], usize::MAX);
    let status = status(&switch.client, |status| status.last_error.is_some()).await;
    let expected = "the switch has no OpenFlow 1.5: add OpenFlow15 to the bridge's protocols";
    assert_eq!(status.last_error.as_deref(), Some(expected));
    let error = switch.client.apply(additions()).await.unwrap_err();
    assert!(error.had_no_effect(), "{error}");
}

#[tokio::test]
async fn refused_flow_is_named_and_its_bundle_discarded() {
    let switch = connected(|request| match request[1] {
        // Only flows of table 1 are refused: the third is the first of them.
        kind::BUNDLE_ADD if request[40] == 1 => refusal(request, 5, 1),
        // A commit after it would be wrong.
        kind::BUNDLE_CONTROL if request[13] == 4 => vec![0; 8],
        _ => honest(request),
    })
    .await;
    let error = switch.client.apply(additions()).await.unwrap_err();
    let reason = "OFPFMFC_TABLE_FULL".into();
    assert_eq!(error, OpenFlowError::RefusedFlow { flow: flows()[2].to_string(), reason });
    assert_eq!(switch.client.status().borrow().epoch, 1, "the connection is kept");
}

#[tokio::test]
async fn nonsense_ends_the_connection_with_a_named_error() {
    let nonsense: [super::scripted::Script; 5] = [
        |_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        |request| response(request, kind::MULTIPART_REPLY, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 99]),
        // Responses that nobody awaits.
        |request| {
            [honest(request), response(&[0; 8], kind::MULTIPART_REPLY, &[0, 1, 0, 0, 0, 0, 0, 0])].concat()
        },
        |request| {
            [response(&[0; 8], kind::BUNDLE_CONTROL, &[0, 0, 0, 1, 0, 5, 0, 3]), honest(request)].concat()
        },
        // The same greeting twice.
        |request| [honest(request), response(request, kind::HELLO, &[])].concat(),
    ];
    for (number, script) in nonsense.into_iter().enumerate() {
        let switch = ScriptedSwitch::start(script, usize::MAX);
        let status = status(&switch.client, |status| status.last_error.is_some()).await;
        let error = status.last_error.unwrap();
        assert!(error.contains("malformed"), "{number}: {error}");
    }
}

#[tokio::test]
async fn limits_are_named_errors() {
    let switch = connected(|request| {
        if request[1] == kind::MULTIPART_REQUEST && request[9] == 1 {
            let [flow, ..] = &default_drop_flows()[..] else { return Vec::new() };
            let flow = super::super::fuzz::description(flow);
            // More parts follow, without end.
            let part = response(
                request,
                kind::MULTIPART_REPLY,
                &[&[0, 1, 0, 1, 0, 0, 0, 0][..], &flow.repeat(11)].concat(),
            );
            return part;
        }
        honest(request)
    })
    .await;
    let error = switch.client.apply(vec![additions(); 26].concat()).await.unwrap_err().to_string();
    assert_eq!(error, "a bundle exceeds the limit of 100: split the changes into several bundles");
    let error = switch.client.dump().await.unwrap_err().to_string();
    assert!(error.starts_with("a flow dump exceeds the limit of 10: "), "{error}");
}

#[tokio::test]
async fn the_fake_behaves_like_a_switch() {
    let fake = FakeSwitch::new();
    fake.apply(additions()).await.unwrap();
    fake.refuse_bundles(1);
    let all = FlowChange::DeleteByCookie { cookie: 0, mask: 0 };
    assert!(fake.apply(vec![all.clone()]).await.is_err());
    let expected: Vec<_> = flows().into_iter().map(FoundFlow::Known).collect();
    let mut dumped = fake.dump().await.unwrap();
    dumped.sort();
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(dumped, sorted, "a refused bundle changes nothing");
    let before = fake.status().borrow().flow_version();
    assert_eq!(fake.apply(vec![expected[0].deletion()]).await, Ok(()));
    assert_eq!(fake.status().borrow().flow_version(), before, "changes of ours are not foreign");
    fake.change_by_others(&all);
    assert_ne!(fake.status().borrow().flow_version(), before);
    assert!(fake.flows().is_empty());
    fake.disconnect();
    assert!(matches!(fake.dump().await, Err(OpenFlowError::Unavailable { .. })));
    fake.restart();
    assert_eq!(fake.status().borrow().epoch, 2);
    assert_eq!((fake.bundles().len(), fake.dumps()), (2, 1));
}
