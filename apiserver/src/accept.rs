//! Content negotiation: the `Accept` header, parsed as kube-apiserver parses it.

use crate::refusal::Refusal;

/// The kind of endpoint that answers; the representations on offer depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndpointKind {
    /// An object or a list of objects.
    Object,
    /// An object that is answered and not stored, such as a review. It has no table.
    Review,
    /// A watch stream.
    Watch,
    /// `/api` and `/apis`, which have an aggregated form.
    Roots,
    /// An endpoint with one representation: `/apis/GROUP`, `/version`, a `Status`…
    Plain,
}

/// The negotiated format of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseFormat {
    pub(crate) media: Media,
    pub(crate) shape: Representation,
    /// Indented JSON, by the media type parameter `pretty=1`. The query can request it too.
    pub(crate) pretty: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Media {
    #[default]
    Json,
    Yaml,
    Protobuf,
}

/// The part of a response that has a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtobufSupport {
    /// No part: the response is a document, such as discovery.
    None,
    /// The metadata: a custom resource.
    Metadata,
    /// All of it: a built-in kind, or a `Status`.
    All,
}

/// The representation that the object is converted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Representation {
    /// No conversion.
    #[default]
    Whole,
    Table(MetaVersion),
    Metadata(MetaVersion),
    MetadataList(MetaVersion),
    Discovery(DiscoveryVersion),
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1beta1,
}

/// A version of `apidiscovery.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryVersion {
    V2,
    V2beta1,
}

/// Returns the best acceptable format: by `q`, then by specificity, then by order in the header.
///
/// # Errors
/// 406 if no accepted media type can be produced.
pub(crate) fn negotiate(
    accept: Option<&str>,
    place: EndpointKind,
    messages: ProtobufSupport,
) -> Result<ResponseFormat, Refusal> {
    let header = accept.unwrap_or_default().trim();
    if header.is_empty() {
        return Ok(ResponseFormat::default());
    }
    let ranges = ranges(header);
    let chosen = match place {
        EndpointKind::Roots => choose(&ranges, EndpointKind::Roots, messages)
            .or_else(|| choose(&ranges, EndpointKind::Plain, messages)),
        _ => choose(&ranges, place, messages),
    };
    match chosen {
        Some(form) if place == EndpointKind::Watch && form.media == Media::Yaml => Err(refused(&STREAMED)),
        Some(form) => Ok(form),
        None => Err(refused(&LISTED)),
    }
}

/// The format of a refusal: the negotiated one, or JSON if none is acceptable.
pub(crate) fn for_refusals(accept: Option<&str>) -> ResponseFormat {
    negotiate(accept, EndpointKind::Plain, ProtobufSupport::All).unwrap_or_default()
}

/// Checks that a document available as JSON only is accepted.
///
/// # Errors
/// 406 if JSON is not accepted.
pub(crate) fn accepts_json(accept: Option<&str>) -> Result<(), Refusal> {
    let header = accept.unwrap_or_default().trim();
    let json = |range: &Range<'_>| range.covers("json");
    if header.is_empty() || ranges(header).iter().any(json) {
        return Ok(());
    }
    Err(refused(&["application/json"]))
}

/// Returns whether the client prefers the OpenAPI v2 document in protobuf, which has two media
/// types.
///
/// # Errors
/// 406 if neither protobuf nor JSON is accepted.
pub(crate) fn openapi_v2(accept: Option<&str>) -> Result<bool, Refusal> {
    let header = accept.unwrap_or_default().trim();
    let json = |range: &Range<'_>| range.covers("json");
    let binary = |range: &Range<'_>| OPENAPI_V2.iter().any(|subtype| range.covers(subtype));
    let best = |range: &Range<'_>| json(range).then_some(false).or_else(|| binary(range).then_some(true));
    match ranges(header).iter().find_map(best) {
        Some(binary) => Ok(binary),
        None if header.is_empty() => Ok(false),
        None => Err(refused(&["application/json", OPENAPI_V2_TYPE])),
    }
}

const OPENAPI_V2: [&str; 2] =
    ["com.github.proto-openapi.spec.v2@v1.0+protobuf", "com.github.proto-openapi.spec.v2.v1.0+protobuf"];

/// The `Content-Type` under either name; libraries cannot parse the other one.
pub(crate) const OPENAPI_V2_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

impl ResponseFormat {
    /// The `Content-Type` of a response in this format; clients select their decoder by it.
    pub(crate) const fn content_type(self) -> &'static str {
        match (self.media, self.shape) {
            (Media::Json, Representation::Discovery(DiscoveryVersion::V2)) => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            (Media::Json, Representation::Discovery(DiscoveryVersion::V2beta1)) => {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            }
            (Media::Yaml, Representation::Discovery(DiscoveryVersion::V2)) => {
                "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            (Media::Yaml, Representation::Discovery(DiscoveryVersion::V2beta1)) => {
                "application/yaml;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            }
            (Media::Json, _) => "application/json",
            (Media::Yaml, _) => "application/yaml",
            (Media::Protobuf, _) => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The `Content-Type` of a watch stream in this format.
    pub(crate) const fn stream_type(self) -> &'static str {
        match self.media {
            Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => self.content_type(),
        }
    }
}

impl ProtobufSupport {
    const fn are_of(self, shape: Representation) -> bool {
        match shape {
            Representation::Whole => matches!(self, Self::All),
            Representation::Metadata(_) | Representation::MetadataList(_) => !matches!(self, Self::None),
            // Kubernetes defines protobuf messages for neither.
            Representation::Table(_) | Representation::Discovery(_) => false,
        }
    }
}

impl MetaVersion {
    /// `meta.k8s.io/v1`…
    pub(crate) const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl DiscoveryVersion {
    /// `apidiscovery.k8s.io/v2`…
    pub(crate) const fn api_version(self) -> &'static str {
        match self {
            Self::V2 => "apidiscovery.k8s.io/v2",
            Self::V2beta1 => "apidiscovery.k8s.io/v2beta1",
        }
    }
}

const OFFERED: [(&str, Media); 3] =
    [("json", Media::Json), ("yaml", Media::Yaml), ("vnd.kubernetes.protobuf", Media::Protobuf)];

/// The media types listed in a refusal. As in Kubernetes, protobuf is listed for every kind, also
/// for those without messages.
const LISTED: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const STREAMED: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

fn refused(offers: &[&str]) -> Refusal {
    let message = format!("only the following media types are accepted: {}", offers.join(", "));
    Refusal::new(406, "NotAcceptable", message)
}

fn choose(ranges: &[Range<'_>], place: EndpointKind, messages: ProtobufSupport) -> Option<ResponseFormat> {
    ranges.iter().find_map(|range| {
        let (_, media) = OFFERED.iter().find(|(subtype, _)| range.covers(subtype))?;
        range.form(*media, place).filter(|form| form.media != Media::Protobuf || messages.are_of(form.shape))
    })
}

/// One range of an `Accept` header: `application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9`.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

/// The ranges, best first. Malformed ranges are ignored.
fn ranges(header: &str) -> Vec<Range<'_>> {
    let mut ranges: Vec<Range<'_>> = header.split(',').filter_map(Range::read).collect();
    ranges.sort_by(|a, b| b.quality.total_cmp(&a.quality).then(b.exactness().cmp(&a.exactness())));
    ranges
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';');
        let (kind, subtype) = match parts.next()?.trim().split_once('/') {
            Some((kind, subtype)) if !subtype.is_empty() && !subtype.contains('/') => {
                (kind.trim(), subtype.trim())
            }
            None if text.trim().starts_with('*') => ("*", "*"),
            _ => return None,
        };
        let mut range = Self { kind, subtype, quality: 1.0, parameters: Vec::new() };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let (name, value) = (name.trim(), value.trim());
            match name {
                "q" => range.quality = value.parse().ok().filter(|q: &f32| q.is_finite()).unwrap_or(0.0),
                _ if value.is_empty() || value.contains('=') => {}
                _ => range.parameters.push((name, value)),
            }
        }
        Some(range)
    }

    fn exactness(&self) -> u8 {
        u8::from(self.kind != "*") + u8::from(self.subtype != "*")
    }

    fn covers(&self, subtype: &str) -> bool {
        match (self.kind, self.subtype) {
            ("*", "*") => true,
            (kind, "*") => kind.eq_ignore_ascii_case("application"),
            (kind, sub) => kind.eq_ignore_ascii_case("application") && sub.eq_ignore_ascii_case(subtype),
        }
    }

    /// Returns the format that this range requests, if the endpoint offers it.
    fn form(&self, media: Media, place: EndpointKind) -> Option<ResponseFormat> {
        let (mut kind, mut group, mut version, mut pretty) = (None, None, None, false);
        for (name, value) in &self.parameters {
            match *name {
                "as" => kind = Some(*value),
                "g" => group = Some(*value),
                "v" => version = Some(*value),
                "pretty" => pretty = *value == "1",
                "stream" if *value != "watch" || media == Media::Yaml => return None,
                // The API version of the server's metadata.
                "sv" if *value != "v1" => return None,
                _ => {}
            }
        }
        let asked = kind.or(group).or(version).is_some();
        let wish = (group.unwrap_or_default(), version.unwrap_or_default(), kind.unwrap_or_default());
        let shape = match place {
            EndpointKind::Roots => discovery(wish)?,
            EndpointKind::Object | EndpointKind::Watch if asked => conversion(wish)?,
            EndpointKind::Review if asked => {
                conversion(wish).filter(|shape| !matches!(shape, Representation::Table(_)))?
            }
            _ if asked => return None,
            _ => Representation::Whole,
        };
        Some(ResponseFormat { media, shape, pretty })
    }
}

fn discovery((group, version, kind): (&str, &str, &str)) -> Option<Representation> {
    match (group, version, kind) {
        ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList") => {
            Some(Representation::Discovery(DiscoveryVersion::V2))
        }
        ("apidiscovery.k8s.io", "v2beta1", "APIGroupDiscoveryList") => {
            Some(Representation::Discovery(DiscoveryVersion::V2beta1))
        }
        _ => None,
    }
}

fn conversion((group, version, kind): (&str, &str, &str)) -> Option<Representation> {
    let version = match (group, version) {
        ("meta.k8s.io", "v1") => MetaVersion::V1,
        ("meta.k8s.io", "v1beta1") => MetaVersion::V1beta1,
        _ => return None,
    };
    match kind {
        "Table" => Some(Representation::Table(version)),
        "PartialObjectMetadata" => Some(Representation::Metadata(version)),
        "PartialObjectMetadataList" => Some(Representation::MetadataList(version)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
