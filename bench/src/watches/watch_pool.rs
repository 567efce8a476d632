//! A pool of watches.

use super::descriptors;
use super::event_log::{EndedWatch, EventLog};
use super::lines::LineBuffer;
use super::publisher::shard;
use super::stream::{Stream, open};
use crate::server::objects::event;
use crate::server::{Access, Http};
use futures::StreamExt;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// Connections opened at a time.
const AT_A_TIME: usize = 16;

/// The layout of watches. Watch `i` selects shard `i % shards`, on connection `i / per_connection`:
/// watches of one shard are on distinct connections, as those of unrelated clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WatchLayout {
    pub(crate) watches: usize,
    pub(crate) shards: usize,
    pub(crate) per_connection: usize,
    /// One of this many watches never reads: one of each shard and some of each connection, if both
    /// are multiples of it.
    pub(crate) stalled: Option<usize>,
}

impl WatchLayout {
    pub(crate) const fn stalls(&self, watch: usize) -> bool {
        match self.stalled {
            Some(each) => (watch / self.shards + watch % self.shards).is_multiple_of(each),
            None => false,
        }
    }

    const fn http(&self) -> Http {
        if self.per_connection == 1 { Http::One } else { Http::Two }
    }
}

/// Open watches, closed on drop.
pub(crate) struct WatchPool {
    pub(crate) events: Arc<EventLog>,
    _readers: JoinSet<()>,
}

impl WatchPool {
    /// Opens all watches after a revision. All have been answered when this returns.
    pub(crate) async fn gather(access: &Access, seats: WatchLayout, revision: &str) -> anyhow::Result<Self> {
        let connections = seats.watches.div_ceil(seats.per_connection);
        descriptors::allow(connections)?;
        let events = Arc::new(EventLog::default());
        let mut readers = JoinSet::new();
        let mut opened = futures::stream::iter((0..connections).map(async |connection| {
            let first = connection * seats.per_connection;
            let numbers = first..seats.watches.min(first + seats.per_connection);
            let shards: Vec<String> = numbers.clone().map(|number| shard(number % seats.shards)).collect();
            let streams = open(access, seats.http(), revision, &shards, seats.stalled.is_some()).await?;
            anyhow::Ok((numbers, shards, streams))
        }))
        .buffer_unordered(AT_A_TIME);
        while let Some(opened) = opened.next().await {
            let (numbers, shards, streams) = opened?;
            for ((number, shard), stream) in numbers.zip(shards).zip(streams) {
                let watch = Watch { number, shard, stalled: seats.stalls(number), last: None };
                readers.spawn(watch.read(stream, events.clone()));
            }
        }
        drop(opened);
        Ok(Self { events, _readers: readers })
    }
}

struct Watch {
    number: usize,
    shard: String,
    stalled: bool,
    last: Option<u64>,
}

impl Watch {
    async fn read(mut self, mut stream: Stream, events: Arc<EventLog>) {
        let mut lines = LineBuffer::default();
        let ended = loop {
            match stream.next(self.stalled).await {
                Some(Ok(bytes)) => {
                    let seen = lines
                        .take(&bytes, |line| self.look(line).map(|event| events.event(event, self.stalled)));
                    if let Err(wrong) = seen {
                        return events.wrong(format!("watch {}: {wrong:#}", self.number));
                    }
                }
                Some(Err(error)) => break format!("{error:#}"),
                None => break "in good order".to_owned(),
            }
        };
        if self.stalled {
            events.ended(self.number, EndedWatch { at: Instant::now(), last: self.last });
        } else {
            events.wrong(format!("watch {} was ended: {ended}", self.number));
        }
    }

    /// Returns the sequence number of an event; an error unless it matches this watch and
    /// increases.
    fn look(&mut self, line: &str) -> anyhow::Result<u64> {
        let (shard, number) = event(line)?;
        anyhow::ensure!(shard == self.shard, "it has chosen {}, and was told of {shard}", self.shard);
        let last = self.last.replace(number);
        anyhow::ensure!(last.is_none_or(|last| last < number), "{number} came behind {last:?}");
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn watches_of_a_shard_are_on_distinct_connections_and_one_stalls() {
        let seats = WatchLayout { watches: 5000, shards: 500, per_connection: 100, stalled: Some(10) };
        for shard in 0..seats.shards {
            let watches = (shard..seats.watches).step_by(seats.shards);
            let connections: BTreeSet<usize> = watches.clone().map(|watch| watch / 100).collect();
            assert_eq!(connections.len(), 10);
            assert_eq!(watches.filter(|watch| seats.stalls(*watch)).count(), 1);
        }
        for connection in 0..50 {
            let stalled = (connection * 100..).take(100).filter(|watch| seats.stalls(*watch)).count();
            assert_eq!(stalled, 10);
        }
    }

    #[test]
    fn events_of_other_shards_or_repeated_ones_are_errors() {
        let mut watch = Watch { number: 0, shard: "s1".into(), stalled: false, last: None };
        let mut check = |shard: &str, number: u64, expected: bool| {
            let line = format!(
                r#"{{"type":"MODIFIED","object":{{"metadata":{{"labels":{{"shard":"{shard}"}}}},"spec":{{"replicas":{number}}}}}}}"#
            );
            assert_eq!(watch.look(&line).is_ok(), expected, "{shard} {number}");
        };
        check("s1", 3, true);
        check("s1", 7, true);
        check("s1", 7, false);
        check("s2", 9, false);
    }
}
