//! The OpenAPI documents: v3 per group and version, their index, and the v2 document.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::operation::add_paths;
use super::schema::{Components, Described, closure};
use super::{gnostic, name, swagger};
use crate::discovery::Page;

/// The OpenAPI documents of the kinds. Rebuilt when the kinds change; documents are rendered on
/// first use, and those of unchanged kinds are reused.
#[derive(Debug, Default)]
pub(crate) struct OpenApi {
    /// The documents, by `apis/GROUP/VERSION`.
    documents: BTreeMap<String, Arc<Document>>,
    index: OnceLock<Page>,
    swagger: OnceLock<Page>,
    binary: OnceLock<Page>,
}

#[derive(Debug)]
struct Document {
    kinds: Vec<Arc<Described>>,
    shared: Arc<Components>,
    page: OnceLock<Page>,
}

impl OpenApi {
    /// `shared` are schemas to which those of the kinds refer.
    pub(crate) fn new(
        kinds: impl IntoIterator<Item = Arc<Described>>,
        shared: &Arc<Components>,
        previous: Option<&Self>,
    ) -> Self {
        let mut sorted: BTreeMap<String, Vec<Arc<Described>>> = BTreeMap::new();
        for kind in kinds {
            let root = name::root(&kind.info.group, &kind.info.version);
            sorted.entry(root.trim_start_matches('/').to_owned()).or_default().push(kind);
        }
        let documents = sorted.into_iter().map(|(path, kinds)| {
            let fresh = Document { kinds, shared: Arc::clone(shared), page: OnceLock::new() };
            let old =
                previous.and_then(|previous| previous.documents.get(&path)).filter(|old| old.is_same(&fresh));
            let document = old.map_or_else(|| Arc::new(fresh), Arc::clone);
            (path, document)
        });
        Self { documents: documents.collect(), ..Self::default() }
    }

    /// `/openapi/v3`
    pub(crate) fn index(&self) -> &Page {
        self.index.get_or_init(|| {
            let entry = |(path, document): (&String, &Arc<Document>)| {
                (path.clone(), json!({"serverRelativeURL": hashed_url(path, document.page())}))
            };
            let paths: Map<String, Value> = self.documents.iter().map(entry).collect();
            Page::render(&json!({"paths": paths}))
        })
    }

    /// Returns `/openapi/v3/PATH`, with PATH as `apis/GROUP/VERSION` or `api/v1`. A request with
    /// another hash than the page's must be redirected to the URL in the index.
    pub(crate) fn document(&self, path: &str) -> Option<&Page> {
        self.documents.get(path).map(|document| document.page())
    }

    /// `/openapi/v2`, as JSON.
    pub(crate) fn swagger(&self) -> &Page {
        self.swagger.get_or_init(|| Page::render(&self.old()))
    }

    /// `/openapi/v2`, in protobuf.
    pub(crate) fn binary(&self) -> &Page {
        self.binary.get_or_init(|| Page::of(gnostic::of(&self.old())))
    }

    fn old(&self) -> Value {
        swagger::of(self.documents.values().map(|document| document.render()).collect())
    }
}

/// Returns the URL of a document, with the hash of its content.
pub(crate) fn hashed_url(path: &str, page: &Page) -> String {
    format!("/openapi/v3/{path}?hash={}", page.hash)
}

impl Document {
    fn is_same(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Described>, &Arc<Described>)| Arc::ptr_eq(a, b);
        Arc::ptr_eq(&self.shared, &other.shared)
            && self.kinds.len() == other.kinds.len()
            && self.kinds.iter().zip(&other.kinds).all(same)
    }

    fn page(&self) -> &Page {
        self.page.get_or_init(|| Page::render(&self.render()))
    }

    fn render(&self) -> Value {
        let mut paths = Map::new();
        let mut schemas = Components::new();
        for kind in &self.kinds {
            add_paths(kind, &mut paths);
            schemas.insert(kind.name(), kind.object());
            if kind.info.verbs.contains(&"list") {
                schemas.insert(kind.list_name(), kind.list());
            }
        }
        let paths = Value::from(paths);
        let roots: Vec<&Value> = schemas.values().chain([&paths]).collect();
        // A kind's own schema wins over a shared one of the same name.
        let mut all = closure(&roots, &self.shared);
        all.append(&mut schemas);
        json!({
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "v1.37.2"},
            "paths": paths,
            "components": {"schemas": all},
        })
    }
}
