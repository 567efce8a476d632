use proptest::prelude::*;

use super::*;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const BOTH: &str = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const V2BETA1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

fn json(shape: Shape) -> Form {
    Form { shape, ..Form::default() }
}

fn protobuf(shape: Shape) -> Form {
    Form { media: Media::Protobuf, shape, ..Form::default() }
}

#[track_caller]
fn check(place: Place, accept: &str, expected: Form) {
    let messages = if place == Place::Roots { Messages::None } else { Messages::Metadata };
    assert_eq!(negotiate(Some(accept), place, messages), Ok(expected), "{accept}");
}

#[track_caller]
fn refused(place: Place, accept: &str, message: &str) {
    let refusal = negotiate(Some(accept), place, Messages::Metadata).expect_err("nothing is acceptable");
    assert_eq!((refusal.code, refusal.reason, refusal.message.as_str()), (406, "NotAcceptable", message));
}

#[test]
fn no_wish_is_json() {
    assert_eq!(negotiate(None, Place::Object, Messages::All), Ok(json(Shape::Whole)));
    for accept in [
        "",
        "*",
        "*/*",
        "application/*",
        "application/json",
        "APPLICATION/JSON",
        "application/json;charset=utf-8",
    ] {
        check(Place::Object, accept, json(Shape::Whole));
        check(Place::Watch, accept, json(Shape::Whole));
        check(Place::Roots, accept, json(Shape::Whole));
    }
    check(Place::Object, "application/json;pretty=1", Form { pretty: true, ..Form::default() });
    check(
        Place::Object,
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        json(Shape::Whole),
    );
}

#[test]
fn what_kubectl_and_controllers_send() {
    let kubectl = format!("{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json");
    check(Place::Object, &kubectl, json(Shape::Table(MetaVersion::V1)));
    check(Place::Watch, &kubectl, json(Shape::Table(MetaVersion::V1)));
    check(Place::Plain, &kubectl, json(Shape::Whole));
    let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                    application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    check(Place::Object, metadata, protobuf(Shape::Metadata(MetaVersion::V1)));
    let list = metadata.replace("PartialObjectMetadata", "PartialObjectMetadataList");
    check(Place::Object, &list, protobuf(Shape::MetadataList(MetaVersion::V1)));
    check(Place::Object, "application/vnd.kubernetes.protobuf,application/json", json(Shape::Whole));
    check(Place::Watch, "application/json;stream=watch", json(Shape::Whole));
}

#[test]
fn the_roots_prefer_the_aggregated_form() {
    check(
        Place::Roots,
        &format!("{V2},{V2BETA1},application/json"),
        json(Shape::Discovery(DiscoveryVersion::V2)),
    );
    check(
        Place::Roots,
        &format!("{V2BETA1},application/json"),
        json(Shape::Discovery(DiscoveryVersion::V2beta1)),
    );
    check(Place::Roots, &format!("{V2};profile=nopeer"), json(Shape::Discovery(DiscoveryVersion::V2)));
    check(Place::Roots, &format!("application/json,{V2}"), json(Shape::Discovery(DiscoveryVersion::V2)));
    check(Place::Roots, &format!("{TABLE},application/json"), json(Shape::Whole));
    refused(Place::Roots, &V2.replace("v2", "v3"), BOTH);
    refused(Place::Plain, V2, BOTH);
    assert_eq!(json(Shape::Discovery(DiscoveryVersion::V2)).content_type(), V2);
}

#[test]
fn quality_comes_before_exactness_and_order() {
    let yaml = Form { media: Media::Yaml, ..Form::default() };
    check(Place::Object, "application/yaml, application/json", yaml);
    check(Place::Object, "application/yaml;q=0.5, application/json", json(Shape::Whole));
    check(Place::Object, "*/*, application/yaml", yaml);
    check(Place::Object, "application/yaml;q=x, application/json;q=0.1", json(Shape::Whole));
    check(
        Place::Object,
        "application/yaml;as=Table;v=v1;g=meta.k8s.io",
        Form { media: Media::Yaml, shape: Shape::Table(MetaVersion::V1), pretty: false },
    );
}

#[test]
fn what_cannot_be_made_is_406() {
    for accept in [
        ",",
        "application",
        "text/plain",
        "application/vnd.kubernetes.protobuf",
        "application/json/x",
        "application/json;sv=v2",
        "application/json;stream=other",
        "application/json;as=Tree;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;g=meta.k8s.io",
    ] {
        refused(Place::Object, accept, BOTH);
    }
    let stream = "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    refused(Place::Watch, "application/yaml, application/json", stream);
    refused(Place::Watch, "application/vnd.kubernetes.protobuf;stream=watch", BOTH);
}

#[test]
fn protobuf_is_answered_where_there_are_messages() {
    const BOTH_FORMS: &str = "application/vnd.kubernetes.protobuf,application/json";
    const METADATA: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let of = |accept: &str, place, messages| negotiate(Some(accept), place, messages).ok();
    let whole = protobuf(Shape::Whole);
    for place in [Place::Object, Place::Watch, Place::Plain] {
        assert_eq!(of(BOTH_FORMS, place, Messages::All), Some(whole));
        assert_eq!(of("application/vnd.kubernetes.protobuf;stream=watch", place, Messages::All), Some(whole));
        assert_eq!(of(BOTH_FORMS, place, Messages::Metadata), Some(Form::default()));
        assert_eq!(of("application/vnd.kubernetes.protobuf", place, Messages::Metadata), None);
        assert_eq!(of("application/vnd.kubernetes.protobuf", place, Messages::None), None);
        assert_eq!(of("*/*", place, Messages::All), Some(Form::default()));
    }
    let (less, more) = (
        "application/vnd.kubernetes.protobuf;q=0.5,application/json",
        "application/json;q=0.5,application/vnd.kubernetes.protobuf",
    );
    assert_eq!(of(less, Place::Object, Messages::All), Some(Form::default()));
    assert_eq!(of(more, Place::Object, Messages::All), Some(whole));
    for messages in [Messages::All, Messages::Metadata] {
        assert_eq!(of(METADATA, Place::Object, messages), Some(protobuf(Shape::Metadata(MetaVersion::V1))));
        let table = format!("{},{TABLE}", TABLE.replace("json", "vnd.kubernetes.protobuf"));
        assert_eq!(of(&table, Place::Object, messages), Some(json(Shape::Table(MetaVersion::V1))));
    }
    assert_eq!(whole.content_type(), "application/vnd.kubernetes.protobuf");
    assert_eq!(whole.stream_type(), "application/vnd.kubernetes.protobuf;stream=watch");
    assert_eq!(Form::default().stream_type(), "application/json");
}

#[test]
fn the_old_document_has_two_forms() {
    let old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let of = |accept: &str| openapi_v2(Some(accept)).map_err(|refusal| refusal.code);
    assert_eq!(openapi_v2(None), Ok(false));
    for (accept, expected) in [
        ("", Ok(false)),
        ("*/*", Ok(false)),
        ("application/*", Ok(false)),
        (old, Ok(true)),
        (OPENAPI_V2_TYPE, Ok(true)),
        ("text/plain", Err(406)),
    ] {
        assert_eq!(of(accept), expected, "{accept}");
    }
    assert_eq!(of(&format!("{old};q=0.1,application/json")), Ok(false));
    assert_eq!(of(&format!("{old},application/json")), Ok(true));
}

#[test]
fn documents_are_json_only() {
    for accept in
        [None, Some(""), Some("*/*"), Some("application/json"), Some("text/plain, application/*;q=0.1")]
    {
        assert_eq!(accepts_json(accept), Ok(()), "{accept:?}");
    }
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    assert_eq!(accepts_json(Some(protobuf)).expect_err("no protobuf").code, 406);
}

proptest! {
    #[test]
    fn no_header_panics(header in "[a-z*/;,=. 0-9]{0,60}|.{0,40}") {
        for place in [Place::Object, Place::Watch, Place::Roots, Place::Plain] {
            if let Ok(form) = negotiate(Some(&header), place, Messages::All) {
                prop_assert!(place != Place::Watch || form.media != Media::Yaml);
            }
        }
    }
}
