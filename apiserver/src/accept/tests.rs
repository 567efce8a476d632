use proptest::prelude::*;

use super::*;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const BOTH: &str = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const V2BETA1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

fn json(shape: Representation) -> ResponseFormat {
    ResponseFormat { shape, ..ResponseFormat::default() }
}

fn protobuf(shape: Representation) -> ResponseFormat {
    ResponseFormat { media: Media::Protobuf, shape, ..ResponseFormat::default() }
}

#[track_caller]
fn check(place: EndpointKind, accept: &str, expected: ResponseFormat) {
    let messages =
        if place == EndpointKind::Roots { ProtobufSupport::None } else { ProtobufSupport::Metadata };
    assert_eq!(negotiate(Some(accept), place, messages), Ok(expected), "{accept}");
}

#[track_caller]
fn refused(place: EndpointKind, accept: &str, message: &str) {
    let refusal =
        negotiate(Some(accept), place, ProtobufSupport::Metadata).expect_err("nothing is acceptable");
    assert_eq!((refusal.code, refusal.reason, refusal.message.as_str()), (406, "NotAcceptable", message));
}

#[test]
fn json_is_the_default_without_preference() {
    assert_eq!(negotiate(None, EndpointKind::Object, ProtobufSupport::All), Ok(json(Representation::Whole)));
    for accept in [
        "",
        "*",
        "*/*",
        "application/*",
        "application/json",
        "APPLICATION/JSON",
        "application/json;charset=utf-8",
    ] {
        check(EndpointKind::Object, accept, json(Representation::Whole));
        check(EndpointKind::Watch, accept, json(Representation::Whole));
        check(EndpointKind::Roots, accept, json(Representation::Whole));
    }
    check(
        EndpointKind::Object,
        "application/json;pretty=1",
        ResponseFormat { pretty: true, ..ResponseFormat::default() },
    );
    check(
        EndpointKind::Object,
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        json(Representation::Whole),
    );
}

#[test]
fn accept_headers_of_kubectl_and_controllers_are_negotiated() {
    let kubectl = format!("{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json");
    check(EndpointKind::Object, &kubectl, json(Representation::Table(MetaVersion::V1)));
    check(EndpointKind::Watch, &kubectl, json(Representation::Table(MetaVersion::V1)));
    check(EndpointKind::Plain, &kubectl, json(Representation::Whole));
    let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                    application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    check(EndpointKind::Object, metadata, protobuf(Representation::Metadata(MetaVersion::V1)));
    let list = metadata.replace("PartialObjectMetadata", "PartialObjectMetadataList");
    check(EndpointKind::Object, &list, protobuf(Representation::MetadataList(MetaVersion::V1)));
    check(
        EndpointKind::Object,
        "application/vnd.kubernetes.protobuf,application/json",
        json(Representation::Whole),
    );
    check(EndpointKind::Watch, "application/json;stream=watch", json(Representation::Whole));
}

/// A review was answered as a table without columns, where kube-apiserver refuses.
#[test]
fn a_review_has_no_table() {
    refused(EndpointKind::Review, TABLE, BOTH);
    let plain = format!("{TABLE},application/json");
    check(EndpointKind::Review, &plain, json(Representation::Whole));
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    check(EndpointKind::Review, metadata, json(Representation::Metadata(MetaVersion::V1)));
}

#[test]
fn the_roots_prefer_the_aggregated_form() {
    check(
        EndpointKind::Roots,
        &format!("{V2},{V2BETA1},application/json"),
        json(Representation::Discovery(DiscoveryVersion::V2)),
    );
    check(
        EndpointKind::Roots,
        &format!("{V2BETA1},application/json"),
        json(Representation::Discovery(DiscoveryVersion::V2beta1)),
    );
    check(
        EndpointKind::Roots,
        &format!("{V2};profile=nopeer"),
        json(Representation::Discovery(DiscoveryVersion::V2)),
    );
    check(
        EndpointKind::Roots,
        &format!("application/json,{V2}"),
        json(Representation::Discovery(DiscoveryVersion::V2)),
    );
    check(EndpointKind::Roots, &format!("{TABLE},application/json"), json(Representation::Whole));
    refused(EndpointKind::Roots, &V2.replace("v2", "v3"), BOTH);
    refused(EndpointKind::Plain, V2, BOTH);
    assert_eq!(json(Representation::Discovery(DiscoveryVersion::V2)).content_type(), V2);
}

#[test]
fn quality_takes_precedence_over_specificity_and_order() {
    let yaml = ResponseFormat { media: Media::Yaml, ..ResponseFormat::default() };
    check(EndpointKind::Object, "application/yaml, application/json", yaml);
    check(EndpointKind::Object, "application/yaml;q=0.5, application/json", json(Representation::Whole));
    check(EndpointKind::Object, "*/*, application/yaml", yaml);
    check(EndpointKind::Object, "application/yaml;q=x, application/json;q=0.1", json(Representation::Whole));
    check(
        EndpointKind::Object,
        "application/yaml;as=Table;v=v1;g=meta.k8s.io",
        ResponseFormat { media: Media::Yaml, shape: Representation::Table(MetaVersion::V1), pretty: false },
    );
}

#[test]
fn unsupported_media_types_are_406() {
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
        refused(EndpointKind::Object, accept, BOTH);
    }
    let stream = "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    refused(EndpointKind::Watch, "application/yaml, application/json", stream);
    refused(EndpointKind::Watch, "application/vnd.kubernetes.protobuf;stream=watch", BOTH);
}

#[test]
fn protobuf_is_answered_where_there_are_messages() {
    const BOTH_FORMS: &str = "application/vnd.kubernetes.protobuf,application/json";
    const METADATA: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let of = |accept: &str, place, messages| negotiate(Some(accept), place, messages).ok();
    let whole = protobuf(Representation::Whole);
    for place in [EndpointKind::Object, EndpointKind::Watch, EndpointKind::Plain] {
        assert_eq!(of(BOTH_FORMS, place, ProtobufSupport::All), Some(whole));
        assert_eq!(
            of("application/vnd.kubernetes.protobuf;stream=watch", place, ProtobufSupport::All),
            Some(whole)
        );
        assert_eq!(of(BOTH_FORMS, place, ProtobufSupport::Metadata), Some(ResponseFormat::default()));
        assert_eq!(of("application/vnd.kubernetes.protobuf", place, ProtobufSupport::Metadata), None);
        assert_eq!(of("application/vnd.kubernetes.protobuf", place, ProtobufSupport::None), None);
        assert_eq!(of("*/*", place, ProtobufSupport::All), Some(ResponseFormat::default()));
    }
    let (less, more) = (
        "application/vnd.kubernetes.protobuf;q=0.5,application/json",
        "application/json;q=0.5,application/vnd.kubernetes.protobuf",
    );
    assert_eq!(of(less, EndpointKind::Object, ProtobufSupport::All), Some(ResponseFormat::default()));
    assert_eq!(of(more, EndpointKind::Object, ProtobufSupport::All), Some(whole));
    for messages in [ProtobufSupport::All, ProtobufSupport::Metadata] {
        assert_eq!(
            of(METADATA, EndpointKind::Object, messages),
            Some(protobuf(Representation::Metadata(MetaVersion::V1)))
        );
        let table = format!("{},{TABLE}", TABLE.replace("json", "vnd.kubernetes.protobuf"));
        assert_eq!(
            of(&table, EndpointKind::Object, messages),
            Some(json(Representation::Table(MetaVersion::V1)))
        );
    }
    assert_eq!(whole.content_type(), "application/vnd.kubernetes.protobuf");
    assert_eq!(whole.stream_type(), "application/vnd.kubernetes.protobuf;stream=watch");
    assert_eq!(ResponseFormat::default().stream_type(), "application/json");
}

#[test]
fn openapi_v2_is_served_as_json_or_protobuf() {
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
        for place in [EndpointKind::Object, EndpointKind::Watch, EndpointKind::Roots, EndpointKind::Plain] {
            if let Ok(form) = negotiate(Some(&header), place, ProtobufSupport::All) {
                prop_assert!(place != EndpointKind::Watch || form.media != Media::Yaml);
            }
        }
    }
}
