//! Priority levels and flows: the classification of requests.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use crate::auth::Identity;
use crate::auth::identity::MASTERS;
use crate::request::{Resource, Verb};

/// A priority level, with one flow schema of the names in Kubernetes. The order decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PriorityLevel {
    /// Members of `system:masters`. Other than in Kubernetes this level is bounded, too.
    Exempt,
    /// Reads and writes of single Leases: small requests, and late ones cost a leader its lock.
    LeaderElection,
    /// ServiceAccounts of `kube-system`.
    WorkloadHigh,
    /// Other ServiceAccounts.
    WorkloadLow,
    /// Other users.
    GlobalDefault,
}

/// The requests of one user on one priority level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Flow {
    pub(crate) level: PriorityLevel,
    /// A keyed hash of the user's name: an identity is not cloned for each request.
    user: u64,
}

/// The share of a priority level in all seats.
pub(super) struct Share {
    /// Relative to the sum over all levels.
    pub(super) shares: usize,
    /// Percentage of the seats that others may borrow.
    pub(super) lendable: usize,
}

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const KUBE_SYSTEM: &str = "system:serviceaccount:kube-system:";

impl PriorityLevel {
    pub(crate) const ALL: [Self; 5] =
        [Self::Exempt, Self::LeaderElection, Self::WorkloadHigh, Self::WorkloadLow, Self::GlobalDefault];

    /// Returns the name of the priority level in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Exempt => "exempt",
            Self::LeaderElection => "leader-election",
            Self::WorkloadHigh => "workload-high",
            Self::WorkloadLow => "workload-low",
            Self::GlobalDefault => "global-default",
        }
    }

    /// Returns the name of the flow schema in metrics.
    pub(crate) const fn flow_schema(self) -> &'static str {
        match self {
            Self::Exempt => "exempt",
            Self::LeaderElection => "workload-leader-election",
            Self::WorkloadHigh => "kube-system-service-accounts",
            Self::WorkloadLow => "service-accounts",
            Self::GlobalDefault => "global-default",
        }
    }

    /// Returns the UIDs of flow schema and priority level in response headers. They are constant,
    /// because the objects are not served.
    pub(crate) const fn uids(self) -> [&'static str; 2] {
        match self {
            Self::Exempt => ["6d616368-0000-4000-8000-000000000001", "6d616368-0000-4000-9000-000000000001"],
            Self::LeaderElection => {
                ["6d616368-0000-4000-8000-000000000002", "6d616368-0000-4000-9000-000000000002"]
            }
            Self::WorkloadHigh => {
                ["6d616368-0000-4000-8000-000000000003", "6d616368-0000-4000-9000-000000000003"]
            }
            Self::WorkloadLow => {
                ["6d616368-0000-4000-8000-000000000004", "6d616368-0000-4000-9000-000000000004"]
            }
            Self::GlobalDefault => {
                ["6d616368-0000-4000-8000-000000000005", "6d616368-0000-4000-9000-000000000005"]
            }
        }
    }

    /// Returns the share of all seats. The ratios are those of Kubernetes, except for the two
    /// levels that have no counterpart there: users are its `global-default`, which has little
    /// there because nodes and controllers have levels of their own.
    pub(super) const fn share(self) -> Share {
        let (shares, lendable) = match self {
            Self::Exempt => (30, 50),
            Self::LeaderElection => (10, 0),
            Self::WorkloadHigh => (40, 50),
            Self::WorkloadLow => (100, 90),
            Self::GlobalDefault => (60, 50),
        };
        Share { shares, lendable }
    }
}

impl Flow {
    /// The flow of work without a user.
    #[cfg(feature = "server")]
    pub(super) const INTERNAL: Self = Self { level: PriorityLevel::Exempt, user: 0 };

    /// Returns the flow of a request for objects.
    pub(crate) fn of(seed: &FixedState, identity: &Identity, verb: Verb, resource: &Resource) -> Self {
        Self { level: level(identity, verb, resource), user: seed.hash_one(&identity.user) }
    }

    #[cfg(test)]
    pub(super) const fn test(level: PriorityLevel, user: u64) -> Self {
        Self { level, user }
    }

    pub(super) const fn is_exempt(self) -> bool {
        matches!(self.level, PriorityLevel::Exempt)
    }
}

fn level(identity: &Identity, verb: Verb, resource: &Resource) -> PriorityLevel {
    if identity.is_in(MASTERS) {
        return PriorityLevel::Exempt;
    }
    let is_lease = resource.group == "coordination.k8s.io" && resource.plural == "leases";
    if is_lease && matches!(verb, Verb::Get | Verb::Create | Verb::Update | Verb::Patch) {
        return PriorityLevel::LeaderElection;
    }
    match identity.user.as_str() {
        user if user.starts_with(KUBE_SYSTEM) => PriorityLevel::WorkloadHigh,
        user if user.starts_with(SERVICE_ACCOUNT) => PriorityLevel::WorkloadLow,
        _ => PriorityLevel::GlobalDefault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Query, Target};
    use http::Method;

    #[test]
    fn requests_are_classified_by_user_and_resource() {
        let check = |identity: &Identity, method: Method, path: &str, expected: PriorityLevel| {
            let Target::Resource(resource) = Target::parse(path).expect("a path") else { panic!("{path}") };
            let verb = Verb::of(&method, &resource, &Query::parse(None).expect("none")).expect("a verb");
            assert_eq!(level(identity, verb, &resource), expected, "{method} {path}");
        };
        let (leases, lease) = (
            "/apis/coordination.k8s.io/v1/namespaces/a/leases",
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
        );
        let robot = Identity::service_account("a", "robot");
        let system = Identity::service_account("kube-system", "robot");
        check(&Identity::admin(), Method::PUT, lease, PriorityLevel::Exempt);
        check(&robot, Method::PUT, lease, PriorityLevel::LeaderElection);
        check(&Identity::new("ann"), Method::POST, leases, PriorityLevel::LeaderElection);
        check(&robot, Method::GET, leases, PriorityLevel::WorkloadLow);
        check(&robot, Method::GET, "/api/v1/pods", PriorityLevel::WorkloadLow);
        check(&system, Method::GET, "/api/v1/pods", PriorityLevel::WorkloadHigh);
        check(&Identity::new("ann"), Method::GET, "/api/v1/pods", PriorityLevel::GlobalDefault);
        check(&Identity::anonymous(), Method::GET, "/api/v1/pods", PriorityLevel::GlobalDefault);
    }

    #[test]
    fn users_have_flows_of_their_own_on_each_level() {
        let seed = FixedState::with_seed(7);
        let Target::Resource(pods) = Target::parse("/api/v1/pods").expect("a path") else { panic!() };
        let of = |identity: &Identity| Flow::of(&seed, identity, Verb::List, &pods);
        assert_eq!(of(&Identity::new("ann")), of(&Identity::new("ann").in_group("dev")));
        assert_ne!(of(&Identity::new("ann")), of(&Identity::new("bob")));
        assert_ne!(of(&Identity::new("ann")), of(&Identity::new("ann").in_group(MASTERS)));
    }
}
