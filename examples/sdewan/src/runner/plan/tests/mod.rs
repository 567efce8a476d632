//! The plan, on a cluster in memory that executes its steps.

mod deployments;
mod histories;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinery::k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use machinery::k8s_openapi::api::core::v1::{Node, Pod, PodCondition, PodStatus};
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::*;

struct Cluster {
    deployment: Deployment,
    sets: Vec<Arc<ReplicaSet>>,
    pods: Vec<Arc<Pod>>,
    nodes: Vec<Arc<Node>>,
    now: Timestamp,
    made: u32,
}

impl Cluster {
    fn new(spec: Value) -> Self {
        let mut deployment = json!({
            "metadata": {"name": "cnf-1", "namespace": "default", "uid": "d", "generation": 1},
            "spec": {
                "selector": {"matchLabels": {"sdewanPurpose": "cnf-1"}},
                "template": {
                    "metadata": {"labels": {"sdewanPurpose": "cnf-1"}},
                    "spec": {"containers": [{"name": "cnf", "image": "v1"}]},
                },
            },
        });
        deployment["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        Self {
            deployment: serde_json::from_value(deployment).unwrap(),
            sets: Vec::new(),
            pods: Vec::new(),
            nodes: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
            made: 0,
        }
    }

    fn plan(&self) -> Vec<RunnerStep> {
        let view = DeploymentView {
            deployment: &self.deployment,
            sets: &self.sets,
            pods: &self.pods,
            nodes: &self.nodes,
            now: self.now,
        };
        let mut suffix = self.made;
        plan(&view, || {
            suffix += 1;
            format!("{suffix:05}")
        })
    }

    /// Executes the steps of one plan. Returns their number.
    fn step(&mut self) -> usize {
        let steps = self.plan();
        let count = steps.len();
        self.now += SignedDuration::from_secs(1);
        for step in steps {
            self.execute(step);
        }
        count
    }

    fn execute(&mut self, step: RunnerStep) {
        self.made += 1;
        let (uid, now) = (self.made.to_string(), Some(Time(self.now)));
        match step {
            RunnerStep::CreateSet(mut set) => {
                (set.metadata.uid, set.metadata.creation_timestamp) = (Some(uid), now);
                self.sets.push(Arc::new(*set));
            }
            RunnerStep::ScaleSet(set, replicas) => self.change_set(&set, |set| {
                set.spec.replicas = Some(replicas);
            }),
            RunnerStep::SetStatus(set, status) => self.change_set(&set, |set| set.status = Some(status)),
            RunnerStep::DeleteSet(set) => self.sets.retain(|one| one.metadata.uid != set.metadata.uid),
            RunnerStep::CreatePod(mut pod) => {
                (pod.metadata.uid, pod.metadata.creation_timestamp) = (Some(uid), now);
                self.pods.push(Arc::new(*pod));
            }
            RunnerStep::DeletePod(pod) => self.pods.retain(|one| one.metadata.uid != pod.metadata.uid),
            RunnerStep::Status(status) => self.deployment.status = Some(*status),
        }
    }

    fn change_set(&mut self, set: &ReplicaSet, change: impl FnOnce(&mut ReplicaSet)) {
        let found = self.sets.iter_mut().find(|one| one.metadata.uid == set.metadata.uid).unwrap();
        change(Arc::make_mut(found));
    }

    fn set_ready(&mut self, number: usize, is_ready: bool) {
        let now = Some(Time(self.now));
        let Some(pod) = self.pods.get_mut(number) else { return };
        if is_ready == super::is_ready(pod) {
            return;
        }
        let ready = PodCondition {
            type_: "Ready".into(),
            status: if is_ready { "True" } else { "False" }.into(),
            last_transition_time: now,
            ..PodCondition::default()
        };
        Arc::make_mut(pod).status = Some(PodStatus { conditions: Some(vec![ready]), ..PodStatus::default() });
    }

    /// Steps with all pods ready until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..100 {
            for number in 0..self.pods.len() {
                self.set_ready(number, true);
            }
            if self.step() == 0 {
                return;
            }
        }
        panic!("it does not settle: {:?}", self.plan());
    }

    fn scale(&mut self, replicas: i32) {
        self.deployment.spec.replicas = Some(replicas);
    }

    fn roll(&mut self, image: &str) {
        let spec = &mut self.deployment.spec.template.spec;
        spec.as_mut().unwrap().containers[0].image = Some(image.into());
    }

    fn images(&self) -> Vec<String> {
        let image = |pod: &Arc<Pod>| pod.spec.as_ref()?.containers.first()?.image.clone();
        self.pods.iter().filter_map(image).collect()
    }

    fn ready(&self) -> usize {
        self.pods.iter().filter(|pod| is_ready(pod)).count()
    }
}
