//! The end of a world of random events: its state at rest.

use std::time::Duration;

use machinery::objects::Object as _;
use machinery::tokio::time::Instant;
use sdewan::model::CollectionId;

use crate::world::{PODS, POLICIES, RULES, World};

impl World {
    /// Ends all faults, and checks the state at rest.
    pub(crate) async fn settle(mut self, context: &str) {
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
            if used.is_some_and(is_leaving) {
                self.lab.try_delete("Mwan3Rule", name).await;
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
