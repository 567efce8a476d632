//! Decides whether a webhook is called, and with which version and attributes.

use std::sync::Arc;

use machinery_cel::Resource;
use machinery_sync::Swap;

use super::{Asking, Question, name};
use crate::admission::authorizer::ByRules;
use crate::admission::conditions::Asked;
use crate::admission::matching::{About, As, matched, selects};
use crate::admission::webhook::Webhook;
use crate::admission::{Attributes, Operation};
use crate::cache::Labelled;
use crate::kind::Subresource;
use crate::refusal::Refusal;
use crate::storage::{Moment, Place};
use crate::strategy::not_found;

impl<'a> Asking<'a> {
    /// Returns the version to call a webhook with, or none.
    pub(super) async fn matches(
        &self,
        webhook: &Webhook,
        question: &Question<'_>,
    ) -> Result<Option<As>, Refusal> {
        let asked = self.attributes(question);
        let is_namespace = asked.resource == "namespaces" && asked.group.is_empty();
        let about = About {
            operation: self.operation,
            group: asked.group,
            version: asked.version,
            resource: asked.resource,
            subresource: asked.subresource,
            is_in_namespace: asked.namespace.is_some() && !is_namespace,
        };
        let Some(shown_as) = matched(&webhook.rules, webhook.is_exact, &about, &self.others) else {
            return Ok(None);
        };
        if !selects(&webhook.objects, [question.object, question.old]) {
            return Ok(None);
        }
        let selector = &webhook.namespaces;
        let selected = match asked.namespace {
            _ if selector.is_everything() => true,
            // A namespace selector does not exempt cluster-scoped objects.
            None => true,
            Some(_)
                if is_namespace && asked.subresource.is_empty() && self.operation != Operation::Delete =>
            {
                selects(selector, [question.object, None])
            }
            Some(namespace) => {
                let key = Place::of("", "namespaces").key(None, namespace);
                let entry = self.matter.shared.objects.get(&key, Moment::Newest).await?;
                let entry = entry.ok_or_else(|| not_found(&crate::native::namespace(), namespace))?;
                let labels = Labelled::of(&entry);
                selector.matches_by(|key| labels.as_ref()?.get(key))
            }
        };
        Ok(selected.then_some(shown_as))
    }

    /// Returns the authorizer that match conditions use for this request.
    pub(super) fn asked(&self, question: &Question<'_>) -> Asked {
        let attributes = self.attributes(question);
        let resource = Resource {
            group: attributes.group.to_owned(),
            resource: attributes.resource.to_owned(),
            subresource: attributes.subresource.to_owned(),
            namespace: attributes.namespace.unwrap_or_default().to_owned(),
            name: attributes.name.to_owned(),
            ..Resource::default()
        };
        let rules = self.matter.shared.rules.as_ref().map(Swap::load);
        let identity = self.matter.identity.clone();
        Asked { authorizer: Arc::new(ByRules { rules, identity }), resource }
    }

    pub(super) fn attributes<'q>(&self, question: &Question<'q>) -> Attributes<'q>
    where
        'a: 'q,
    {
        let (matter, kind) = (self.matter, self.matter.kind);
        let known = question.object.or(question.old);
        let said = known.map(name).filter(|name| !name.is_empty()).unwrap_or(matter.name);
        let is_namespace = kind.group.is_empty() && kind.names.plural == "namespaces";
        Attributes {
            user: matter.identity,
            operation: self.operation,
            group: &kind.group,
            version: &kind.version,
            kind: if matter.part == Subresource::Scale { "Scale" } else { &kind.names.kind },
            resource: &kind.names.plural,
            subresource: matter.part.subresource().unwrap_or_default(),
            // Of the request: the sender controls the namespace in the object.
            namespace: if is_namespace { Some(said) } else { matter.namespace },
            name: said,
            object: question.object,
            old: question.old,
            dry_run: self.dry_run,
        }
    }
}
