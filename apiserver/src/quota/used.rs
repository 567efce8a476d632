//! Usage of a quota: the amount after one more write, and the status that shows it.

use serde_json::{Map, Value};

use super::{Limit, QuotaAmount};

/// A limit, its usage, and the amount that a write adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use<'q> {
    pub(crate) limit: Limit<'q>,
    pub(crate) used: QuotaAmount,
    pub(crate) requested: QuotaAmount,
}

impl Use<'_> {
    const fn sum(&self) -> QuotaAmount {
        self.used.plus(self.requested)
    }
}

/// Returns the reason why the requested amounts cannot be added, in the words of Kubernetes.
pub(super) fn exceeded(name: &str, uses: &[Use<'_>]) -> Option<String> {
    let over = || uses.iter().filter(|of| !of.requested.is_zero() && of.sum().exceeds(of.limit.most));
    let said = |value: &dyn Fn(&Use<'_>) -> String| {
        over().map(|of| format!("{}={}", of.limit.key, value(of))).collect::<Vec<_>>().join(",")
    };
    over().next()?;
    let (requested, used) = (said(&|of| of.requested.text()), said(&|of| of.used.text()));
    let limited = said(&|of| of.limit.text.into());
    Some(format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"))
}

/// Adds the requested amounts to the status of a quota.
pub(super) fn raise(quota: &mut Value, uses: &[Use<'_>]) {
    quota["status"]["hard"] = quota["spec"]["hard"].clone();
    for of in uses {
        quota["status"]["used"][of.limit.key] = of.sum().text().into();
    }
}

/// Sets the status of a quota: all of its limits, and the usage of those that are enforced. Returns
/// false if it is unchanged.
pub(crate) fn tell(quota: &mut Value, uses: &[Use<'_>]) -> bool {
    let hard = quota["spec"]["hard"].as_object().cloned().unwrap_or_default();
    let used: Map<String, Value> =
        uses.iter().map(|of| (of.limit.key.to_owned(), of.used.text().into())).collect();
    let says = |field: &str, wanted: &Map<String, Value>| match &quota["status"][field] {
        Value::Object(said) => said == wanted,
        _ => wanted.is_empty(),
    };
    if says("hard", &hard) && says("used", &used) {
        return false;
    }
    let fields = [("hard", hard), ("used", used)].into_iter().filter(|(_, map)| !map.is_empty());
    quota["status"] =
        fields.map(|(name, map)| (name.to_owned(), Value::Object(map))).collect::<Map<_, _>>().into();
    true
}

/// Returns the usage that the status of a quota shows.
pub(super) fn recorded_usage(quota: &Value, key: &str) -> QuotaAmount {
    QuotaAmount::read(&quota["status"]["used"][key])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::quota::limits;

    fn uses<'q>(quota: &'q Value, used: &[u64]) -> Vec<Use<'q>> {
        let one = |(limit, used): (_, &u64)| Use {
            limit,
            used: QuotaAmount::number(*used),
            requested: QuotaAmount::ONE,
        };
        limits(quota).into_iter().zip(used).map(one).collect()
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
    fn amounts_are_reported_as_quantities() {
        let quota = json!({"spec": {"hard": {"cpu": "1", "memory": "500Mi", "pods": "5"}}});
        let amount = |text: &str| QuotaAmount::read(&json!(text));
        let texts = [("500m", "600m"), ("252Mi", "100Mi"), ("9", "0")];
        let limits = limits(&quota).into_iter().zip(texts);
        let uses = limits.map(|(limit, (used, requested))| Use {
            limit,
            used: amount(used),
            requested: amount(requested),
        });
        let uses: Vec<_> = uses.collect();
        // Nothing is requested of the exceeded pods.
        let why = "exceeded quota: q, requested: cpu=600m, used: cpu=500m, limited: cpu=1";
        assert_eq!(exceeded("q", &uses).as_deref(), Some(why));
        let mut told = quota.clone();
        raise(&mut told, &uses);
        assert_eq!(told["status"]["used"], json!({"cpu": "1100m", "memory": "352Mi", "pods": "9"}));
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
        let recorded = |key: &str| recorded_usage(&told, key).whole();
        assert_eq!((recorded("pods"), recorded("cpu")), (2, 0));
        assert!(tell(&mut told, &[]), "nothing is counted any more");
        assert_eq!(told["status"], json!({"hard": hard}));
        told["spec"]["hard"] = json!({});
        assert!(tell(&mut told, &[]), "nothing is limited any more");
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
