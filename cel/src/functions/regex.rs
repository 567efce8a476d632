//! Functions on regular expressions.

use std::borrow::Cow;

use super::Function;
use crate::eval::plan::Args;
use crate::pattern::Pattern;
use crate::value::{Failure, Val, no_overload};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "matches" => |args| {
            let (pattern, text) = parts(args)?;
            Ok(Val::Bool(pattern.matches(text)))
        },
        "find" => |args| {
            let (pattern, text) = parts(args)?;
            Ok(Val::text(pattern.find_all(text).next().unwrap_or_default()))
        },
        "findAll" => |args| {
            let most = match args.values.get(2) {
                None => usize::MAX,
                Some(Val::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
                Some(_) => return no_overload(),
            };
            let (pattern, text) = parts(args)?;
            Ok(Val::list(pattern.find_all(text).take(most).map(Val::text).collect()))
        },
        _ => return None,
    })
}

fn parts<'s>(args: &'s Args<'_, '_>) -> Result<(Cow<'s, Pattern>, &'s str), Failure> {
    let [Val::String(text), Val::String(pattern), ..] = args.values else {
        return Err(Failure::Error("no such overload".to_owned()));
    };
    let pattern = match args.pattern {
        Some(pattern) => Cow::Borrowed(pattern),
        None => {
            let parsed = Pattern::parse_at_run(pattern.as_str());
            Cow::Owned(parsed.map_err(|error| Failure::Error(error.to_string()))?)
        }
    };
    Ok((pattern, text.as_str()))
}
