//! Random histories of references and their targets, checked at each revision.

use machinery_store::{Memory, Options, Retention};
use serde_json::{Value, json};

use super::fixture::{DEPLOYMENTS, MAPS, ReferenceHistory, deployment, map, references, service, start};
use crate::client::Client;
use crate::guards::history::RandomNumbers;
use crate::guards::subnet::{beside, records};

/// Makes one random write. The history checks the result.
async fn write(client: &Client, numbers: &mut RandomNumbers) -> bool {
    let target = format!("m{}", numbers.below(3));
    let (config, user) = (format!("{MAPS}/{target}"), format!("d{}", numbers.below(4)));
    let path = format!("{DEPLOYMENTS}/{user}");
    let annotation = |name: Value| json!({"metadata": {"annotations": {"example.com/config": name}}});
    let unheld = json!({"metadata": {"finalizers": null}});
    let answer = match numbers.below(9) {
        0 => client.post(MAPS, &map(&target)).await,
        1 => {
            let held = json!({"metadata": {"name": target, "finalizers": ["example.com/hold"]}});
            client.post(MAPS, &held).await
        }
        2 => client.merge(&config, &unheld).await,
        3 | 4 => client.delete(&config).await,
        5 => client.post(DEPLOYMENTS, &deployment(&user, "x", Some(&target))).await,
        6 => client.merge(&path, &annotation(target.into())).await,
        7 => client.merge(&path, &annotation(Value::Null)).await,
        _ => client.delete(&path).await,
    };
    assert!(answer.code < 500 && answer.code != 429, "{answer:?}");
    answer.code < 300
}

async fn history(seed: u64) -> u64 {
    let store = Memory::new(Options { retention: Retention::MANUAL, ..Options::default() });
    let servers = [start(&store, vec![references()]).await, start(&store, vec![references()]).await];
    let writer = |at: usize| {
        let client = Client::to(service(&servers[at % 2]));
        let mut numbers = RandomNumbers::new(seed * 4 + at as u64 + 1);
        beside(async move {
            let mut done = 0;
            for _ in 0..120 {
                done += u64::from(write(&client, &mut numbers).await);
            }
            done
        })
    };
    let mut done = 0;
    for writer in [writer(0), writer(1), writer(2)] {
        done += writer.await.unwrap();
    }
    let client = Client::to(service(&servers[0]));
    for number in 0..4 {
        client.delete(&format!("{DEPLOYMENTS}/d{number}")).await;
    }
    for number in 0..3 {
        client.merge(&format!("{MAPS}/m{number}"), &json!({"metadata": {"finalizers": null}})).await;
        client.delete(&format!("{MAPS}/m{number}")).await;
    }
    ReferenceHistory::default().check(&store).await;
    assert_eq!(records(&store).await, 0, "seed {seed}: a record goes with the last object");
    for server in servers {
        server.stop().await;
    }
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reference_dangles_at_any_revision() {
    let (mut done, seeds) = (0, if cfg!(debug_assertions) { 6 } else { 200 });
    for seed in 0..seeds {
        println!("seed {seed}");
        done += history(seed).await;
    }
    // Many of 360 have no effect: the name is taken or missing, or a guard refuses.
    assert!(done > 60 * seeds, "{done} writes");
}
