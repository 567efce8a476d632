use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MAX_DEPTH, MAX_VALUES, MalformedJson, read};

fn check(text: impl AsRef<[u8]>, expected: Value) {
    let read = read(text.as_ref()).unwrap();
    assert_eq!(read.value, expected);
    assert_eq!(read.value.to_string(), expected.to_string());
    assert_eq!(read.duplicates, Vec::<String>::new());
}

fn refused(text: impl AsRef<[u8]>, why: &str) {
    assert_eq!(read(text.as_ref()).unwrap_err().to_string(), why);
}

fn duplicates(text: &str, expected: &[&str]) {
    assert_eq!(read(text.as_bytes()).unwrap().duplicates, expected);
}

#[test]
fn json_values_are_parsed() {
    check(" {\t}\r\n", json!({}));
    check("[ ]", json!([]));
    check(
        r#"{"a": [1, true, false, null, "x"], "b": {"c": {}}}"#,
        json!({"a": [1, true, false, null, "x"], "b": {"c": {}}}),
    );
    check("null", Value::Null);
}

#[test]
fn numbers_are_those_of_go() {
    check("-0", json!(0));
    check("9223372036854775807", json!(i64::MAX));
    check("-9223372036854775808", json!(i64::MIN));
    check("1e3", json!(1000));
    check("1.0", json!(1));
    check("-2.50e1", json!(-25));
    check("0.5", json!(0.5));
    check("1234567890123456789.0", json!(1_234_567_890_123_456_800_i64));
    check("9223372036854775808", json!(9_223_372_036_854_775_808.0));
    check("18446744073709551615", json!(18_446_744_073_709_551_615.0));
    check("1e-400", json!(0));
    check("123456789012345678901234567890", json!(123_456_789_012_345_678_901_234_567_890.0));
    refused("1e400", "json: cannot unmarshal number 1e400 into Go value of type float64");
}

/// serde_json decodes stored values and clients' types. Without its feature `float_roundtrip` it
/// lost the last digit of some floats.
#[test]
fn serde_json_reads_floats_exactly() {
    for text in ["9007199254740991.0", "0.1", "2.2250738585072011e-308", "1.7976931348623157e308"] {
        let read: f64 = serde_json::from_str(text).unwrap();
        assert_eq!(read.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
}

#[test]
fn strings_are_those_of_go() {
    check(r#""\"\\\/\b\f\n\r\t\u0041\u0000""#, json!("\"\\/\u{8}\u{c}\n\r\tA\0"));
    check(r#""\ud83d\ude00 \uD83D\uDE00""#, json!("😀 😀"));
    check(r#""\ud83d""#, json!("\u{fffd}"));
    check(r#""\ude00\ud83dx""#, json!("\u{fffd}\u{fffd}x"));
    check(r#""\ud83d\u0041""#, json!("\u{fffd}A"));
    check(b"\"a\xffb\xe2\x82c\xe2\x82\xac\"", json!("a\u{fffd}b\u{fffd}\u{fffd}c€"));
}

#[test]
fn errors_have_the_text_of_go() {
    refused("", "unexpected end of JSON input");
    refused("  ", "unexpected end of JSON input");
    refused(r#"{"a":"#, "unexpected end of JSON input");
    refused(r#"{"a"#, "unexpected end of JSON input");
    refused("-", "unexpected end of JSON input");
    refused("tru", "unexpected end of JSON input");
    refused("hello", "invalid character 'h' looking for beginning of value");
    refused("{'a':1}", r"invalid character '\'' looking for beginning of object key string");
    refused(r#"{"a" 1}"#, "invalid character '1' after object key");
    refused(r#"{"a":1 2}"#, "invalid character '2' after object key:value pair");
    refused(r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string");
    refused("[1,]", "invalid character ']' looking for beginning of value");
    refused("[1 2]", "invalid character '2' after array element");
    refused("{} {}", "invalid character '{' after top-level value");
    refused("01", "invalid character '1' after top-level value");
    refused("1.x", "invalid character 'x' after decimal point in numeric literal");
    refused("1ex", "invalid character 'x' in exponent of numeric literal");
    refused("-x", "invalid character 'x' in numeric literal");
    refused("nil", "invalid character 'i' in literal null (expecting 'u')");
    refused("\"a\nb\"", r"invalid character '\n' in string literal");
    refused("\"a\0b\"", r"invalid character '\x00' in string literal");
    refused(r#""\x""#, "invalid character 'x' in string escape code");
    refused(r#""\u12x4""#, r"invalid character 'x' in \u hexadecimal character escape");
    refused(r#""\u+123""#, r"invalid character '+' in \u hexadecimal character escape");
    refused(b"\xff", "invalid character 'ÿ' looking for beginning of value");
    refused(b"k8s\0\x0a", "invalid character 'k' looking for beginning of value");
}

#[test]
fn depth_is_limited() {
    let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
    assert!(read(&nested(MAX_DEPTH)).is_ok());
    refused(nested(MAX_DEPTH + 1), "invalid character '[' exceeded max depth");
    refused(vec![b'['; 3 << 20], "invalid character '[' exceeded max depth");
    refused(br#"{"a":"#.repeat(1 << 16), "invalid character '{' exceeded max depth");
    check(b"[[[],[]],[[]]]", json!([[[], []], [[]]]));
}

#[test]
fn the_number_of_values_is_limited() {
    // A list counts as a value, as does each of its items.
    let list = |items: usize| format!("[{}1]", "1,".repeat(items - 1));
    assert!(read(list(MAX_VALUES - 1).as_bytes()).is_ok());
    refused(list(MAX_VALUES), "the document has more than 100000 values");
    assert_eq!(
        crate::yaml::read(format!("{{\"a\":{}}}", list(MAX_VALUES)).as_bytes()),
        Err(MalformedJson::too_many())
    );
}

#[test]
fn the_last_duplicate_applies_and_all_are_reported() {
    assert_eq!(read(br#"{"a":1,"a":{"b":2}}"#).unwrap().value, json!({"a": {"b": 2}}));
    duplicates(r#"{"a":1,"a":2,"a":3}"#, &["a"]);
    duplicates(r#"{"spec":{"x":[{"y":1,"y":2}, {}], "x":1},"b":0,"b":0}"#, &["spec.x[0].y", "spec.x", "b"]);
    duplicates(r#"[[{"a":1,"a":1}]]"#, &["[0][0].a"]);
    duplicates(r#"{"a":{"x":1,"x":2},"a":{"x":1,"x":2,"y":1,"y":1}}"#, &["a.x", "a", "a.y"]);
    let many: Vec<String> = (0..500).flat_map(|n| [format!("\"{n}\":1"), format!("\"{n}\":2")]).collect();
    assert_eq!(read(format!("{{{}}}", many.join(",")).as_bytes()).unwrap().duplicates.len(), 100);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn written_values_are_parsed(value in any_value()) {
        let read = read(value.to_string().as_bytes()).unwrap();
        prop_assert_eq!(&read.value, &value);
        prop_assert!(read.duplicates.is_empty());
    }

    #[test]
    fn results_equal_those_of_serde_json(mut text in any_value().prop_map(|value| value.to_string().into_bytes()),
                             at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let at = at.index(text.len());
        text[at] = byte;
        // serde_json rejects invalid UTF-8, and numbers beyond the range of a double.
        if let (Ok(ours), Ok(theirs)) = (read(&text), serde_json::from_slice::<Value>(&text)) {
            prop_assert!(ours.value == theirs || theirs.to_string().contains(['.', 'e', '0']));
        } else if std::str::from_utf8(&text).is_ok() {
            prop_assert_eq!(read(&text).is_ok(), serde_json::from_slice::<Value>(&text).is_ok());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(prop_oneof![
        any::<u8>(), prop::sample::select(br#"{}[]",:\u0d8-+eE. tfn"#.to_vec())], 0..64)) {
        let _ = read(&bytes);
    }
}

/// Objects of one field take a hundred times their bytes.
#[test]
fn objects_of_one_field_have_a_limit() {
    let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
    for count in [1_000, 12_000] {
        assert!(read(list("{\"a\":1}", count).as_bytes()).is_ok());
    }
    let (many, yaml) = (list("{\"a\":1}", 20_000), list("{a: 1}", 20_000));
    assert_eq!(read(many.as_bytes()), Err(MalformedJson::too_small_objects()));
    assert!(crate::yaml::read(yaml.as_bytes()).unwrap_err().to_string().contains("one or few fields"));
    // As usual objects, with a name of thirty bytes, any number is read.
    let usual = format!("{{\"name\":\"{}\"}}", "n".repeat(30));
    assert!(read(list(&usual, 49_000).as_bytes()).is_ok());
}
