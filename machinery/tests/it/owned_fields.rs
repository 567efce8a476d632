//! Writers of different fields of one status.

use std::sync::Arc;

use machinery::apiserver::{ApiServer, Identity};
use machinery::k8s_openapi::jiff::Timestamp;
use machinery::kube::kube_client::Client;
use machinery::kube::{Remote, ServerProfile};
use machinery::objects::{
    Conflict, Kind, Object as _, Patch, PatchFormat, Preconditions, WriteError, Writer,
};
use machinery::serde_json::{Value, json};
use machinery::{ConditionState, OwnedFields};

use crate::kinds::{Disk, disk, servers};

const USAGE: OwnedFields = OwnedFields::new("usage", &[".status.used_bytes"], &["Used"]);
const NOTES: OwnedFields = OwnedFields::new("notes", &[".status.note"], &["Noted"]);

/// In process, over the network, and as on Kubernetes.
fn writers(server: &ApiServer) -> [Arc<dyn Writer<Disk>>; 3] {
    let client = || Client::new(server.service(Identity::admin()), "default");
    let remote = |profile| Arc::new(Remote::<Disk>::new(client(), Kind::of::<Disk>().unwrap(), profile));
    [
        Arc::new(server.handle::<Disk>(Identity::admin())),
        remote(ServerProfile::machinery()),
        remote(ServerProfile::kubernetes()),
    ]
}

fn state(name: &'static str) -> ConditionState {
    ConditionState { name, holds: Some(true), reason: "Tested", message: String::new() }
}

#[tokio::test]
async fn p20_writers_of_one_status_keep_the_fields_of_each_other() {
    for server in servers().await {
        for (at, writer) in writers(&server).into_iter().enumerate() {
            let (none, now) = (Preconditions::default(), Timestamp::UNIX_EPOCH);
            let made = writer.create(&disk(&format!("d{at}"), "n1"), None).await.unwrap().object;
            let (mut used, mut noted) = (made.clone(), made.clone());
            used.status.used_bytes = 7;
            used.status.conditions.set(state("Used"), &made.metadata, now);
            noted.status.note = "x".into();
            noted.status.conditions.set(state("Noted"), &made.metadata, now);
            noted.status.used_bytes = 99; // not its field
            USAGE.apply(&*writer, &made, &used, &none).await.unwrap();
            // Both have read `made`.
            let both = NOTES.apply(&*writer, &made, &noted, &none).await.unwrap().object;
            assert_eq!((both.status.used_bytes, &*both.status.note), (7, "x"));
            assert!(both.status.conditions.is_true("Used") && both.status.conditions.is_true("Noted"));

            let mut cleared = both.clone();
            cleared.status.note.clear();
            cleared.status.conditions.0.clear();
            let cleared = NOTES.apply(&*writer, &both, &cleared, &none).await.unwrap().object;
            assert_eq!((cleared.status.used_bytes, &*cleared.status.note), (7, ""));
            assert!(cleared.status.conditions.is_true("Used") && !cleared.status.conditions.is_true("Noted"));
        }
        server.stop().await;
    }
}

/// A newer version of the program has written a field that this one does not know, by any means.
#[tokio::test]
async fn p20_an_older_program_drops_no_field_that_it_does_not_know() {
    let [server, other] = servers().await;
    other.stop().await;
    let [writer, ..] = writers(&server);
    let raw = server.handle_of::<Value>(Kind::of::<Disk>().unwrap(), Identity::admin());
    let made = writer.create(&disk("a", "n1"), None).await.unwrap().object;
    let key = "default/a".parse().unwrap();
    let body = json!({"status": {"note": "newer", "used_bytes": 3}}).to_string().into_bytes();
    let newer = Patch { format: PatchFormat::Merge, body: body.into(), status: true };
    raw.patch(&key, &newer, &Preconditions::default()).await.unwrap();

    let mut used = made.clone();
    used.status.used_bytes = 8;
    let written = USAGE.apply(&*writer, &made, &used, &Preconditions::default()).await.unwrap().object;
    assert_eq!((written.status.used_bytes, &*written.status.note), (8, "newer"));
    server.stop().await;
}

/// A value that another manager wrote is cleared too.
#[tokio::test]
async fn p20_a_field_of_another_manager_is_cleared_too() {
    let [server, other] = servers().await;
    other.stop().await;
    let [writer, ..] = writers(&server);
    let mut made = writer.create(&disk("a", "n1"), None).await.unwrap().object;
    made.status.note = "by a PUT".into();
    let put = writer.update_status(&made, &Preconditions::default()).await.unwrap().object;
    let mut cleared = put.clone();
    cleared.status.note.clear();
    let cleared = NOTES.apply(&*writer, &put, &cleared, &Preconditions::default()).await.unwrap().object;
    assert_eq!(cleared.status.note, "");
    server.stop().await;
}

#[tokio::test]
async fn p20_an_apply_is_for_one_object() {
    let [server, other] = servers().await;
    other.stop().await;
    for writer in writers(&server) {
        let old = writer.create(&disk("a", "n1"), None).await.unwrap().object;
        let key = "default/a".parse().unwrap();
        writer.delete(&key, &machinery::objects::Deletion::default()).await.unwrap();
        let missing = USAGE.apply(&*writer, &old, &old, &Preconditions::default()).await;
        assert!(matches!(missing, Err(WriteError::NotFound)), "{missing:?}");
        writer.create(&disk("a", "n1"), None).await.unwrap();
        let mut used = old.clone();
        used.status.used_bytes = 7;
        let refused = USAGE.apply(&*writer, &old, &used, &Preconditions::default()).await;
        match refused {
            Err(WriteError::Conflict(Conflict::Uid { .. })) => {}
            other => panic!("{other:?}"),
        }
        writer.delete(&key, &machinery::objects::Deletion::default()).await.unwrap();
    }
    server.stop().await;
}

/// A required version is one of the caller's decision: no repeat replaces it.
#[tokio::test]
async fn p20_a_required_version_is_never_replaced() {
    let [server, other] = servers().await;
    other.stop().await;
    for (at, writer) in writers(&server).into_iter().enumerate() {
        let made = writer.create(&disk(&format!("d{at}"), "n1"), None).await.unwrap().object;
        let (mut used, mut noted) = (made.clone(), made.clone());
        (used.status.used_bytes, noted.status.note) = (7, "x".into());
        USAGE.apply(&*writer, &made, &used, &Preconditions::default()).await.unwrap();
        let read = Preconditions { version: made.version(), ..Preconditions::default() };
        let late = NOTES.apply(&*writer, &made, &noted, &read).await;
        assert!(matches!(late, Err(WriteError::Conflict(_))), "{late:?}");
    }
    server.stop().await;
}

/// Rivals of one field: the second one decides again. Writers of other fields do not count.
#[tokio::test]
async fn p20_rivals_of_a_field_conflict_and_writers_of_other_fields_do_not() {
    let [server, other] = servers().await;
    other.stop().await;
    for (at, writer) in writers(&server).into_iter().enumerate() {
        let none = Preconditions::default();
        let made = writer.create(&disk(&format!("d{at}"), "n1"), None).await.unwrap().object;
        let (mut used, mut noted) = (made.clone(), made.clone());
        (used.status.used_bytes, noted.status.note) = (7, "x".into());
        NOTES.apply(&*writer, &made, &noted, &none).await.unwrap();
        let both = USAGE.apply_if_unchanged(&*writer, &made, &used, &none).await.unwrap().object;
        assert_eq!((both.status.used_bytes, &*both.status.note), (7, "x"));
        used.status.used_bytes = 8;
        let late = USAGE.apply_if_unchanged(&*writer, &made, &used, &none).await;
        assert!(matches!(late, Err(WriteError::Conflict(Conflict::Version { .. }))), "{late:?}");
    }
    server.stop().await;
}
