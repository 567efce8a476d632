//! Full lists: verified once, then only measured.

use crate::measure::{Figures, cpu_time};
use crate::server::objects::PATH;
use crate::server::{Access, Client};
use anyhow::ensure;
use serde::Deserialize;
use std::time::Instant;
use tokio::task::JoinSet;

/// Returns the size of a list of all objects, after verifying it.
pub(super) async fn whole(access: &Access, objects: usize) -> anyhow::Result<usize> {
    let bytes = Client::connect(access).await?.get(PATH).await?;
    let list: ObjectList<'_> = serde_json::from_slice(&bytes)?;
    let wholes = list.items.iter().filter(|item| item.is_whole()).count();
    ensure!(wholes == objects, "a list of {} has {wholes} wholes of {objects}", list.items.len());
    Ok(bytes.len())
}

/// Measures `clients` concurrent lists.
pub(super) async fn lists(
    access: &Access,
    clients: usize,
    length: usize,
    indented: bool,
) -> anyhow::Result<Figures> {
    let path = if indented { format!("{PATH}?pretty=1") } else { PATH.to_owned() };
    let mut connected = Vec::new();
    for _ in 0..clients {
        connected.push(Client::connect(access).await?);
    }
    let (start, cpu) = (Instant::now(), cpu_time());
    let mut tasks = JoinSet::new();
    for mut client in connected {
        let path = path.clone();
        tasks.spawn(async move { client.length(&path).await });
    }
    while let Some(ended) = tasks.join_next().await {
        let found = ended??;
        let whole = if indented { found > length } else { found == length };
        ensure!(whole, "a list has {found} bytes, where it had {length}");
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = cpu_time().saturating_sub(cpu);
    Ok(Figures::default().with("list_s", seconds).with("client_cpu_s", cpu.as_secs_f64()))
}

#[derive(Deserialize)]
struct ObjectList<'a> {
    #[serde(borrow)]
    items: Vec<ListItem<'a>>,
}

#[derive(Deserialize)]
struct ListItem<'a> {
    #[serde(borrow)]
    metadata: ItemMetadata<'a>,
    #[serde(borrow)]
    spec: ItemSpec<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemMetadata<'a> {
    name: &'a str,
    uid: &'a str,
    resource_version: &'a str,
}

#[derive(Deserialize)]
struct ItemSpec<'a> {
    text: &'a str,
}

impl ListItem<'_> {
    fn is_whole(&self) -> bool {
        let ItemMetadata { name, uid, resource_version } = self.metadata;
        !name.is_empty() && uid.len() == 36 && !resource_version.is_empty() && self.spec.text.len() > 500
    }
}
