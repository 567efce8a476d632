//! Compares every expression of `expressions.txt` with the recorded result of cel-go.

use std::sync::Arc;

use machinery_cel::{
    AccessCheck, Authorizer, Bindings, Budget, CheckTarget, Decision, DeclaredType, Env, ResourceAttributes,
    ServiceAccount, Val,
};
use serde_json::{Value, json};

fn file(name: &str) -> Value {
    let path = format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns a value in the recorder's format.
fn shown(value: &Val<'_>) -> Value {
    match value {
        Val::Null => "null".into(),
        Val::Bool(it) => format!("bool {it}").into(),
        Val::Int(it) => format!("int {it}").into(),
        Val::Uint(it) => format!("uint {it}").into(),
        Val::String(it) => format!("string {}", it.as_str()).into(),
        Val::Double(_) => format!("double {value}").into(),
        Val::Timestamp(_) => format!("google.protobuf.Timestamp {value}").into(),
        Val::Duration(_) => format!("google.protobuf.Duration {value}").into(),
        Val::Bytes(it) => {
            format!("bytes {}", it.iter().map(|it| format!("{it:02x}")).collect::<String>()).into()
        }
        Val::Type(it) => format!("type {it}").into(),
        Val::Optional(None) => json!({ "none": true }),
        Val::Optional(Some(it)) => json!({ "some": shown(it) }),
        Val::List(it) => it.values().map(|it| shown(&it.unwrap())).collect(),
        Val::Map(it) => {
            let entries = it.iter().map(|(key, value)| {
                (shown(&key.to_val()).as_str().unwrap().to_owned(), shown(&value.unwrap()))
            });
            json!({ "map": entries.collect::<serde_json::Map<_, _>>() })
        }
        other => format!("opaque {}", other.type_name()).into(),
    }
}

/// The authorizer of the recorder, which returns the check as the reason.
struct RecordingAuthorizer;

impl Authorizer for RecordingAuthorizer {
    fn decide(&self, check: &AccessCheck) -> Decision {
        let who = check.account.as_ref().map_or_else(
            || "ann".to_owned(),
            |ServiceAccount { namespace, name }| format!("system:serviceaccount:{namespace}:{name}"),
        );
        let said = match &check.target {
            CheckTarget::Path(path) => format!("{who},{},{path},,,,,", check.verb),
            CheckTarget::Resource(ResourceAttributes {
                group,
                resource,
                subresource,
                namespace,
                name,
                ..
            }) => {
                format!("{who},{},,{group},{resource},{subresource},{namespace},{name}", check.verb)
            }
        };
        match check.verb.as_str() {
            "fail" => Decision { error: Some("it failed".to_owned()), ..Decision::default() },
            verb => Decision { allowed: verb == "get", reason: said, error: None },
        }
    }
}

/// Returns the resource of the recorder's request.
fn request() -> ResourceAttributes {
    let [group, resource, subresource, namespace, name] =
        ["apps", "deployments", "status", "team-a", "web"].map(str::to_owned);
    ResourceAttributes { group, resource, subresource, namespace, name, ..ResourceAttributes::default() }
}

struct Observed {
    errors: Option<String>,
    ty: String,
    value: Option<Value>,
    failed: bool,
    cost: u64,
    estimate: Vec<u64>,
}

fn ours(env: &Env, object: &Value, expr: &str) -> Observed {
    let mut answer = Observed {
        errors: None,
        ty: String::new(),
        value: None,
        failed: false,
        cost: 0,
        estimate: Vec::new(),
    };
    let program = match env.compile(expr) {
        Ok(program) => program,
        Err(errors) => {
            answer.errors = Some(errors.to_string());
            return answer;
        }
    };
    answer.ty = program.result_type().to_string();
    let estimate = program.estimate();
    answer.estimate = vec![estimate.min, estimate.max];
    let mut budget = Budget::object();
    let asked: Arc<dyn Authorizer> = Arc::new(RecordingAuthorizer);
    let bindings = Bindings::new().with("self", object).with_authorizer("authorizer", &asked).with_resource(
        "authorizer.requestResource",
        &asked,
        request(),
    );
    match program.run(&bindings, &mut budget) {
        Ok(value) => answer.value = Some(shown(&value)),
        Err(_) => answer.failed = true,
    }
    answer.cost = budget.last();
    answer
}

/// Returns the first difference, if any.
fn differs(recorded: &Value, ours: &Observed) -> Option<String> {
    let theirs = |key: &str| recorded.get(key).and_then(Value::as_str);
    match (theirs("errors"), &ours.errors) {
        (Some(theirs), Some(errors)) => {
            // The wording of a syntax error depends on the parser generator.
            let same = theirs == errors || theirs.contains("Syntax error") || theirs.starts_with("program");
            return (!same).then(|| format!("errors:\n{theirs}\n--- ours\n{errors}"));
        }
        (Some(theirs), None) => return Some(format!("accepted: {theirs}")),
        (None, Some(errors)) => return Some(format!("refused: {errors}")),
        (None, None) => {}
    }
    if theirs("type") != Some(&ours.ty) {
        return Some(format!("type {:?} != {}", theirs("type"), ours.ty));
    }
    if theirs("failed").is_some() != ours.failed {
        return Some(format!("failed {:?}, ours {:?}", theirs("failed"), ours.value));
    }
    if !ours.failed && recorded.get("value") != ours.value.as_ref() {
        return Some(format!("value {:?} != {:?}", recorded.get("value"), ours.value));
    }
    let cost = recorded.get("cost").and_then(Value::as_u64).unwrap_or(0);
    if !ours.failed && cost != ours.cost {
        return Some(format!("cost {cost} != {}", ours.cost));
    }
    let estimate: Vec<u64> =
        recorded["estimate"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    (estimate != ours.estimate).then(|| format!("estimate {estimate:?} != {:?}", ours.estimate))
}

/// Known differences and their reasons.
const KNOWN: &[(&str, &str)] = &[
    ("authorizer != authorizer", "what cannot be compared is an error here, too, and not unequal"),
    ("authorizer in [authorizer]", "what cannot be compared is an error here, too, and not unequal"),
    ("self.spec.loose", "what is not declared is not listed"),
    ("self.?spec", "what is not declared is not listed"),
    ("timestamp('2020-01-01T01:00:00+01:00')", "a moment keeps no zone, so its text is in UTC"),
    (
        "self.spec.labels.transformList(k, v, k + v).sort()",
        "cel-go estimates the first variable with the path of the second: both share one slice",
    ),
];

#[test]
fn p10_results_match_cel_go() {
    let declared = DeclaredType::from_schema(&file("schema.json"), true, "selfType").unwrap();
    let declared = Arc::new(declared);
    let env = Env::new()
        .with("self", declared.clone())
        .with_optional("oldSelf", declared)
        .with("authorizer", Arc::new(DeclaredType::authorizer()))
        .with("authorizer.requestResource", Arc::new(DeclaredType::resource_check()));
    let object = file("object.json");
    let mut wrong = Vec::new();
    let mut same = 0;
    for recorded in file("recorded.json").as_array().unwrap() {
        let expr = recorded["expr"].as_str().unwrap();
        let known = KNOWN.iter().any(|it| it.0 == expr);
        match differs(recorded, &ours(&env, &object, expr)) {
            None if known => wrong.push(format!("{expr}\n    is listed as different, and is not")),
            Some(why) if !known => wrong.push(format!("{expr}\n    {why}")),
            None => same += 1,
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{same} are the same, {} are not:\n{}", wrong.len(), wrong.join("\n"));
}
