//! The kind CustomResourceDefinition, which has a structural schema itself.

use std::sync::Arc;

use machinery_objects::NameRule;
use serde_json::Value;

use crate::crd::Definitions;
use crate::discovery::BUILT_IN_VERBS;
use crate::kind::{Kind, KindNames, KindSchema};
use crate::schema::Schema;
use crate::storage::Place;
use crate::table::builtin as columns;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
const SCHEMA: &str = include_str!("definition.json");

/// Returns the key of the definition of this name.
pub(crate) fn key(name: &str) -> Arc<str> {
    Place::of(GROUP, PLURAL).key(None, name)
}

pub(super) fn kind() -> Kind {
    let schema: Value = serde_json::from_str(SCHEMA).expect("a test reads it");
    let schema = Schema::parse(&schema, "").expect("a test reads it");
    let name = "CustomResourceDefinition";
    Kind {
        group: GROUP.into(),
        version: "v1".into(),
        api_version: format!("{GROUP}/v1"),
        names: KindNames {
            kind: name.into(),
            list_kind: format!("{name}List"),
            plural: PLURAL.into(),
            singular: name.to_lowercase(),
            short_names: vec!["crd".into(), "crds".into()],
            categories: vec!["api-extensions".into()],
        },
        namespaced: false,
        built_in: true,
        shape: KindSchema::Custom(Arc::new(schema)),
        has_status: true,
        scale: None,
        has_generation: true,
        allows_unconditional_update: false,
        name_rule: NameRule::DnsSubdomain,
        columns: columns(GROUP, name),
        selectable: Vec::new(),
        verbs: BUILT_IN_VERBS,
        print: 1,
        replaced: Arc::default(),
        stored: None,
        forms: Arc::default(),
        deprecation: None,
        definition: None,
        is_terminating: false,
        review: None,
        defines_kinds: true,
        returns_deleted: true,
        place: Place::of(GROUP, PLURAL),
        hooks: Arc::new(Definitions),
    }
}
