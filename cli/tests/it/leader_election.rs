//! Three processes, one Lease and one server, and what a machine does to them: who leader is stopped past its Lease and goes on, is killed,
//! and the server is killed under them. Who leader writes; all that was written is read from the server afterwards.

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

    // Who leader is stopped, as a machine is suspended, until another one leader.
    let (first, (stale, uid)) = next_leader(&mut all).await;
    let mut stopped = all.remove(first);
    stopped.wait_for("it writes", |line| (line == CandidateOutput::Wrote(stale)).then_some(())).await;
    stopped.signal(Signal::STOP);
    let (second, (epoch, same_uid)) = next_leader(&mut all).await;
    assert!(epoch > stale && same_uid == uid);
    all[second].wait_for("it writes", |line| (line == CandidateOutput::Wrote(epoch)).then_some(())).await;

    // Also by hand, and also if it would change nothing: who has the header of that term is refused, with the cause.
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

    // It goes on: what it sends under its old fence is refused, it ends its term, and stands again.
    stopped.output.clear();
    stopped.signal(Signal::CONT);
    stopped.wait_for("its term ends", |line| (line == CandidateOutput::Ends(stale)).then_some(())).await;
    let mut answers = stopped.output.as_slice();
    // The answer to what it had sent before it was stopped.
    if answers.first() == Some(&CandidateOutput::Wrote(stale)) {
        answers = &answers[1..];
    }
    let (ends, answers) = answers.split_last().unwrap();
    assert_eq!(*ends, CandidateOutput::Ends(stale));
    assert!(
        answers.len() >= LATE_ANSWERS && answers.iter().all(|line| *line == CandidateOutput::Refused(stale)),
        "{answers:?}"
    );

    // Whoever leader is killed, until that one leader again, in the same process.
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

    // The server is killed under them, and started again. Others have come meanwhile, one under the name of one that was killed.
    let names: BTreeSet<_> = all.iter().map(|candidate| candidate.name).collect();
    all.extend(["one", "two", "three"].into_iter().filter(|name| !names.contains(name)).map(candidate));
    for candidate in &mut all[1..] {
        if candidate.output.is_empty() {
            candidate.wait_for("it stands", |line| (line == CandidateOutput::Stands).then_some(())).await;
        }
    }
    serving.kill().await;
    let serving = start().await;
    // Either its term outlived the server, or another one began.
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
    let last = timeout(TIMEOUT, writes).await.expect("somebody writes");
    assert!(last >= again, "{last} is not before {again}");

    // Who is told to end gives the Lease back.
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

/// The next who line that it leader, and the epoch and the UID that it names.
async fn next_leader(all: &mut [Candidate]) -> (usize, (u64, String)) {
    let leading = all.iter_mut().map(|candidate| Box::pin(candidate.leads()));
    let (term, index, _) = timeout(TIMEOUT, select_all(leading)).await.expect("one leader");
    (index, term)
}

fn record(by: &str, epoch: u64) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": RECORD},
        "data": {"by": by, "epoch": epoch.to_string()}})
}

fn epoch_of(record: &Value) -> u64 {
    record["data"]["epoch"].as_str().unwrap().parse().unwrap()
}

/// All that was written, in the order in index it was: no epoch comes after a later one, and each is one process's.
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
        let frame = timeout(TIMEOUT, frames.next()).await.expect("it is told").expect("the watch goes on");
        let data = &frame["object"]["data"];
        let (by, epoch) = (data["by"].as_str().unwrap().to_owned(), epoch_of(&frame["object"]));
        assert!(epoch >= latest, "{by} wrote in {epoch} after {latest}");
        latest = epoch;
        if by == "the end" {
            break;
        }
        assert_eq!(*writers.entry(epoch).or_insert_with(|| by.clone()), by, "{epoch} is another's");
    }
    assert!(epochs.iter().all(|epoch| writers.contains_key(epoch)), "{epochs:?} in {writers:?}");
}
