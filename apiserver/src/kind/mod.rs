//! Kinds are data: names, a shape, columns, and the few things that are different about one.

mod hooks;
mod lists;
mod registry;
mod scale;
mod shape;

pub(crate) use hooks::{Hooks, Part, Plain};
pub(crate) use registry::Registry;
pub(crate) use scale::Scale;
pub(crate) use shape::Checked;

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::{NameRule, Revision};
use serde_json::Value;
use tokio::sync::SetOnce;

use crate::builtin::Type;
use crate::discovery::TERMINATING_VERBS;
use crate::schema::Schema;
use crate::storage::Place;
use crate::table::Columns;

/// A kind in one of its versions.
pub(crate) struct Kind {
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    /// As objects have it: `v1`, or `example.com/v1`.
    pub(crate) api_version: String,
    pub(crate) names: Names,
    pub(crate) namespaced: bool,
    /// Whether it comes with the server: what its objects are need not be said in them.
    pub(crate) built_in: bool,
    pub(crate) shape: Shape,
    /// Whether status is written apart from the rest.
    pub(crate) has_status: bool,
    /// Where it says how many, if that can be asked for by itself.
    pub(crate) scale: Option<Scale>,
    /// Whether a generation counts the changes of what is wanted.
    pub(crate) has_generation: bool,
    /// Whether an update may come without a revision, and then replaces whatever is there.
    pub(crate) may_overwrite: bool,
    pub(crate) name_rule: NameRule,
    pub(crate) columns: Columns,
    /// Fields besides name and namespace that it is selected by, each with where it is.
    pub(crate) selectable: Vec<Selectable>,
    pub(crate) verbs: &'static [&'static str],
    /// Says apart what is stored under one shape from what is stored under another.
    pub(crate) print: u64,
    pub(crate) replaced: Replaced,
    /// The kind in the version that is stored, where that is another one.
    pub(crate) stored: Option<Arc<Kind>>,
    /// What it is in each of its versions, this one perhaps included: there is nobody who wrote in any other.
    pub(crate) forms: Arc<Forms>,
    /// What whoever uses this version should know.
    pub(crate) deprecation: Option<String>,
    /// Where the definition is that it is made by. None: it is there always.
    pub(crate) definition: Option<Arc<str>>,
    /// Whether it goes: nothing new can be created.
    pub(crate) goes: bool,
    /// What is asked by creating one, if nothing is stored then.
    pub(crate) review: Option<Review>,
    /// Whether its objects are kinds.
    pub(crate) defines_kinds: bool,
    /// Whether a deletion is answered with what was deleted, and not with a status.
    pub(crate) answers_deleted: bool,
    pub(crate) place: Place,
    pub(crate) hooks: Arc<dyn Hooks>,
}

/// Set when there is another kind in a kind's place, or none: to the last revision that it was there. Who watches it has to
/// begin anew.
pub(crate) type Replaced = Arc<SetOnce<Revision>>;

/// What it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
}

/// A question about access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// Who am I?
    Oneself,
    /// What may I do?
    OwnRules,
    /// May I?
    OwnAccess,
    /// May they?
    Access,
    /// Whose is this token?
    Token,
}

/// What a kind is in its versions, by what objects of them have as `apiVersion`.
pub(crate) type Forms = BTreeMap<String, Form>;

/// A kind in a version, as far as who owns what goes by it.
pub(crate) struct Form {
    pub(crate) shape: Shape,
    pub(crate) hooks: Arc<dyn Hooks>,
}

/// Which fields there are.
#[derive(Clone)]
pub(crate) enum Shape {
    /// By the schema of its definition.
    Custom(Arc<Schema>),
    /// By the table of Kubernetes' own types.
    Typed(&'static Type),
}

/// A field by which objects are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selectable {
    /// As selectors name it: `spec.color`.
    pub(crate) field: String,
    pub(crate) path: Vec<String>,
}

impl Kind {
    /// `widgets.example.com`, as messages say it.
    pub(crate) fn resource(&self) -> String {
        match &*self.group {
            "" => self.names.plural.clone(),
            group => format!("{}.{group}", self.names.plural),
        }
    }

    /// The value of a field that this kind is selected by; absent ones are empty.
    pub(crate) fn field(&self, object: &Value, field: &str) -> Option<String> {
        let selectable = self.selectable.iter().find(|selectable| selectable.field == field)?;
        let value = selectable.path.iter().try_fold(object, |value, name| value.get(name));
        Some(match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        })
    }

    /// In the version that is stored.
    pub(crate) fn home(&self) -> &Self {
        self.stored.as_deref().unwrap_or(self)
    }

    /// What can be done with its objects just now, as discovery tells it.
    pub(crate) fn told_verbs(&self) -> &'static [&'static str] {
        if self.goes { TERMINATING_VERBS } else { self.verbs }
    }

    /// Whether its objects are in protobuf for who asks for it.
    pub(crate) const fn has_messages(&self) -> bool {
        matches!(self.shape, Shape::Typed(_))
    }

    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }
}
