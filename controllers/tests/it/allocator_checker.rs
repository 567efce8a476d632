//! The invariants of hosts with ports, at every commit.

use crate::allocator_fixture::port_of;
use crate::locks_fixture::Doc;
use futures::StreamExt;
use machinery_apiserver::Handle;
use machinery_objects::{Filter, ListRequest, ListWatch, Object, WatchEvent, WatchFrom, WatchRequest};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// Verifies that no two hosts record one port, until a host `the-end` is created. Returns the
/// number of commits.
pub(crate) async fn checker(hosts: &Handle<Doc>, tasks: &TaskTracker) -> JoinHandle<usize> {
    let version = hosts.list(ListRequest::default()).await.unwrap().version;
    let from = WatchFrom::After(version);
    let request = WatchRequest { filter: Filter::default(), from, bookmarks: false, timeout: None };
    let mut watch = hosts.watch(request).await.unwrap();
    tasks.spawn(async move {
        let (mut holders, mut commits) = (BTreeMap::<u16, String>::new(), 0);
        loop {
            let event = watch.next().await.unwrap().unwrap();
            let (host, exists): (&Arc<Doc>, bool) = match &event {
                WatchEvent::Added(host) | WatchEvent::Modified(host) => (host, true),
                WatchEvent::Deleted(host) => (host, false),
                _ => continue,
            };
            let name = host.key().name().to_owned();
            if name == "the-end" {
                return commits;
            }
            commits += 1;
            holders.retain(|_, holder| *holder != name);
            if let Some(port) = port_of(host).filter(|_| exists) {
                assert_eq!(holders.insert(port, name), None, "two hosts record {port}");
            }
        }
    })
}
