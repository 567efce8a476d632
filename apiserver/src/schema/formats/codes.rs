//! Codes: base64, colours, numbers with a check digit, UUIDs.

/// Base64 with padding, and not empty.
pub(super) fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && digits.bytes().all(plain)
}

/// `#fff` or `#00ff00`, with or without the sign.
pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|c| c.is_ascii_hexdigit())
}

/// `rgb(0, 127, 255)`
pub(super) fn is_rgb_color(text: &str) -> bool {
    let inside = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
    let channel = |text: &str| {
        let digits = text.trim_matches(['\t', '\n', '\x0c', '\r', ' ']);
        digits.bytes().all(|c| c.is_ascii_digit())
            && !(digits.len() > 1 && digits.starts_with('0'))
            && digits.parse::<u8>().is_ok()
    };
    inside.is_some_and(|inside| inside.split(',').count() == 3 && inside.split(',').all(channel))
}

/// Groups of three, two and four digits with a sign between: with both signs, as Kubernetes has it.
pub(super) fn is_ssn(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(i, c)| match i {
            3 | 6 => c == b'-' || c == b' ',
            _ => c.is_ascii_digit(),
        })
}

/// The numbers of the large issuers, by Luhn's sum.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter(char::is_ascii_digit).filter_map(|c| c.to_digit(10)).collect();
    let starts = |count: usize| digits.iter().take(count).fold(0, |number, digit| number * 10 + digit);
    let issued = match digits.len() {
        13 => starts(1) == 4,
        14 => matches!(starts(3), 300..=305) || matches!(starts(2), 36 | 38),
        15 => matches!(starts(2), 34 | 37) || matches!(starts(4), 2131 | 1800),
        16 => matches!(starts(1), 4) || matches!(starts(2), 51..=55 | 35 | 65) || starts(4) == 6011,
        _ => false,
    };
    let double = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum = |sum, (i, digit): (usize, &u32)| sum + if i % 2 == 1 { double(*digit) } else { *digit };
    issued && digits.iter().rev().enumerate().fold(0, sum).is_multiple_of(10)
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let digits = isbn(text);
    let Some((check, rest)) = digits.split_last().filter(|_| digits.len() == 10) else { return false };
    let Some(sum) = weighted(rest, |i| i + 1) else { return false };
    let check = if *check == 'X' { Some(10) } else { check.to_digit(10) };
    check.is_some_and(|check| (sum + 10 * check).is_multiple_of(11))
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let digits = isbn(text);
    let sum = weighted(&digits, |i| if i % 2 == 0 { 1 } else { 3 });
    digits.len() == 13 && sum.is_some_and(|sum| sum.is_multiple_of(10))
}

fn isbn(text: &str) -> Vec<char> {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\x0c' | '\r' | ' ' | '-')).collect()
}

/// The sum of digits, each times its weight; none if one is no digit.
fn weighted(digits: &[char], weight: impl Fn(u32) -> u32) -> Option<u32> {
    let mut sum = 0_u32;
    for (i, digit) in (0..).zip(digits) {
        sum = sum.checked_add(weight(i).checked_mul(digit.to_digit(10)?)?)?;
    }
    Some(sum)
}

/// A UUID, with or without dashes at their places, in either case.
pub(super) fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    let mut digits = String::new();
    for (i, count) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(count) else { return false };
        digits.push_str(group);
        rest = after;
    }
    let variant = digits.as_bytes().get(16).is_some_and(|c| b"89abAB".contains(c));
    rest.is_empty()
        && digits.bytes().all(|c| c.is_ascii_hexdigit())
        && version.is_none_or(|version| digits.chars().nth(12) == Some(version))
        && (variant || matches!(version, None | Some('3')))
}
