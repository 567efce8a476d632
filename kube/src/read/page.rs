//! A page of a list, from bytes.

use machinery_objects::{Continue, Object, Page, ResourceVersion, SourceError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::object::{malformed, one, whole};
use crate::text::Text;

/// Reads all at once. Only if that fails it is done object by object, to find who is at fault.
pub(super) fn page<O: Object + DeserializeOwned>(body: &[u8]) -> Result<Page<O>, SourceError> {
    if let Ok(List { metadata, items }) = serde_json::from_slice::<List<'_, O>>(body) {
        let items = items.into_iter().map(whole).collect::<Result<_, _>>()?;
        return finish(metadata, items, Vec::new());
    }
    let List { metadata, items: raws } =
        serde_json::from_slice::<List<'_, &RawValue>>(body).map_err(|error| malformed(&error))?;
    let (mut items, mut unreadable) = (Vec::with_capacity(raws.len()), Vec::new());
    for raw in raws {
        match one(raw, false)? {
            Ok(object) => items.push(object),
            Err(broken) => unreadable.push(broken),
        }
    }
    finish(metadata, items, unreadable)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct List<'a, T> {
    #[serde(borrow)]
    metadata: ListMeta<'a>,
    /// A list has them: what has none is something else, and not a list of nothing.
    #[serde(deserialize_with = "items")]
    items: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta<'a> {
    #[serde(borrow, default)]
    resource_version: Text<'a>,
    #[serde(borrow, default, rename = "continue")]
    next: Text<'a>,
    #[serde(default)]
    remaining_item_count: Option<i64>,
}

/// No items are `null` to servers that are written in Go.
fn items<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn finish<O>(
    metadata: ListMeta<'_>,
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
    fn a_page_is_read_with_what_follows_it() {
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
    fn one_that_cannot_be_read_hides_no_others() {
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
    fn what_is_no_list_is_not_a_list_of_nothing() {
        let check = |text: &str, why: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        check(r#"{"metadata": {"resourceVersion": "7"}}"#, "missing field `items`");
        check(r#"{"metadata": {}, "items": []}"#, "the list has no resourceVersion");
        check(r#"{"items": []}"#, "missing field `metadata`");
        check(r#"{"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {}}]}"#, "without a name");
        check(
            r#"{"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "a"}, "spec": {"rack": 1}}]}"#,
            "a has no resourceVersion",
        );
        let nameless = r#"{"metadata": {"resourceVersion": "1"}, "spec": {"rack": 1}}"#;
        check(
            &format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{nameless}]}}"#),
            "without a name",
        );
        check(r#"{"metadata": {"resourceVersion": "7"}, "items": [3]}"#, "without readable metadata");
        check(&format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{A}"#), "EOF");
        check("<html>", "expected value");
        check("", "EOF");
    }
}
