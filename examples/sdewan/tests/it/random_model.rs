//! Random sequences of events: CRs, pods, Deployments, agents and lost answers, in virtual time. At
//! rest every pod holds exactly the rules of the CRs in their order, beside a foreign one.

use std::collections::BTreeMap;
use std::time::Duration;

use machinery::Plane;
use machinery::controllers::ElectionConfig;
use machinery::objects::Object as _;
use machinery::tokio;
use machinery::tokio::time::Instant;
use sdewan::drive::CnfErrorClass;
use sdewan::drive::CnfInterface::{V1, V2};
use sdewan::drive::fake::FaultKind;
use sdewan::model::{CollectionId, ObservedObject, RestObject};
use serde_json::json;

use crate::lab::{Lab, key, policy};

/// A generator of random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % sides
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Occurrence {
    CreatePolicy,
    CreateRule,
    ChangeRule,
    OrderRule,
    DeleteCr,
    StopPod,
    ReturnPods,
    EmptyPod,
    Disconnect,
    Duplicate,
    CrashAgent,
    SecondAgent,
    LoseAnswer,
    ServerError,
}

const ALL: [Occurrence; 14] = [
    Occurrence::CreatePolicy,
    Occurrence::CreateRule,
    Occurrence::ChangeRule,
    Occurrence::OrderRule,
    Occurrence::DeleteCr,
    Occurrence::StopPod,
    Occurrence::ReturnPods,
    Occurrence::EmptyPod,
    Occurrence::Disconnect,
    Occurrence::Duplicate,
    Occurrence::CrashAgent,
    Occurrence::SecondAgent,
    Occurrence::LoseAnswer,
    Occurrence::ServerError,
];

const PODS: [&str; 2] = ["cnf-1-1", "cnf-1-2"];
const POLICIES: [&str; 2] = ["p1", "p2"];
const RULES: [&str; 4] = ["r1", "r2", "r3", "r4"];

struct World {
    lab: Lab,
    dice: Dice,
    second: Option<Plane>,
    /// The pods that are not ready, and whether they return empty.
    down: BTreeMap<&'static str, bool>,
    /// Since when the CNF gets no writes.
    silent_since: Option<Instant>,
    is_duplicated: bool,
    agents: u64,
}

impl World {
    async fn new(seed: u64) -> Self {
        let interface = if seed.is_multiple_of(2) { V2 } else { V1 };
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 2).await;
        lab.cnf(PODS[0]).await.edit(|config| {
            let body = json!({"name": "foreign", "policy": "default"});
            let object = RestObject::from_body(CollectionId::Mwan3Rules, body).unwrap();
            config.objects.insert(CollectionId::Mwan3Rules, vec![ObservedObject { owner: None, object }]);
        });
        let down = BTreeMap::new();
        let mut world = Self {
            lab,
            dice: Dice(seed),
            second: None,
            down,
            silent_since: None,
            is_duplicated: false,
            agents: 0,
        };
        world.start_agent().await;
        world
    }

    async fn start_agent(&mut self) {
        self.candidate();
        self.lab.start_agent().await;
    }

    /// Sets the identity of the next agent.
    fn candidate(&mut self) {
        self.agents += 1;
        let name = format!("agent-{}", self.agents);
        self.lab.settings.election = Some(ElectionConfig::new(key("sdewan-agent"), &name, self.agents));
    }

    async fn perform(&mut self, occurrence: Occurrence) {
        let (rule, policy_name) = (RULES[self.dice.roll(4)], POLICIES[self.dice.roll(2)]);
        let pod = PODS[self.dice.roll(2)];
        match occurrence {
            Occurrence::CreatePolicy if self.lab.exists("Mwan3Policy", policy_name).await => {}
            Occurrence::CreatePolicy => self.lab.create("Mwan3Policy", policy_name, policy()).await,
            Occurrence::CreateRule if self.lab.exists("Mwan3Rule", rule).await => {}
            Occurrence::CreateRule => {
                let port = 1 + self.dice.roll(1000);
                self.lab.create("Mwan3Rule", rule, json!({"policy": policy_name, "dest_port": port})).await;
            }
            Occurrence::ChangeRule if self.lab.exists("Mwan3Rule", rule).await => {
                let port = 1 + self.dice.roll(1000);
                let spec = json!({"spec": {"policy": policy_name, "dest_port": port}});
                self.lab.patch("Mwan3Rule", rule, spec).await;
            }
            Occurrence::OrderRule if self.lab.exists("Mwan3Rule", rule).await => {
                let order = self.dice.roll(3).to_string();
                self.lab
                    .patch("Mwan3Rule", rule, json!({"metadata": {"labels": {"sdewan/order": order}}}))
                    .await;
            }
            Occurrence::ChangeRule | Occurrence::OrderRule => {}
            Occurrence::DeleteCr => {
                let (kind, name) =
                    if self.dice.roll(3) == 0 { ("Mwan3Policy", policy_name) } else { ("Mwan3Rule", rule) };
                if self.lab.exists(kind, name).await {
                    self.lab.delete(kind, name).await;
                }
            }
            Occurrence::StopPod if !self.down.contains_key(pod) => {
                self.lab.stop_pod("cnf-1", pod).await;
                self.down.insert(pod, true);
            }
            Occurrence::Disconnect if !self.down.contains_key(pod) => {
                let (cnf, ip) = (self.lab.cnf(pod).await, self.lab.ip(pod).await);
                cnf.fail("", usize::MAX, FaultKind::Hang(Duration::from_secs(30)));
                self.lab.pod_status(pod, &ip, false, 0).await;
                self.lab.report("cnf-1").await;
                self.down.insert(pod, false);
            }
            Occurrence::StopPod | Occurrence::Disconnect => {}
            Occurrence::ReturnPods => self.return_pods().await,
            Occurrence::EmptyPod if !self.down.contains_key(pod) => self.lab.cnf(pod).await.reset(),
            Occurrence::EmptyPod => {}
            Occurrence::Duplicate if self.is_duplicated => self.end_duplicate().await,
            Occurrence::Duplicate => {
                self.lab.deploy("second", "cnf-1", 1).await;
                self.is_duplicated = true;
            }
            Occurrence::CrashAgent => {
                if let Some(agent) = self.lab.agent.take() {
                    agent.kill().await;
                }
                self.start_agent().await;
            }
            Occurrence::SecondAgent => match self.second.take() {
                Some(second) => drop(second.stop().await),
                None => {
                    self.candidate();
                    let connector = std::sync::Arc::new(self.lab.cnfs.clone());
                    self.second = Some(self.lab.agent_plane(None, connector).await);
                }
            },
            Occurrence::LoseAnswer if !self.down.contains_key(pod) => {
                self.lab.cnf(pod).await.fail("", 1, FaultKind::LoseAnswer);
            }
            Occurrence::ServerError if !self.down.contains_key(pod) => {
                self.lab.cnf(pod).await.fail("", 2, FaultKind::Fail(CnfErrorClass::Server, 500));
            }
            Occurrence::LoseAnswer | Occurrence::ServerError => {}
        }
        let is_silent = !self.down.is_empty() || self.is_duplicated;
        self.silent_since = is_silent.then(|| self.silent_since.unwrap_or_else(Instant::now));
    }

    async fn return_pods(&mut self) {
        for (pod, is_empty) in std::mem::take(&mut self.down) {
            if is_empty {
                self.lab.restart_pod("cnf-1", pod).await;
            } else {
                let ip = self.lab.ip(pod).await;
                self.lab.cnf(pod).await.heal();
                self.lab.pod_status(pod, &ip, true, 0).await;
                self.lab.report("cnf-1").await;
            }
        }
    }

    async fn end_duplicate(&mut self) {
        self.lab.deployments.delete(&key("second")).await.unwrap();
        self.lab.until(|| self.lab.pods.get(&key("second-1")).map(|_| "a pod is left".into())).await;
        self.is_duplicated = false;
    }

    /// No write reaches a CNF that has not been ready for a second; calls in flight may end.
    async fn check_silence(&self, context: &str) {
        let Some(since) = self.silent_since.filter(|since| since.elapsed() > Duration::from_secs(6)) else {
            return;
        };
        for pod in PODS.iter().filter(|pod| !self.down.contains_key(*pod)) {
            for write in self.lab.cnf(pod).await.writes_with_time() {
                assert!(write.1 <= since + Duration::from_secs(6), "{context}: {pod} got {}", write.0);
            }
        }
    }

    /// Ends all faults, and checks the state at rest.
    async fn settle(mut self, context: &str) {
        self.return_pods().await;
        if self.is_duplicated {
            self.end_duplicate().await;
        }
        for pod in PODS {
            self.lab.cnf(pod).await.heal();
        }
        // A policy in use stays until its rules go.
        self.lab.pass(1).await;
        for name in RULES {
            let used =
                self.lab.get("Mwan3Rule", name).map(|rule| rule.spec["policy"].as_str().unwrap().to_owned());
            let is_leaving =
                |policy: String| self.lab.get("Mwan3Policy", &policy).is_some_and(|one| one.is_deleting());
            if used.is_some_and(is_leaving) && self.lab.exists("Mwan3Rule", name).await {
                self.lab.delete("Mwan3Rule", name).await;
            }
        }
        let expected = async || self.expected().await;
        let end = Instant::now() + Duration::from_secs(1800);
        loop {
            let (expected, mut states) = (expected().await, Vec::new());
            for pod in PODS {
                states.push(self.state(pod).await);
            }
            if states.iter().all(|state| *state == expected.0) && self.statuses_agree(&expected.1) {
                break;
            }
            assert!(Instant::now() < end, "{context}: {states:?}, expected {expected:?}, {:?}", self.shown());
            self.lab.pass(1).await;
        }
        if let Some(second) = self.second.take() {
            second.stop().await;
        }
        self.lab.stop().await;
    }

    fn shown(&self) -> Vec<String> {
        let all = POLICIES
            .iter()
            .map(|name| ("Mwan3Policy", *name))
            .chain(RULES.iter().map(|name| ("Mwan3Rule", *name)));
        all.filter_map(|(kind, name)| {
            let object = self.lab.get(kind, name)?;
            Some(format!("{name} {:?} {:?}", object.metadata.deletion_timestamp, object.sync_status()))
        })
        .collect()
    }

    /// Returns the own objects that pods should have, and the CRs that should be in sync.
    async fn expected(&self) -> (Vec<String>, Vec<(&'static str, String)>) {
        let mut policies = Vec::new();
        for name in POLICIES {
            if let Some(object) = self.lab.get("Mwan3Policy", name).filter(|object| !object.is_deleting()) {
                policies.push((object.metadata.creation_timestamp.clone(), name));
            }
        }
        policies.sort_unstable();
        let mut rules = Vec::new();
        for name in RULES {
            let Some(object) = self.lab.get("Mwan3Rule", name).filter(|object| !object.is_deleting()) else {
                continue;
            };
            let used = object.spec["policy"].as_str().unwrap().to_owned();
            if policies.iter().any(|(_, policy)| *policy == used) {
                let port = object.spec["dest_port"].to_string();
                rules.push((
                    object.order().unwrap(),
                    object.metadata.creation_timestamp.clone(),
                    name,
                    used,
                    port,
                ));
            }
        }
        rules.sort_unstable();
        let mut all: Vec<_> = policies.iter().map(|(_, name)| (*name).to_owned()).collect();
        all.sort_unstable();
        all.extend(rules.iter().map(|(_, _, name, policy, port)| format!("{name}>{policy}:{port}")));
        let mut crs: Vec<_> = policies.iter().map(|(_, name)| ("Mwan3Policy", (*name).to_owned())).collect();
        crs.extend(rules.iter().map(|(_, _, name, ..)| ("Mwan3Rule", (*name).to_owned())));
        (all, crs)
    }

    async fn state(&self, pod: &str) -> Vec<String> {
        let config = self.lab.cnf(pod).await.config();
        let mut all: Vec<_> =
            config.of(CollectionId::Policies).iter().map(|one| one.object.name().to_owned()).collect();
        all.sort_unstable();
        let rules = config.of(CollectionId::Mwan3Rules).iter().map(|one| &one.object);
        all.extend(
            rules
                .filter(|rule| rule.name() != "foreign")
                .map(|rule| format!("{}>{}:{}", rule.name(), rule.text("policy"), rule.text("dest_port"))),
        );
        all
    }

    fn statuses_agree(&self, in_sync: &[(&'static str, String)]) -> bool {
        let all = POLICIES
            .iter()
            .map(|name| ("Mwan3Policy", *name))
            .chain(RULES.iter().map(|name| ("Mwan3Rule", *name)));
        all.filter_map(|(kind, name)| Some((kind, name, self.lab.get(kind, name)?))).all(
            |(kind, name, object)| {
                let status = object.sync_status();
                let expected = in_sync.iter().any(|(of, one)| *of == kind && one == name);
                let is_deleting = object.is_deleting();
                !is_deleting
                    && status.in_sync == expected
                    && (!expected || status.applied_generation == object.metadata.generation)
            },
        )
    }
}

/// The events and the pairs of events that occurred.
#[derive(Default)]
struct Coverage {
    single: BTreeMap<Occurrence, usize>,
    pairs: BTreeMap<(Occurrence, Occurrence), usize>,
}

async fn run_sequence(seed: u64, coverage: &mut Coverage) {
    let mut world = World::new(seed).await;
    let (mut last, mut shown) = (None, Vec::new());
    for _ in 0..18 {
        let occurrence = ALL[world.dice.roll(ALL.len())];
        *coverage.single.entry(occurrence).or_default() += 1;
        if let Some(last) = last.replace(occurrence) {
            *coverage.pairs.entry((last, occurrence)).or_default() += 1;
        }
        shown.push(occurrence);
        world.perform(occurrence).await;
        let pause = [0, 10, 300, 2_000, 9_000][world.dice.roll(5)];
        tokio::time::sleep(Duration::from_millis(pause)).await;
        world.check_silence(&format!("seed {seed}: {shown:?}")).await;
    }
    world.settle(&format!("seed {seed}: {shown:?}")).await;
}

/// The number of sequences: `SDEWAN_SEQUENCES`, or a share of them for each run of the tests.
fn sequences() -> u64 {
    std::env::var("SDEWAN_SEQUENCES").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}

#[tokio::test(start_paused = true)]
async fn random_sequences_end_with_the_rules_of_the_crs() {
    let mut coverage = Coverage::default();
    let first = std::env::var("SDEWAN_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for seed in first..first + sequences() {
        run_sequence(seed, &mut coverage).await;
    }
    let pairs = ALL.len() * ALL.len();
    println!("events: {:?}", coverage.single);
    println!("pairs: {} of {pairs}, at least {:?}", coverage.pairs.len(), coverage.pairs.values().min());
    if sequences() >= 30 {
        assert_eq!(coverage.single.len(), ALL.len());
    }
    if sequences() >= 1000 {
        assert_eq!(coverage.pairs.len(), pairs);
    }
}
