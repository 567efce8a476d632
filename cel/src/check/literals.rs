//! Checks that items of list and map literals have one type, except as arguments of `format`.

use super::Checked;
use crate::error::{Errors, Problem};
use crate::syntax::ast::{Node, NodeKind};
use crate::types::Type;

pub(super) fn check(checked: &Checked, node: &Node, errors: &mut Errors) {
    match &node.kind {
        NodeKind::Call(call) if &*call.function == "format" => return,
        NodeKind::List(list) => {
            let items = list.items.iter().zip(list.optional.iter().copied());
            same(checked, items, true, errors);
        }
        NodeKind::Map(entries) => {
            same(checked, entries.iter().map(|it| (&it.key, false)), false, errors);
            same(checked, entries.iter().map(|it| (&it.value, it.optional)), false, errors);
        }
        _ => {}
    }
    node.children().into_iter().for_each(|it| check(checked, it, errors));
}

/// Reports items of another type than the first; with `once`, only the first such item.
fn same<'n>(
    checked: &Checked,
    nodes: impl Iterator<Item = (&'n Node, bool)>,
    once: bool,
    errors: &mut Errors,
) {
    let mut first: Option<Type> = None;
    for (node, optional) in nodes {
        let ty = match checked.ty(node) {
            Type::Optional(inner) if optional => (**inner).clone(),
            ty => ty.clone(),
        };
        let Some(expected) = &first else {
            first = Some(ty);
            continue;
        };
        // Object types are identified by name, so equal texts mean equal types.
        let (expected, found) = (expected.to_string(), ty.to_string());
        if expected != found {
            errors.push(node.at, Problem::Mismatch { expected, found });
            if once {
                return;
            }
        }
    }
}
