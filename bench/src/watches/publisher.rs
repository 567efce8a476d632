//! The writing client: creates one object per shard, and then replaces them repeatedly.

use crate::server::objects::{PATH, Writer, revision};
use crate::server::{Access, Client};
use anyhow::{Context, ensure};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use std::time::{Duration, Instant};

/// Writes in flight.
const IN_FLIGHT: usize = 64;

/// Returns the label value of a shard, which is also its object's name.
pub(super) fn shard(number: usize) -> String {
    format!("s{number:07}")
}

pub(crate) struct Publisher {
    client: Client,
    writer: Writer,
    /// Revisions by shard; `None` while a write is in flight.
    revisions: Vec<Option<String>>,
    /// The next shard.
    next: usize,
    /// The newest revision.
    newest: u64,
}

/// The times at which writes were answered, by sequence number.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteTimes {
    first: u64,
    /// The shard of each write, and the time of its answer.
    answered: Vec<(usize, Instant)>,
}

struct WriteAnswer {
    index: usize,
    shard: usize,
    revision: String,
    at: Instant,
}

impl Publisher {
    /// Creates an object for each shard.
    pub(crate) async fn load(access: &Access, shards: usize) -> anyhow::Result<Self> {
        let client = Client::connect(access).await?;
        let mut publisher =
            Self { client, writer: Writer::new(0), revisions: Vec::new(), next: 0, newest: 0 };
        let mut created = FuturesUnordered::new();
        for number in 0..shards {
            let (name, mut client) = (shard(number), publisher.client.clone());
            let body = publisher.writer.object(&name, &name, None);
            publisher.revisions.push(None);
            created.push(async move {
                let answer = client.post(PATH, body).await?;
                anyhow::Ok((number, revision(&answer)?.to_owned()))
            });
            while created.len() >= IN_FLIGHT || (number + 1 == shards && !created.is_empty()) {
                let (number, revision) = created.next().await.context("one is under way")??;
                publisher.record_revision(number, revision)?;
            }
        }
        drop(created);
        Ok(publisher)
    }

    /// Returns the newest revision.
    pub(crate) fn revision(&self) -> String {
        self.newest.to_string()
    }

    /// Replaces the objects of the first `shards` in turn, at `rate` per second or as fast as
    /// possible. Writes are pipelined, except to the same object.
    pub(crate) async fn write(
        &mut self,
        shards: usize,
        count: usize,
        rate: Option<f64>,
    ) -> anyhow::Result<WriteTimes> {
        ensure!(shards <= self.revisions.len(), "there are fewer objects than {shards}");
        let (start, first) = (Instant::now(), self.writer.turn() as u64 + 1);
        let mut answered = vec![None; count];
        let mut under_way = FuturesUnordered::new();
        for index in 0..count {
            if let Some(rate) = rate {
                let due = start + Duration::from_secs_f64(crate::measure::count(index) / rate);
                let due = tokio::time::sleep_until(due.into());
                tokio::pin!(due);
                loop {
                    tokio::select! {
                        biased;
                        Some(answer) = under_way.next() => self.answered(answer?, &mut answered)?,
                        () = &mut due => break,
                    }
                }
            }
            let shard = self.next % shards;
            self.next = shard + 1;
            while under_way.len() >= IN_FLIGHT || self.revisions[shard].is_none() {
                let answer = under_way.next().await.context("one is under way")?;
                self.answered(answer?, &mut answered)?;
            }
            under_way.push(self.replace(index, shard)?);
        }
        while let Some(answer) = under_way.next().await {
            self.answered(answer?, &mut answered)?;
        }
        drop(under_way);
        let answered: Option<Vec<(usize, Instant)>> = answered.into_iter().collect();
        Ok(WriteTimes { first, answered: answered.context("a write was not answered")? })
    }

    fn replace(
        &mut self,
        index: usize,
        number: usize,
    ) -> anyhow::Result<impl Future<Output = anyhow::Result<WriteAnswer>> + use<>> {
        let known = self.revisions[number].take().context("its revision is known")?;
        let (name, mut client) = (shard(number), self.client.clone());
        let body = self.writer.object(&name, &name, Some(&known));
        Ok(async move {
            let answer = client.put(&format!("{PATH}/{name}"), body).await?;
            let at = Instant::now();
            Ok(WriteAnswer { index, shard: number, revision: revision(&answer)?.to_owned(), at })
        })
    }

    fn answered(
        &mut self,
        answer: WriteAnswer,
        answered: &mut [Option<(usize, Instant)>],
    ) -> anyhow::Result<()> {
        answered[answer.index] = Some((answer.shard, answer.at));
        self.record_revision(answer.shard, answer.revision)
    }

    fn record_revision(&mut self, shard: usize, revision: String) -> anyhow::Result<()> {
        self.newest = self.newest.max(revision.parse()?);
        self.revisions[shard] = Some(revision);
        Ok(())
    }
}

impl WriteTimes {
    #[cfg(test)]
    pub(super) const fn of(first: u64, answered: Vec<(usize, Instant)>) -> Self {
        Self { first, answered }
    }

    pub(crate) fn len(&self) -> usize {
        self.answered.len()
    }

    pub(crate) fn answered(&self, number: u64) -> Option<Instant> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.answered.get(index).map(|(_, at)| *at)
    }

    /// Returns the time of the answer to the first write to a shard after number `last`.
    pub(crate) fn first_after(&self, last: Option<u64>, shard: usize) -> Option<Instant> {
        let skip = last.map_or(0, |last| (last + 1).saturating_sub(self.first));
        let mut later = self.answered.iter().skip(usize::try_from(skip).ok()?);
        later.find(|(written, _)| *written == shard).map(|(_, at)| *at)
    }

    /// Appends later writes.
    pub(crate) fn extend(&mut self, more: Self) {
        if self.answered.is_empty() {
            self.first = more.first;
        }
        self.answered.extend(more.answered);
    }
}
