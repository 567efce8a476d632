//! The cost of decoding alone: the minimum for a list over the wire.

use crate::informer::configs::{Config, Five, stored};
use crate::measure::{Figures, Lap};
use anyhow::ensure;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Returns a page as sent by a server.
pub(in crate::informer) fn page(objects: usize) -> String {
    let items: Vec<String> = (0..objects).map(|i| stored(i, 0, 1000 + i)).collect();
    let items = items.join(",");
    format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"9999"}},"items":[{items}]}}"#
    )
}

#[derive(Deserialize)]
struct DecodedList<O> {
    items: Vec<O>,
}

pub(in crate::informer) fn decode(objects: usize, passes: usize) -> anyhow::Result<Figures> {
    Ok(Figures::default()
        .with("whole_ns", each::<ConfigMap>(objects, passes)?)
        .with("lean_ns", each::<Config>(objects, passes)?)
        .with("five_ns", each::<Five>(objects, passes)?))
}

fn each<O: DeserializeOwned>(objects: usize, passes: usize) -> anyhow::Result<f64> {
    let page = page(objects);
    let mut lap = Lap::started();
    for _ in 0..passes {
        let list: DecodedList<O> = serde_json::from_slice(page.as_bytes())?;
        ensure!(list.items.len() == objects, "all of it is read");
    }
    lap.stop();
    Ok(lap.per(passes * objects).of("ns").unwrap_or_default())
}
