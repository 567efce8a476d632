//! Lists and maps that are written out have items of one type, but where they are formatted.

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

/// Reports what is of another type than the first; `once`, only the first that is.
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
        // The names of objects are their identity, so types that are shown the same are.
        let (expected, found) = (expected.to_string(), ty.to_string());
        if expected != found {
            errors.push(node.at, Problem::Mismatch { expected, found });
            if once {
                return;
            }
        }
    }
}
