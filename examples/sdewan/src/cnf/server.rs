//! [`CnfServer`]: the server of a CNF, without its socket.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, StatusCode};
use machinery::sync::{Mutex, Swap};
use machinery::tokio::time::Instant;

use super::facts::DeviceFacts;
use super::limits::CnfLimits;
use super::log::{CnfCounts, CnfLog};
use super::login::{Logins, forbidden};
use super::password::PasswordSource;
use super::request::{CnfAnswer, CnfRequest};
use super::route::CnfRoute;
use super::state::CnfState;
use super::store::{ConfigStore, StoreError};
use super::{legacy, service, status, v1, v2};
use crate::drive::{Apply, ApplyError, ApplyScope};
use crate::model::Service;

/// A CNF: its configuration behind the REST API of the original, and behind v2.
pub struct CnfServer {
    pub(super) logins: Logins,
    pub(super) limits: CnfLimits,
    pub(super) facts: Swap<DeviceFacts>,
    /// The committed state, for readers.
    pub(super) state: Swap<CnfState>,
    /// Held by the one writer.
    pub(super) store: machinery::tokio::sync::Mutex<ConfigStore>,
    pub(super) apply: Arc<dyn Apply>,
    /// The services with v1 changes of their collections since their restart.
    pub(super) pending: Mutex<BTreeSet<Service>>,
    pub(super) log: CnfLog,
    has_v2: AtomicBool,
}

/// The parts of a CNF.
pub struct CnfSettings {
    /// The password of the account.
    pub password: PasswordSource,
    /// The facts of the device.
    pub facts: DeviceFacts,
    /// The directory of the state; `None` forgets it at the end, as a pod does.
    pub state: Option<std::path::PathBuf>,
    /// The data path.
    pub apply: Arc<dyn Apply>,
    /// Limits.
    pub limits: CnfLimits,
}

impl CnfServer {
    /// Opens a CNF, with the state of its directory.
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn open(settings: CnfSettings) -> Result<Self, StoreError> {
        let CnfSettings { password, facts, state, apply, limits } = settings;
        let (store, state) = ConfigStore::open(state)?;
        Ok(Self {
            logins: Logins::new(password, limits),
            limits,
            facts: Swap::new(Arc::new(facts)),
            state: Swap::new(Arc::new(state)),
            store: machinery::tokio::sync::Mutex::new(store),
            pending: Mutex::default(),
            apply,
            log: CnfLog::default(),
            has_v2: AtomicBool::new(true),
        })
    }

    /// Makes the data path follow the kept configuration, if there is one: at the start.
    ///
    /// # Errors
    /// The data path cannot be changed.
    pub async fn apply_kept(&self) -> Result<(), ApplyError> {
        let state = self.state.load();
        match state.config.is_empty() {
            true => Ok(()),
            false => self.apply.apply(ApplyScope::Whole, &state.config).await,
        }
    }

    /// Returns the limits.
    #[must_use]
    pub const fn limits(&self) -> &CnfLimits {
        &self.limits
    }

    /// Offers v2, or v1 alone, as the original.
    pub fn offer_v2(&self, is_offered: bool) {
        self.has_v2.store(is_offered, Ordering::Relaxed);
    }

    /// Replaces the facts of the device.
    pub fn set_facts(&self, facts: DeviceFacts) {
        self.facts.swap(Arc::new(facts));
    }

    /// Returns the committed state.
    #[must_use]
    pub fn state(&self) -> Arc<CnfState> {
        self.state.load()
    }

    /// Ends all sessions, as a restart does.
    pub fn forget_sessions(&self) {
        self.logins.forget();
    }

    /// Returns the log of the requests.
    #[must_use]
    pub const fn log(&self) -> &CnfLog {
        &self.log
    }

    /// Returns the numbers of requests and reloads.
    #[must_use]
    pub fn counts(&self) -> CnfCounts {
        self.log.counts()
    }

    /// Answers a request. A dropped call may leave a change half-way: the data path is changed, and
    /// the configuration is not.
    pub async fn answer(&self, request: CnfRequest) -> CnfAnswer {
        let route = CnfRoute::of(&request.path);
        let answer = self.routed(&route, &request).await;
        self.log.request(&route, &request, answer.status);
        answer
    }

    async fn routed(&self, route: &CnfRoute, request: &CnfRequest) -> CnfAnswer {
        let now = Instant::now();
        let is_get = request.method == Method::GET;
        match route {
            CnfRoute::Root if is_get => return CnfAnswer::message(StatusCode::OK, "sdewan cnf"),
            CnfRoute::Root => return CnfAnswer::bad_method(),
            CnfRoute::Login if request.method == Method::POST => {
                return self.logins.log_in(&request.body, now);
            }
            _ => {}
        }
        if !self.logins.admits(&request.headers, now) {
            return forbidden("log in first: POST luci_username and luci_password");
        }
        match route {
            CnfRoute::Root | CnfRoute::Login | CnfRoute::Index if is_get => {
                CnfAnswer::message(StatusCode::OK, "sdewan restful API service v1")
            }
            CnfRoute::Root | CnfRoute::Login | CnfRoute::Index => CnfAnswer::bad_method(),
            CnfRoute::Logout => self.logins.log_out(&request.headers),
            CnfRoute::Collection(collection) => v1::collection(self, *collection, request).await,
            CnfRoute::Object(collection, name) => v1::object(self, *collection, name, request).await,
            CnfRoute::LegacyServices(name) => legacy::answer(self, name.as_deref(), request).await,
            CnfRoute::Services => service::list(request),
            CnfRoute::Service(service) => service::act(self, *service, request).await,
            CnfRoute::Status => status::all(self, request),
            CnfRoute::StatusModule(module) => status::module(self, module, request),
            CnfRoute::Config if self.has_v2.load(Ordering::Relaxed) => v2::config(self, request).await,
            CnfRoute::BadUri => CnfAnswer::bad_uri(),
            CnfRoute::Config | CnfRoute::Unknown => CnfAnswer::message(StatusCode::NOT_FOUND, "Not Found"),
        }
    }
}
