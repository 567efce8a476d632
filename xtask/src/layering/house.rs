//! The table: the rooms of the house, the walls between them, and the outside crates that live in one room.

use std::collections::BTreeSet;

/// One crate of the workspace, there or planned.
pub(super) struct Room {
    /// The idea: its directory, and its noun in the docs.
    pub(super) name: &'static str,
    /// Its package.
    pub(super) package: &'static str,
    /// Whom it may name in `[dependencies]` and `[build-dependencies]`.
    pub(super) may: May,
    /// Whom its tests may name besides.
    pub(super) dev: &'static [&'static str],
    /// What it must not link at any depth. A star at the end stands for anything.
    pub(super) keeps_out: &'static [&'static str],
    /// Why.
    pub(super) because: &'static str,
    /// A feature that is let through that wall; everything else of the crate is checked with it off.
    pub(super) gate: Option<&'static str>,
}

/// What a room may name.
pub(super) enum May {
    /// The arrows that leave it, and all that can be reached along arrows: those crates are linked anyway, and going
    /// round by a re-export would hide the edge, not remove it.
    Reach(&'static [&'static str]),
    /// These and no more. Programs stand where users stand: what they cannot do through `machinery`, users cannot.
    Only(&'static [&'static str]),
    /// Anything: tools for us, which nobody depends on.
    Anything,
}

/// An outside crate that one room may name.
pub(super) struct Guard {
    pub(super) package: &'static str,
    pub(super) inside: &'static str,
    /// Rooms whose tests may name it too.
    pub(super) dev: &'static [&'static str],
}

const NO_CLUSTER: &[&str] = &["kube", "kube-*", "k8s-openapi", "hyper", "hyper-*"];
const USED_ALONE: &str = "it is used by people who have no cluster and want no HTTP stack";

const fn room(name: &'static str, package: &'static str, may: May) -> Room {
    Room { name, package, may, dev: &[], keeps_out: &[], because: "", gate: None }
}

/// Who may depend on whom.
pub(super) const HOUSE: &[Room] = &[
    Room { keeps_out: NO_CLUSTER, because: USED_ALONE, ..room("sync", "machinery-sync", May::Reach(&[])) },
    Room {
        // tokio's feature `net` shows itself as socket2.
        keeps_out: &["socket2", "hyper", "hyper-*"],
        because: "objects and ports are plain data and traits; sockets belong to who implements the ports",
        ..room("objects", "machinery-objects", May::Reach(&["sync"]))
    },
    Room {
        keeps_out: NO_CLUSTER,
        because: USED_ALONE,
        ..room("snapshot", "machinery-snapshot", May::Reach(&["sync"]))
    },
    Room {
        keeps_out: NO_CLUSTER,
        because: USED_ALONE,
        ..room("workqueue", "machinery-workqueue", May::Reach(&["sync"]))
    },
    Room {
        dev: &["apiserver", "kube", "store"],
        ..room("informers", "machinery-informers", May::Reach(&["objects", "snapshot"]))
    },
    Room {
        dev: &["apiserver", "kube", "store"],
        ..room("controllers", "machinery-controllers", May::Reach(&["informers", "workqueue"]))
    },
    Room { dev: &["apiserver", "store"], ..room("kube", "machinery-kube", May::Reach(&["objects"])) },
    room("machinery", "machinery", May::Reach(&["controllers", "apiserver", "kube"])),
    Room {
        keeps_out: NO_CLUSTER,
        because: USED_ALONE,
        gate: Some("etcd"), // etcd speaks gRPC, which is hyper: let in by name, off by default
        ..room("store", "machinery-store", May::Reach(&["objects", "snapshot"]))
    },
    room("cel", "machinery-cel", May::Reach(&[])),
    room("apiserver", "machinery-apiserver", May::Reach(&["cel", "store", "snapshot"])),
    room("cli", "machinery-cli", May::Only(&["machinery"])),
    room("kos", "kos", May::Only(&["machinery"])),
    room("sdewan", "sdewan", May::Only(&["machinery"])),
    room("bench", "machinery-bench", May::Anything),
    room("xtask", "xtask", May::Anything),
];

/// Outside crates that are walls too. kube-runtime is here because it brings kube-client.
pub(super) const GUARDS: &[Guard] = &[
    Guard { package: "etcd-client", inside: "store", dev: &[] },
    Guard { package: "kube-client", inside: "kube", dev: &["apiserver"] },
    Guard { package: "kube-runtime", inside: "kube", dev: &["apiserver", "machinery"] },
    // It breaks every quarter: so it is behind one feature of one room.
    Guard { package: "opentelemetry", inside: "machinery", dev: &[] },
    Guard { package: "opentelemetry-otlp", inside: "machinery", dev: &[] },
    Guard { package: "opentelemetry_sdk", inside: "machinery", dev: &[] },
    Guard { package: "kube", inside: "kube", dev: &["apiserver"] }, // the facade, which re-exports them
];

/// The room of a package.
pub(super) fn room_of(package: &str) -> Option<&'static Room> {
    HOUSE.iter().find(|room| room.package == package)
}

/// The rooms that `room` may name outside its tests.
pub(super) fn allowed(room: &Room) -> BTreeSet<&'static str> {
    match room.may {
        May::Anything => HOUSE.iter().map(|other| other.name).collect(),
        May::Only(names) => names.iter().copied().collect(),
        May::Reach(names) => {
            let next = |name: &&str| HOUSE.iter().find(|other| other.name == *name);
            names.iter().copied().chain(names.iter().filter_map(next).flat_map(allowed)).collect()
        }
    }
}
