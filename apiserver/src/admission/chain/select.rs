//! Decides whether a webhook is called, and with which version and attributes.

use std::sync::Arc;

use machinery_cel::ResourceAttributes;
use machinery_sync::Swap;

use super::{AdmissionChain, ReviewedObjects, name};
use crate::admission::authorizer::RbacAuthorizer;
use crate::admission::conditions::ConditionAuthorizer;
use crate::admission::matching::{ReviewVersion, RuleInput, matched, selects};
use crate::admission::services::{AdmissionReads, AdmissionServices, Remarks};
use crate::admission::webhook::Webhook;
use crate::admission::{Admission, Attributes, Operation};
use crate::cache::StoredLabels;
use crate::kind::Subresource;
use crate::refusal::Refusal;
use crate::storage::{Moment, Place};
use crate::strategy::not_found;

impl<'a> AdmissionChain<'a> {
    /// Returns the version to call a webhook with, or none.
    pub(super) async fn matches(
        &self,
        webhook: &Webhook,
        objects: &ReviewedObjects<'_>,
    ) -> Result<Option<ReviewVersion>, Refusal> {
        let attributes = self.attributes(objects);
        let is_namespace = attributes.resource == "namespaces" && attributes.group.is_empty();
        let about = RuleInput {
            operation: self.operation,
            group: attributes.group,
            version: attributes.version,
            resource: attributes.resource,
            subresource: attributes.subresource,
            is_in_namespace: attributes.namespace.is_some() && !is_namespace,
        };
        let Some(version) = matched(&webhook.rules, webhook.is_exact, &about, &self.equivalents) else {
            return Ok(None);
        };
        if !selects(&webhook.objects, [objects.object, objects.old]) {
            return Ok(None);
        }
        let selector = &webhook.namespaces;
        let selected = match attributes.namespace {
            _ if selector.is_everything() => true,
            // A namespace selector does not exempt cluster-scoped objects.
            None => true,
            Some(_)
                if is_namespace
                    && attributes.subresource.is_empty()
                    && self.operation != Operation::Delete =>
            {
                selects(selector, [objects.object, None])
            }
            Some(namespace) => {
                let key = Place::of("", "namespaces").key(None, namespace);
                let entry = self.request.shared.objects.get(&key, Moment::Newest).await?;
                let entry = entry.ok_or_else(|| not_found(&crate::native::namespace(), namespace))?;
                let labels = StoredLabels::of(&entry);
                selector.matches_by(|key| labels.as_ref()?.get(key))
            }
        };
        Ok(selected.then_some(version))
    }

    /// Returns the authorizer that match conditions use for this request.
    pub(super) fn condition_authorizer(&self, objects: &ReviewedObjects<'_>) -> ConditionAuthorizer {
        let attributes = self.attributes(objects);
        let resource = ResourceAttributes {
            group: attributes.group.to_owned(),
            resource: attributes.resource.to_owned(),
            subresource: attributes.subresource.to_owned(),
            namespace: attributes.namespace.unwrap_or_default().to_owned(),
            name: attributes.name.to_owned(),
            ..ResourceAttributes::default()
        };
        let rules = self.request.shared.rules.as_ref().map(Swap::load);
        let identity = self.request.identity.clone();
        ConditionAuthorizer { authorizer: Arc::new(RbacAuthorizer { rules, identity }), resource }
    }

    pub(super) fn attributes<'q>(&self, objects: &ReviewedObjects<'q>) -> Attributes<'q>
    where
        'a: 'q,
    {
        let (request, kind) = (self.request, self.request.kind);
        let known = objects.object.or(objects.old);
        let said = known.map(name).filter(|name| !name.is_empty()).unwrap_or(request.name);
        let is_namespace = kind.group.is_empty() && kind.names.plural == "namespaces";
        Attributes {
            user: request.identity,
            operation: self.operation,
            group: &kind.group,
            version: &kind.version,
            kind: if request.subresource == Subresource::Scale { "Scale" } else { &kind.names.kind },
            resource: &kind.names.plural,
            subresource: request.subresource.name().unwrap_or_default(),
            // Of the request: the sender controls the namespace in the object.
            namespace: if is_namespace { Some(said) } else { request.namespace },
            name: said,
            object: objects.object,
            old: objects.old,
            dry_run: self.dry_run,
            services: AdmissionServices::default(),
        }
    }

    /// Adds the services for a plugin.
    pub(super) fn with_services<'q>(
        &'q self,
        attributes: Attributes<'q>,
        plugin: &'q dyn Admission,
    ) -> Attributes<'q> {
        let remarks = self.request.notes.map(|notes| notes as &dyn Remarks);
        let reads = AdmissionReads::Store(&self.reads);
        let services = AdmissionServices { plugin: plugin.name(), remarks, reads: Some(reads) };
        Attributes { services, ..attributes }
    }
}
