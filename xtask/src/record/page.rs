//! Readable JSON: a value that fits on a line is one line.

use serde_json::{Map, Value};

const WIDTH: usize = 120;
const STEP: usize = 2;

/// Formats a value as text, with a newline at the end.
pub(crate) fn page(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, 0, &mut text);
    text.push('\n');
    text
}

/// Appends a value; `used` is the number of columns already written on the line.
fn write(value: &Value, indent: usize, used: usize, text: &mut String) {
    let line = line(value);
    if used + line.len() <= WIDTH {
        *text += &line;
        return;
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| (String::new(), item));
            write_within(('[', ']'), items, indent, text);
        }
        Value::Object(fields) if !fields.is_empty() => {
            let fields =
                ordered(fields).map(|(key, value)| (format!("{}: ", Value::from(key.as_str())), value));
            write_within(('{', '}'), fields, indent, text);
        }
        _ => *text += &line,
    }
}

fn write_within<'a>(
    (open, close): (char, char),
    items: impl Iterator<Item = (String, &'a Value)>,
    indent: usize,
    text: &mut String,
) {
    let within = indent + STEP;
    text.push(open);
    for (at, (key, value)) in items.enumerate() {
        if at > 0 {
            text.push(',');
        }
        *text += "\n";
        *text += &" ".repeat(within);
        *text += &key;
        write(value, within, within + key.len() + 1, text);
    }
    *text += "\n";
    *text += &" ".repeat(indent);
    text.push(close);
}

/// Fields in the order of their names; in an exchange, the request first and the body last.
fn ordered(fields: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let is_answer = fields.contains_key("to");
    let place = move |key: &str| match key {
        "to" | "print" | "server" => 0,
        "status" if is_answer => 1,
        "headers" if is_answer => 2,
        _ => 3,
    };
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| place(key));
    fields.into_iter()
}

fn line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), line(value));
            format!("{{{}}}", ordered(fields).map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: &Value, expected: &str) {
        let text = page(value);
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *value);
    }

    #[test]
    fn a_short_value_is_one_line() {
        check(&json!({"a": [1, "x"], "b": {}}), "{\"a\": [1, \"x\"], \"b\": {}}\n");
    }

    #[test]
    fn an_exchange_begins_with_its_request() {
        let expected = "{\"to\": \"GET /\", \"status\": 200, \"headers\": {}, \"body\": 1}\n";
        check(&json!({"body": 1, "headers": {}, "status": 200, "to": "GET /"}), expected);
    }

    #[test]
    fn a_long_value_is_broken_at_the_outer_level() {
        let long = "x".repeat(100);
        let expected = format!("{{\n  \"a\": [1, 2],\n  \"b\": \"{long}\"\n}}\n");
        check(&json!({"a": [1, 2], "b": long}), &expected);
    }
}
