//! The timeout that a client requests.

use std::time::Duration;

use super::Query;
use crate::refusal::Refusal;

/// Parses the parameter `timeout`. Zero and an omitted one are no limit.
pub(crate) fn time_limit(query: &Query) -> Result<Option<Duration>, Refusal> {
    let Some(text) = query.text("timeout") else { return Ok(None) };
    match duration(text) {
        Ok(duration) => Ok(duration.filter(|duration| !duration.is_zero())),
        Err(why) => {
            Err(Refusal::bad_request(format!("invalid timeout specified in the request URL - time: {why}")))
        }
    }
}

/// Parses a duration in Go's format, `1h2m3.5s`. A negative one is `None`.
fn duration(text: &str) -> Result<Option<Duration>, String> {
    let invalid = || format!("invalid duration {text:?}");
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let negative = text.starts_with('-');
    if unsigned == "0" {
        return Ok(Some(Duration::ZERO));
    }
    if unsigned.is_empty() {
        return Err(invalid());
    }
    let mut total = 0_f64;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if !number.contains(|char: char| char.is_ascii_digit()) || number.matches('.').count() > 1 {
            return Err(invalid());
        }
        let letters = after.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "" => return Err(format!("missing unit in duration {text:?}")),
            _ => return Err(format!("unknown unit {unit:?} in duration {text:?}")),
        };
        total += number.parse::<f64>().map_err(|_| invalid())? * seconds;
        rest = after;
    }
    // The longest is 2^63 nanoseconds.
    if total > 9_223_372_036.854 {
        return Err(invalid());
    }
    Ok((!negative).then(|| Duration::from_secs_f64(total)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Result<Option<u64>, &str>) {
        let query = Query::parse(Some(&format!("timeout={text}"))).unwrap();
        let found = time_limit(&query).map(|limit| limit.map(|limit| limit.as_millis() as u64));
        let why = |refusal: Refusal| {
            refusal
                .message
                .strip_prefix("invalid timeout specified in the request URL - time: ")
                .unwrap()
                .to_owned()
        };
        assert_eq!(found.map_err(why), expected.map_err(str::to_owned));
    }

    #[test]
    fn durations() {
        check("", Ok(None));
        check("1s", Ok(Some(1000)));
        check("1h2m3.5s", Ok(Some(3_723_500)));
        check("1ms", Ok(Some(1)));
        check(".5s", Ok(Some(500)));
        check("0", Ok(None));
        check("0s", Ok(None));
        check("-5s", Ok(None));
        check("abc", Err(r#"invalid duration "abc""#));
        check("5", Err(r#"missing unit in duration "5""#));
        check("5d", Err(r#"unknown unit "d" in duration "5d""#));
        check("1.2.3s", Err(r#"invalid duration "1.2.3s""#));
        check(".s", Err(r#"invalid duration ".s""#));
        check("-", Err(r#"invalid duration "-""#));
        check("9999999999999h", Err(r#"invalid duration "9999999999999h""#));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9.smhun+-]{0,12}|\\PC{0,12}") {
            let _ = duration(&text);
        }
    }
}
