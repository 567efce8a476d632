//! Three candidate processes, one Lease and one server. The leader is suspended past its Lease and
//! resumed, then killed; the server is killed, too. Leaders write under the fences of their terms,
//! and the history of writes is read from the server afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::select_all;
use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::candidate::{Candidate, CandidateOutput, LATE_ANSWERS, LEASE, RECORD};
use crate::client::{Connection, WatchFrames};
use crate::program::{ServerProcess, TIMEOUT, free_port};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_or_killed_leader_writes_nothing_after_its_term() {
    let home = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let start =
        async || ServerProcess::start(&["--listen", &address, "--data-dir", "data"], home.path()).await;
    let serving = start().await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let (code, made) = client.request(Method::POST, MAPS, Some(&record("nobody", 0))).await.unwrap();
    assert_eq!(code, 201, "{made}");
    let begin = made["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let candidate = |name| Candidate::start(name, &serving.kubeconfig);
    let mut all = vec![candidate("one"), candidate("two"), candidate("three")];
    for candidate in &mut all {
        candidate.wait_for("it stands", |line| (line == CandidateOutput::Stands).then_some(())).await;
    }

    // The leader is suspended until another candidate leads.
    let (first, (stale, uid)) = next_leader(&mut all).await;
    let mut stopped = all.remove(first);
    stopped.wait_for("it writes", |line| (line == CandidateOutput::Wrote(stale)).then_some(())).await;
    stopped.signal(Signal::STOP);
    let (second, (epoch, same_uid)) = next_leader(&mut all).await;
    assert!(epoch > stale && same_uid == uid);
    all[second].wait_for("it writes", |line| (line == CandidateOutput::Wrote(epoch)).then_some(())).await;

    // A request with the stale fence in its header is refused with the cause, also a write without effect.
    for (method, path) in [(Method::PUT, format!("{MAPS}/{RECORD}")), (Method::POST, MAPS.to_owned())] {
        let mut by_hand = Connection::to(&serving.access).await.unwrap();
        by_hand.fence = Some(format!("coordination.k8s.io/v1/leases/{LEASE}; uid={uid}; epoch={stale}"));
        let mut body = record("a hand", stale);
        if method == Method::POST {
            body["metadata"]["name"] = "another".into();
        }
        let (code, refused) = by_hand.request(method, &path, Some(&body)).await.unwrap();
        let cause = &refused["details"]["causes"][0];
        assert_eq!((code, refused["reason"].as_str()), (409, Some("Conflict")), "{refused}");
        assert_eq!((&cause["reason"], &cause["field"]), (&json!("FenceStale"), &json!("Machinery-Fence")));
        assert_eq!(cause["message"], format!("its epoch is {epoch}"));
    }

    // The resumed leader's writes are refused; it ends its term and becomes a candidate again.
    stopped.output.clear();
    stopped.signal(Signal::CONT);
    stopped.wait_for("its term ends", |line| (line == CandidateOutput::Ends(stale)).then_some(())).await;
    let mut answers = stopped.output.as_slice();
    // The answer to a write sent before the suspension.
    if answers.first() == Some(&CandidateOutput::Wrote(stale)) {
        answers = &answers[1..];
    }
    let (ends, answers) = answers.split_last().unwrap();
    assert_eq!(*ends, CandidateOutput::Ends(stale));
    assert!(
        answers.len() >= LATE_ANSWERS && answers.iter().all(|line| *line == CandidateOutput::Refused(stale)),
        "{answers:?}"
    );

    // Leaders are killed until the resumed process leads again.
    let mut epochs = vec![stale, epoch];
    let mut leader = second;
    all.push(stopped);
    loop {
        all.swap_remove(leader).kill().await;
        let (next, (epoch, _)) = next_leader(&mut all).await;
        all[next].wait_for("it writes", |line| (line == CandidateOutput::Wrote(epoch)).then_some(())).await;
        epochs.push(epoch);
        leader = next;
        if all[leader].output.contains(&CandidateOutput::Ends(stale)) {
            break;
        }
    }
    let again = *epochs.last().unwrap();

    // The server is killed and restarted, after new candidates have joined under the killed ones' names.
    let names: BTreeSet<_> = all.iter().map(|candidate| candidate.name).collect();
    all.extend(["one", "two", "three"].into_iter().filter(|name| !names.contains(name)).map(candidate));
    for candidate in &mut all[1..] {
        if candidate.output.is_empty() {
            candidate.wait_for("it stands", |line| (line == CandidateOutput::Stands).then_some(())).await;
        }
    }
    serving.kill().await;
    let serving = start().await;
    // The term outlived the server's restart, or a new one began.
    let mut client = Connection::to(&serving.access).await.unwrap();
    let (_, found) = client.get(&format!("{MAPS}/{RECORD}")).await;
    let writes = async {
        loop {
            let (_, now) = client.get(&format!("{MAPS}/{RECORD}")).await;
            if now["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"] {
                return epoch_of(&now);
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let last = timeout(TIMEOUT, writes).await.expect("a leader writes");
    assert!(last >= again, "{last} is not before {again}");

    // SIGTERM releases the Lease.
    for candidate in &mut all {
        candidate.signal(Signal::TERM);
    }
    for candidate in &mut all {
        candidate.wait_for("it stops", |line| (line == CandidateOutput::Stopped).then_some(())).await;
        assert!(candidate.ended().await.success());
    }
    let (_, lease) = client.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/candidates").await;
    assert_eq!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default(), "", "{lease}");
    check_history(&mut client, &begin, &epochs).await;
}

/// The index of the next candidate that leads, with the epoch and the Lease's UID of its term.
async fn next_leader(all: &mut [Candidate]) -> (usize, (u64, String)) {
    let leading = all.iter_mut().map(|candidate| Box::pin(candidate.leads()));
    let (term, index, _) = timeout(TIMEOUT, select_all(leading)).await.expect("a leader in time");
    (index, term)
}

fn record(by: &str, epoch: u64) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": RECORD},
        "data": {"by": by, "epoch": epoch.to_string()}})
}

fn epoch_of(record: &Value) -> u64 {
    record["data"]["epoch"].as_str().unwrap().parse().unwrap()
}

/// Reads the history of writes: epochs never decrease, and each epoch has one writer.
async fn check_history(client: &mut Connection, begin: &str, epochs: &[u64]) {
    let (code, last) = client
        .request(Method::PUT, &format!("{MAPS}/{RECORD}"), Some(&record("the end", u64::MAX)))
        .await
        .unwrap();
    assert_eq!(code, 200, "{last}");
    let watch = format!("{MAPS}?watch=1&resourceVersion={begin}&fieldSelector=metadata.name%3D{RECORD}");
    let (_, body) = client.send(Method::GET, &watch, None).await.unwrap();
    let (mut frames, mut latest, mut writers) = (WatchFrames::of(body), 0, BTreeMap::new());
    loop {
        let frame =
            timeout(TIMEOUT, frames.next()).await.expect("an event in time").expect("the watch is open");
        let data = &frame["object"]["data"];
        let (by, epoch) = (data["by"].as_str().unwrap().to_owned(), epoch_of(&frame["object"]));
        assert!(epoch >= latest, "{by} wrote in {epoch} after {latest}");
        latest = epoch;
        if by == "the end" {
            break;
        }
        assert_eq!(
            *writers.entry(epoch).or_insert_with(|| by.clone()),
            by,
            "a second writer in epoch {epoch}"
        );
    }
    assert!(epochs.iter().all(|epoch| writers.contains_key(epoch)), "{epochs:?} in {writers:?}");
}
