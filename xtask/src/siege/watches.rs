//! Watches of the polite client's objects, resumed after each end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::connection::{Connection, is_timeout};
use super::objects::MAPS;
use super::polite::LABEL;
use super::site::{POLITE, SiegeSite, pause};

/// The time between two looks at the end of the siege.
const LOOK: Duration = Duration::from_millis(500);
/// Timeout of a list, and of the head of a watch.
const HEAD: Duration = Duration::from_secs(10);
/// The wait before a lost watch is begun again.
const AGAIN: Duration = Duration::from_millis(200);

/// The results of one watch.
#[derive(Debug, Default)]
pub(super) struct WatchResult {
    /// The names of objects that the watch has added.
    pub(super) seen: BTreeSet<String>,
    /// Objects that were added twice.
    pub(super) repeated: Vec<String>,
    /// Watches that had to list again, because their revision was compacted.
    pub(super) relists: u64,
    pub(super) resumed: u64,
}

/// Watches until a while after the end of the siege, in which the last events arrive.
pub(super) fn run(site: &Arc<SiegeSite>, after: Duration) -> WatchResult {
    let mut watcher = Watcher { result: WatchResult::default(), revision: None };
    let mut end = None;
    let mut is_over = || site.is_over() && site.elapsed() >= *end.get_or_insert(site.elapsed() + after);
    while !is_over() {
        if watcher.follow(site, &mut is_over).is_err() {
            watcher.result.resumed += 1;
            pause(AGAIN);
        }
    }
    watcher.result
}

struct Watcher {
    result: WatchResult,
    /// The revision to resume from; none before the first list.
    revision: Option<String>,
}

impl Watcher {
    /// Follows one response of a watch until it ends, or until `is_over`.
    fn follow(&mut self, site: &SiegeSite, mut is_over: impl FnMut() -> bool) -> anyhow::Result<()> {
        let mut connection = Connection::open(site, Some(POLITE), HEAD)?;
        let revision = match self.revision.clone() {
            Some(revision) => revision,
            None => self.list(&mut connection)?,
        };
        let path = format!(
            "{MAPS}?watch=1&allowWatchBookmarks=true&labelSelector={LABEL}&resourceVersion={revision}"
        );
        let code = connection.stream(&path)?;
        if code == 410 {
            self.expired();
            return Ok(());
        }
        ensure!(code == 200, "the watch was answered {code}");
        connection.set_timeout(LOOK)?;
        let mut rest = Vec::new();
        while !is_over() {
            let chunk = match connection.chunk() {
                Ok(chunk) => chunk.context("the watch has ended")?,
                Err(error) if is_timeout(&error) => continue,
                Err(error) => return Err(error),
            };
            rest.extend(chunk);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                if !self.event(&serde_json::from_slice(&line)?)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Takes an event. Returns false if the revision has expired.
    fn event(&mut self, event: &Value) -> anyhow::Result<bool> {
        let metadata = &event["object"]["metadata"];
        match event["type"].as_str() {
            Some("ADDED") => {
                let name = metadata["name"].as_str().context("an event without a name")?;
                if !self.result.seen.insert(name.to_owned()) {
                    self.result.repeated.push(name.to_owned());
                }
            }
            Some("MODIFIED" | "DELETED" | "BOOKMARK") => {}
            Some("ERROR") if event["object"]["code"] == 410 => {
                self.expired();
                return Ok(false);
            }
            _ => anyhow::bail!("the watch has ended with {event}"),
        }
        self.revision = metadata["resourceVersion"].as_str().map(str::to_owned).or(self.revision.take());
        Ok(true)
    }

    fn expired(&mut self) {
        self.result.relists += 1;
        self.revision = None;
    }

    /// Lists the objects and returns the revision of the list.
    fn list(&mut self, connection: &mut Connection) -> anyhow::Result<String> {
        let path = format!("{MAPS}?labelSelector={LABEL}");
        let answer = connection.get(&path)?;
        ensure!(answer.code == 200, "the list was answered {}", answer.code);
        let list: Value = serde_json::from_slice(&answer.body)?;
        let names = list["items"].as_array().into_iter().flatten();
        self.result.seen.extend(names.filter_map(|item| Some(item["metadata"]["name"].as_str()?.to_owned())));
        let revision = list["metadata"]["resourceVersion"].as_str().context("a list without a revision")?;
        self.revision = Some(revision.to_owned());
        Ok(revision.to_owned())
    }
}
