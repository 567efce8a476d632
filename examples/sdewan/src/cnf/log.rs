//! The log of a CNF's requests, and their numbers.

use std::collections::VecDeque;

use http::{Method, StatusCode};
use machinery::sync::Mutex;

use super::request::CnfRequest;
use super::route::CnfRoute;

/// The requests that are kept.
const KEPT: usize = 16 << 10;

/// The last requests of a CNF, without bodies and headers.
#[derive(Debug, Default)]
pub struct CnfLog(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<CnfLogEntry>,
    counts: CnfCounts,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CnfLogEntry {
    /// The method.
    pub method: Method,
    /// The path behind `/cgi-bin/luci`, without slashes at its end.
    pub path: String,
    /// The status code of the answer.
    pub status: StatusCode,
}

/// Numbers of requests and reloads since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CnfCounts {
    /// All requests, without probes of the root.
    pub requests: u64,
    /// Logins.
    pub logins: u64,
    /// Requests that change the configuration: POST, PUT and DELETE of objects, and PUT of the
    /// whole. Also refused ones.
    pub writes: u64,
    /// Reads of the configuration.
    pub reads: u64,
    /// Reloads: actions of services, and changes through v2.
    pub reloads: u64,
}

impl CnfLogEntry {
    /// Returns whether the request changes the configuration or acts on a service.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.method != Method::GET && !self.path.is_empty()
    }
}

impl CnfLog {
    /// Returns the kept requests, the oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<CnfLogEntry> {
        self.0.lock().entries.iter().cloned().collect()
    }

    /// Returns the kept requests that are writes, as `METHOD PATH STATUS`.
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        let kept = self.0.lock();
        let writes = kept.entries.iter().filter(|entry| entry.is_write());
        writes.map(|entry| format!("{} {} {}", entry.method, entry.path, entry.status.as_u16())).collect()
    }

    /// Forgets the requests and their numbers.
    pub fn clear(&self) {
        *self.0.lock() = Kept::default();
    }

    pub(super) fn counts(&self) -> CnfCounts {
        self.0.lock().counts
    }

    pub(super) fn reloaded(&self) {
        self.0.lock().counts.reloads += 1;
    }

    pub(super) fn request(&self, route: &CnfRoute, request: &CnfRequest, status: StatusCode) {
        if *route == CnfRoute::Root {
            return;
        }
        let path = request.path.strip_prefix(super::BASE_PATH).unwrap_or(&request.path);
        let path = path.trim_end_matches('/').to_owned();
        tracing::debug!(method = %request.method, path, status = status.as_u16(), "a request of the CNF");
        let mut kept = self.0.lock();
        let counts = &mut kept.counts;
        counts.requests += 1;
        let is_read = request.method == Method::GET;
        match route {
            CnfRoute::Login if !is_read => counts.logins += 1,
            CnfRoute::Collection(_) | CnfRoute::Object(..) | CnfRoute::Config => match is_read {
                true => counts.reads += 1,
                false => counts.writes += 1,
            },
            _ => {}
        }
        if kept.entries.len() >= KEPT {
            kept.entries.pop_front();
        }
        kept.entries.push_back(CnfLogEntry { method: request.method.clone(), path, status });
    }
}
