//! Connections to CNFs in memory.

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use super::state::FakeState;
use super::{FakeCall, FakeCnfs, FaultKind};
use crate::drive::{
    Cnf, CnfError, CnfErrorClass, CnfInterface, ConfigTag, ConfigWrite, PodTarget, TaggedConfig,
};
use crate::model::{CollectionId, Desired, Observed, ObservedObject, RestObject, Service, secret_mac};
use crate::plan::merged;

/// A connection to the CNF at the address of a target.
pub(super) struct FakeConnection {
    pub(super) cnfs: FakeCnfs,
    pub(super) target: PodTarget,
}

impl FakeConnection {
    /// Performs a call under the faults of the CNF.
    async fn call<T>(
        &self,
        call: String,
        is_write: bool,
        perform: impl FnOnce(&mut FakeState) -> Result<T, CnfError> + Send,
    ) -> Result<T, CnfError> {
        let unreachable =
            |call: &str, why: &str| CnfError::new(CnfErrorClass::Unreachable, call, why).clone();
        let cnf = self.cnfs.get(&self.target.ip).ok_or_else(|| unreachable(&call, "connection refused"))?;
        let fault = {
            let mut state = cnf.0.lock();
            state.calls.push(FakeCall { call: call.clone(), is_write, at: Instant::now() });
            state.take_fault(&call)
        };
        match fault {
            Some(FaultKind::Fail(class, code)) => {
                return Err(CnfError::new(class, call, "as the test requires").with_code(code));
            }
            Some(FaultKind::Hang(time)) => {
                sleep(time).await;
                return Err(unreachable(&call, "timeout"));
            }
            Some(FaultKind::Delay(time)) => sleep(time).await,
            Some(FaultKind::LoseAnswer) => {
                let _ = perform(&mut cnf.0.lock());
                return Err(unreachable(&call, "the connection was closed before the answer"));
            }
            None => {}
        }
        // The pod may have been replaced meanwhile.
        let mut state = cnf.0.lock();
        perform(&mut state)
    }
}

#[async_trait]
impl Cnf for FakeConnection {
    async fn interface(&self) -> Result<CnfInterface, CnfError> {
        let cnf = self.cnfs.get(&self.target.ip);
        let unreachable = || CnfError::new(CnfErrorClass::Unreachable, "GET v2/config", "connection refused");
        Ok(cnf.ok_or_else(unreachable)?.0.lock().interface)
    }

    async fn read_config(&self, known: Option<&ConfigTag>) -> Result<Option<TaggedConfig>, CnfError> {
        let key = self.target.mac_key.clone();
        self.call("GET v2/config".into(), false, |state| {
            if known == Some(&state.tag()) {
                return Ok(None);
            }
            let mac = |one: &ObservedObject| ObservedObject {
                owner: one.owner.clone(),
                object: one.object.clone().map_secrets(|secret| secret_mac(&key, secret)),
            };
            let objects = &state.config.objects;
            let objects = objects.iter().map(|(id, objects)| (*id, objects.iter().map(mac).collect()));
            let config = Observed { objects: objects.collect() };
            Ok(Some(TaggedConfig { tag: state.tag(), config }))
        })
        .await
    }

    async fn write_config(&self, desired: &Desired, if_match: &ConfigTag) -> Result<ConfigWrite, CnfError> {
        self.call("PUT v2/config".into(), true, |state| {
            if *if_match != state.tag() {
                return Ok(ConfigWrite::Stale);
            }
            let config = merged(&state.config, desired);
            let refusals = state.check_write(desired, &config);
            if !refusals.is_empty() {
                return Ok(ConfigWrite::Refused { refusals });
            }
            if config != state.config {
                (state.config, state.version, state.restarts) =
                    (config, state.version + 1, state.restarts + 1);
            }
            Ok(ConfigWrite::Applied { tag: state.tag() })
        })
        .await
    }

    async fn list(&self, collection: CollectionId) -> Result<Vec<RestObject>, CnfError> {
        self.call(format!("GET {collection}"), false, |state| {
            Ok(state.config.of(collection).iter().map(|one| one.object.clone()).collect())
        })
        .await
    }

    async fn create(&self, object: &RestObject) -> Result<(), CnfError> {
        let call = format!("POST {}/{}", object.collection(), object.name());
        self.call(call.clone(), true, |state| {
            let created = ObservedObject { owner: None, object: object.clone() };
            state.change(&call, |config| config.objects.entry(object.collection()).or_default().push(created))
        })
        .await
    }

    async fn replace(&self, object: &RestObject) -> Result<(), CnfError> {
        let call = format!("PUT {}/{}", object.collection(), object.name());
        self.call(call.clone(), true, |state| {
            state.change(&call, |config| {
                let objects = config.objects.entry(object.collection()).or_default();
                match objects.iter_mut().find(|one| one.object.name() == object.name()) {
                    Some(found) => found.object = object.clone(),
                    None => objects.push(ObservedObject { owner: None, object: object.clone() }),
                }
            })
        })
        .await
    }

    async fn delete(&self, collection: CollectionId, name: &str) -> Result<(), CnfError> {
        let call = format!("DELETE {collection}/{name}");
        self.call(call.clone(), true, |state| {
            if state.config.get(collection, name).is_none() {
                let message = format!("{} {name} is not defined", collection.row().noun);
                return Err(CnfError::new(CnfErrorClass::NotFound, &call, message).with_code(404));
            }
            state.change(&call, |config| {
                config.objects.entry(collection).or_default().retain(|one| one.object.name() != name);
            })
        })
        .await
    }

    async fn restart(&self, service: Service) -> Result<(), CnfError> {
        self.call(format!("RESTART {}", service.name()), true, |state| {
            state.restarts += 1;
            Ok(())
        })
        .await
    }
}
