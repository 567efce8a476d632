//! Finds values in texts that differ in each run: UIDs, times, revisions.

/// Replaces all matches of `found`, which gets the text from some character on, and returns the
/// length of a match in bytes.
pub(crate) fn replace(
    text: &str,
    found: impl Fn(&str) -> Option<usize>,
    mut with: impl FnMut(&str) -> String,
) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(length) = found(rest) {
            whole += &with(&rest[..length]);
            rest = &rest[length..];
        } else {
            whole.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    whole
}

/// `6ba7b810-9dad-11d1-80b4-00c04fd430c8`
pub(crate) fn uid(text: &str) -> Option<usize> {
    shaped(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
}

/// `https://127.0.0.1:6443`
pub(crate) fn place(text: &str) -> Option<usize> {
    const HOST: &str = "https://127.0.0.1:";
    let port = text.strip_prefix(HOST)?;
    Some(HOST.len() + port.bytes().take_while(u8::is_ascii_digit).count())
}

/// `2026-11-21T09:30:38Z`, with or without a fraction. Years before 2025 are data of a case.
pub(crate) fn time(text: &str) -> Option<usize> {
    let length =
        shaped(text, "dddd-dd-ddTdd:dd:ddZ").or_else(|| shaped(text, "dddd-dd-ddTdd:dd:dd.ddddddZ"))?;
    (&text[..4] >= "2025").then_some(length)
}

/// The decimal number that a revision is.
pub(crate) fn revision(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0 && !text.starts_with('0')).then_some(length)
}

/// Ages in tables, as `8s`. A case is shorter than a minute.
pub(crate) fn age(text: &str) -> bool {
    text.strip_suffix('s')
        .is_some_and(|it| matches!(it.len(), 1 | 2) && it.bytes().all(|b| b.is_ascii_digit()))
}

fn shaped(text: &str, shape: &str) -> Option<usize> {
    let text = text.as_bytes().get(..shape.len())?;
    let fits = text.iter().zip(shape.bytes()).all(|(&byte, shape)| match shape {
        b'd' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        exactly => byte == exactly,
    });
    fits.then_some(shape.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: impl Fn(&str) -> Option<usize>, text: &str, expected: &str) {
        assert_eq!(replace(text, found, |_| "<>".into()), expected);
    }

    #[test]
    fn values_that_differ_in_each_run_are_found() {
        check(uid, "UID: 6ba7b810-9dad-11d1-80b4-00c04fd430c8, é", "UID: <>, é");
        check(uid, "6ba7b810-9dad-11d1-80b4", "6ba7b810-9dad-11d1-80b4");
        check(time, "at 2026-11-21T09:30:38Z and 2026-11-21T09:30:38.941890Z", "at <> and <>");
        check(place, "Post \"https://127.0.0.1:16443/hook/a\"", "Post \"<>/hook/a\"");
        check(time, "2020-11-21T09:30:38Z", "2020-11-21T09:30:38Z");
        assert!(age("0s") && age("59s") && !age("100s") && !age("s") && !age("1m"));
    }
}
