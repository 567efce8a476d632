//! The documents about kinds, rendered on first use.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::discovery::{Discovery, KindInfo, SubresourceInfo, storage_version_hash};
use crate::kind::{Kind, KindSchema};
use crate::native;
use crate::openapi::{Described, OpenApi};

/// Discovery and OpenAPI documents of a set of kinds.
pub(crate) struct Documents {
    pub(crate) discovery: Discovery,
    kinds: Vec<Arc<Kind>>,
    /// Made on first use: the schemas of the built-in kinds alone take megabytes.
    openapi: OnceLock<Arc<KindsOpenApi>>,
    /// The last one that was made before, for other kinds.
    previous: Option<Arc<KindsOpenApi>>,
}

/// The OpenAPI documents of a set of kinds.
struct KindsOpenApi {
    described: Vec<(Arc<Kind>, Arc<Described>)>,
    openapi: OpenApi,
}

impl Documents {
    pub(crate) fn of<'a>(kinds: impl Iterator<Item = &'a Arc<Kind>>, previous: Option<&Self>) -> Self {
        let kinds: Vec<Arc<Kind>> = kinds.cloned().collect();
        let discovery = Discovery::new(kinds.iter().map(|kind| Arc::new(info(kind))));
        let previous = previous.and_then(|old| old.openapi.get().or(old.previous.as_ref()).cloned());
        Self { discovery, kinds, openapi: OnceLock::new(), previous }
    }

    pub(crate) fn openapi(&self) -> &OpenApi {
        let make = || Arc::new(KindsOpenApi::of(&self.kinds, self.previous.as_deref()));
        &self.openapi.get_or_init(make).openapi
    }
}

impl KindsOpenApi {
    fn of(kinds: &[Arc<Kind>], previous: Option<&Self>) -> Self {
        let known = |kind: &Arc<Kind>| {
            let mut all = previous.into_iter().flat_map(|previous| &previous.described);
            all.find(|(one, _)| Arc::ptr_eq(one, kind)).map(|(_, described)| described.clone())
        };
        let described: Vec<(Arc<Kind>, Arc<Described>)> = kinds
            .iter()
            .map(|kind| (kind.clone(), known(kind).unwrap_or_else(|| Arc::new(described(kind)))))
            .collect();
        let all = described.iter().map(|(_, described)| described.clone());
        let shared = native::openapi::components();
        let openapi = OpenApi::new(all, &shared, previous.map(|previous| &previous.openapi));
        Self { described, openapi }
    }
}

fn described(kind: &Kind) -> Described {
    let schema: Option<Value> = match &kind.shape {
        KindSchema::Custom(_) if kind.defines_kinds => Some(native::openapi::definition()),
        KindSchema::Custom(schema) => Some(schema.openapi()),
        KindSchema::Typed(of) => Some(native::openapi::schema(of)),
    };
    let selectable = kind.selectable.iter().map(|one| one.field.clone()).collect();
    Described { info: Arc::new(info(kind)), schema, selectable }
}

fn info(kind: &Kind) -> KindInfo {
    let names = &kind.names;
    let mut info = KindInfo {
        group: kind.group.to_string(),
        version: kind.version.to_string(),
        kind: names.kind.clone(),
        list_kind: names.list_kind.clone(),
        plural: names.plural.clone(),
        singular: names.singular.clone(),
        short_names: names.short_names.clone(),
        categories: names.categories.clone(),
        namespaced: kind.namespaced,
        built_in: kind.built_in,
        verbs: kind.available_verbs(),
        storage_version_hash: storage_version_hash(&kind.group, &kind.storage_version().version, &names.kind),
        subresources: Vec::new(),
    };
    if kind.has_finalize() {
        info.subresources.push(info.finalize());
    }
    if kind.has_status {
        info.subresources.push(info.status());
    }
    info.subresources.extend(kind.has_approval().then(|| info.approval()));
    info.subresources.extend(kind.scale.is_some().then(SubresourceInfo::scale));
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openapi_is_made_on_first_use_and_reused_for_unchanged_kinds() {
        let kinds: Vec<Arc<Kind>> = native::kinds().collect();
        let is_there = |documents: &Documents| documents.openapi.get().is_some();
        let first = Documents::of(kinds.iter(), None);
        assert!(!is_there(&first));
        let page = first.openapi().document("apis/apps/v1").expect("there").json.clone();
        // The one in between was never used.
        let without = Documents::of(kinds.iter().filter(|kind| &*kind.group != "apps"), Some(&first));
        let third = Documents::of(kinds.iter(), Some(&without));
        assert!(!is_there(&without) && !is_there(&third));
        assert_eq!(third.openapi().document("apis/apps/v1").expect("there").json.as_ptr(), page.as_ptr());
        assert!(without.openapi().document("apis/apps/v1").is_none());
    }
}
