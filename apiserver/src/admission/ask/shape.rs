//! What an object looks like to who is asked about it, and what becomes of what they make of it.

use serde_json::Value;

use super::{Asking, Came, name};
use crate::admission::matching::As;
use crate::admission::review::{Answer, internal};
use crate::admission::webhook::Webhook;
use crate::invalid::{FieldError, Problem, invalid};
use crate::kind::Subresource;
use crate::refusal::Refusal;
use crate::request::FieldValidation;

impl Asking<'_> {
    /// An object as it is told: where it is about how many, that alone.
    pub(super) fn shown(&self, object: &Value) -> Value {
        match self.matter.kind.scale.as_ref().filter(|_| self.matter.part == Subresource::Scale) {
            Some(scale) => scale.read(object),
            None => object.clone(),
        }
    }

    /// The same in the version that a webhook is for.
    pub(super) fn seen_as(&self, shown_as: &As, object: &Value) -> Value {
        let mut object = object.clone();
        if let As::Other(kind) = shown_as
            && self.matter.part != Subresource::Scale
        {
            kind.retell(&mut object);
        }
        object
    }

    /// What a webhook makes of an object, if anything.
    pub(super) fn made_of(
        &self,
        webhook: &Webhook,
        asked: &Came,
        shown_as: &As,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Option<Value>, Refusal> {
        let Came::Answered(Answer { patch: Some(patch), .. }) = asked else { return Ok(None) };
        let wrong = |refusal: Refusal| {
            let why = refusal.causes.first().map_or(&refusal.message, |cause| &cause.message);
            internal(&format!("admission webhook {:?}: {why}", webhook.name))
        };
        let patched = patch.apply(&self.seen_as(shown_as, object), None).map_err(wrong)?;
        if old.is_some() && name(&patched) != name(object) {
            return Err(self.renamed(name(&patched)));
        }
        let made = self.taken(patched, matches!(shown_as, As::Other(_)));
        made.map(Some).map_err(|why| if why.code == 422 { why } else { wrong(why) })
    }

    /// What somebody made, in the shape of its kind.
    pub(super) fn taken(&self, mut made: Value, in_another_version: bool) -> Result<Value, Refusal> {
        if self.matter.part == Subresource::Scale {
            return Ok(made);
        }
        if in_another_version {
            self.matter.kind.retell(&mut made);
        }
        Ok(self.matter.patched(made, Vec::new(), FieldValidation::Ignore)?.object)
    }

    /// The object with what became of that which was told.
    pub(super) fn put_back(&self, mut object: Value, shown: Value) -> Value {
        match self.matter.kind.scale.as_ref().filter(|_| self.matter.part == Subresource::Scale) {
            None => shown,
            Some(scale) => {
                let wanted = shown["spec"]["replicas"].as_i64().unwrap_or(0);
                if scale.wanted(&object).unwrap_or(0) != wanted {
                    scale.set(&mut object, wanted);
                }
                object
            }
        }
    }

    /// 422, as it is said of whatever is as it is for as long as the object lives: once for all kinds and once for each.
    pub(super) fn renamed(&self, name: &str) -> Refusal {
        let kind = self.matter.kind;
        let why = || FieldError::new("metadata.name", Problem::Invalid(name.into()), "field is immutable");
        invalid(&kind.group, &kind.names.kind, name, &[why(), why()])
    }
}
