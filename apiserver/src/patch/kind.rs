//! The kind of a patch, by its content type.

use crate::refusal::Refusal;

/// The format of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// A list of operations, RFC 6902.
    Json,
    /// The fields to change, RFC 7386.
    Merge,
    /// The fields to change, with lists merged by the merge keys of their types.
    Strategic,
}

const ALL: [(PatchKind, &str); 3] = [
    (PatchKind::Json, "application/json-patch+json"),
    (PatchKind::Merge, "application/merge-patch+json"),
    (PatchKind::Strategic, "application/strategic-merge-patch+json"),
];

/// Server-side apply, which is handled elsewhere and listed among the supported types.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

impl PatchKind {
    /// Returns the kind for a Content-Type header, ignoring parameters. `strategic` is whether the
    /// resource supports strategic merges, which custom resources do not.
    pub(crate) fn from_content_type(header: &str, strategic: bool) -> Result<Self, Refusal> {
        let named = header.split(';').next().unwrap_or_default().trim();
        let taken = || ALL.into_iter().filter(|(kind, _)| strategic || *kind != Self::Strategic);
        taken().find(|(_, name)| name.eq_ignore_ascii_case(named)).map(|(kind, _)| kind).ok_or_else(|| {
            let names = taken().map(|(_, name)| name).chain([APPLY]).collect::<Vec<_>>().join(", ");
            let said = "the body of the request was in an unknown format - accepted media types include";
            Refusal::new(415, "UnsupportedMediaType", format!("{said}: {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::PatchKind;

    fn check(header: &str, strategic: bool, expected: Option<PatchKind>) {
        assert_eq!(PatchKind::from_content_type(header, strategic).ok(), expected, "{header:?}");
    }

    #[test]
    fn content_types_name_kinds() {
        check("application/json-patch+json", false, Some(PatchKind::Json));
        check("application/merge-patch+json; charset=utf-8", false, Some(PatchKind::Merge));
        check("Application/Merge-Patch+JSON", false, Some(PatchKind::Merge));
        check("application/strategic-merge-patch+json", true, Some(PatchKind::Strategic));
        check("application/strategic-merge-patch+json", false, None);
        check("application/apply-patch+yaml", true, None);
        check("application/json", true, None);
        check("", true, None);
    }

    #[test]
    fn unknown_types_are_refused_with_the_supported_ones() {
        let refusal = PatchKind::from_content_type("text/plain", false).unwrap_err();
        assert_eq!((refusal.code, refusal.reason), (415, "UnsupportedMediaType"));
        let said = "the body of the request was in an unknown format - accepted media types include: \
                    application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        assert_eq!(refusal.message, said);
    }
}
