//! A value as the text of a cell.

use serde_json::{Number, Value};

/// Texts as they are, numbers as Go prints them, lists and maps as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".into(),
        Value::String(text) => text.clone(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(number) => number_shown(number),
        // Go's encoder escapes characters of HTML markup.
        Value::Array(_) | Value::Object(_) => value
            .to_string()
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029"),
    }
}

fn number_shown(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(broken)) => float_shown(broken),
        (None, None) => number.to_string(),
    }
}

/// The fewest digits, with an exponent only below 1e-4 and from 1e21.
fn float_shown(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(power) if !(-4..21).contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.abs())
        }
        _ => format!("{float}"),
    }
}
