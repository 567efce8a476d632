//! A CNF in memory, for tests of the agent: it keeps state, checks references, names and uses, logs
//! every call, and fails on request.

mod connection;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery::sync::Mutex;
use tokio::time::Instant;

use super::error::{CnfError, CnfErrorClass};
use super::port::{Cnf, CnfConnector, CnfInterface, PodTarget};
use crate::model::{CollectionId, Observed};
use connection::FakeConnection;
use state::FakeState;

/// The CNFs of a test, by the address of the pod. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct FakeCnfs(Arc<Mutex<BTreeMap<String, FakeCnf>>>);

/// A CNF in memory. Cheap to clone; all clones are one CNF.
#[derive(Clone, Debug)]
pub struct FakeCnf(Arc<Mutex<FakeState>>);

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
