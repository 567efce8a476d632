//! A type of kube for the widgets of `client.rs`, and short ways to speak through a handle.

use std::sync::Arc;

use futures::{FutureExt, StreamExt};
use kube::CustomResource;
use kube_core::ResourceExt;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_objects::{
    Filter, Freshness, ListRequest, ListWatch, ObjectKey, Page, WatchError, WatchEvent, WatchFrom,
    WatchRequest, WatchStream, Writer,
};
use machinery_store::{Memory, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::client::definition;

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Widget", namespaced, status = "WidgetStatus")]
#[kube(derive = "PartialEq")]
pub(crate) struct WidgetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) color: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct WidgetStatus {
    pub(crate) phase: String,
}

/// A server in memory with widgets, and a handle that may do everything.
pub(crate) async fn handled() -> (ApiServer, Memory, Handle<Widget>) {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store.clone()).crds([definition()]).start().await.unwrap();
    let handle = server.handle::<Widget>(Identity::admin());
    (server, store, handle)
}

/// A widget from `NAME COLOR`; the label `color` has the same value.
pub(crate) fn widget(name: &str, color: &str) -> Widget {
    let spec = WidgetSpec { color: Some(color.into()), ..WidgetSpec::default() };
    let mut widget = Widget::new(name, spec);
    widget.metadata.namespace = Some("default".into());
    widget.metadata.labels = Some([("color".into(), color.into())].into());
    widget
}

pub(crate) async fn create(handle: &Handle<Widget>, name: &str, color: &str) -> Widget {
    handle.create(&widget(name, color), None).await.unwrap().object
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

pub(crate) async fn get(handle: &Handle<Widget>, name: &str) -> Option<Arc<Widget>> {
    handle.get(&key(name), Freshness::Newest).await.unwrap()
}

pub(crate) fn labelled(labels: &str) -> Filter {
    Filter { labels: labels.parse().unwrap(), ..Filter::default() }
}

pub(crate) async fn list(handle: &Handle<Widget>, filter: Filter) -> Page<Arc<Widget>> {
    handle.list(ListRequest { filter, ..ListRequest::default() }).await.unwrap()
}

pub(crate) fn names(page: &Page<Arc<Widget>>) -> Vec<String> {
    page.items.iter().map(|widget| widget.name_any()).collect()
}

pub(crate) async fn watch(
    handle: &Handle<Widget>,
    from: WatchFrom,
    filter: Filter,
) -> Result<WatchStream<Arc<Widget>>, WatchError> {
    handle.watch(WatchRequest { filter, from, bookmarks: true, timeout: None }).await
}

/// Returns the next events, as text: all that are ready, and at least `count`.
pub(crate) async fn told(stream: &mut WatchStream<Arc<Widget>>, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < count {
        let next = tokio::time::timeout(std::time::Duration::from_secs(30), stream.next()).await;
        told.push(short(&next.expect("it comes soon").expect("the watch goes on").unwrap()));
    }
    while let Some(Some(event)) = stream.next().now_or_never() {
        told.push(short(&event.unwrap()));
    }
    told
}

fn short(event: &WatchEvent<Arc<Widget>>) -> String {
    let of = |widget: &Widget| {
        format!("{} {} {}", widget.name_any(), widget.spec.color.as_deref().unwrap_or("-"), version(widget))
    };
    match event {
        WatchEvent::Added(widget) => format!("added {}", of(widget)),
        WatchEvent::Modified(widget) => format!("modified {}", of(widget)),
        WatchEvent::Deleted(widget) => format!("deleted {}", of(widget)),
        WatchEvent::Left(widget) => format!("left {}", of(widget)),
        WatchEvent::Bookmark { version, initial_state_ends } => {
            format!("bookmark {version} {initial_state_ends}")
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn version(widget: &Widget) -> u64 {
    widget.resource_version().unwrap().parse().unwrap()
}
