//! The polite client: ten times a second it creates an object and reads it back.

use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
use super::objects::MAPS;
use super::site::{POLITE, SiegeSite, pause};

const PERIOD: Duration = Duration::from_millis(100);
/// Timeout of a response. Longer than the longest permitted outage.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The label by which watches select its objects.
pub(super) const LABEL: &str = "siege=polite";

/// The results of the polite client.
#[derive(Debug, Default)]
pub(super) struct PoliteResult {
    /// Numbers of objects with an acknowledged creation.
    pub(super) acknowledged: Vec<u64>,
    pub(super) refused: u64,
    /// Requests without an answer.
    pub(super) lost: u64,
    /// The longest time without a successful answer while the server was up.
    pub(super) longest_outage: Duration,
    /// Objects that were not as created, with the reason.
    pub(super) wrong: Vec<String>,
}

/// Measures the time without a successful answer, without the downtime of the server.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The begin of the first request since the last successful one.
    since: Option<Duration>,
    pub(super) longest: Duration,
}

impl Outage {
    pub(super) fn attempt(&mut self, now: Duration) {
        self.since.get_or_insert(now);
    }

    /// Records an answer. The outage began no earlier than the last start of the server.
    pub(super) fn success(&mut self, now: Duration, ready_at: Duration) {
        if let Some(since) = self.since.take() {
            self.longest = self.longest.max(now.saturating_sub(since.max(ready_at)));
        }
    }

    /// Records the end of the siege, which ends an outage too.
    pub(super) fn end(&mut self, now: Duration, ready_at: Duration) {
        self.success(now, ready_at);
    }
}

pub(super) fn name(number: u64) -> String {
    format!("polite-{number:07}")
}

/// Runs until the end of the siege.
pub(super) fn run(site: &Arc<SiegeSite>) -> PoliteResult {
    let (mut result, mut outage) = (PoliteResult::default(), Outage::default());
    let mut connection = None;
    let mut number = 0;
    while !site.is_over() {
        number += 1; // a new name each time: the outcome of a lost request is unknown
        let due = site.elapsed() + PERIOD;
        outage.attempt(site.elapsed());
        match exchange(site, &mut connection, number, &mut result) {
            Ok(true) => outage.success(site.elapsed(), site.ready_at()),
            Ok(false) => result.refused += 1,
            Err(_) => {
                connection = None;
                result.lost += 1;
            }
        }
        pause(due.saturating_sub(site.elapsed()));
    }
    outage.end(site.elapsed(), site.ready_at());
    result.longest_outage = outage.longest;
    result
}

/// Creates an object and reads it. Returns false if a request was refused.
fn exchange(
    site: &SiegeSite,
    connection: &mut Option<Connection>,
    number: u64,
    result: &mut PoliteResult,
) -> anyhow::Result<bool> {
    let connection = match connection {
        Some(connection) => connection,
        none => none.insert(Connection::open(site, Some(POLITE), TIMEOUT)?),
    };
    let name = name(number);
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","labels":{{"siege":"polite"}}}},"data":{{"number":"{number}"}}}}"#
    );
    let made = connection.send("POST", MAPS, None, body.as_bytes())?;
    if made.code != 201 {
        return Ok(false);
    }
    result.acknowledged.push(number);
    let read = connection.get(&format!("{MAPS}/{name}"))?;
    if read.code != 200 {
        if read.code == 404 {
            result.wrong.push(format!("{name} is not found after its creation was acknowledged"));
        }
        return Ok(false);
    }
    let object: serde_json::Value = serde_json::from_slice(&read.body)?;
    if object["data"]["number"].as_str() != Some(&*number.to_string()) {
        result.wrong.push(format!("{name} has the content {}", object["data"]));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_with_an_answer_and_excludes_the_downtime() {
        let at = Duration::from_millis;
        let mut outage = Outage::default();
        outage.attempt(at(1000));
        outage.success(at(1010), at(0));
        assert_eq!(outage.longest, at(10));
        outage.attempt(at(2000)); // fails
        outage.attempt(at(2100)); // fails, the server is killed
        outage.attempt(at(9100));
        outage.success(at(9200), at(9000)); // it was ready at 9000
        assert_eq!(outage.longest, at(200));
        outage.attempt(at(10_000));
        outage.end(at(13_000), at(9000));
        assert_eq!(outage.longest, at(3000));
    }
}
