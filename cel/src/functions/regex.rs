//! Regular expressions: RE2's language, which the regex crate's is close to, in time that is linear in the text.

use regex::{Regex, RegexBuilder};

use super::Function;
use crate::eval::plan::Args;
use crate::limits::REGEX_BYTES;
use crate::value::{Failure, Val, no_overload};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "matches" => |args| {
            let (regex, text) = parts(args)?;
            Ok(Val::Bool(regex.is_match(text)))
        },
        "find" => |args| {
            let (regex, text) = parts(args)?;
            Ok(Val::text(regex.find(text).map_or("", |it| it.as_str())))
        },
        "findAll" => |args| {
            let most = match args.values.get(2) {
                None => usize::MAX,
                Some(Val::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
                Some(_) => return no_overload(),
            };
            let (regex, text) = parts(args)?;
            Ok(Val::list(regex.find_iter(text).take(most).map(|it| Val::text(it.as_str())).collect()))
        },
        _ => return None,
    })
}

fn parts<'s>(args: &'s Args<'_, '_>) -> Result<(std::borrow::Cow<'s, Regex>, &'s str), Failure> {
    let [Val::String(text), Val::String(pattern), ..] = args.values else {
        return Err(Failure::Error("no such overload".to_owned()));
    };
    let regex = match args.regex {
        Some(regex) => std::borrow::Cow::Borrowed(regex),
        None => std::borrow::Cow::Owned(compile(pattern.as_str())?),
    };
    Ok((regex, text.as_str()))
}

pub(crate) fn compile(pattern: &str) -> Result<Regex, Failure> {
    let built = RegexBuilder::new(pattern).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build();
    built.map_err(|_| Failure::Error(format!("error parsing regexp: `{pattern}`")))
}
