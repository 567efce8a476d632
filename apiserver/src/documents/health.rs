//! Health checks, with the names of kube-apiserver's.

use std::sync::Arc;

use http::Response;

use crate::controllers::{Controller, ended};
use crate::http::{Body, answer};
use crate::refusal::Refusal;
use crate::request::Query;
use crate::server::Shared;

/// The endpoints of health checks.
pub(super) const ENDPOINTS: [&str; 3] = ["healthz", "livez", "readyz"];

const TEXT: &str = "text/plain; charset=utf-8";

/// The condition that a health check verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckSubject {
    /// The server responds at all. It serves no request before its start is complete, so this also
    /// verifies whatever the start does.
    Serving,
    /// The store can be read.
    Store,
    /// The store accepts writes.
    Writes,
    /// A controller runs.
    Runs(Controller),
    /// The server is not stopping.
    Shutdown,
}

/// A health check, whether `/readyz` alone has it, and its subject.
type Check = (&'static str, bool, CheckSubject);

/// All health checks in the order of kube-apiserver, which names most of them after hooks of its
/// start. Those of RBAC exist only with RBAC.
const CHECKS: &[Check] = &[
    ("ping", false, CheckSubject::Serving),
    ("log", false, CheckSubject::Serving),
    ("etcd", false, CheckSubject::Store),
    ("etcd-readiness", true, CheckSubject::Writes),
    ("informer-sync", true, CheckSubject::Store),
    ("poststarthook/start-apiserver-admission-initializer", false, CheckSubject::Runs(Controller::Webhooks)),
    ("poststarthook/generic-apiserver-start-informers", false, CheckSubject::Store),
    ("poststarthook/start-apiextensions-informers", false, CheckSubject::Store),
    ("poststarthook/start-apiextensions-controllers", false, CheckSubject::Runs(Controller::Definitions)),
    ("poststarthook/crd-informer-synced", false, CheckSubject::Runs(Controller::Definitions)),
    ("poststarthook/bootstrap-controller", false, CheckSubject::Serving),
    ("poststarthook/start-system-namespaces-controller", false, CheckSubject::Runs(Controller::Namespaces)),
    ("poststarthook/start-service-ip-repair-controllers", false, CheckSubject::Serving),
    (RBAC, false, CheckSubject::Runs(Controller::Roles)),
    ("poststarthook/scheduling/bootstrap-system-priority-classes", false, CheckSubject::Serving),
    ("poststarthook/start-cluster-authentication-info-controller", false, CheckSubject::Serving),
    ("poststarthook/start-kube-aggregator-informers", false, CheckSubject::Store),
    ("poststarthook/apiservice-registration-controller", false, CheckSubject::Runs(Controller::Definitions)),
    ("poststarthook/apiservice-status-local-available-controller", false, CheckSubject::Serving),
    ("poststarthook/apiservice-status-remote-available-controller", false, CheckSubject::Serving),
    ("poststarthook/kube-apiserver-autoregistration", false, CheckSubject::Runs(Controller::Definitions)),
    ("autoregister-completion", false, CheckSubject::Serving),
    ("poststarthook/apiservice-openapi-controller", false, CheckSubject::Runs(Controller::Definitions)),
    ("poststarthook/storage-readiness", false, CheckSubject::Store),
    ("shutdown", true, CheckSubject::Shutdown),
];

const RBAC: &str = "poststarthook/rbac/bootstrap-roles";

/// The names of the health checks of a server.
pub(super) struct CheckNames {
    rbac: bool,
}

impl CheckNames {
    pub(super) const fn new(shared: &Shared) -> Self {
        Self { rbac: shared.rules.is_some() }
    }

    /// Returns the names of the checks of an endpoint.
    pub(super) fn of(&self, endpoint: &str) -> impl Iterator<Item = &'static str> {
        self.checks(endpoint).map(|(name, ..)| *name)
    }

    fn checks(&self, endpoint: &str) -> impl Iterator<Item = &'static Check> {
        let (rbac, is_ready) = (self.rbac, endpoint == "readyz");
        CHECKS.iter().filter(move |(name, ready, _)| (is_ready || !ready) && (rbac || *name != RBAC))
    }
}

/// Results of the reads that several checks share.
struct Findings {
    store: Result<(), String>,
    writes: Result<(), String>,
    stopping: bool,
    ended: Vec<Controller>,
}

impl Findings {
    async fn of(shared: &Shared, endpoint: &str) -> Self {
        let writes = match endpoint {
            "readyz" => shared.objects.takes_writes().await.map_err(|refusal| refusal.message),
            _ => Ok(()),
        };
        Self {
            store: shared.objects.revision().await.map(drop).map_err(|refusal| refusal.message),
            writes,
            stopping: shared.stopping.is_cancelled(),
            ended: ended(shared),
        }
    }

    fn of_check(&self, subject: CheckSubject) -> Result<(), String> {
        match subject {
            CheckSubject::Serving => Ok(()),
            CheckSubject::Store => self.store.clone(),
            CheckSubject::Writes => self.writes.clone(),
            CheckSubject::Shutdown if self.stopping => Err("process is shutting down".into()),
            // Controllers end when the server stops.
            CheckSubject::Runs(controller) if self.ended.contains(&controller) && !self.stopping => {
                Err("its controller ended by a panic: restart the server, and see its log".into())
            }
            CheckSubject::Shutdown | CheckSubject::Runs(_) => Ok(()),
        }
    }
}

/// `/livez`, `/readyz`, `/healthz`, and single checks below them.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    parts: &[&str],
    query: &Query,
) -> Result<Response<Body>, Refusal> {
    let (endpoint, checks) = (parts[0], CheckNames::new(shared));
    let findings = Findings::of(shared, endpoint).await;
    if parts.len() > 1 {
        let name = parts[1..].join("/");
        let Some((.., subject)) = checks.checks(endpoint).find(|(known, ..)| *known == name) else {
            return Ok(answer::nothing_there());
        };
        return Ok(match findings.of_check(*subject) {
            Ok(()) => answer::bytes(200, TEXT, Body::whole("ok")),
            Err(why) => answer::bytes(500, TEXT, Body::whole(format!("internal server error: {why}\n"))),
        });
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let results = checks.checks(endpoint).map(|(name, _, subject)| (*name, findings.of_check(*subject)));
    let (has_failed, mut text) = report(results.collect(), &excluded);
    if !has_failed && query.first("verbose").is_none() {
        return Ok(answer::bytes(200, TEXT, Body::whole("ok")));
    }
    text.push_str(&format!("{endpoint} check {}\n", if has_failed { "failed" } else { "passed" }));
    Ok(answer::bytes(if has_failed { 500 } else { 200 }, TEXT, Body::whole(text)))
}

/// Returns whether a check failed that is not excluded, and one line per check. Unlike those of
/// kube-apiserver, lines give the reason: only authenticated users read them.
fn report(results: Vec<(&str, Result<(), String>)>, excluded: &[&str]) -> (bool, String) {
    let (mut has_failed, mut text) = (false, String::new());
    for (name, result) in &results {
        let line = match result {
            _ if excluded.contains(name) => format!("[+]{name} excluded: ok\n"),
            Ok(()) => format!("[+]{name} ok\n"),
            Err(why) => {
                has_failed = true;
                format!("[-]{name} failed: {why}\n")
            }
        };
        text.push_str(&line);
    }
    let mut unknown: Vec<&str> = excluded.to_vec();
    unknown.retain(|name| results.iter().all(|(known, _)| known != name));
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        text.push_str(&format!("warn: some health checks cannot be excluded: no matches for {names}\n"));
    }
    (has_failed, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_give_reasons_and_name_unknown_exclusions() {
        let broken = || Err("the disk is full".to_owned());
        let check = |excluded: &[&str], expected: (bool, &str)| {
            let (failed, text) = report(vec![("ping", Ok(())), ("etcd", broken())], excluded);
            assert_eq!((failed, text.as_str()), expected);
        };
        check(&[], (true, "[+]ping ok\n[-]etcd failed: the disk is full\n"));
        let warning = "warn: some health checks cannot be excluded: no matches for \"cd\",\"store\"\n";
        let text = format!("[+]ping ok\n[+]etcd excluded: ok\n{warning}");
        check(&["store", "etcd", "cd", "cd"], (false, &text));
    }
}
