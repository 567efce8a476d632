//! Conditions in the status of an object.

use serde_json::{Value, json};

/// Returns the status of a condition: `True`, `False`, `Unknown`.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    let conditions = object.get("status")?.get("conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == name)?.get("status")?.as_str()
}

/// Sets a condition. `lastTransitionTime` changes with the status only.
pub(crate) fn set_condition(
    object: &mut Value,
    name: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    if !object["status"].is_object() {
        object["status"] = json!({});
    }
    let conditions = &mut object["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let mut set = json!({
        "type": name, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
    });
    match conditions.iter_mut().find(|condition| condition["type"] == name) {
        Some(condition) => {
            if condition["status"] == status {
                set["lastTransitionTime"] = condition["lastTransitionTime"].clone();
            }
            *condition = set;
        }
        None => conditions.push(set),
    }
}

/// Removes a condition.
pub(crate) fn drop_condition(object: &mut Value, name: &str) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(conditions) = conditions {
        conditions.retain(|condition| condition["type"] != name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut object = json!({});
        set_condition(&mut object, "Ready", "False", "Waiting", "", "t1");
        set_condition(&mut object, "Ready", "False", "Still", "", "t2");
        assert_eq!(object["status"]["conditions"][0]["lastTransitionTime"], "t1");
        assert_eq!(object["status"]["conditions"][0]["reason"], "Still");
        set_condition(&mut object, "Ready", "True", "Done", "", "t3");
        assert_eq!(object["status"]["conditions"][0]["lastTransitionTime"], "t3");
        assert_eq!((condition(&object, "Ready"), condition(&object, "Other")), (Some("True"), None));
    }
}
