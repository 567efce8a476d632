//! Sequences of applies, updates and patches by three managers, by lot: the same for the same number.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Result;
use super::case::{Case, Theme};

/// What the theme is called, and the file of its answers.
pub(crate) const NAME: &str = "random-applies";

/// The sequences of these numbers, each a case.
pub(crate) fn theme(numbers: std::ops::Range<u64>) -> Result<Theme> {
    let cases = numbers.map(case).collect::<Result<_>>()?;
    let names =
        BTreeMap::from([("q".to_owned(), "/apis/test.example.com/v1/namespaces/${ns}/quilts".to_owned())]);
    let kinds = vec![Theme::kind("quilts")?];
    Ok(Theme { name: NAME.into(), kinds, names, managed_fields: true, hooks: false, cases })
}

fn case(number: u64) -> Result<Case> {
    let mut lot = Lot(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x0a11);
    let mut steps = vec![first(&mut lot)];
    for _ in 0..4 + lot.below(5) {
        steps.extend(next(&mut lot));
    }
    Case::parse(json!({"case": number.to_string(), "steps": steps}))
}

/// The object comes to be: created, or applied.
fn first(lot: &mut Lot) -> Value {
    let manager = manager(lot);
    let mut step = if lot.one_in(2) {
        json!({"do": format!("POST ${{q}}?fieldManager={manager}"), "send": object(lot)})
    } else {
        apply(lot, "", false)
    };
    // There must be one for what comes next.
    if let Some(spec) = step["send"]["spec"].as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
    step
}

fn next(lot: &mut Lot) -> Vec<Value> {
    let manager = manager(lot);
    let merge = |path: &str, send: Value| json!({"do": format!("PATCH ${{q}}/a{path}?fieldManager={manager}"), "type": "application/merge-patch+json", "send": send});
    match lot.below(20) {
        0..=9 => {
            let force = lot.one_in(3);
            vec![apply(lot, "", force)]
        }
        10..=11 => {
            let force = lot.one_in(3);
            vec![apply(lot, "/status", force)]
        }
        12..=14 => vec![merge("", json!({"metadata": meta(lot), "spec": spec(lot)}))],
        15 => vec![merge("/status", json!({"status": status(lot)}))],
        16 => {
            let patch = json!([{"op": "add", "path": "/spec/size", "value": lot.below(4)}]);
            vec![
                json!({"do": format!("PATCH ${{q}}/a?fieldManager={manager}"), "type": "application/json-patch+json", "send": patch}),
            ]
        }
        17 => vec![merge("", json!({"metadata": {"managedFields": [{}]}}))],
        _ => {
            let mut new = object(lot);
            new["metadata"]["resourceVersion"] = "${rv}".into();
            vec![
                json!({"given": "GET ${q}/a", "save": {"rv": "/metadata/resourceVersion"}}),
                json!({"do": format!("PUT ${{q}}/a?fieldManager={manager}"), "send": new}),
            ]
        }
    }
}

fn apply(lot: &mut Lot, part: &str, force: bool) -> Value {
    let force = if force { "&force=true" } else { "" };
    let manager = manager(lot);
    let mut send = object(lot);
    if part == "/status" || lot.one_in(8) {
        send["status"] = status(lot);
    }
    json!({
        "do": format!("PATCH ${{q}}/a{part}?fieldManager={manager}{force}"),
        "type": "application/apply-patch+yaml", "send": send,
    })
}

fn manager(lot: &mut Lot) -> &'static str {
    lot.of(&["one", "two", "three"])
}

fn object(lot: &mut Lot) -> Value {
    let mut meta = meta(lot);
    meta["name"] = "a".into();
    json!({"apiVersion": "test.example.com/v1", "kind": "Quilt", "metadata": meta, "spec": spec(lot)})
}

fn meta(lot: &mut Lot) -> Value {
    let mut meta = Map::new();
    if lot.one_in(3) {
        meta.insert("labels".into(), texts(lot));
    }
    if lot.one_in(5) {
        meta.insert("finalizers".into(), some(lot, &["x.io/a", "x.io/b", "x.io/c"]));
    }
    // The genuine one stores what is empty here when it is applied, and drops it with the next write: one that changes nothing is
    // a write then. Ours is none.
    meta.retain(|_, value| *value != json!({}) && *value != json!([]));
    Value::Object(meta)
}

fn spec(lot: &mut Lot) -> Value {
    let mut spec = Map::new();
    for field in [
        "size", "color", "given", "either", "maybe", "tags", "steps", "limits", "pin", "nested", "free",
        "parts", "ports",
    ] {
        if !lot.one_in(3) {
            continue;
        }
        let value = match field {
            _ if lot.one_in(20) => Value::Null,
            "size" => lot.below(3).into(),
            "either" if lot.one_in(2) => lot.below(2).into(),
            "tags" => some(lot, &["a", "b", "c", "d"]),
            "steps" => some(lot, &["a", "b"]),
            "limits" => texts(lot),
            "pin" => json!({"x": lot.below(2), "y": lot.below(2)}),
            "nested" => nested(lot),
            "free" => free(lot, 2),
            "parts" => parts(lot),
            "ports" => ports(lot),
            _ => lot.of(&["p", "q"]).into(),
        };
        spec.insert(field.into(), value);
    }
    Value::Object(spec)
}

fn status(lot: &mut Lot) -> Value {
    let mut status = Map::new();
    if lot.one_in(2) {
        status.insert("phase".into(), lot.of(&["p", "q"]).into());
    }
    if lot.one_in(2) {
        let types = some(lot, &["A", "B", "C"]);
        let one = |kind: &Value| json!({"type": kind, "state": lot.of(&["p", "q"])});
        status.insert("conditions".into(), types.as_array().into_iter().flatten().map(one).collect());
    }
    Value::Object(status)
}

fn nested(lot: &mut Lot) -> Value {
    let mut nested = Map::new();
    if lot.one_in(2) {
        nested.insert("a".into(), lot.of(&["p", "q"]).into());
    }
    if lot.one_in(2) {
        let mut below = Map::new();
        if lot.one_in(2) {
            below.insert("c".into(), lot.below(2).into());
        }
        if lot.one_in(2) {
            below.insert("d".into(), lot.of(&["p", "q"]).into());
        }
        nested.insert("b".into(), Value::Object(below));
    }
    Value::Object(nested)
}

/// What no schema says anything of.
fn free(lot: &mut Lot, deep: u64) -> Value {
    let mut fields = Map::new();
    for name in ["a", "b", "c"] {
        if !lot.one_in(2) {
            continue;
        }
        let value = match lot.below(if deep == 0 { 3 } else { 5 }) {
            0 => lot.below(2).into(),
            1 => lot.of(&["p", "q"]).into(),
            2 => some(lot, &["a", "b"]),
            _ => free(lot, deep - 1),
        };
        fields.insert(name.into(), value);
    }
    Value::Object(fields)
}

fn parts(lot: &mut Lot) -> Value {
    let names = some(lot, &["a", "b", "c", "d"]);
    let one = |name: &Value| {
        let mut part = json!({"name": name});
        if lot.one_in(2) {
            part["count"] = lot.below(2).into();
        }
        if lot.one_in(3) {
            let marks = some(lot, &["1", "2", "3"]);
            let number = |mark: &Value| mark.as_str().and_then(|mark| mark.parse::<u64>().ok());
            part["marks"] = marks.as_array().into_iter().flatten().map(number).collect();
        }
        if lot.one_in(3) {
            part["limits"] = texts(lot);
        }
        part
    };
    names.as_array().into_iter().flatten().map(one).collect()
}

fn ports(lot: &mut Lot) -> Value {
    let keys = some(lot, &["1TCP", "1UDP", "2TCP"]);
    let one = |key: &Value| {
        let (port, protocol) = key.as_str().unwrap_or_default().split_at(1);
        let mut one = json!({"port": port.parse::<u64>().unwrap_or_default()});
        // The default of a key need not be said.
        if protocol != "TCP" || lot.one_in(2) {
            one["protocol"] = protocol.into();
        }
        if lot.one_in(2) {
            one["label"] = lot.of(&["p", "q"]).into();
        }
        one
    };
    keys.as_array().into_iter().flatten().map(one).collect()
}

fn texts(lot: &mut Lot) -> Value {
    let keys = some(lot, &["k", "l", "m"]);
    let keys = keys.as_array().into_iter().flatten().filter_map(Value::as_str);
    keys.map(|key| (key.to_owned(), Value::from(lot.of(&["p", "q"])))).collect()
}

/// Some of these, in any order.
fn some(lot: &mut Lot, of: &[&str]) -> Value {
    let mut left = of.to_vec();
    let mut out = Vec::new();
    for _ in 0..lot.below(left.len() as u64 + 1) {
        let at = usize::try_from(lot.below(left.len() as u64)).unwrap_or_default();
        out.push(left.swap_remove(at));
    }
    out.into()
}

/// splitmix64.
struct Lot(u64);

impl Lot {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn of(&mut self, texts: &[&'static str]) -> &'static str {
        texts[usize::try_from(self.below(texts.len() as u64)).unwrap_or_default()]
    }
}
