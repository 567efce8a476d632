//! Pages of a list, with any object names.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::widgets;

const ALL: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

fn role(name: &str) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": []})
}

/// After a name with a control character a page seemed to be the last, and after a long name there
/// was no next page.
#[tokio::test]
async fn a_list_continues_after_every_name() {
    let (_server, client) = widgets().await;
    let names = ["a\nb", "\u{1}", "\u{7f}\u{85}", "Ä:\"\\ ", &"\u{1f}".repeat(950), &"x".repeat(950), "z"];
    for name in names {
        client.post(ALL, &role(name)).await.fine();
    }
    let mut next = String::new();
    let mut listed = BTreeSet::new();
    loop {
        let page = client.get(&format!("{ALL}?limit=1&continue={next}")).await.fine();
        let name = page["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
        assert!(listed.insert(name), "each is on one page");
        match page["metadata"]["continue"].as_str() {
            None | Some("") => break,
            Some(token) => next = token.to_owned(),
        }
    }
    assert!(names.iter().all(|name| listed.contains(*name)), "{} of {}", listed.len(), names.len());
}
