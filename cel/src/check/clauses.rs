//! Checks the clauses of `'%d'.format([x])` with literal arguments: each must be valid, and match
//! the type of its argument.

use super::Checked;
use crate::error::{Errors, Problem};
use crate::syntax::ast::{ListLiteral, Literal, Node, NodeKind};
use crate::types::Type;

pub(super) fn check(checked: &Checked, node: &Node, errors: &mut Errors) {
    if let NodeKind::Call(call) = &node.kind
        && &*call.function == "format"
        && let Some(NodeKind::Literal(Literal::String(text))) = call.target.as_ref().map(|it| &it.kind)
        && let [Node { kind: NodeKind::List(args), .. }] = call.args.as_slice()
        && let Err((at, why)) = clauses(checked, text, args)
    {
        errors.push(at.unwrap_or(node.at), Problem::Other(why));
    }
    node.children().into_iter().for_each(|it| check(checked, it, errors));
}

/// An error at an argument, or of the whole call.
type Wrong = (Option<u32>, String);

fn clauses(checked: &Checked, text: &str, args: &ListLiteral) -> Result<(), Wrong> {
    let wrong = |why: String| Err((None, why));
    let mut taken = 0;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('%') {
        if let Some(after) = after.strip_prefix('%') {
            rest = after;
            continue;
        }
        if after.is_empty() {
            return wrong("unexpected end of string".into());
        }
        let Some(arg) = args.items.get(taken) else {
            return wrong(format!("index {taken} out of range"));
        };
        taken += 1;
        let after = precision(after).map_err(|why| {
            (None, format!("could not parse formatting clause: error while parsing precision: {why}"))
        })?;
        // The clause is read by bytes, also within a multi-byte character.
        let clause = char::from(after.as_bytes().first().copied().unwrap_or_default());
        let fits = match clause {
            's' => unshown(checked, arg).map_or(Ok(()), |at| Err((at, STRING))),
            'd' => {
                one_of(checked, arg, &[Type::Int, Type::Uint], "decimal clause can only be used on integers")
            }
            'f' => one_of(
                checked,
                arg,
                &[Type::Double, Type::String],
                "fixed-point clause can only be used on doubles",
            ),
            'e' => one_of(
                checked,
                arg,
                &[Type::Double, Type::String],
                "scientific clause can only be used on doubles",
            ),
            'b' => one_of(
                checked,
                arg,
                &[Type::Int, Type::Uint, Type::Bool],
                "only integers and bools can be formatted as binary",
            ),
            'o' => {
                one_of(checked, arg, &[Type::Int, Type::Uint], "octal clause can only be used on integers")
            }
            'x' | 'X' => one_of(
                checked,
                arg,
                &[Type::Int, Type::Uint, Type::String, Type::Bytes],
                "only integers, byte buffers, and strings can be formatted as hex",
            ),
            other => {
                return wrong(format!(
                    "could not parse formatting clause: unrecognized formatting clause \"{other}\""
                ));
            }
        };
        if let Err((at, why)) = fits {
            let found = checked.ty(at).name();
            return Err((Some(at.at), format!("error during formatting: {why}, was given {found}")));
        }
        rest = &after[1..];
    }
    match args.items.len() {
        given if given > taken => {
            wrong(format!("too many arguments supplied to string.format (expected {taken}, got {given})"))
        }
        _ => Ok(()),
    }
}

const STRING: &str = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";

type Fits<'n> = Result<(), (&'n Node, &'static str)>;

fn one_of<'n>(checked: &Checked, arg: &'n Node, types: &[Type], why: &'static str) -> Fits<'n> {
    let ty = checked.ty(arg);
    if *ty == Type::Dyn || types.contains(ty) { Ok(()) } else { Err((arg, why)) }
}

/// Returns the first part of a value that cannot be formatted as a string.
fn unshown<'n>(checked: &Checked, arg: &'n Node) -> Option<&'n Node> {
    if matches!(checked.ty(arg), Type::Object(_) | Type::Optional(_) | Type::Opaque(_) | Type::Error) {
        return Some(arg);
    }
    match &arg.kind {
        NodeKind::List(list) => list.items.iter().find_map(|item| unshown(checked, item)),
        NodeKind::Map(entries) => entries
            .iter()
            .find_map(|entry| unshown(checked, &entry.key).or_else(|| unshown(checked, &entry.value))),
        _ => None,
    }
}

/// Returns the text after a precision such as `.3`.
fn precision(text: &str) -> Result<&str, String> {
    let Some(after) = text.strip_prefix('.') else { return Ok(text) };
    let end = after.find(|c: char| !c.is_ascii_digit()).ok_or("could not find end of precision specifier")?;
    let digits = &after[..end];
    let converted = |why: &str| {
        format!("error while converting precision to integer: strconv.Atoi: parsing {digits:?}: {why}")
    };
    match digits.parse::<i64>() {
        Ok(_) => Ok(&after[end..]),
        Err(_) if digits.is_empty() => Err(converted("invalid syntax")),
        Err(_) => Err(converted("value out of range")),
    }
}
