//! Encryption at rest: configured kinds are encrypted in the store, and clients see no difference.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery_apiserver::{ApiServer, Encryption, Identity, StartError};
use machinery_objects::{
    Freshness, Kind, ListWatch as _, ObjectKey, Preconditions, Revision, Scope, Writer as _,
};
use machinery_store::sealed::UnsealError;
use machinery_store::{Backend as _, Entry, KeySpan, Memory, Options, Range, Transaction};
use serde_json::{Value, json};

use crate::audit::SECRETS;
use crate::client::{Client, definition};

const PLANTED: &[u8] = b"pl4nted-v4lue";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// Keys by their names, in this order. `-` is `identity`.
fn providers(names: &str) -> String {
    let one = |name: char| match name {
        '-' => "{identity: {}}".to_owned(),
        name => {
            let secret = STANDARD.encode([name as u8; 32]);
            format!("{{aesgcm: {{keys: [{{name: {name}, secret: {secret}}}]}}}}")
        }
    };
    names.chars().map(one).collect::<Vec<_>>().join(", ")
}

fn of(resources: &str, names: &str) -> Encryption {
    let providers = providers(names);
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n\
         resources: [{{resources: [{resources}], providers: [{providers}]}}]"
    );
    Encryption::read(&text).unwrap()
}

/// Everything by these keys.
pub(crate) fn all(names: &str) -> Encryption {
    of("'*.*'", names)
}

fn secrets(names: &str) -> Encryption {
    of("secrets", names)
}

async fn start(store: &Memory, encryption: Option<Encryption>) -> Result<ApiServer, StartError> {
    let builder = ApiServer::builder(store.clone()).crds([definition()]);
    match encryption {
        Some(encryption) => builder.encryption(encryption).start().await,
        None => builder.start().await,
    }
}

async fn below(store: &Memory, prefix: &str) -> Vec<Arc<Entry>> {
    store.range(Range::of(KeySpan::prefix(prefix))).await.unwrap().entries
}

/// The name of the key that all of these are encrypted by; `-` for none.
async fn by(store: &Memory, prefix: &str) -> char {
    let name = |entry: &Arc<Entry>| match entry.value.strip_prefix(b"\xffsealed\xff\x01\x01") {
        Some(rest) => char::from(rest[0]),
        None => '-',
    };
    let mut names: Vec<char> = below(store, prefix).await.iter().map(name).collect();
    names.dedup();
    assert_eq!(names.len(), 1, "{names:?}");
    names[0]
}

fn holds(entries: &[Arc<Entry>], what: &[u8]) -> bool {
    entries.iter().any(|entry| entry.value.windows(what.len()).any(|window| window == what))
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"k": STANDARD.encode(PLANTED)}})
}

#[tokio::test]
async fn configured_kinds_are_encrypted_on_both_write_paths() {
    let store = Memory::new(Options::default());
    let server = start(&store, Some(of("secrets, '*.example.com'", "a"))).await.unwrap();
    let client = Client::of(&server);
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "0pen"}});
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}});
    client.post(SECRETS, &secret("wire")).await.fine();
    client.post(MAPS, &map).await.fine();
    client.post(WIDGETS, &widget).await.fine();
    let kind = Kind::new("v1", "Secret", "secrets", Scope::Namespaced).unwrap();
    let handle = server.handle_of::<Value>(kind, Identity::admin());
    let mut object = secret("handle");
    object["metadata"]["namespace"] = "default".into();
    handle.create(&object, None).await.unwrap();
    client.merge(&format!("{SECRETS}/handle"), &json!({"metadata": {"labels": {"a": "b"}}})).await.fine();

    assert_eq!((by(&store, "core/secrets/").await, by(&store, "example.com/").await), ('a', 'a'));
    assert_eq!(by(&store, "core/configmaps/").await, '-');
    let entries = below(&store, "").await;
    assert!(holds(&entries, b"0pen") && !holds(&entries, STANDARD.encode(PLANTED).as_bytes()));
    // Clients see no difference.
    let listed = client.get(&format!("{SECRETS}?labelSelector=a=b")).await.fine();
    assert_eq!(listed["items"][0]["data"], object["data"]);
    let key = ObjectKey::new(Some("default"), "wire").unwrap();
    let found = handle.get(&key, Freshness::Newest).await.unwrap().unwrap();
    assert_eq!(found["data"], object["data"]);
    let stale = Preconditions { version: Some(Revision(1).into()), ..Preconditions::default() };
    assert!(handle.update(&found, &stale).await.is_err(), "a conflict is one");
    assert_eq!(client.get(&format!("{WIDGETS}/w")).await.fine()["spec"], json!({"color": "red", "size": 3}));
    server.stop().await;
}

#[tokio::test]
async fn a_server_without_the_key_does_not_start() {
    let store = Memory::new(Options::default());
    let server = start(&store, Some(secrets("a"))).await.unwrap();
    Client::of(&server).post(SECRETS, &secret("x")).await.fine();
    server.stop().await;
    let before = below(&store, "").await;
    let missing = UnsealError::MissingKey { key: "core/secrets/default/x".into(), name: "a".into() };
    for other in [None, Some(secrets("b-")), Some(of("configmaps", "a"))] {
        let refused = start(&store, other).await.err().unwrap();
        assert_eq!(refused, StartError::Sealed(missing.clone()));
        let said = refused.to_string();
        assert!(said.contains("`core/secrets/default/x`") && said.contains("the key \"a\""), "{said}");
    }
    // An unencrypted value is rejected, unless the configuration allows it.
    let plain = Transaction::new().put("core/secrets/default/y", *b"{}");
    let revision = store.commit(plain.clone()).await.unwrap().revision;
    let refused = start(&store, Some(secrets("a"))).await.err().unwrap();
    assert_eq!(refused, StartError::Sealed(UnsealError::NotSealed { key: "core/secrets/default/y".into() }));
    store.commit(Transaction::new().delete("core/secrets/default/y")).await.unwrap();
    // And so is a value that was moved to another key.
    let moved = Transaction::new()
        .put("core/secrets/default/z", below(&store, "core/secrets/").await[0].value.clone());
    store.commit(moved).await.unwrap();
    let refused = start(&store, Some(secrets("a"))).await.err().unwrap();
    let changed = UnsealError::Changed { key: "core/secrets/default/z".into(), name: "a".into() };
    assert_eq!(refused, StartError::Sealed(changed));
    store.commit(Transaction::new().delete("core/secrets/default/z")).await.unwrap();
    assert_eq!(below(&store, "").await, before, "nothing was changed");
    assert_eq!(store.revision().await.unwrap().0, revision.0 + 3);
}

#[tokio::test]
async fn keys_are_rotated_over_restarts_and_retired_ones_cannot_decrypt() {
    let store = Memory::new(Options::default());
    let server = start(&store, None).await.unwrap();
    for at in 0..30 {
        Client::of(&server).post(SECRETS, &secret(&format!("s{at}"))).await.fine();
    }
    server.stop().await;
    for (names, first, rewritten) in
        [("a-", 'a', 30), ("a", 'a', 0), ("ba", 'b', 30), ("b", 'b', 0), ("-b", '-', 30), ("c-", 'c', 30)]
    {
        let was = store.revision().await.unwrap();
        let server = start(&store, Some(secrets(names))).await.unwrap();
        assert_eq!((server.resealed().entries, server.resealed().rewritten), (30, rewritten), "{names}");
        assert_eq!(by(&store, "core/secrets/").await, first, "{names}");
        let client = Client::of(&server);
        let listed = client.get(SECRETS).await.fine();
        let items = listed["items"].as_array().unwrap();
        assert!(items.len() == 30 && items.iter().all(|item| item["data"] == secret("")["data"]), "{names}");
        // A watch from an older revision gets "expired", and no error about a missing key.
        let watched = client.get(&format!("{SECRETS}?watch=1&timeoutSeconds=1&resourceVersion={was}")).await;
        assert_eq!(watched.body["object"]["code"] == 410, rewritten > 0, "{names}: {watched:?}");
        let past = store.range(Range::of(KeySpan::all()).at(was)).await;
        assert_eq!(past.is_err(), rewritten > 0, "{names}");
        server.stop().await;
    }
}
