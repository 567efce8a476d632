//! Places in a body: JSON pointers, where `name=x` is the element of an array that has this field,
//! and `*` is every one.

use serde_json::Value;

/// Returns the value at a path.
pub(crate) fn find<'a>(value: &'a Value, place: &str) -> Option<&'a Value> {
    parts(place).try_fold(value, |value, part| match value {
        Value::Object(fields) => fields.get(&part),
        Value::Array(items) => {
            items.iter().enumerate().find(|(at, it)| picks(&part, *at, it)).map(|(_, it)| it)
        }
        _ => None,
    })
}

/// Removes the value at a path.
pub(crate) fn remove(value: &mut Value, place: &str) {
    let parts: Vec<_> = parts(place).collect();
    remove_at(value, &parts);
}

fn remove_at(value: &mut Value, parts: &[String]) {
    let Some((first, rest)) = parts.split_first() else { return };
    match value {
        Value::Object(fields) if rest.is_empty() => drop(fields.remove(first)),
        Value::Object(fields) => fields.get_mut(first).into_iter().for_each(|it| remove_at(it, rest)),
        Value::Array(items) => {
            for at in (0..items.len()).rev() {
                if !picks(first, at, &items[at]) {
                    continue;
                }
                if rest.is_empty() {
                    items.remove(at);
                } else {
                    remove_at(&mut items[at], rest);
                }
            }
        }
        _ => {}
    }
}

fn parts(place: &str) -> impl Iterator<Item = String> {
    place.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"))
}

fn picks(part: &str, at: usize, item: &Value) -> bool {
    if part == "*" {
        return true;
    }
    let Some((field, expected)) = part.split_once('=') else { return part.parse() == Ok(at) };
    let found = field.split('.').try_fold(item, |item, key| item.get(key));
    found.is_some_and(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned) == expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body() -> Value {
        json!({"a/b": 1, "items": [{"m": {"name": "x"}, "n": 1}, {"m": {"name": "y"}, "n": 2}]})
    }

    fn check(place: &str, expected: Option<Value>) {
        assert_eq!(find(&body(), place), expected.as_ref(), "{place}");
    }

    #[test]
    fn a_place_is_a_pointer_that_can_search() {
        check("", Some(body()));
        check("/a~1b", Some(json!(1)));
        check("/items/1/n", Some(json!(2)));
        check("/items/m.name=y/n", Some(json!(2)));
        check("/items/n=1/m/name", Some(json!("x")));
        check("/items/m.name=z", None);
        check("/a~1b/c", None);
    }

    #[test]
    fn ignored_paths_are_removed() {
        let mut value = body();
        remove(&mut value, "/items/*/m");
        remove(&mut value, "/items/n=1");
        remove(&mut value, "/nothing/there");
        assert_eq!(value, json!({"a/b": 1, "items": [{"n": 2}]}));
    }
}
