//! The first document of a text. Later documents must be empty.

/// Splits the text after the first document. A line that begins with a marker is one in any
/// context.
pub(super) fn first(text: &str) -> (&str, &str) {
    let (mut at, mut begun) = (0, false);
    for line in text.split_inclusive('\n') {
        if begun && (is_marker(line, "---") || is_marker(line, "...")) {
            return text.split_at(at);
        }
        // Comments and directives may stand before the marker that begins it.
        begun |= !(says_nothing(line) || line.starts_with('%'));
        at += line.len();
    }
    (text, "")
}

/// Returns whether the remaining documents are empty, apart from comments.
pub(super) fn is_nothing(rest: &str) -> bool {
    let without = |line: &str, marker| is_marker(line, marker).then(|| says_nothing(&line[3..]));
    rest.lines().all(|line| {
        without(line, "---").or_else(|| without(line, "...")).unwrap_or_else(|| says_nothing(line))
    })
}

fn is_marker(line: &str, marker: &str) -> bool {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']);
    line.strip_prefix(marker).is_some_and(ends)
}

fn says_nothing(line: &str) -> bool {
    let content = line.trim_start_matches('\u{feff}').trim();
    content.is_empty() || content.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_document_is_split_off() {
        let check = |first: &str, rest: &str, nothing: bool| {
            let text = format!("{first}{rest}");
            assert_eq!((super::first(&text), is_nothing(rest)), ((first, rest), nothing), "{text}");
        };
        check("a: 1\n", "", true);
        check("a: 1\n", "---\nb: 2\n", false);
        check("a: 1\n", "...\n# x\n--- # y\r\n\n---", true);
        check("a: 1\n", "...\n: : {", false);
        check("\u{feff}# x\n%YAML 1.1\n--- # y\r\na: 1\n", "--- z", false);
        check("---\n", "---\na: 1\n", false);
        check("a: |\n  ---\n  b\n---c\n----\n", "", true);
        check("", "", true);
    }
}
