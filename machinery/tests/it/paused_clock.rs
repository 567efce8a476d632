//! Tests of planes on a paused clock, and of waits for a condition.

use crate::hosts::{Host, host};
use machinery::UntilError;
use machinery::controllers::{ElectionConfig, Term};
use machinery::k8s_openapi::api::coordination::v1::Lease;
use machinery::objects::Object;
use machinery::tokio::time::{Duration, Instant, sleep};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn p14_timestamps_agree_with_the_paused_clock() {
    let plane = machinery::embedded().paused_clock().kinds::<(Host,)>().start().await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let created = |name: &str| {
        let created =
            hosts.get(&format!("default/{name}").parse().unwrap())?.metadata.creation_timestamp.clone();
        created.map(|time| time.0.as_second())
    };
    hosts.create(&host("a", 1)).await.unwrap();
    let first = hosts.until(HOUR, |_| created("a")).await.unwrap();
    sleep(24 * HOUR).await;
    hosts.create(&host("b", 1)).await.unwrap();
    let second = hosts.until(HOUR, |_| created("b")).await.unwrap();
    assert_eq!((first, second), (1_767_225_600, 1_767_225_600 + 24 * 3600));

    // The clients' clocks too, also of a plane beside it.
    let other = plane.beside().start().await.unwrap();
    let elector = other.elector(ElectionConfig::new("default/all".parse().unwrap(), "one", 1)).unwrap();
    let stopping = other.stopping().clone();
    other.spawn(async move {
        elector.lead(|term: Term| async move { term.token().cancelled().await }, stopping).await?;
        Ok(())
    });
    let leases = plane.objects::<Lease>().unwrap();
    let acquired = leases.until(HOUR, |leases| {
        let all = leases.read();
        all.iter().find_map(|(_, lease)| Some(lease.spec.as_ref()?.acquire_time.clone()?.0.as_second()))
    });
    let acquired = acquired.await.unwrap() - second;
    assert!((0..60).contains(&acquired), "{acquired}");
    other.stop().await;
    plane.stop().await;
}

#[tokio::test]
async fn p14_a_plane_beside_another_leaves_its_server_running() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let beside = plane.beside().start().await.unwrap();
    let (hosts, others) = (plane.objects::<Host>().unwrap(), beside.objects::<Host>().unwrap());
    others.create(&host("a", 1)).await.unwrap();
    let key = host("a", 1).key();
    hosts.until(HOUR, |hosts| hosts.get(&key)).await.unwrap();
    beside.stop().await;
    assert!(others.informer().state().closed);
    hosts.create(&host("b", 1)).await.unwrap();
    hosts.until(HOUR, |hosts| hosts.get(&host("b", 1).key())).await.unwrap();
    plane.stop().await;
}

#[tokio::test]
async fn p15_a_wait_ends_with_the_first_state_in_which_its_condition_holds() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let creates = async {
        for rack in 0..50 {
            hosts.create(&host(&format!("h{rack}"), rack)).await.unwrap();
        }
    };
    let (found, ()) = tokio::join!(
        hosts.until(HOUR, |hosts| hosts
            .read()
            .iter()
            .map(|(_, host)| host.spec.rack)
            .find(|rack| *rack == 49)),
        creates
    );
    assert_eq!(found, Ok(49));
    // It holds already: no event is needed.
    assert_eq!(hosts.until(Duration::ZERO, |hosts| Some(hosts.read().len())).await, Ok(50));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p15_a_wait_names_its_timeout_and_the_stop() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    hosts.create(&host("a", 1)).await.unwrap();
    hosts.informer().synced().await.unwrap();
    let began = Instant::now();
    let error = hosts.until(HOUR, |_| None::<()>).await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 3600);
    assert!(matches!(&error, UntilError::TimedOut { objects: 1, is_synced: true, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the condition on hosts.example.com did not hold within 3600s: 1 objects are cached"
    );
    let (stopped, _) = tokio::join!(hosts.until(HOUR, |_| None::<()>), plane.stop());
    assert!(matches!(stopped, Err(UntilError::Stopped { .. })), "{stopped:?}");
}
