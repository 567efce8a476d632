//! Three processes, one Lease and one server, and what a machine does to them: who leads is stopped past its Lease and goes on, is killed,
//! and the server is killed under them. Who leads writes; all that was written is read from the server afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::select_all;
use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::candidate::{Candidate, LATE, LEASE, RECORD, Says};
use crate::client::{Connection, Frames};
use crate::program::{PATIENCE, Serving, free_port};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_processes_that_are_stopped_and_killed_one_leads_and_no_other_writes() {
    let home = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let start = async || Serving::start(&["--listen", &address, "--data-dir", "data"], home.path()).await;
    let serving = start().await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let (code, made) = client.ask(Method::POST, MAPS, Some(&record("nobody", 0))).await.unwrap();
    assert_eq!(code, 201, "{made}");
    let begin = made["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let candidate = |name| Candidate::start(name, &serving.kubeconfig);
    let mut all = vec![candidate("one"), candidate("two"), candidate("three")];
    for candidate in &mut all {
        candidate.says("it stands", |says| (says == Says::Stands).then_some(())).await;
    }

    // Who leads is stopped, as a machine is suspended, until another one leads.
    let (first, (stale, uid)) = who_leads(&mut all).await;
    let mut stopped = all.remove(first);
    stopped.says("it writes", |says| (says == Says::Wrote(stale)).then_some(())).await;
    stopped.signal(Signal::STOP);
    let (second, (epoch, same_uid)) = who_leads(&mut all).await;
    assert!(epoch > stale && same_uid == uid);
    all[second].says("it writes", |says| (says == Says::Wrote(epoch)).then_some(())).await;

    // Also by hand, and also if it would change nothing: who has the header of that term is refused, with the cause.
    for (method, path) in [(Method::PUT, format!("{MAPS}/{RECORD}")), (Method::POST, MAPS.to_owned())] {
        let mut by_hand = Connection::to(&serving.access).await.unwrap();
        by_hand.fence = Some(format!("coordination.k8s.io/v1/leases/{LEASE}; uid={uid}; epoch={stale}"));
        let mut body = record("a hand", stale);
        if method == Method::POST {
            body["metadata"]["name"] = "another".into();
        }
        let (code, refused) = by_hand.ask(method, &path, Some(&body)).await.unwrap();
        let cause = &refused["details"]["causes"][0];
        assert_eq!((code, refused["reason"].as_str()), (409, Some("Conflict")), "{refused}");
        assert_eq!((&cause["reason"], &cause["field"]), (&json!("FenceStale"), &json!("Machinery-Fence")));
        assert_eq!(cause["message"], format!("its epoch is {epoch}"));
    }

    // It goes on: what it sends under its old fence is refused, it ends its term, and stands again.
    stopped.said.clear();
    stopped.signal(Signal::CONT);
    stopped.says("its term ends", |says| (says == Says::Ends(stale)).then_some(())).await;
    let mut answers = stopped.said.as_slice();
    // The answer to what it had sent before it was stopped.
    if answers.first() == Some(&Says::Wrote(stale)) {
        answers = &answers[1..];
    }
    let (ends, answers) = answers.split_last().unwrap();
    assert_eq!(*ends, Says::Ends(stale));
    assert!(answers.len() >= LATE && answers.iter().all(|says| *says == Says::Refused(stale)), "{answers:?}");

    // Whoever leads is killed, until that one leads again, in the same process.
    let mut epochs = vec![stale, epoch];
    let mut leads = second;
    all.push(stopped);
    loop {
        all.swap_remove(leads).kill().await;
        let (next, (epoch, _)) = who_leads(&mut all).await;
        all[next].says("it writes", |says| (says == Says::Wrote(epoch)).then_some(())).await;
        epochs.push(epoch);
        leads = next;
        if all[leads].said.contains(&Says::Ends(stale)) {
            break;
        }
    }
    let again = *epochs.last().unwrap();

    // The server is killed under them, and started again. Others have come meanwhile, one under the name of one that was killed.
    let names: BTreeSet<_> = all.iter().map(|candidate| candidate.name).collect();
    all.extend(["one", "two", "three"].into_iter().filter(|name| !names.contains(name)).map(candidate));
    for candidate in &mut all[1..] {
        if candidate.said.is_empty() {
            candidate.says("it stands", |says| (says == Says::Stands).then_some(())).await;
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
    let last = timeout(PATIENCE, writes).await.expect("somebody writes");
    assert!(last >= again, "{last} is not before {again}");

    // Who is told to end gives the Lease back.
    for candidate in &mut all {
        candidate.signal(Signal::TERM);
    }
    for candidate in &mut all {
        candidate.says("it stops", |says| (says == Says::Stopped).then_some(())).await;
        assert!(candidate.ended().await.success());
    }
    let (_, lease) = client.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/candidates").await;
    assert_eq!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default(), "", "{lease}");
    judge(&mut client, &begin, &epochs).await;
}

/// The next who says that it leads, and the epoch and the UID that it names.
async fn who_leads(all: &mut [Candidate]) -> (usize, (u64, String)) {
    let leading = all.iter_mut().map(|candidate| Box::pin(candidate.leads()));
    let (term, which, _) = timeout(PATIENCE, select_all(leading)).await.expect("one leads");
    (which, term)
}

fn record(by: &str, epoch: u64) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": RECORD},
        "data": {"by": by, "epoch": epoch.to_string()}})
}

fn epoch_of(record: &Value) -> u64 {
    record["data"]["epoch"].as_str().unwrap().parse().unwrap()
}

/// All that was written, in the order in which it was: no epoch comes after a later one, and each is one process's.
async fn judge(client: &mut Connection, begin: &str, epochs: &[u64]) {
    let (code, last) = client
        .ask(Method::PUT, &format!("{MAPS}/{RECORD}"), Some(&record("the end", u64::MAX)))
        .await
        .unwrap();
    assert_eq!(code, 200, "{last}");
    let watch = format!("{MAPS}?watch=1&resourceVersion={begin}&fieldSelector=metadata.name%3D{RECORD}");
    let (_, body) = client.send(Method::GET, &watch, None).await.unwrap();
    let (mut frames, mut latest, mut whose) = (Frames::of(body), 0, BTreeMap::new());
    loop {
        let frame = timeout(PATIENCE, frames.next()).await.expect("it is told").expect("the watch goes on");
        let data = &frame["object"]["data"];
        let (by, epoch) = (data["by"].as_str().unwrap().to_owned(), epoch_of(&frame["object"]));
        assert!(epoch >= latest, "{by} wrote in {epoch} after {latest}");
        latest = epoch;
        if by == "the end" {
            break;
        }
        assert_eq!(*whose.entry(epoch).or_insert_with(|| by.clone()), by, "{epoch} is another's");
    }
    assert!(epochs.iter().all(|epoch| whose.contains_key(epoch)), "{epochs:?} in {whose:?}");
}
