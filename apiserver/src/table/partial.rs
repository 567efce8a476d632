//! `PartialObjectMetadata`: objects reduced to their metadata.

use serde_json::{Value, json};

use crate::accept::MetaVersion;
use crate::refusal::Refusal;

/// Reduces an object to its metadata. A `Status` stays as it is.
///
/// # Errors
/// 406 for a list.
pub(crate) fn partial(mut object: Value, version: MetaVersion) -> Result<Value, Refusal> {
    if is_status(&object) {
        return Ok(object);
    }
    if object["items"].is_array() {
        // The message of Kubernetes, whose lists of custom resources have this type.
        let message = "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)";
        return Err(Refusal::new(406, "NotAcceptable", message));
    }
    Ok(cut(&mut object, version))
}

/// Reduces the objects of a list to their metadata. A `Status` stays as it is.
///
/// # Errors
/// 406 unless this is a list.
pub(crate) fn partial_list(mut list: Value, version: MetaVersion) -> Result<Value, Refusal> {
    if is_status(&list) {
        return Ok(list);
    }
    let metadata = list_metadata(list["metadata"].take());
    let Some(items) = list["items"].as_array_mut() else {
        let message = format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
            kind(&list)
        );
        return Err(Refusal::new(406, "NotAcceptable", message));
    };
    let items: Vec<Value> = items.iter_mut().map(|item| cut(item, version)).collect();
    Ok(json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": version.api_version(),
        "metadata": metadata,
        "items": items,
    }))
}

/// The metadata of one object, which is left without.
pub(crate) fn cut(object: &mut Value, version: MetaVersion) -> Value {
    let metadata = object.get_mut("metadata").map(Value::take).unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata})
}

/// Returns the list metadata for a table: without page fields where empty, also for custom
/// resources.
pub(crate) fn list_metadata(mut metadata: Value) -> Value {
    let Some(fields) = metadata.as_object_mut() else { return json!({}) };
    fields.retain(|_, value| value != "");
    metadata
}

pub(super) fn is_status(object: &Value) -> bool {
    object["kind"] == "Status" && object["apiVersion"] == "v1"
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_cut_down() {
        let object = json!({"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": "a"}, "spec": {"n": 1}});
        let expected = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}});
        assert_eq!(partial(object.clone(), MetaVersion::V1), Ok(expected));
        let refusal = partial_list(object, MetaVersion::V1).expect_err("no list");
        assert_eq!((refusal.code, refusal.reason), (406, "NotAcceptable"));
    }

    #[test]
    fn a_list_is_cut_down() {
        let list = json!({
            "kind": "WidgetList", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "7", "continue": "x"},
            "items": [{"metadata": {"name": "a"}, "spec": {"n": 1}}],
        });
        let cut = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": {"name": "a"}});
        let expected = json!({
            "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1beta1",
            "metadata": {"resourceVersion": "7", "continue": "x"}, "items": [cut],
        });
        assert_eq!(partial_list(list.clone(), MetaVersion::V1beta1), Ok(expected));
        assert_eq!(partial(list, MetaVersion::V1).expect_err("a list").code, 406);
        let list = json!({"metadata": {"resourceVersion": "7", "continue": ""}, "items": []});
        let found = partial_list(list, MetaVersion::V1).expect("a list");
        assert_eq!(found["metadata"], json!({"resourceVersion": "7"}));
    }

    #[test]
    fn a_status_stays() {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
        assert_eq!(partial(status.clone(), MetaVersion::V1), Ok(status.clone()));
        assert_eq!(partial_list(status.clone(), MetaVersion::V1), Ok(status));
    }
}
