//! A world of random events around one CNF.

use std::collections::BTreeMap;
use std::time::Duration;

use machinery::Plane;
use machinery::controllers::ElectionConfig;
use machinery::tokio::time::Instant;
use sdewan::drive::CnfErrorClass;
use sdewan::drive::CnfInterface::{V1, V2};
use sdewan::drive::fake::FaultKind;
use sdewan::model::{CollectionId, ObservedObject, RestObject};
use serde_json::json;

use crate::lab::{Lab, key, policy};
use crate::occurrences::{Dice, Occurrence};

pub(crate) const PODS: [&str; 2] = ["cnf-1-1", "cnf-1-2"];
pub(crate) const POLICIES: [&str; 2] = ["p1", "p2"];
pub(crate) const RULES: [&str; 4] = ["r1", "r2", "r3", "r4"];

pub(crate) struct World {
    pub(crate) lab: Lab,
    pub(crate) dice: Dice,
    pub(crate) second: Option<Plane>,
    /// The pods that are not ready, and whether they return empty.
    down: BTreeMap<&'static str, bool>,
    /// Since when the CNF gets no writes.
    silent_since: Option<Instant>,
    pub(crate) is_duplicated: bool,
    agents: u64,
}

impl World {
    pub(crate) async fn new(seed: u64) -> Self {
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

    pub(crate) async fn perform(&mut self, occurrence: Occurrence) {
        let (rule, policy_name) = (RULES[self.dice.roll(4)], POLICIES[self.dice.roll(2)]);
        let pod = PODS[self.dice.roll(2)];
        match occurrence {
            Occurrence::CreatePolicy => {
                self.lab.try_create("cnf-1", "Mwan3Policy", policy_name, policy()).await;
            }
            Occurrence::CreateRule => {
                let spec = json!({"policy": policy_name, "dest_port": 1 + self.dice.roll(1000)});
                self.lab.try_create("cnf-1", "Mwan3Rule", rule, spec).await;
            }
            Occurrence::ChangeRule => {
                let spec = json!({"spec": {"policy": policy_name, "dest_port": 1 + self.dice.roll(1000)}});
                self.lab.try_patch("Mwan3Rule", rule, spec).await;
            }
            Occurrence::OrderRule => {
                let order = self.dice.roll(3).to_string();
                let labels = json!({"metadata": {"labels": {"sdewan/order": order}}});
                self.lab.try_patch("Mwan3Rule", rule, labels).await;
            }
            Occurrence::DeleteCr if self.dice.roll(3) == 0 => {
                self.lab.try_delete("Mwan3Policy", policy_name).await;
            }
            Occurrence::DeleteCr => {
                self.lab.try_delete("Mwan3Rule", rule).await;
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

    pub(crate) async fn return_pods(&mut self) {
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

    pub(crate) async fn end_duplicate(&mut self) {
        self.lab.deployments.delete(&key("second")).await.unwrap();
        self.lab.until(|| self.lab.pods.get(&key("second-1")).map(|_| "a pod is left".into())).await;
        self.is_duplicated = false;
    }

    /// No write reaches a CNF that has not been ready for a second; calls in flight may end.
    pub(crate) async fn check_silence(&self, context: &str) {
        let Some(since) = self.silent_since.filter(|since| since.elapsed() > Duration::from_secs(6)) else {
            return;
        };
        for pod in PODS.iter().filter(|pod| !self.down.contains_key(*pod)) {
            for write in self.lab.cnf(pod).await.writes_with_time() {
                assert!(write.1 <= since + Duration::from_secs(6), "{context}: {pod} got {}", write.0);
            }
        }
    }
}
