//! The kinds of a CustomResourceDefinition, one for each version.

use std::sync::Arc;

use foldhash::fast::FixedState;
use serde_json::Value;
use std::hash::BuildHasher;

use crate::bounded::FieldErrors;
use crate::discovery::{CUSTOM_VERBS, by_priority};
use crate::invalid::FieldError;
use crate::kind::{
    DefaultHooks, Kind, KindNames, KindSchema, KindVersion, KindVersions, Replaced, Scale, Selectable,
};
use crate::native;
use crate::schema::{Known, Schema};
use crate::storage::Place;
use crate::strategy::{is_deleting, meta_text};
use crate::table::{Columns, crd_columns};
use machinery_objects::NameRule;

/// The kinds of a CustomResourceDefinition.
#[derive(Clone, Default)]
pub(crate) struct DefinedKinds {
    /// The storage version, even if it is not served.
    pub(crate) stored: Option<Arc<Kind>>,
    pub(crate) served: Vec<Arc<Kind>>,
    /// Schema errors of a definition that was stored by an earlier, less strict version of the
    /// server.
    pub(crate) wrong: Vec<FieldError>,
}

/// Builds the kinds of a definition with its accepted names; `replaced` ends when they are
/// replaced.
pub(crate) fn kinds(crd: &Value, names: &KindNames, replaced: &Replaced) -> DefinedKinds {
    let (mut all, mut made) = (Vec::new(), DefinedKinds::default());
    for (at, version) in versions(crd).iter().enumerate() {
        let kind = kind(crd, names, at, version, &mut made.wrong);
        all.push((version, Kind { replaced: replaced.clone(), ..kind }));
    }
    let form = |kind: &Kind| KindVersion {
        shape: kind.shape.clone(),
        hooks: kind.hooks.clone(),
        replicas: kind.scale.as_ref().map(|scale| scale.desired.clone()),
    };
    let forms: Arc<KindVersions> =
        Arc::new(all.iter().map(|(_, kind)| (kind.api_version.clone(), form(kind))).collect());
    let all = all.into_iter().map(|(version, kind)| (version, Kind { forms: forms.clone(), ..kind }));
    let (stored, others): (Vec<_>, Vec<_>) = all.partition(|(version, _)| version["storage"] == true);
    for (version, kind) in stored {
        let kind = Arc::new(kind);
        made.stored = Some(kind.clone());
        made.served.extend((version["served"] == true).then_some(kind));
    }
    for (_, kind) in others.into_iter().filter(|(version, _)| version["served"] == true) {
        made.served.push(Arc::new(Kind { stored: made.stored.clone(), ..kind }));
    }
    made
}

/// Validates the schemas that have changed; accepted ones are not validated again.
pub(super) fn schema_errors(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let before = old.map(versions).unwrap_or_default();
    let mut known = Known::default();
    before.iter().for_each(|version| known.add(&version["schema"]));
    let mut errors = FieldErrors::default();
    for (at, version) in versions(crd).iter().enumerate() {
        let was = before.iter().find(|before| before["name"] == version["name"]);
        if was.is_some_and(|was| ["schema", "subresources"].iter().all(|field| was[field] == version[field]))
        {
            continue;
        }
        let at = schema_at(at);
        match Schema::parse_again(&version["schema"]["openAPIV3Schema"], &at, &known) {
            Ok(_) => errors.extend(root_errors(version, &at)),
            Err(found) => errors.extend(found),
        }
    }
    errors.into_list()
}

fn versions(crd: &Value) -> &[Value] {
    crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn schema_at(version: usize) -> String {
    format!("spec.versions[{version}].schema.openAPIV3Schema")
}

fn root_errors(version: &Value, at: &str) -> Vec<FieldError> {
    match version["subresources"]["status"].is_object() {
        true => Schema::check_root_with_status(&version["schema"]["openAPIV3Schema"], at),
        false => Vec::new(),
    }
}

fn kind(crd: &Value, names: &KindNames, at: usize, version: &Value, wrong: &mut Vec<FieldError>) -> Kind {
    let spec = &crd["spec"];
    let group = spec["group"].as_str().unwrap_or_default();
    let at = schema_at(at);
    let (schema, found) = Schema::of_stored(&version["schema"]["openAPIV3Schema"], &at);
    wrong.extend(found);
    wrong.extend(root_errors(version, &at));
    let name = version["name"].as_str().unwrap_or_default();
    let api_version = format!("{group}/{name}");
    // Objects are read without conversion only if schema and version are those they were stored
    // with.
    let print = FixedState::with_seed(PRINT).hash_one((
        &api_version,
        version["schema"].to_string(),
        version["subresources"].to_string(),
    ));
    Kind {
        group: group.into(),
        version: name.into(),
        names: names.clone(),
        namespaced: spec["scope"] == "Namespaced",
        built_in: false,
        shape: KindSchema::Custom(Arc::new(schema)),
        has_status: version["subresources"]["status"].is_object(),
        scale: Scale::of(version),
        has_generation: true,
        allows_unconditional_update: false,
        name_rule: NameRule::DnsSubdomain,
        columns: columns(version),
        selectable: selectable(version),
        verbs: CUSTOM_VERBS,
        print,
        replaced: Arc::default(),
        stored: None,
        forms: Arc::default(),
        deprecation: deprecation(crd, version),
        definition: Some(native::definition_key(meta_text(crd, "name"))),
        is_terminating: is_deleting(crd),
        review: None,
        defines_kinds: false,
        returns_deleted: false,
        place: Place::of(group, &names.plural),
        hooks: Arc::new(DefaultHooks),
        api_version,
    }
}

const PRINT: u64 = 0x6d61_6368_696e_6572;

/// The given warning, or one that names the best version to use instead.
fn deprecation(crd: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(given) = version["deprecationWarning"].as_str() {
        return Some(given.to_owned());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind, name) =
        (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"]), text(&version["name"]));
    let is_usable = |other: &&Value| other["served"] == true && other["deprecated"] != true;
    let better = versions(crd).iter().filter(is_usable).map(|other| text(&other["name"]));
    let better = better.filter(|other| by_priority(other, &name).is_lt()).min_by(|a, b| by_priority(a, b));
    let instead = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}

/// Ignores malformed columns, which are rejected when a definition is written.
fn columns(version: &Value) -> Columns {
    crd_columns(&version["additionalPrinterColumns"]).0
}

fn selectable(version: &Value) -> Vec<Selectable> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    let paths = fields.filter_map(|field| field["jsonPath"].as_str());
    let selectable = |path: &str| {
        let field = path.trim_start_matches('.').to_owned();
        let path = field.split('.').map(str::to_owned).collect();
        Selectable { field, path }
    };
    paths.map(selectable).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deprecation_names_the_best_version_to_use_instead() {
        let version =
            |name: &str, deprecated: bool| json!({"name": name, "served": true, "deprecated": deprecated});
        let crd = |versions: &[Value]| json!({"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": versions}});
        let old = version("v1beta1", true);
        let all = crd(&[old.clone(), version("v1", false), version("v2", false), version("v1alpha1", false)]);
        assert_eq!(
            deprecation(&all, &old).unwrap(),
            "example.com/v1beta1 Widget is deprecated; use example.com/v2 Widget"
        );
        let worse = crd(&[old.clone(), version("v1alpha1", false)]);
        assert_eq!(deprecation(&worse, &old).unwrap(), "example.com/v1beta1 Widget is deprecated");
        assert_eq!(deprecation(&all, &version("v1", false)), None);
        let given = json!({"name": "v1", "deprecated": true, "deprecationWarning": "go on"});
        assert_eq!(deprecation(&all, &given).unwrap(), "go on");
    }
}
