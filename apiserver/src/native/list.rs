//! The list of built-in kinds, with their properties.

mod records;

use std::sync::{Arc, LazyLock};

use machinery_objects::NameRule;
use machinery_objects::NameRule::{DnsLabel, DnsSubdomain, PathSegment};

use super::config::{ConfigMaps, Secrets};
use super::defaults;
use super::event::EventGroup;
use super::lease::Leases;
use super::namespace::Namespaces;
use super::pod_update::Pods;
use super::rules::Rules;
use crate::admission::{Configurations, GROUP as ADMISSION};
use crate::builtin::{Type, table};
use crate::discovery::BUILT_IN_VERBS;
use crate::kind::{
    DefaultHooks, Kind, KindHooks, KindNames, KindSchema, KindVersion, KindVersions, Review, Scale,
    Selectable,
};
use crate::native::api_service::GROUP as API_SERVICES;
use crate::quota::ResourceQuotas;
use crate::storage::Place;
use crate::table::builtin as columns;

/// Returns all built-in kinds.
pub(crate) fn kinds() -> impl Iterator<Item = Arc<Kind>> {
    KINDS.iter().cloned()
}

/// Returns the kind Namespace.
pub(crate) fn namespace() -> Arc<Kind> {
    of("Namespace")
}

/// Returns the kind CustomResourceDefinition.
pub(crate) fn definition() -> Arc<Kind> {
    of("CustomResourceDefinition")
}

/// Returns the kind ResourceQuota.
pub(crate) fn quota() -> Arc<Kind> {
    of("ResourceQuota")
}

/// Returns the kind ServiceAccount.
pub(crate) fn service_account() -> Arc<Kind> {
    of("ServiceAccount")
}

/// Returns the kind ConfigMap.
pub(crate) fn config_map() -> Arc<Kind> {
    of("ConfigMap")
}

/// Returns the kind Service.
pub(crate) fn service() -> Arc<Kind> {
    of("Service")
}

/// Returns the kind APIService.
pub(crate) fn api_service() -> Arc<Kind> {
    of("APIService")
}

/// Returns the kind `Scale`, which has no objects.
pub(crate) fn scale() -> Arc<Kind> {
    static SCALE: LazyLock<Arc<Kind>> =
        LazyLock::new(|| Arc::new(native("autoscaling", "Scale", "scales").kind()));
    SCALE.clone()
}

fn of(name: &str) -> Arc<Kind> {
    kinds().find(|kind| kind.names.kind == name).expect("it is in the list")
}

static KINDS: LazyLock<Vec<Arc<Kind>>> = LazyLock::new(|| {
    let listed = all().map(|native| Arc::new(native.kind()));
    listed.chain([Arc::new(super::definition::kind())]).collect()
});

fn all() -> impl Iterator<Item = &'static Native> {
    LIST.iter().chain(records::RECORDS)
}

/// The differences of one built-in kind from the defaults.
struct Native {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    status: bool,
    generation: bool,
    /// Whether the kind has the subresource `scale`.
    scale: bool,
    /// Whether the kind is in the category `all`.
    all: bool,
    names: NameRule,
    /// Whether an update requires a resourceVersion.
    careful: bool,
    fields: &'static [&'static str],
    returns_deleted: bool,
    review: Option<Review>,
    hooks: fn() -> Arc<dyn KindHooks>,
}

const fn native(group: &'static str, kind: &'static str, plural: &'static str) -> Native {
    Native {
        group,
        version: "v1",
        kind,
        plural,
        short: &[],
        namespaced: true,
        status: false,
        generation: false,
        scale: false,
        all: false,
        names: DnsSubdomain,
        careful: false,
        fields: &[],
        returns_deleted: false,
        review: None,
        hooks: plain,
    }
}

fn rules() -> Arc<dyn KindHooks> {
    Arc::new(Rules)
}

fn plain() -> Arc<dyn KindHooks> {
    Arc::new(DefaultHooks)
}

const fn question(group: &'static str, kind: &'static str, plural: &'static str, review: Review) -> Native {
    Native { namespaced: false, review: Some(review), ..native(group, kind, plural) }
}

const fn webhooks(kind: &'static str, plural: &'static str) -> Native {
    Native { namespaced: false, generation: true, careful: true, ..native(ADMISSION, kind, plural) }
}

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const LIST: &[Native] = &[
    Native {
        short: &["ns"],
        namespaced: false,
        status: true,
        names: DnsLabel,
        fields: &["status.phase"],
        returns_deleted: true,
        hooks: || Arc::new(Namespaces),
        ..native("", "Namespace", "namespaces")
    },
    Native { short: &["cm"], hooks: || Arc::new(ConfigMaps), ..native("", "ConfigMap", "configmaps") },
    Native { fields: &["type"], hooks: || Arc::new(Secrets), ..native("", "Secret", "secrets") },
    Native { short: &["sa"], ..native("", "ServiceAccount", "serviceaccounts") },
    Native {
        short: &["ev"],
        fields: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        hooks: || Arc::new(EventGroup::Core),
        ..native("", "Event", "events")
    },
    Native {
        short: &["no"],
        namespaced: false,
        status: true,
        fields: &["spec.unschedulable"],
        ..native("", "Node", "nodes")
    },
    Native {
        short: &["po"],
        status: true,
        all: true,
        fields: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        returns_deleted: true,
        hooks: || Arc::new(Pods),
        ..native("", "Pod", "pods")
    },
    Native {
        short: &["svc"],
        status: true,
        all: true,
        names: DnsLabel,
        fields: &["spec.clusterIP", "spec.type"],
        returns_deleted: true,
        ..native("", "Service", "services")
    },
    Native {
        short: &["quota"],
        status: true,
        returns_deleted: true,
        hooks: || Arc::new(ResourceQuotas),
        ..native("", "ResourceQuota", "resourcequotas")
    },
    Native {
        short: &["deploy"],
        status: true,
        generation: true,
        scale: true,
        all: true,
        ..native("apps", "Deployment", "deployments")
    },
    Native {
        short: &["rs"],
        status: true,
        generation: true,
        scale: true,
        all: true,
        fields: &["status.replicas"],
        ..native("apps", "ReplicaSet", "replicasets")
    },
    Native { careful: true, hooks: || Arc::new(Leases), ..native("coordination.k8s.io", "Lease", "leases") },
    Native {
        short: &["ev"],
        fields: &[
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ],
        hooks: || Arc::new(EventGroup::New),
        ..native("events.k8s.io", "Event", "events")
    },
    Native { names: PathSegment, hooks: rules, ..native(RBAC, "Role", "roles") },
    Native { names: PathSegment, hooks: rules, ..native(RBAC, "RoleBinding", "rolebindings") },
    Native {
        names: PathSegment,
        namespaced: false,
        hooks: rules,
        ..native(RBAC, "ClusterRole", "clusterroles")
    },
    Native {
        names: PathSegment,
        namespaced: false,
        hooks: rules,
        ..native(RBAC, "ClusterRoleBinding", "clusterrolebindings")
    },
    Native {
        hooks: || Arc::new(Configurations::Mutating),
        ..webhooks("MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
    },
    Native {
        hooks: || Arc::new(Configurations::Validating),
        ..webhooks("ValidatingWebhookConfiguration", "validatingwebhookconfigurations")
    },
    question(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews", Review::Oneself),
    question(AUTHENTICATION, "TokenReview", "tokenreviews", Review::Token),
    question(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", Review::OwnAccess),
    question(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", Review::OwnRules),
    question(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", Review::Access),
    Native {
        namespaced: true,
        ..question(AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", Review::Access)
    },
];

impl Native {
    fn shape(&self) -> &'static Type {
        table().kind(self.group, self.version, self.kind).expect("the table has all that are served")
    }

    fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns the storage version of a kind that two groups or versions serve, if that is another
    /// one.
    fn stored(&self) -> Option<&'static Self> {
        match (self.group, self.version, self.kind) {
            ("events.k8s.io", ..) => all().find(|native| native.group.is_empty() && native.kind == "Event"),
            ("autoscaling", "v1", "HorizontalPodAutoscaler") => {
                all().find(|native| native.version == "v2" && native.kind == self.kind)
            }
            _ => None,
        }
    }

    fn is_stored_for_others(&self) -> bool {
        let path = |native: &Self| (native.group, native.version, native.plural);
        all().any(|native| native.stored().is_some_and(|stored| path(stored) == path(self)))
    }

    /// Returns all versions of the kind.
    fn forms(&self) -> Arc<KindVersions> {
        let alike = all().filter(|native| native.kind == self.kind);
        let form = |native: &Self| {
            let replicas = native.scale.then(|| Scale::of_workload().desired);
            let shape = KindSchema::Typed(native.shape());
            let form = KindVersion { shape, hooks: (native.hooks)(), replicas };
            (native.api_version(), form)
        };
        Arc::new(alike.map(form).collect())
    }

    fn kind(&self) -> Kind {
        let api_version = self.api_version();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let selectable = |field: &&str| {
            let path = match *field {
                "name" => "metadata.name",
                // The field of Events selects by the component in it.
                "source" => "source.component",
                "status.successful" => "status.succeeded",
                field => field,
            };
            let path = path.split('.').map(str::to_owned).collect();
            Selectable { field: (*field).to_owned(), path }
        };
        let stored = self.stored();
        Kind {
            group: self.group.into(),
            version: self.version.into(),
            names: KindNames {
                kind: self.kind.into(),
                list_kind: format!("{}List", self.kind),
                plural: self.plural.into(),
                singular: self.kind.to_lowercase(),
                short_names: texts(self.short),
                categories: texts(match self.group {
                    ADMISSION | API_SERVICES => &["api-extensions"],
                    _ if self.all => &["all"],
                    _ => &[],
                }),
            },
            namespaced: self.namespaced,
            built_in: true,
            shape: KindSchema::Typed(self.shape()),
            has_status: self.status,
            scale: self.scale.then(Scale::of_workload),
            has_generation: self.generation,
            allows_unconditional_update: !self.careful,
            name_rule: self.names,
            columns: columns(self.group, self.kind),
            selectable: self.fields.iter().map(selectable).collect(),
            verbs: if self.review.is_some() { &["create"] } else { BUILT_IN_VERBS },
            print: print(&api_version, self.group, self.kind),
            replaced: Arc::default(),
            stored: stored.map(|stored| Arc::new(stored.kind())),
            forms: if stored.is_some() || self.is_stored_for_others() {
                self.forms()
            } else {
                Arc::default()
            },
            deprecation: None,
            definition: None,
            is_terminating: false,
            review: self.review,
            defines_kinds: false,
            returns_deleted: self.returns_deleted,
            place: Place::of(stored.map_or(self.group, |stored| stored.group), self.plural),
            hooks: match defaults::of(self.group, self.kind) {
                Some(defaulted) => Arc::new(defaulted.beside((self.hooks)())),
                None => (self.hooks)(),
            },
            api_version,
        }
    }
}

/// Returns the fingerprint of a stored form, which is served unchanged while the fingerprint stays:
/// a change of the form must change the number.
fn print(api_version: &str, group: &str, kind: &str) -> u64 {
    use std::hash::BuildHasher as _;
    // The second form has default values, or the fields that Go writes although they are not set.
    let form = if kind == "Event" || defaults::of(group, kind).is_some() { 2 } else { 1 };
    foldhash::fast::FixedState::with_seed(form).hash_one((api_version, kind))
}
