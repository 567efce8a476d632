//! Field selectors on the selectable fields of a definition, as Kubernetes' suite uses them.

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use machinery_apiserver::Body;
use serde_json::{Value, json};

use crate::client::{Client, definition, widgets};

const ALL: &str = "/apis/example.com/v1/namespaces/default/hosts";

fn hosts() -> Value {
    let mut hosts = definition();
    hosts["metadata"]["name"] = "hosts.example.com".into();
    hosts["spec"]["names"] =
        json!({"plural": "hosts", "singular": "host", "kind": "Host", "listKind": "HostList"});
    let version = &mut hosts["spec"]["versions"][0];
    version.as_object_mut().unwrap().remove("additionalPrinterColumns");
    version["selectableFields"] = json!([{"jsonPath": ".host"}, {"jsonPath": ".port"}]);
    version["schema"]["openAPIV3Schema"]["properties"] =
        json!({"host": {"type": "string"}, "port": {"type": "string"}});
    hosts
}

fn host(name: &str, host: &str, port: Option<&str>) -> Value {
    let mut object =
        json!({"apiVersion": "example.com/v1", "kind": "Host", "metadata": {"name": name}, "host": host});
    if let Some(port) = port {
        object["port"] = port.into();
    }
    object
}

async fn watch(client: &Client, selector: &str) -> Body {
    let path = format!("{ALL}?watch=true&fieldSelector={selector}");
    client.send(Request::get(path).body(Full::default()).unwrap()).await.into_body()
}

/// Reads the next events as type and name.
async fn events(watch: &mut Body, count: usize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut text = String::new();
    while found.len() < count {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&frame).unwrap());
        while let Some((line, rest)) = text.split_once('\n') {
            let event: Value = serde_json::from_str(line).unwrap();
            let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
            found.push((event["type"].as_str().unwrap().to_owned(), name.to_owned()));
            text = rest.to_owned();
        }
    }
    found
}

#[tokio::test]
async fn custom_objects_are_listed_watched_and_deleted_by_selectable_fields() {
    let (_server, client) = widgets().await;
    client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &hosts()).await.fine();
    let (mut by_host, mut by_both) =
        (watch(&client, "host%3Dhost1").await, watch(&client, "host%3Dhost1%2Cport%3D80").await);
    for object in [host("a", "host1", Some("80")), host("b", "host1", Some("8080")), host("c", "host2", None)]
    {
        client.post(ALL, &object).await.fine();
    }
    let names = async |selector: &str| -> Vec<String> {
        let list = client.get(&format!("{ALL}?fieldSelector={selector}")).await.fine();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("host%3Dhost1").await, ["a", "b"]);
    assert_eq!(names("host=host1,port=80").await, ["a"]);
    assert_eq!(names("host!=host1").await, ["c"]);
    assert_eq!(names("port=").await, ["c"], "an absent field is empty");
    let event = |of: &str, name: &str| (of.to_owned(), name.to_owned());
    assert_eq!(events(&mut by_host, 2).await, [event("ADDED", "a"), event("ADDED", "b")]);
    assert_eq!(events(&mut by_both, 1).await, [event("ADDED", "a")]);
    let path = format!("{ALL}?fieldSelector=host%3Dhost1%2Cport%3D80");
    let options = r#"{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}"#;
    client.ask(Method::DELETE, &path, &[("content-type", "application/json")], options).await.fine();
    let mut b = client.get(&format!("{ALL}/b")).await.fine();
    b["host"] = "host2".into();
    client.put(&format!("{ALL}/b"), &b).await.fine();
    assert!(names("host%3Dhost1").await.is_empty());
    assert_eq!(events(&mut by_host, 2).await, [event("DELETED", "a"), event("DELETED", "b")]);
    assert_eq!(events(&mut by_both, 1).await, [event("DELETED", "a")]);
    let unknown = client.get(&format!("{ALL}?fieldSelector=colour%3Dred")).await;
    assert_eq!(unknown.refused(), (400, "BadRequest", "field label not supported: colour"));
}
