//! Variables of cases: `${name}` is a text of the theme, a saved value of an answer, or a repeated
//! text.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Result;

/// Variables and their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(pub(crate) BTreeMap<String, String>);

impl Names {
    pub(crate) fn set(&mut self, name: &str, text: String) {
        self.0.insert(name.into(), text);
    }

    /// Expands variables `${…}` in a text, recursively.
    pub(crate) fn expand(&self, text: &str) -> Result<String> {
        let mut whole = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or_else(|| format!("no `}}` in {text}"))?;
            whole += before;
            whole += &self.meaning(name)?;
            rest = after;
        }
        whole += rest;
        Ok(whole)
    }

    /// Expands all texts of a value, keys too.
    pub(crate) fn expand_in(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => self.expand(text)?.into(),
            Value::Array(items) => items.iter().map(|it| self.expand_in(it)).collect::<Result<_>>()?,
            Value::Object(fields) => {
                let field = |(key, it): (&String, &Value)| Ok((self.expand(key)?, self.expand_in(it)?));
                Value::Object(fields.iter().map(field).collect::<Result<_>>()?)
            }
            other => other.clone(),
        })
    }

    fn meaning(&self, name: &str) -> Result<String> {
        if let Some((text, times)) = name.strip_prefix("repeat:").and_then(|it| it.rsplit_once(':')) {
            let times: usize = times.parse().map_err(|_| format!("how often is {times}?"))?;
            return Ok(text.repeat(times));
        }
        let text = self.0.get(name).ok_or_else(|| format!("nothing is called {name} here"))?;
        self.expand(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let mut names = Names::default();
        names.set("ns", "n1".into());
        names.set("path", "/x/${ns}/y".into());
        assert_eq!(names.expand(text).ok().as_deref(), expected, "{text}");
    }

    #[test]
    fn names_stand_for_texts() {
        check("no names", Some("no names"));
        check("GET ${path}?a=${ns}", Some("GET /x/n1/y?a=n1"));
        check("[${repeat:ab:3}]", Some("[ababab]"));
        check("${unknown}", None);
        check("${ns", None);
        check("${repeat:a:b}", None);
    }
}
