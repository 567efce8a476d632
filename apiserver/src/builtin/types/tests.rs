use super::*;

fn field(kind: (&str, &str, &str), path: &[&str]) -> &'static MessageField {
    let table = table();
    let mut of = table.kind(kind.0, kind.1, kind.2).unwrap();
    let (last, owners) = path.split_last().unwrap();
    for owner in owners {
        let Base::Message(index) = table.field(of, owner).unwrap().base else {
            panic!("{owner} is no message")
        };
        of = table.get(index);
    }
    table.field(of, last).unwrap()
}

/// Every type reference resolves, and field names and numbers are unique within a type.
#[test]
fn the_type_table_is_consistent() {
    let table = TypeTable::parse(RECORDED).unwrap();
    assert!(table.types.len() > 150, "{}", table.types.len());
    for of in table.types() {
        let named: Vec<_> = of.fields.iter().filter(|field| !field.name.is_empty()).collect();
        assert!(named.windows(2).all(|two| two[0].name < two[1].name), "{}", of.name);
        assert!(of.by_number().map(|field| field.number).is_sorted_by(|a, b| a < b), "{}", of.name);
        for field in of.by_number() {
            assert!(std::ptr::eq(of.numbered(field.number).unwrap(), field), "{}.{}", of.name, field.name);
        }
        for field in named {
            assert!(std::ptr::eq(table.field(of, &field.name).unwrap(), field), "{}.{}", of.name, field.name);
        }
        assert!(std::ptr::eq(table.named(&of.name).unwrap(), of));
    }
}

#[test]
fn a_broken_table_is_refused() {
    for text in [
        "",
        r#"{"kinds":{"v1/A":"A"},"types":{}}"#,
        r#"{"kinds":{},"types":{"A":[{"name":"b","type":"float"}]}}"#,
        r#"{"kinds":{},"types":{"A":[{"name":"b","type":"bool","shape":"ring"}]}}"#,
        r#"{"kinds":{},"types":{"A":[{"name":"b","type":"bool","omit":"often"}]}}"#,
        r#"{"kinds":{},"types":{"A":[{"type":"bool"}]}}"#,
        r#"{"kinds":{},"types":{"A":[{"name":"b","type":"bool"},{"name":"a","type":"bool"}]}}"#,
    ] {
        assert!(TypeTable::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_kind_is_found_in_its_group_and_options_in_every_group() {
    let table = table();
    assert_eq!(table.kind("", "v1", "Pod").unwrap().go_name(), "v1.Pod");
    assert_eq!(table.kind_of("apps/v1", "Deployment").unwrap().short_name(), "Deployment");
    assert_eq!(table.kind("events.k8s.io", "v1", "Event").unwrap().name, "io.k8s.api.events.v1.Event");
    assert_eq!(table.kind("", "v1", "Event").unwrap().name, "io.k8s.api.core.v1.Event");
    assert!(table.kind("apps", "v1", "Pod").is_none());
    assert!(table.kind("", "v2", "Pod").is_none());
    for group in ["", "apps", "meta.k8s.io", "example.com"] {
        assert_eq!(table.kind(group, "v1", "DeleteOptions").unwrap().go_name(), "v1.DeleteOptions");
    }
}

#[test]
fn fields_have_the_properties_of_their_go_tags() {
    let pod = ("", "v1", "Pod");
    let containers = field(pod, &["spec", "containers"]);
    assert_eq!((containers.number, containers.shape, containers.omit), (2, Cardinality::List, Omit::Never));
    assert_eq!(containers.patch_strategy.as_deref(), Some("merge"));
    assert_eq!(containers.patch_merge_key.as_deref(), Some("name"));
    assert_eq!(field(pod, &["spec", "volumes"]).patch_strategy.as_deref(), Some("merge,retainKeys"));
    let host_path = field(pod, &["spec", "volumes", "hostPath"]);
    assert!(
        host_path.pointer && host_path.omit == Omit::Empty,
        "found through what is inlined: {host_path:?}"
    );
    assert_eq!(field(pod, &["metadata", "creationTimestamp"]).omit, Omit::Zero);
    assert_eq!(field(pod, &["kind"]).number, 0);
    let data = field(("", "v1", "Secret"), &["data"]);
    assert_eq!((data.base, data.shape), (Base::Bytes, Cardinality::Map));
    let extra = field(("authorization.k8s.io", "v1", "SubjectAccessReview"), &["spec", "extra"]);
    assert_eq!((extra.base, extra.shape), (Base::Strings, Cardinality::Map));
}
