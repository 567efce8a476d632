//! The operations of a kind, as paths of OpenAPI v3.

use serde_json::{Map, Value, json};

use super::name;
use super::parameter;
use super::schema::{Described, PREFIX, meta_reference};
use crate::discovery::SubresourceInfo;
use crate::patch;

/// Adds the paths of a kind.
pub(super) fn add_paths(described: &Described, paths: &mut Map<String, Value>) {
    let info = &described.info;
    let kind = Paths { described, body: reference(&described.name()), sub: None };
    let list = reference(&described.list_name());
    let root = name::root(&info.group, &info.version);
    let here = if info.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{here}/{}", info.plural);
    if info.namespaced {
        kind.add(paths, &format!("{root}/{}", info.plural), &[("list", &list, true)]);
    }
    let status = meta_reference("Status");
    let of_collection =
        [("list", &list, false), ("create", &kind.body, false), ("deletecollection", &status, false)];
    kind.add(paths, &collection, &of_collection);
    let item = format!("{collection}/{{name}}");
    let of_item = ["get", "update", "patch"].map(|verb| (verb, &kind.body, false));
    let of_item: Vec<_> = of_item.into_iter().chain([("delete", &status, false)]).collect();
    kind.add(paths, &item, &of_item);
    for sub in &info.subresources {
        let name = name::schema(&sub.group, &sub.version, &sub.kind);
        let sub = Paths { described, body: reference(&name), sub: Some(sub) };
        let verbs = ["get", "update", "patch", "create", "delete"].map(|verb| (verb, &sub.body, false));
        sub.add(paths, &format!("{item}/{}", sub.sub.map_or("", |sub| &sub.name)), &verbs);
    }
}

struct Paths<'a> {
    described: &'a Described,
    /// A reference to the schema of the request body.
    body: Value,
    sub: Option<&'a SubresourceInfo>,
}

/// A verb, the schema of its response, and whether it spans namespaces.
type Served<'a> = (&'a str, &'a Value, bool);

impl Paths<'_> {
    fn add(&self, paths: &mut Map<String, Value>, path: &str, served: &[Served<'_>]) {
        let verbs = self.sub.map_or(self.described.info.verbs, |sub| sub.verbs);
        let mut entry = Map::new();
        for (verb, answer, everywhere) in served.iter().filter(|(verb, ..)| verbs.contains(verb)) {
            entry.insert(method(verb).into(), self.operation(verb, answer, *everywhere));
        }
        if !entry.is_empty() {
            entry.insert("parameters".into(), parameter::of_path(&self.described.info.kind, path).into());
            paths.insert(path.into(), entry.into());
        }
    }

    fn operation(&self, verb: &str, answer: &Value, everywhere: bool) -> Value {
        let info = &self.described.info;
        let (action, id) = (action(verb), self.id(verb, everywhere));
        // A subresource of a custom resource has the kind of the resource, whatever kind it serves.
        let kind = match self.sub.filter(|_| self.described.info.built_in) {
            Some(sub) => json!({"group": sub.group, "version": sub.version, "kind": sub.kind}),
            None => self.described.gvk(&info.kind),
        };
        let mut operation = json!({
            "description": self.describe(verb),
            "operationId": id,
            "tags": [name::tag(&info.group, &info.version)],
            "parameters": parameter::of(action),
            "responses": responses(verb, info.built_in, answer),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        });
        if let Some(body) = self.request(verb) {
            operation["requestBody"] = body;
        }
        operation
    }

    fn id(&self, verb: &str, everywhere: bool) -> String {
        let info = &self.described.info;
        let scope = if info.namespaced && !everywhere { "Namespaced" } else { "" };
        let sub = self.sub.map_or("", |sub| &sub.name);
        let sub: String =
            sub.chars().enumerate().map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c }).collect();
        let everywhere = if everywhere { "ForAllNamespaces" } else { "" };
        let (verb, many) = match verb {
            "get" => ("read", ""),
            "update" => ("replace", ""),
            "deletecollection" => ("delete", "Collection"),
            verb => (verb, ""),
        };
        name::operation(
            verb,
            &info.group,
            &info.version,
            &format!("{many}{scope}{}{sub}{everywhere}", info.kind),
        )
    }

    fn describe(&self, verb: &str) -> String {
        let kind = &self.described.info.kind;
        let part = self.sub.map(|sub| format!("{} of ", sub.name)).unwrap_or_default();
        match verb {
            "list" => format!("List or watch objects of kind {kind}."),
            "create" => format!("Create {part}a {kind}."),
            "deletecollection" => format!("Delete objects of kind {kind}."),
            "get" => format!("Read {part}the {kind}."),
            "update" => format!("Replace {part}the {kind}."),
            "patch" => format!("Change fields of {part}the {kind}."),
            _ => format!("Delete {part}the {kind}."),
        }
    }

    fn request(&self, verb: &str) -> Option<Value> {
        let body = |schema: &Value, types: &[&str], required: bool| {
            let mut body = json!({"content": content(schema, types)});
            if required {
                body["required"] = true.into();
            }
            Some(body)
        };
        match verb {
            "create" | "update" => body(&self.body, BODIES, true),
            "patch" if self.described.info.built_in => body(&meta_reference("Patch"), &PATCHES, true),
            // Custom resources have no strategies of merging.
            "patch" => body(&meta_reference("Patch"), &PATCHES[..3], true),
            "delete" | "deletecollection" => body(&meta_reference("DeleteOptions"), BODIES, false),
            _ => None,
        }
    }
}

const BODIES: &[&str] = &["application/json", "application/yaml"];
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    patch::APPLY,
    "application/strategic-merge-patch+json",
];

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{PREFIX}{name}")})
}

fn method(verb: &str) -> &'static str {
    match verb {
        "create" => "post",
        "update" => "put",
        "patch" => "patch",
        "delete" | "deletecollection" => "delete",
        _ => "get",
    }
}

/// Returns Kubernetes' name of the action of an operation.
fn action(verb: &str) -> &str {
    match verb {
        "create" => "post",
        "update" => "put",
        verb => verb,
    }
}

fn content(schema: &Value, types: &[&str]) -> Value {
    types.iter().map(|media| ((*media).to_owned(), json!({"schema": schema}))).collect::<Map<_, _>>().into()
}

fn responses(verb: &str, built_in: bool, answer: &Value) -> Value {
    let mut responses = Map::new();
    let codes: &[(&str, &str)] = match verb {
        "create" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
        "patch" if !built_in => &[("200", "OK")],
        "update" | "patch" => &[("200", "OK"), ("201", "Created")],
        "delete" => &[("200", "OK"), ("202", "Accepted")],
        _ => &[("200", "OK")],
    };
    for (code, description) in codes {
        responses
            .insert((*code).into(), json!({"description": description, "content": content(answer, BODIES)}));
    }
    responses.insert("401".into(), json!({"description": "Unauthorized"}));
    responses.into()
}
