//! Usage of a quota: the number after one more creation, and the status that shows it.

use serde_json::{Map, Value, json};

use super::Limit;
use crate::builtin::quantity;

/// A limit and its usage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use<'q> {
    pub(crate) limit: Limit<'q>,
    pub(crate) used: u64,
}

/// Why there may not be one more of each of these, in the words of Kubernetes. None: there may.
pub(super) fn exceeded(name: &str, uses: &[Use<'_>]) -> Option<String> {
    let over = || uses.iter().filter(|of| of.used >= of.limit.most);
    let said = |value: &dyn Fn(&Use<'_>) -> String| {
        over().map(|of| format!("{}={}", of.limit.key, value(of))).collect::<Vec<_>>().join(",")
    };
    over().next()?;
    let (requested, used) = (said(&|_| "1".into()), said(&|of| amount(of.used)));
    let limited = said(&|of| of.limit.text.into());
    Some(format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"))
}

/// Notes in a quota that there is one more of each of these.
pub(super) fn raise(quota: &mut Value, uses: &[Use<'_>]) {
    for of in uses {
        quota["status"]["hard"][of.limit.key] = of.limit.text.into();
        quota["status"]["used"][of.limit.key] = amount(of.used.saturating_add(1)).into();
    }
}

/// Sets the status of a quota. Returns false if it is unchanged.
pub(crate) fn tell(quota: &mut Value, uses: &[Use<'_>]) -> bool {
    let of = |value: &dyn Fn(&Use<'_>) -> String| {
        uses.iter().map(|of| (of.limit.key.to_owned(), value(of).into())).collect::<Map<String, Value>>()
    };
    let (hard, used) = (of(&|of| of.limit.text.into()), of(&|of| amount(of.used)));
    let says = |field: &str, wanted: &Map<String, Value>| match &quota["status"][field] {
        Value::Object(said) => said == wanted,
        _ => wanted.is_empty(),
    };
    if says("hard", &hard) && says("used", &used) {
        return false;
    }
    quota["status"] = if hard.is_empty() { json!({}) } else { json!({"hard": hard, "used": used}) };
    true
}

/// Returns the usage that the status of a quota shows.
pub(super) fn recorded_usage(quota: &Value, key: &str) -> u64 {
    match quantity::whole(&quantity::text(&quota["status"]["used"][key])) {
        quantity::IntegerQuantity::Number(said) => said,
        quantity::IntegerQuantity::Negative | quantity::IntegerQuantity::Broken => 0,
    }
}

/// A number as a quantity is written: a thousand is `1k`.
fn amount(number: u64) -> String {
    let text = number.to_string();
    quantity::canonical(&text).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::limits;

    fn uses<'q>(quota: &'q Value, used: &[u64]) -> Vec<Use<'q>> {
        limits(quota).into_iter().zip(used).map(|(limit, used)| Use { limit, used: *used }).collect()
    }

    #[test]
    fn exceeded_limits_are_reported_in_order() {
        let quota = json!({"spec": {"hard": {"pods": "2", "count/pods": "3", "count/secrets": "1k"}}});
        let check = |used: &[u64], expected: Option<&str>| {
            let why = exceeded("q", &uses(&quota, used));
            assert_eq!(why.as_deref(), expected, "{used:?}");
        };
        check(&[2, 999, 1], None);
        check(
            &[3, 0, 2],
            Some(
                "exceeded quota: q, requested: count/pods=1,pods=1, used: count/pods=3,pods=2, limited: count/pods=3,pods=2",
            ),
        );
        check(
            &[0, 3000, 0],
            Some(
                "exceeded quota: q, requested: count/secrets=1, used: count/secrets=3k, limited: count/secrets=1k",
            ),
        );
    }

    #[test]
    fn an_unchanged_status_is_not_set_again() {
        let spec = json!({"hard": {"pods": "2", "secrets": "1k"}});
        let quota = json!({"spec": spec});
        let uses = uses(&quota, &[1, 0]);
        let mut told = quota.clone();
        assert!(tell(&mut told, &uses));
        let hard = &spec["hard"];
        assert_eq!(told["status"], json!({"hard": hard, "used": {"pods": "1", "secrets": "0"}}));
        assert!(!tell(&mut told.clone(), &uses), "it is said already");
        raise(&mut told, &uses[..1]);
        assert_eq!(told["status"]["used"], json!({"pods": "2", "secrets": "0"}));
        assert_eq!((recorded_usage(&told, "pods"), recorded_usage(&told, "cpu")), (2, 0));
        assert!(tell(&mut told, &[]), "nothing is counted any more");
        assert_eq!(told["status"], json!({}));
        assert!(!tell(&mut told, &[]));
        assert!(!tell(&mut json!({"spec": {}}), &[]));
    }

    #[test]
    fn a_missing_status_is_created() {
        let quota = json!({"spec": {"hard": {"pods": "5"}}});
        let mut told = quota.clone();
        raise(&mut told, &uses(&quota, &[0]));
        assert_eq!(told["status"], json!({"hard": {"pods": "5"}, "used": {"pods": "1"}}));
    }
}
