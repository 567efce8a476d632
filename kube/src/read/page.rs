//! Decodes a page of a list.

use machinery_objects::{Continue, Object, Page, ResourceVersion, SourceError};
use machinery_sync::contained;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::object::{malformed, one, validate};
use crate::text::Text;

/// Decodes all items at once. Only if that fails, they are decoded one by one, to find the
/// undecodable ones.
pub(super) fn page<O: Object + DeserializeOwned>(body: &[u8]) -> Result<Page<O>, SourceError> {
    // Decoding items as raw values first would scan every page twice, for a rare defect.
    if let Ok(Ok(RawList { metadata, items })) = contained(|| serde_json::from_slice::<RawList<'_, O>>(body))
        && items.iter().all(|object| validate(object).is_ok())
    {
        return finish(metadata, items, Vec::new());
    }
    let RawList { metadata, items: raws } =
        serde_json::from_slice::<RawList<'_, &RawValue>>(body).map_err(|error| malformed(&error))?;
    let (mut items, mut unreadable) = (Vec::with_capacity(raws.len()), Vec::new());
    for raw in raws {
        match one(raw, false) {
            Ok(object) => items.push(object),
            // A list without this item would mean that an unknown object is deleted.
            Err(broken) if broken.key.is_unnamed() => {
                return Err(malformed(&format_args!(
                    "an item has no name that can be read: {}",
                    broken.reason
                )));
            }
            Err(broken) => unreadable.push(broken),
        }
    }
    finish(metadata, items, unreadable)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct RawList<'a, T> {
    #[serde(borrow)]
    metadata: PageMetadata<'a>,
    /// Required: a body without items is not a list.
    #[serde(deserialize_with = "items")]
    items: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata<'a> {
    #[serde(borrow, default)]
    resource_version: Text<'a>,
    #[serde(borrow, default, rename = "continue")]
    next: Text<'a>,
    #[serde(default)]
    remaining_item_count: Option<i64>,
}

/// Servers written in Go encode an empty list as `null`.
fn items<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn finish<O>(
    metadata: PageMetadata<'_>,
    items: Vec<O>,
    unreadable: Vec<machinery_objects::Unreadable>,
) -> Result<Page<O>, SourceError> {
    let version = ResourceVersion::new(metadata.resource_version.as_ref())
        .ok_or_else(|| malformed(&"the list has no resourceVersion"))?;
    let rest = Continue::new(metadata.next.as_ref());
    let remaining = match &rest {
        None => Some(0),
        Some(_) => metadata.remaining_item_count.and_then(|count| u64::try_from(count).ok()),
    };
    Ok(Page { items, unreadable, version, rest, remaining })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;
    use machinery_objects::Unreadable;

    fn read(text: &str) -> Result<Page<Host>, String> {
        page(text.as_bytes()).map_err(|error| error.to_string())
    }

    fn names(page: &Page<Host>) -> Vec<String> {
        page.items.iter().map(|host| host.metadata.key.to_string()).collect()
    }

    const A: &str = r#"{"metadata": {"name": "a", "namespace": "n", "resourceVersion": "5"}, "spec": {"rack": 1, "more": [{}]}}"#;
    const BROKEN: &str =
        r#"{"metadata": {"name": "b", "namespace": "n", "resourceVersion": "6"}, "spec": {"rack": "high"}}"#;

    #[test]
    fn a_page_is_read_with_its_continue_token() {
        let read_one = read(&format!(
            r#"{{"items": [{A}], "kind": "HostList", "metadata": {{"resourceVersion": "7", "continue": "on", "remainingItemCount": 3}}}}"#
        ));
        let page = read_one.unwrap();
        assert_eq!(names(&page), ["n/a"]);
        assert_eq!((page.rest, page.remaining), (Continue::new("on"), Some(3)));
        assert_eq!(Some(page.version), ResourceVersion::new("7"));
        for nothing in ["null", "[]"] {
            let text =
                format!(r#"{{"metadata": {{"resourceVersion": "7", "continue": ""}}, "items": {nothing}}}"#);
            let page = read(&text).unwrap();
            assert_eq!((page.items.len(), page.rest, page.remaining), (0, None, Some(0)));
        }
    }

    #[test]
    fn an_undecodable_object_hides_no_others() {
        let page = read(&format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{BROKEN}, {A}]}}"#))
            .unwrap();
        assert_eq!(names(&page), ["n/a"]);
        let [Unreadable { key, version, is_gone: false, reason }] = &*page.unreadable else {
            panic!("{page:?}")
        };
        assert_eq!((key.as_str(), version.clone()), ("n/b", ResourceVersion::new("6")));
        assert!(reason.contains("expected u32"), "{reason}");
    }

    #[test]
    fn an_object_without_a_version_hides_no_others() {
        let odd = r#"{"metadata": {"name": "a"}, "spec": {"rack": 1}}"#;
        let text = format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{A}, {odd}, {A}]}}"#);
        let page = read(&text).unwrap();
        assert_eq!(names(&page), ["n/a", "n/a"]);
        let [Unreadable { key, version: None, is_gone: false, reason }] = &*page.unreadable else {
            panic!("{page:?}")
        };
        assert_eq!((key.as_str(), reason.as_ref()), ("a", "it has no resourceVersion"));
    }

    #[test]
    fn an_item_without_a_name_makes_the_list_malformed() {
        let check = |odd: &str, why: &str| {
            let text = format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{A}, {odd}, {A}]}}"#);
            let error = read(&text).unwrap_err();
            assert!(error.contains("an item has no name that can be read") && error.contains(why), "{error}");
        };
        check(r#"{"metadata": {"resourceVersion": "1"}, "spec": {"rack": 1}}"#, "no name");
        check(r#"{"metadata": {"name": 1}, "spec": {"rack": 1}}"#, "expected a text");
        check(r#"{"metadata": {}}"#, "missing field `spec`");
        check("3", "invalid type");
    }

    #[test]
    fn a_body_without_items_is_not_an_empty_list() {
        let check = |text: &str, why: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        check(r#"{"metadata": {"resourceVersion": "7"}}"#, "missing field `items`");
        check(r#"{"metadata": {}, "items": []}"#, "the list has no resourceVersion");
        check(r#"{"items": []}"#, "missing field `metadata`");
        check(&format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{A}"#), "EOF");
        check("<html>", "expected value");
        check("", "EOF");
    }
}
