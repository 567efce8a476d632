//! A CNF in memory, for tests of the agent: it keeps state, checks references, names and uses, logs
//! every call, and fails on request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machinery::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::error::{CnfError, CnfErrorClass};
use super::port::{
    Cnf, CnfConnector, CnfInterface, ConfigTag, ConfigWrite, PodTarget, Refusal, TaggedConfig,
};
use crate::model::{
    CollectionId, Desired, Field, Observed, ObservedObject, Reference, RestObject, Service, Shape,
    is_built_in, secret_mac,
};
use crate::plan::merged;

/// The CNFs of a test, by the address of the pod. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct FakeCnfs(Arc<Mutex<BTreeMap<String, FakeCnf>>>);

/// A CNF in memory. Cheap to clone; all clones are one CNF.
#[derive(Clone, Debug)]
pub struct FakeCnf(Arc<Mutex<FakeState>>);

#[derive(Debug)]
struct FakeState {
    interface: CnfInterface,
    nics: Vec<String>,
    config: Observed,
    version: u64,
    calls: Vec<FakeCall>,
    faults: Vec<Fault>,
    restarts: usize,
}

/// A call that a CNF received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeCall {
    /// The call: `POST mwan3/v1/rules/r1`, `PUT v2/config`, `GET v2/config`, `RESTART mwan3`.
    pub call: String,
    /// Whether it is a write of configuration or a restart.
    pub is_write: bool,
    /// The time at which it came.
    pub at: Instant,
}

/// A fault of the next calls that match.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The calls: a prefix of [`FakeCall::call`], `""` for all.
    pub call: String,
    /// The number of calls left.
    pub count: usize,
    /// The fault.
    pub kind: FaultKind,
}

/// A kind of fault.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// Fails before any effect.
    Fail(CnfErrorClass, u16),
    /// Takes effect, and the answer is lost.
    LoseAnswer,
    /// Never answers; the call fails after a time.
    Hang(Duration),
    /// Answers late.
    Delay(Duration),
}

impl FakeCnfs {
    /// Adds a CNF at an address, or replaces the one there: as a pod that starts.
    pub fn start(&self, ip: &str, interface: CnfInterface, nics: &[&str]) -> FakeCnf {
        let cnf = FakeCnf(Arc::new(Mutex::new(FakeState {
            interface,
            nics: nics.iter().map(ToString::to_string).collect(),
            config: Observed::default(),
            version: 0,
            calls: Vec::new(),
            faults: Vec::new(),
            restarts: 0,
        })));
        self.0.lock().insert(ip.to_owned(), cnf.clone());
        cnf
    }

    /// Removes the CNF at an address: connections are refused.
    pub fn stop(&self, ip: &str) {
        self.0.lock().remove(ip);
    }

    /// Returns the CNF at an address.
    #[must_use]
    pub fn get(&self, ip: &str) -> Option<FakeCnf> {
        self.0.lock().get(ip).cloned()
    }
}

impl CnfConnector for FakeCnfs {
    fn connect(&self, target: &PodTarget) -> Result<Arc<dyn Cnf>, CnfError> {
        Ok(Arc::new(FakeConnection { cnfs: self.clone(), target: target.clone() }))
    }
}

impl FakeCnf {
    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> Observed {
        self.0.lock().config.clone()
    }

    /// Returns the names of the objects of a collection in order.
    #[must_use]
    pub fn names(&self, collection: CollectionId) -> Vec<String> {
        self.config().of(collection).iter().map(|one| one.object.name().to_owned()).collect()
    }

    /// Sets the configuration, as a foreign client does.
    pub fn edit(&self, edit: impl FnOnce(&mut Observed)) {
        let mut state = self.0.lock();
        edit(&mut state.config);
        state.version += 1;
    }

    /// Empties the CNF, as a restart does.
    pub fn reset(&self) {
        self.edit(|config| *config = Observed::default());
    }

    /// Adds a fault.
    pub fn fail(&self, call: &str, count: usize, kind: FaultKind) {
        self.0.lock().faults.push(Fault { call: call.to_owned(), count, kind });
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.0.lock().faults.clear();
    }

    /// Returns all calls so far.
    #[must_use]
    pub fn calls(&self) -> Vec<FakeCall> {
        self.0.lock().calls.clone()
    }

    /// Returns the writes so far, and forgets all calls.
    pub fn take_writes(&self) -> Vec<String> {
        let calls = std::mem::take(&mut self.0.lock().calls);
        calls.into_iter().filter(|call| call.is_write).map(|call| call.call).collect()
    }

    /// Returns the writes so far with their times.
    #[must_use]
    pub fn writes_with_time(&self) -> Vec<(String, Instant)> {
        let calls = self.calls();
        calls.into_iter().filter(|call| call.is_write).map(|call| (call.call, call.at)).collect()
    }

    /// Returns the number of restarts and v2 writes so far.
    #[must_use]
    pub fn reloads(&self) -> usize {
        self.0.lock().restarts
    }
}

/// A connection to the CNF at the address of a target.
struct FakeConnection {
    cnfs: FakeCnfs,
    target: PodTarget,
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

impl FakeState {
    fn take_fault(&mut self, call: &str) -> Option<FaultKind> {
        let fault = self.faults.iter_mut().find(|fault| fault.count > 0 && call.starts_with(&fault.call))?;
        fault.count -= 1;
        Some(fault.kind.clone())
    }

    fn tag(&self) -> ConfigTag {
        ConfigTag(format!("\"{}\"", self.version))
    }

    /// Returns the reasons why a configuration is refused.
    fn check(&self, config: &Observed) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        let mut names: BTreeMap<(&str, &str), ()> = BTreeMap::new();
        for (collection, objects) in &config.objects {
            for one in objects {
                let refuse = |code, message: String| Refusal {
                    collection: *collection,
                    name: one.object.name().to_owned(),
                    code,
                    message,
                };
                let space = collection.row().name_space;
                for name in one.object.taken_names() {
                    let is_nic = space == "mwan3" && self.nics.iter().any(|nic| nic == name);
                    if names.insert((space, name), ()).is_some() || is_nic {
                        refusals.push(refuse(409, "Conflict".into()));
                    }
                }
                if let Some(missing) = self.missing(config, collection.fields(), one.object.fields()) {
                    refusals.push(refuse(428, missing));
                }
            }
        }
        refusals
    }

    /// Returns the message for the first reference to nothing.
    fn missing(
        &self,
        config: &Observed,
        fields: &[Field],
        values: &serde_json::Map<String, serde_json::Value>,
    ) -> Option<String> {
        fields.iter().find_map(|field| {
            let value = values.get(field.rest_name()?)?;
            if let Shape::Objects(fields) = field.shape {
                let mut items = value.as_array()?.iter().filter_map(serde_json::Value::as_object);
                return items.find_map(|item| self.missing(config, fields, item));
            }
            let texts = match value {
                serde_json::Value::Array(items) => items.iter().filter_map(|item| item.as_str()).collect(),
                value => value.as_str().into_iter().collect::<Vec<_>>(),
            };
            let is_missing = |name: &&str| match field.reference {
                Some(Reference::Object(target)) if is_built_in(target, name) => false,
                Some(Reference::Object(target)) => config.get(target, name).is_none(),
                Some(Reference::Network) => !self.nics.iter().any(|nic| nic == name),
                Some(Reference::Nic) => !name.starts_with('#') && !self.nics.iter().any(|nic| nic == name),
                None => false,
            };
            let missing = texts.into_iter().find(is_missing)?;
            Some(format!("Field[{}] checked failed: {} [{missing}]", field.name, field.message))
        })
    }

    /// Changes one object over v1.
    fn change(&mut self, call: &str, change: impl FnOnce(&mut Observed)) -> Result<(), CnfError> {
        let mut config = self.config.clone();
        change(&mut config);
        // Defects of before are no reason to refuse: only those of this change.
        let before = self.check(&self.config);
        if let Some(refusal) = self.check(&config).into_iter().find(|refusal| !before.contains(refusal)) {
            let class = match refusal.code {
                428 if call.starts_with("DELETE") => CnfErrorClass::InUse,
                428 => CnfErrorClass::MissingDependency,
                409 => CnfErrorClass::Conflict,
                _ => CnfErrorClass::Refused,
            };
            return Err(CnfError::new(class, call, refusal.message).with_code(refusal.code));
        }
        (self.config, self.version) = (config, self.version + 1);
        Ok(())
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
            let refusals = state.check(&config);
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
