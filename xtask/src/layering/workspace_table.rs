//! The table of crates: allowed dependencies, excluded links, and external crates with a single
//! user.

use std::collections::BTreeSet;

/// One crate of the workspace, existing or planned.
pub(super) struct Row {
    /// Directory of the crate, and its name in the docs.
    pub(super) name: &'static str,
    /// Name of the package.
    pub(super) package: &'static str,
    /// Crates that the crate may name in `[dependencies]` and `[build-dependencies]`.
    pub(super) may: May,
    /// Further crates that the tests may name.
    pub(super) dev: &'static [&'static str],
    /// Crates that the crate must not link at any depth. A star at the end matches any suffix.
    pub(super) excludes: &'static [&'static str],
    /// The reason of the exclusion.
    pub(super) because: &'static str,
    /// A feature that may link excluded crates; the rest of the crate is checked without it.
    pub(super) gate: Option<&'static str>,
}

/// Crates that a crate may name.
pub(super) enum May {
    /// These, and all crates that can be reached from them: those are linked anyway, and a detour
    /// by a re-export would only hide the edge.
    Reach(&'static [&'static str]),
    /// These only. Programs use the API of users: a feature that `machinery` lacks is missing for
    /// users too.
    Only(&'static [&'static str]),
    /// Any crate: internal tools, on which no crate depends.
    Anything,
}

/// An external crate that only one crate may name.
pub(super) struct External {
    pub(super) package: &'static str,
    pub(super) inside: &'static str,
    /// Crates with tests that may name it too.
    pub(super) dev: &'static [&'static str],
}

const NO_CLUSTER: &[&str] = &["kube", "kube-*", "k8s-openapi", "hyper", "hyper-*"];
const USED_ALONE: &str = "it is used by people who have no cluster and want no HTTP stack";

const fn row(name: &'static str, package: &'static str, may: May) -> Row {
    Row { name, package, may, dev: &[], excludes: &[], because: "", gate: None }
}

/// The allowed dependencies.
pub(super) const WORKSPACE: &[Row] = &[
    Row { excludes: NO_CLUSTER, because: USED_ALONE, ..row("sync", "machinery-sync", May::Reach(&[])) },
    Row { excludes: NO_CLUSTER, because: USED_ALONE, ..row("metrics", "machinery-metrics", May::Reach(&[])) },
    row("report", "machinery-report", May::Reach(&[])),
    Row {
        // tokio's feature `net` shows itself as socket2.
        excludes: &["socket2", "hyper", "hyper-*"],
        because: "objects and ports are plain data and traits; sockets belong to who implements the ports",
        ..row("objects", "machinery-objects", May::Reach(&["sync"]))
    },
    Row {
        excludes: NO_CLUSTER,
        because: USED_ALONE,
        ..row("snapshot", "machinery-snapshot", May::Reach(&["sync"]))
    },
    Row {
        excludes: NO_CLUSTER,
        because: USED_ALONE,
        ..row("workqueue", "machinery-workqueue", May::Reach(&["metrics", "sync"]))
    },
    Row {
        dev: &["apiserver", "kube", "store"],
        ..row("informers", "machinery-informers", May::Reach(&["metrics", "objects", "snapshot"]))
    },
    Row {
        dev: &["apiserver", "kube", "store"],
        ..row("controllers", "machinery-controllers", May::Reach(&["informers", "workqueue"]))
    },
    Row { dev: &["apiserver", "store"], ..row("kube", "machinery-kube", May::Reach(&["objects"])) },
    row("machinery", "machinery", May::Reach(&["controllers", "apiserver", "kube", "report"])),
    Row {
        excludes: NO_CLUSTER,
        because: USED_ALONE,
        gate: Some("etcd"), // etcd speaks gRPC, which is hyper: let in by name, off by default
        ..row("store", "machinery-store", May::Reach(&["objects", "snapshot"]))
    },
    row("cel", "machinery-cel", May::Reach(&[])),
    row("apiserver", "machinery-apiserver", May::Reach(&["cel", "metrics", "store", "snapshot"])),
    row("cli", "machinery-cli", May::Only(&["machinery"])),
    row("kos", "kos", May::Only(&["machinery"])),
    row("sdewan", "sdewan", May::Only(&["machinery"])),
    row("bench", "machinery-bench", May::Anything),
    row("xtask", "xtask", May::Anything),
];

/// External crates with a single user. kube-runtime is here because it brings kube-client.
pub(super) const SINGLE_USER: &[External] = &[
    External { package: "etcd-client", inside: "store", dev: &[] },
    External { package: "kube-client", inside: "kube", dev: &["apiserver"] },
    External { package: "kube-runtime", inside: "kube", dev: &["apiserver", "machinery"] },
    // Its API breaks every quarter: so one feature of one crate contains it.
    External { package: "opentelemetry", inside: "machinery", dev: &[] },
    External { package: "opentelemetry-otlp", inside: "machinery", dev: &[] },
    External { package: "opentelemetry_sdk", inside: "machinery", dev: &[] },
    External { package: "kube", inside: "kube", dev: &["apiserver"] }, // the facade, which re-exports them
];

/// Returns the row of a package.
pub(super) fn row_of(package: &str) -> Option<&'static Row> {
    WORKSPACE.iter().find(|row| row.package == package)
}

/// Returns the crates that a row allows outside of tests.
pub(super) fn allowed(row: &Row) -> BTreeSet<&'static str> {
    match row.may {
        May::Anything => WORKSPACE.iter().map(|other| other.name).collect(),
        May::Only(names) => names.iter().copied().collect(),
        May::Reach(names) => {
            let next = |name: &&str| WORKSPACE.iter().find(|other| other.name == *name);
            names.iter().copied().chain(names.iter().filter_map(next).flat_map(allowed)).collect()
        }
    }
}
