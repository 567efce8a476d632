//! The documents about kinds, rendered on first use.

use std::sync::Arc;

use serde_json::Value;

use crate::discovery::{Discovery, KindInfo, SubresourceInfo, storage_version_hash};
use crate::kind::{Kind, KindSchema};
use crate::native;
use crate::openapi::{Described, OpenApi};

/// Discovery and OpenAPI documents of a set of kinds.
pub(crate) struct Documents {
    pub(crate) discovery: Discovery,
    pub(crate) openapi: OpenApi,
}

impl Documents {
    pub(crate) fn of<'a>(kinds: impl Iterator<Item = &'a Arc<Kind>>, previous: Option<&Self>) -> Self {
        let described: Vec<Arc<Described>> = kinds.map(|kind| Arc::new(described(kind))).collect();
        let infos = described.iter().map(|one| one.info.clone());
        let discovery = Discovery::new(infos);
        let shared = native::openapi::components();
        let openapi = OpenApi::new(described, &shared, previous.map(|previous| &previous.openapi));
        Self { discovery, openapi }
    }
}

fn described(kind: &Kind) -> Described {
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
    let schema: Option<Value> = match &kind.shape {
        KindSchema::Custom(_) if kind.defines_kinds => Some(native::openapi::definition()),
        KindSchema::Custom(schema) => Some(schema.openapi()),
        KindSchema::Typed(of) => Some(native::openapi::schema(of)),
    };
    let selectable = kind.selectable.iter().map(|one| one.field.clone()).collect();
    Described { info: Arc::new(info), schema, selectable }
}
