//! The agent is crashed before and after each of its effects: REST calls and API writes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machinery::testing::{CrashGate, CrashPoints, CrashingProgram};
use machinery::tokio;
use sdewan::drive::CnfInterface::{self, V1, V2};
use sdewan::drive::fake::FakeCnfs;
use sdewan::drive::{Cnf, CnfConnector, CnfError, ConfigTag, ConfigWrite, PodTarget, TaggedConfig};
use sdewan::model::{CollectionId, Desired, RestObject, Service};

use crate::lab::{Lab, mwan3, policy, rule};

/// Connections whose writes pass a gate.
struct GatedConnector(FakeCnfs, Arc<CrashGate>);

struct GatedCnf(Arc<dyn Cnf>, Arc<CrashGate>);

impl CnfConnector for GatedConnector {
    fn connect(&self, target: &PodTarget) -> Result<Arc<dyn Cnf>, CnfError> {
        Ok(Arc::new(GatedCnf(self.0.connect(target)?, self.1.clone())))
    }
}

#[async_trait]
impl Cnf for GatedCnf {
    async fn interface(&self) -> Result<CnfInterface, CnfError> {
        self.1.pass_uncounted(self.0.interface()).await
    }

    async fn read_config(&self, known: Option<&ConfigTag>) -> Result<Option<TaggedConfig>, CnfError> {
        self.1.pass_uncounted(self.0.read_config(known)).await
    }

    async fn write_config(&self, desired: &Desired, if_match: &ConfigTag) -> Result<ConfigWrite, CnfError> {
        self.1.pass("PUT v2/config", self.0.write_config(desired, if_match)).await
    }

    async fn list(&self, collection: CollectionId) -> Result<Vec<RestObject>, CnfError> {
        self.1.pass_uncounted(self.0.list(collection)).await
    }

    async fn create(&self, object: &RestObject) -> Result<(), CnfError> {
        self.1.pass(format!("POST {}", object.name()), self.0.create(object)).await
    }

    async fn replace(&self, object: &RestObject) -> Result<(), CnfError> {
        self.1.pass(format!("PUT {}", object.name()), self.0.replace(object)).await
    }

    async fn delete(&self, collection: CollectionId, name: &str) -> Result<(), CnfError> {
        self.1.pass(format!("DELETE {name}"), self.0.delete(collection, name)).await
    }

    async fn restart(&self, service: Service) -> Result<(), CnfError> {
        self.1.pass("RESTART", self.0.restart(service)).await
    }
}

async fn scenario(interface: CnfInterface, gate: Arc<CrashGate>) -> machinery::Result {
    let mut lab = Lab::new(interface).await;
    lab.deploy("cnf-1", "cnf-1", 2).await;
    let lab = lab;
    let start = async |gate: Arc<CrashGate>| {
        let connector = Arc::new(GatedConnector(lab.cnfs.clone(), gate.clone()));
        Ok(lab.agent_plane(Some(&gate), connector).await)
    };
    let mut program = CrashingProgram::start(gate, start).await?.deadline(Duration::from_secs(600));
    lab.create("Mwan3Policy", "p1", policy()).await;
    lab.create("Mwan3Rule", "r1", rule(81)).await;
    lab.create("Mwan3Rule", "r2", rule(82)).await;
    let in_sync = |names: &[(&str, &str)]| {
        names.iter().all(|(kind, name)| {
            lab.get(kind, name).is_some_and(|object| {
                let status = object.sync_status();
                status.in_sync && status.applied_generation == object.metadata.generation
            })
        })
    };
    let (p1, r1, r2) = (("Mwan3Policy", "p1"), ("Mwan3Rule", "r1"), ("Mwan3Rule", "r2"));
    program.until("all in sync", async || in_sync(&[p1, r1, r2])).await?;
    lab.delete("Mwan3Rule", "r1").await;
    lab.patch("Mwan3Rule", "r2", serde_json::json!({"spec": {"dest_port": 443}})).await;
    // No finalizer goes while the rule is in a pod.
    let (one, two) = (lab.cnf("cnf-1-1").await, lab.cnf("cnf-1-2").await);
    let gone = async || {
        let is_gone = lab.get("Mwan3Rule", "r1").is_none();
        assert!(!is_gone || !(mwan3(&one).contains("r1") || mwan3(&two).contains("r1")));
        is_gone && in_sync(&[p1, r2])
    };
    program.until("r1 gone", gone).await?;
    program.until_quiet(Duration::from_secs(130)).await?;
    for cnf in [&one, &two] {
        assert_eq!(mwan3(cnf), "p1;r2(443)");
    }
    program.stop().await;
    lab.stop().await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn every_crash_point_converges() {
    for interface in [V1, V2] {
        let points = CrashPoints::all().run_time(Duration::from_secs(7200));
        let report = points.run(async |gate| scenario(interface, gate).await).await.unwrap();
        let least = if interface == V1 { 18 } else { 10 };
        assert!(report.effects.len() >= least && report.crashes >= 2 * least, "{report:?}");
    }
}
