//! Building of authorization checks: `authorizer.group('').resource('pods').check('get')`.

use std::sync::Arc;

use super::Function;
use super::named_format::{is_label, is_subdomain};
use super::opaque::Opaque;
use crate::authorizer::{BoundAuthorizer, CheckTarget, Decision, ResourceAttributes, ServiceAccount};
use crate::value::{Outcome, Val, fail, no_overload};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "path" => |args| match parts(args.values) {
            Some((Opaque::Authorizer(_), path)) if path.trim().is_empty() => fail("path must not be empty"),
            Some((Opaque::Authorizer(it), path)) => made(Opaque::PathCheck(it.clone(), path.into())),
            _ => no_overload(),
        },
        "group" => |args| match parts(args.values) {
            Some((Opaque::Authorizer(it), group)) => made(Opaque::GroupCheck(it.clone(), group.into())),
            _ => no_overload(),
        },
        "serviceAccount" => |args| service_account(args.values),
        "resource" => |args| match parts(args.values) {
            Some((Opaque::GroupCheck(..), resource)) if resource.trim().is_empty() => {
                fail("resource must not be empty")
            }
            Some((Opaque::GroupCheck(it, group), resource)) => {
                let (group, resource) = (group.clone(), resource.into());
                made(Opaque::ResourceCheck(
                    it.clone(),
                    ResourceAttributes { group, resource, ..ResourceAttributes::default() },
                ))
            }
            _ => no_overload(),
        },
        "subresource" => |args| narrowed(args.values, |it| &mut it.subresource),
        "namespace" => |args| narrowed(args.values, |it| &mut it.namespace),
        "name" => |args| narrowed(args.values, |it| &mut it.name),
        "fieldSelector" => |args| narrowed(args.values, |it| &mut it.field_selector),
        "labelSelector" => |args| narrowed(args.values, |it| &mut it.label_selector),
        "check" => |args| match parts(args.values) {
            Some((Opaque::PathCheck(it, path), verb)) => {
                made(Opaque::Decision(it.ask(verb, CheckTarget::Path(path.clone()))))
            }
            Some((Opaque::ResourceCheck(it, resource), verb)) => {
                made(Opaque::Decision(it.ask(verb, CheckTarget::Resource(resource.clone()))))
            }
            _ => no_overload(),
        },
        "allowed" => |args| decision(args.values, |it| Val::Bool(it.allowed)),
        "reason" => |args| decision(args.values, |it| Val::text(it.reason.as_str())),
        "errored" => |args| decision(args.values, |it| Val::Bool(it.error.is_some())),
        "error" => |args| decision(args.values, |it| Val::text(it.error.as_deref().unwrap_or_default())),
        _ => return None,
    })
}

fn made<'a>(value: Opaque) -> Outcome<'a> {
    Ok(Val::Opaque(Arc::new(value)))
}

fn parts<'v>(values: &'v [Val<'_>]) -> Option<(&'v Opaque, &'v str)> {
    match values {
        [Val::Opaque(it), Val::String(text)] => Some((it, text.as_str())),
        _ => None,
    }
}

fn narrowed<'a>(values: &[Val<'a>], field: fn(&mut ResourceAttributes) -> &mut String) -> Outcome<'a> {
    match parts(values) {
        Some((Opaque::ResourceCheck(it, resource), text)) => {
            let mut resource = resource.clone();
            text.clone_into(field(&mut resource));
            made(Opaque::ResourceCheck(it.clone(), resource))
        }
        _ => no_overload(),
    }
}

fn service_account<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Opaque(it), Val::String(namespace), Val::String(name)] = values else { return no_overload() };
    let Opaque::Authorizer(asker) = &**it else { return no_overload() };
    let (namespace, name) = (namespace.as_str(), name.as_str());
    if name.len() > 253 || !is_subdomain(name) {
        return fail("Invalid service account name");
    }
    if namespace.len() > 63 || !is_label(namespace) {
        return fail("Invalid service account namespace");
    }
    let account = Some(ServiceAccount { namespace: namespace.into(), name: name.into() });
    made(Opaque::Authorizer(BoundAuthorizer { authorizer: asker.authorizer.clone(), account }))
}

fn decision<'a>(values: &[Val<'a>], of: fn(&Decision) -> Val<'a>) -> Outcome<'a> {
    match values {
        [Val::Opaque(it)] => match &**it {
            Opaque::Decision(it) => Ok(of(it)),
            _ => no_overload(),
        },
        _ => no_overload(),
    }
}
