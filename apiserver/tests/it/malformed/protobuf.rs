//! Bodies in protobuf, cut anywhere, or with lengths that are not theirs.

use http::Method;

use super::row::{BAD, CONFIG, CONFIGS, Row};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const WHOLE: &[u8] = include_bytes!("../../bodies/core.v1.ConfigMap.full.pb");

pub(super) fn rows() -> Vec<Row> {
    let post = |bytes: Vec<u8>| Row::post(CONFIGS, PROTOBUF, bytes, BAD);
    let mut rows = Vec::new();
    // Any truncation is within the one field that holds the object: the fields after it are empty.
    let end = WHOLE.len() - 5;
    rows.extend((0..end).step_by(end / 120 + 1).map(|length| post(WHOLE[..length].to_vec())));
    for prefix in
        [&b"k8s"[..], b"K8S\0", b"k8s\x01", b"\0k8s\0", b"{}", b"\xff\xff\xff\xff", b"k8s\0\0", b"k8s\0\xff"]
    {
        rows.push(post(prefix.to_vec()));
    }
    for inside in [
        &b"\x0a\xff\xff\xff\xff\x0f"[..],                        // four gigabytes
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",         // all there is
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", // a length that no number holds
        b"\x12\x7f",
        b"\x12\x05\x0a\x7f",
        b"\x12\x03\x0a\x01",
        b"\x0b", // a group that does not end
        b"\x0c",
        b"\x0f",     // a wire type that is none
        b"\x00\x00", // field zero
        b"\x12\x02\x08\x80",
        b"\x12\x04\x0a\x02\x0a\x05",
        b"\x10\x01", // a number where the object is
    ] {
        rows.push(post([b"k8s\0", inside].concat()));
    }
    // Messages in messages, deeper than anything is.
    let mut deep = Vec::new();
    for _ in 0..2000 {
        let mut outer = vec![0x0a];
        let mut length = deep.len();
        while length >= 0x80 {
            outer.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.append(&mut deep);
        deep = outer;
    }
    rows.push(post([b"k8s\0", &deep[..]].concat()));
    rows.push(Row::post(CONFIGS, PROTOBUF, b"k8s\0".to_vec(), BAD));
    rows.extend(
        (4..40)
            .step_by(4)
            .map(|length| Row::of(Method::PUT, CONFIG, BAD).with(PROTOBUF, WHOLE[..length].to_vec())),
    );
    rows
}
