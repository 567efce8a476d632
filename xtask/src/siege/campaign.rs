//! The course of a siege: start, attacks, kill, end, judgement.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::SiegeArgs;
use super::attacks::{ATTACKS, Attack, RunningAttack};
use super::connection::Connection;
use super::objects::{self, MAPS};
use super::polite::{self, LABEL, PoliteResult};
use super::server::{BesiegedServer, MEMORY};
use super::site::{SiegeSite, pause};
use super::watches::{self, WatchResult};
use crate::workspace::Workspace;

/// The longest time that the polite client may be without an answer.
const OUTAGE: Duration = Duration::from_secs(2);
const WATCHES: usize = 4;
/// The time that watches have after the siege to see the last objects.
const AFTER: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);
/// The interval of observations and of lines about them.
const LOOK: Duration = Duration::from_millis(250);
const REPORT: Duration = Duration::from_secs(10);

/// Runs a siege. Returns whether the server held; each defect is printed.
pub(super) fn run(workspace: &Workspace, args: &SiegeArgs) -> anyhow::Result<bool> {
    let SiegeArgs { seconds, only, program } = args;
    let is_wanted =
        |attack: &&Attack| only.is_empty() || only.iter().any(|text| attack.name.contains(text.as_str()));
    let attacks: Vec<&Attack> = ATTACKS.iter().filter(is_wanted).collect();
    let names = || ATTACKS.iter().map(|attack| attack.name).collect::<Vec<_>>().join(", ");
    ensure!(!attacks.is_empty(), "there is no such attack; there are {}", names());
    let mut server =
        BesiegedServer::begin(workspace, program.as_deref(), &workspace.target.join("siege-run"))?;
    println!("a server with {} MiB (limited {}) and 1 024 descriptors", MEMORY >> 20, server.limit());
    let site = Arc::new(SiegeSite::new(&server.kubeconfig()?, &server.authority()?)?);
    let hook = HangingHook::start()?;
    objects::create(&site, hook.port)?;

    let polite = {
        let site = site.clone();
        thread::spawn(move || polite::run(&site))
    };
    let watches = start_watches(&site);
    let mut running = Vec::new();
    for attack in &attacks {
        println!("attack {}: {}", attack.name, attack.story);
        running.push(attack.start(&site)?);
    }
    let survived = besiege(&mut server, &site, &running, Duration::from_secs(*seconds));
    site.stop();
    let mut defects: Vec<String> = survived.err().map(|error| format!("{error:#}")).into_iter().collect();
    let polite = polite.join().map_err(|_| anyhow::anyhow!("the polite client panicked"))?;
    let expected: BTreeSet<String> = polite.acknowledged.iter().map(|at| polite::name(*at)).collect();
    judge_polite(&polite, &mut defects);
    match stored(&site) {
        Ok(stored) => judge_names("exists", &expected, &stored, &mut defects),
        Err(error) => defects.push(format!("the objects cannot be listed after the siege: {error:#}")),
    }
    for (at, watch) in watches.into_iter().enumerate() {
        let seen = watch.join().map_err(|_| anyhow::anyhow!("a watch panicked"))?;
        judge_watch(at, &seen, &expected, &mut defects);
    }
    if let Err(error) = server.observe() {
        defects.push(format!("{error:#}"));
    }
    let peak = server.peak_mib();
    drop(server); // ends the connections of the attacks
    for attack in running {
        println!("attack {}: {} rounds", attack.name, attack.rounds.load(Ordering::Relaxed));
        attack.join();
    }
    println!(
        "polite: {} acknowledged, {} refused, {} lost, longest outage {} ms; memory: {peak} MiB",
        polite.acknowledged.len(),
        polite.refused,
        polite.lost,
        polite.longest_outage.as_millis(),
    );
    for defect in &defects {
        println!("DEFECT: {defect}");
    }
    println!("{}", if defects.is_empty() { "the server held" } else { "the server did not hold" });
    Ok(defects.is_empty())
}

/// Observes the server, and kills it once in the middle.
fn besiege(
    server: &mut BesiegedServer,
    site: &SiegeSite,
    running: &[RunningAttack],
    time: Duration,
) -> anyhow::Result<()> {
    let began = site.elapsed();
    let (mut killed, mut reported) = (false, began);
    while site.elapsed() - began < time {
        pause(LOOK);
        server.observe()?;
        if !killed && site.elapsed() - began >= time / 2 {
            killed = true;
            server.kill_and_restart(&site.address.to_string())?;
            site.came_up();
            println!("killed and started again after {} s", (site.elapsed() - began).as_secs());
        }
        if site.elapsed() - reported >= REPORT {
            reported = site.elapsed();
            let rounds: u64 = running.iter().map(|attack| attack.rounds.load(Ordering::Relaxed)).sum();
            println!(
                "{} s: {rounds} rounds of attacks, memory {} MiB at most",
                (reported - began).as_secs(),
                server.peak_mib()
            );
        }
    }
    Ok(())
}

fn start_watches(site: &Arc<SiegeSite>) -> Vec<JoinHandle<WatchResult>> {
    let start = |_| {
        let site = site.clone();
        thread::spawn(move || watches::run(&site, AFTER))
    };
    (0..WATCHES).map(start).collect()
}

fn judge_polite(polite: &PoliteResult, defects: &mut Vec<String>) {
    defects.extend(polite.wrong.iter().cloned());
    if polite.acknowledged.is_empty() {
        defects.push("no request of the polite client succeeded".to_owned());
    }
    if polite.longest_outage > OUTAGE {
        let outage = polite.longest_outage.as_millis();
        defects.push(format!("the polite client was without an answer for {outage} ms"));
    }
}

fn judge_watch(at: usize, seen: &WatchResult, expected: &BTreeSet<String>, defects: &mut Vec<String>) {
    println!(
        "watch {at}: {} objects, resumed {} times, {} relists",
        seen.seen.len(),
        seen.resumed,
        seen.relists
    );
    judge_names(&format!("was seen by watch {at}"), expected, &seen.seen, defects);
    if let Some(name) = seen.repeated.first() {
        defects.push(format!("watch {at} has added {name} twice, and {} others", seen.repeated.len() - 1));
    }
}

fn judge_names(what: &str, expected: &BTreeSet<String>, found: &BTreeSet<String>, defects: &mut Vec<String>) {
    let missing: Vec<&String> = expected.difference(found).collect();
    if let Some(first) = missing.first() {
        let count = missing.len();
        defects.push(format!("of {} acknowledged writes {count} {what} not: {first} …", expected.len()));
    }
}

/// Returns the names of the polite client's stored objects.
fn stored(site: &SiegeSite) -> anyhow::Result<BTreeSet<String>> {
    let mut admin = Connection::open(site, Some(&site.admin_token), TIMEOUT)?;
    let answer = admin.get(&format!("{MAPS}?labelSelector={LABEL}"))?;
    ensure!(answer.code == 200, "answered {}", answer.code);
    let list: Value = serde_json::from_slice(&answer.body)?;
    let items = list["items"].as_array().context("a list without items")?;
    Ok(items.iter().filter_map(|item| Some(item["metadata"]["name"].as_str()?.to_owned())).collect())
}

/// A webhook that accepts connections and never answers.
struct HangingHook {
    port: u16,
    _connections: Receiver<std::net::TcpStream>,
}

impl HangingHook {
    fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("the webhook cannot listen")?;
        let port = listener.local_addr()?.port();
        let (keep, connections) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if keep.send(stream).is_err() {
                    return;
                }
            }
        });
        Ok(Self { port, _connections: connections })
    }
}
