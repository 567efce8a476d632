//! Lists in every form, long and short.

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use machinery_apiserver::{ApiServer, Body, Limits};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Client, definition, widgets};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

async fn asked(client: &Client, path: &str, accept: &str) -> http::Response<Body> {
    let request = Request::builder().method(Method::GET).uri(path).header("accept", accept);
    client.send(request.body(Full::default()).unwrap()).await
}

async fn text(answer: http::Response<Body>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// Objects with texts that are hard to write in some form or other.
async fn filled(client: &Client, number: usize) {
    let hard = ["a\nb\n\n  c: d\n", "- x", "#", "\u{7}\"\\", "yes", "", "1e3", "ä\n", " lead", "trail \n\n"];
    for at in 0..number {
        let texts: Vec<_> = hard.iter().cycle().skip(at).take(6).collect();
        let meta =
            json!({"name": format!("n{at:03}"), "annotations": {"long": "x".repeat(1000), "hard": texts[0]}});
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": {"tags": texts}});
        client.post(WIDGETS, &widget).await.fine();
        let data = json!({"a": texts[0], "b": texts[1], "c": texts[2]});
        client.post(MAPS, &json!({"metadata": meta, "data": data})).await.fine();
    }
}

/// Lists that were not plain JSON were held as a whole: twenty of them at the same time were
/// gigabytes.
#[tokio::test]
async fn a_streamed_list_is_equal_in_every_format() {
    let (_server, client) = widgets().await;
    for number in [0, 1, 150] {
        filled(&client, number).await;
        for all in [WIDGETS, MAPS] {
            let plain: Value =
                serde_json::from_str(&text(asked(&client, all, "application/json").await).await).unwrap();
            let items = plain["items"].as_array().unwrap();
            assert_eq!(items.len(), number);
            let metadata = |of: &Value| {
                of.as_object()
                    .unwrap()
                    .clone()
                    .into_iter()
                    .filter(|(_, said)| said != "")
                    .collect::<serde_json::Map<_, _>>()
            };
            for (path, accept) in [
                (all.to_owned(), TABLE),
                (format!("{all}?pretty=1"), TABLE),
                (format!("{all}?includeObject=Object"), TABLE),
                (all.to_owned(), METADATA),
                (format!("{all}?pretty=1"), METADATA),
                (format!("{all}?pretty=1"), "application/json"),
                (all.to_owned(), "application/yaml"),
            ] {
                let answer = asked(&client, &path, accept).await;
                assert_eq!(answer.status(), 200);
                let made = if number > 1 { "Body::Parts" } else { "Body::Whole" };
                assert_eq!(format!("{:?}", answer.body()), made, "{path} {accept}");
                let said = text(answer).await;
                let list: Value = match accept {
                    "application/yaml" => {
                        serde_saphyr::from_str(&said).unwrap_or_else(|why| panic!("{why}: {said}"))
                    }
                    _ => serde_json::from_str(&said).unwrap_or_else(|why| panic!("{why}: {said}")),
                };
                if path.ends_with("pretty=1") {
                    assert_eq!(lines(&said), lines(&serde_json::to_string_pretty(&list).unwrap()));
                }
                match accept {
                    TABLE => {
                        let rows = list["rows"].as_array().unwrap();
                        let named = |row: &Value| row["cells"][0].clone();
                        let names: Vec<_> =
                            items.iter().map(|item| item["metadata"]["name"].clone()).collect();
                        assert_eq!(rows.iter().map(named).collect::<Vec<_>>(), names);
                        assert_eq!(list["columnDefinitions"][0]["name"], "Name");
                        let spoken = |row: &Value| row["object"]["metadata"].clone();
                        let told: Vec<_> = items.iter().map(|item| item["metadata"].clone()).collect();
                        assert_eq!(rows.iter().map(spoken).collect::<Vec<_>>(), told);
                    }
                    METADATA => {
                        let told = items.iter().map(|item| json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": item["metadata"]}));
                        assert_eq!(list["items"], told.collect::<Value>());
                        assert_eq!(list["kind"], "PartialObjectMetadataList");
                    }
                    _ => assert_eq!(list["items"], plain["items"], "{path} {accept}"),
                }
                assert_eq!(metadata(&list["metadata"]), metadata(&plain["metadata"]), "{path} {accept}");
            }
        }
        for all in [WIDGETS, MAPS] {
            client.delete(all).await.fine();
        }
    }
}

/// The lines of an indented text, sorted: the order of fields is unspecified.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().map(|line| line.strip_suffix(',').unwrap_or(line)).collect();
    lines.sort_unstable();
    lines
}

/// A slow reader of a list gave its slot back too early: the memory of such lists was not limited.
#[tokio::test]
async fn a_long_list_holds_a_permit_until_it_is_sent() {
    let limits = Limits { long_lists: 2, ..Limits::default() };
    let builder = ApiServer::builder(Memory::new(Options::default())).limits(limits).crds([definition()]);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    filled(&client, 150).await;
    let first = asked(&client, MAPS, "application/json").await;
    let second = asked(&client, WIDGETS, TABLE).await;
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    let third = client.get(MAPS).await;
    assert_eq!((third.code, third.refused().1), (429, "TooManyRequests"), "{third:?}");
    assert_eq!(client.get(&format!("{MAPS}?limit=3")).await.code, 200, "what is short needs none");
    assert!(text(first).await.ends_with("]}\n"));
    assert_eq!(client.get(MAPS).await.code, 200);
    drop(second);
    let both =
        [asked(&client, MAPS, "application/json").await, asked(&client, MAPS, "application/json").await];
    assert!(both.iter().all(|answer| answer.status() == 200));
}
