//! Tests of the crash gate, and of its enumeration.

use crate::hosts::{Host, HostStatus, host};
use machinery::controllers::{ElectionConfig, Note, Term};
use machinery::objects::{Kind, Object};
use machinery::testing::{CrashFailure, CrashGate, CrashPoint, CrashPoints, CrashingProgram};
use machinery::tokio::time::{Duration, sleep};
use machinery::{Next, Objects, Plane, Run};
use machinery_sync::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A store of names that outlives its writer.
type Written = Mutex<Vec<u32>>;

/// A writer without idempotence: it writes 1 to 3, and continues after a restart behind the last
/// number that it finds.
async fn write_three(written: &Written, gate: &CrashGate) {
    while written.lock().len() < 3 {
        let next = written.lock().last().copied().unwrap_or(0) + 1;
        gate.pass(format!("write {next}"), async { written.lock().push(next) }).await;
    }
}

#[tokio::test]
async fn p12_each_effect_is_crashed_on_both_sides() {
    let (crashed, states) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let report = CrashPoints::all().run(async |gate| {
        let written = Written::default();
        tokio::select! {
            biased;
            () = write_three(&written, &gate) => {}
            () = gate.crashed() => {
                crashed.lock().push(gate.point().unwrap());
                states.lock().push(written.lock().len());
                write_three(&written, &CrashGate::open()).await;
            }
        }
        assert_eq!(*written.lock(), [1, 2, 3]);
        Ok(())
    });
    let report = report.await.unwrap();
    assert_eq!(report.effects, ["write 1", "write 2", "write 3"]);
    assert_eq!((report.crashes, report.missed), (6, 0));
    let points = |effect| [CrashPoint::before(effect), CrashPoint::after(effect)];
    assert_eq!(*crashed.lock(), [points(1), points(2), points(3)].concat());
    assert_eq!(*states.lock(), [0, 1, 1, 2, 2, 3], "an effect takes place after, and not before");
}

#[tokio::test]
async fn p12_nothing_passes_a_gate_after_the_crash() {
    let gate = CrashGate::crashing(CrashPoint::after(1));
    let (slow, written) = (tokio::sync::Notify::new(), Written::default());
    let in_flight = gate.pass_uncounted(slow.notified());
    tokio::pin!(in_flight);
    assert!(futures::poll!(&mut in_flight).is_pending());
    assert!(futures::poll!(std::pin::pin!(gate.pass("first", async {}))).is_pending());
    assert!(gate.has_crashed());
    slow.notify_one();
    assert!(futures::poll!(&mut in_flight).is_pending(), "its response arrives at nobody");
    let late = async { written.lock().push(1) };
    assert!(futures::poll!(std::pin::pin!(gate.pass("second", late))).is_pending());
    let late = async { written.lock().push(1) };
    assert!(futures::poll!(std::pin::pin!(gate.pass_uncounted(late))).is_pending());
    assert_eq!((gate.effects(), written.lock().len()), (1, 0));
}

#[tokio::test]
async fn p12_a_failure_names_its_crash_point_and_effect() {
    // The writer repeats an effect whose response was lost.
    let twice = async |gate: Arc<CrashGate>| {
        let written = Written::default();
        let writes = async |gate: &CrashGate| {
            for number in [1, 2] {
                gate.pass(format!("write {number}"), async { written.lock().push(number) }).await;
            }
        };
        tokio::select! {
            biased;
            () = writes(&gate) => {}
            () = gate.crashed() => writes(&CrashGate::open()).await,
        }
        let written = written.lock().clone();
        if written == [1, 2] { Ok(()) } else { Err(format!("{written:?} are written").into()) }
    };
    let failure = CrashPoints::all().run(twice).await.unwrap_err();
    assert_eq!(failure.to_string(), r#"the scenario failed with a crash after effect 1, "write 1""#);
    let CrashFailure::Failed { source, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(source.to_string(), "[1, 1, 2] are written");

    let panics = async |gate: Arc<CrashGate>| {
        let run = gate.pass("an effect", async {});
        tokio::select! {
            biased;
            () = run => Ok(()),
            () = gate.crashed() => panic!("no recovery"),
        }
    };
    let failure = CrashPoints::all().run(panics).await.unwrap_err().to_string();
    assert_eq!(failure, r#"the scenario panicked with a crash before effect 1, "an effect": no recovery"#);
}

#[tokio::test(start_paused = true)]
async fn p12_scenarios_without_effects_or_end_are_errors() {
    let failure = CrashPoints::all().run(async |_| Ok(())).await.unwrap_err();
    assert!(matches!(failure, CrashFailure::NoEffects), "{failure}");
    let hangs = async |gate: Arc<CrashGate>| {
        gate.pass("an effect", async {}).await;
        Ok(())
    };
    let failure = CrashPoints::all().run_time(Duration::from_secs(9)).run(hangs).await.unwrap_err();
    assert!(failure.to_string().contains("within 9s with a crash before effect 1"), "{failure}");
    // Without a crash it has two effects, but it goes on as long as there are crashes.
    let runs = Mutex::new(1);
    let grows = async |gate: Arc<CrashGate>| {
        *runs.lock() += 1;
        let effects = async {
            for _ in 0..*runs.lock() {
                gate.pass("an effect", async {}).await;
            }
        };
        tokio::select! {
            biased;
            () = effects => {}
            () = gate.crashed() => {}
        }
        Ok(())
    };
    let failure = CrashPoints::all().run(grows).await.unwrap_err();
    assert!(matches!(failure, CrashFailure::Endless { .. }), "{failure}");
}

#[tokio::test]
async fn p12_a_share_of_the_points_is_chosen_by_its_seed() {
    let points = async |seed| {
        let crashed = Mutex::new(BTreeSet::new());
        let report = CrashPoints::one_in(5, seed).run(async |gate| {
            let effects = async {
                for number in 0..100 {
                    gate.pass(format!("effect {number}"), async {}).await;
                }
            };
            tokio::select! {
                biased;
                () = effects => {}
                () = gate.crashed() => drop(crashed.lock().insert(gate.point())),
            }
            Ok(())
        });
        assert_eq!(report.await.unwrap().crashes, crashed.lock().len());
        crashed.into_inner()
    };
    let (one, again, other) = (points(1).await, points(1).await, points(2).await);
    assert_eq!(one, again);
    assert!(one != other && (25..56).contains(&one.len()) && (25..56).contains(&other.len()));
}

async fn set_address(hosts: Objects<Host>, host: Arc<Host>, run: Run) -> machinery::Result<Next> {
    let address = format!("10.0.{}.1", host.spec.rack);
    if host.status.as_ref().is_none_or(|status| status.address != address) {
        let host = Host { status: Some(HostStatus { address }), ..(*host).clone() };
        run.wrote(&hosts.update_status(&host).await?.token, &hosts);
    }
    Ok(Next::Done)
}

/// The program under test, on a plane of its own.
async fn program(server: &Plane, gate: &Arc<CrashGate>) -> machinery::Result<Plane> {
    let plane = server.beside().crash_gate(gate).start().await?;
    let controller = plane.controller::<Host>("hosts")?;
    let reconcile = machinery::with(plane.objects::<Host>()?, set_address);
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    Ok(plane)
}

#[tokio::test(start_paused = true)]
async fn p12_a_program_is_killed_at_the_crash_and_restarted() {
    let restarts = Mutex::new(Vec::new());
    let report = CrashPoints::all().run(async |gate| {
        let server = machinery::embedded().kinds::<(Host,)>().start().await?;
        let hosts = server.objects::<Host>()?;
        let mut program = CrashingProgram::start(gate, async |gate| program(&server, &gate).await).await?;
        for (name, rack) in [("a", 1), ("b", 2)] {
            hosts.create(&host(name, rack)).await?;
            let key = host(name, rack).key();
            let has_address = async || hosts.get(&key).is_some_and(|host| host.status.is_some());
            program.until("the host has an address", has_address).await?;
        }
        program.until_quiet(Duration::from_secs(60)).await?;
        restarts.lock().push(program.restarts());
        program.stop().await;
        server.stop().await;
        Ok(())
    });
    let report = report.await.unwrap();
    assert_eq!(report.effects, ["update status of hosts default/a", "update status of hosts default/b"]);
    assert_eq!(report.crashes, 4);
    assert_eq!(*restarts.lock(), [0, 1, 1, 1, 1, 0], "the last run finds that there is no third effect");
}

#[tokio::test(start_paused = true)]
async fn p12_a_state_that_does_not_come_is_named() {
    let gate = CrashGate::open();
    let server = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let start = async |gate| program(&server, &gate).await;
    let mut program = CrashingProgram::start(gate, start).await.unwrap().deadline(Duration::from_secs(5));
    program.restart().await.unwrap();
    let error = program.until("a host in rack 7", async || false).await.unwrap_err().to_string();
    assert!(
        error.starts_with("not reached within 5s: a host in rack 7; the program was restarted 1 times"),
        "{error}"
    );
}

/// Events and Leases: their number depends on time.
#[tokio::test(start_paused = true)]
async fn p12_events_and_leases_are_not_counted_but_end_with_the_crash() {
    let server = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let hosts = server.objects::<Host>().unwrap();
    let leases = server.objects::<machinery::k8s_openapi::api::coordination::v1::Lease>().unwrap();
    let events = server.objects::<machinery::k8s_openapi::api::events::v1::Event>().unwrap();
    let gate = CrashGate::crashing(CrashPoint::before(1));
    let plane = server.beside().crash_gate(&gate).start().await.unwrap();
    let config = ElectionConfig::new("default/all".parse().unwrap(), "one", 1);
    let elector = plane.elector(config).unwrap();
    let stopping = plane.stopping().clone();
    plane.spawn(async move {
        let work = |term: Term| async move { term.token().cancelled().await };
        elector.lead(work, stopping).await?;
        Ok(())
    });
    hosts.create(&host("a", 1)).await.unwrap();
    let key = host("a", 1).key();
    let a = hosts.until(Duration::from_secs(60), |hosts| hosts.get(&key)).await.unwrap();
    let recorder = plane.recorder("hosts");
    recorder.note(Note::normal(hosts.about(&a), "Seen", "before the crash"));
    let minute = Duration::from_secs(60);
    events.until(minute, |events| (events.read().len() == 1).then_some(())).await.unwrap();
    let renewed = || leases.read().iter().map(|(_, lease)| lease.spec.clone()?.renew_time).next();
    leases.until(minute, |_| renewed()).await.unwrap();
    assert_eq!(gate.effects(), 0);

    let writing = plane.objects::<Host>().unwrap();
    assert!(tokio::time::timeout(minute, writing.delete(&key)).await.is_err(), "the plane crashed");
    assert!(hosts.get(&key).is_some() && gate.has_crashed());
    recorder.note(Note::normal(hosts.about(&a), "Seen", "after the crash"));
    let before = renewed();
    sleep(Duration::from_secs(600)).await;
    assert_eq!((renewed(), events.read().len()), (before, 1), "a killed process writes nothing");
    plane.kill().await;
    assert_eq!(Kind::of::<Host>().unwrap().plural(), "hosts");
    server.stop().await;
}
