//! Whether what is told is of interest: found out from the bytes of the object itself, and not by the index that chose it.

use machinery_objects::{InterestBy, NAME, NAMESPACE, Requirement};
use machinery_store::Entry;
use serde_json::Value;

use super::keys::Keys;
use crate::cache::{By, Wanted};
use crate::invalid::{FieldError, Problem, invalid};
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::request::unsupported;
use crate::strategy::{meta_text, metadata};
use crate::verbs::output::read;

/// What the keys are values of, to the cache. 400 if the kind is not selected by that; 422 if they would be found only by
/// looking at everything.
pub(crate) fn by(by: &InterestBy, kind: &Kind, namespace: Option<&str>) -> Result<By, Refusal> {
    match by {
        InterestBy::Label(label) => match Requirement::exists(label) {
            Ok(_) => Ok(By::Label(label.clone())),
            Err(error) => Err(Refusal::bad_request(format!("{label:?} can be no label: {error}"))),
        },
        InterestBy::Field(field) => match &**field {
            NAME if kind.namespaced && namespace.is_none() => {
                let why = "a name is one of a namespace: ask below the path of one";
                let error = FieldError::new("by", Problem::Invalid(NAME.into()), why);
                Err(invalid("", "Interest", "", &[error]))
            }
            NAME => Ok(By::Name),
            NAMESPACE if kind.namespaced => Ok(By::Namespace),
            field => {
                let at = kind.selectable.iter().position(|selectable| selectable.field == field);
                at.map(By::Field).ok_or_else(|| Refusal::bad_request(unsupported(field)))
            }
        },
    }
}

/// What an interest is of just now, as its client said it.
pub(super) struct Witness {
    pub(super) by: InterestBy,
    pub(super) wanted: Wanted,
    pub(super) keys: Keys,
}

impl Witness {
    pub(super) fn sees(&self, entry: &Entry) -> bool {
        let selection = &self.wanted.selection;
        let (namespace, _) = selection.kind.place.names(&entry.key);
        if self.wanted.namespace.as_deref().is_some_and(|only| namespace != Some(only)) {
            return false;
        }
        let Ok(object) = read(&selection.kind, entry, entry.modified) else { return false };
        self.key(&object).is_some_and(|key| self.keys.contains(&key)) && selection.matches(&object)
    }

    /// What an object is under.
    fn key(&self, object: &Value) -> Option<String> {
        match &self.by {
            InterestBy::Label(label) => {
                metadata(object).get("labels")?.get(&**label)?.as_str().map(str::to_owned)
            }
            InterestBy::Field(field) => match &**field {
                NAME => Some(meta_text(object, "name").to_owned()),
                NAMESPACE => Some(meta_text(object, "namespace").to_owned()),
                field => self.wanted.selection.kind.field(object, field),
            },
        }
    }
}
