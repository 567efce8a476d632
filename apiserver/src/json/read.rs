//! The JSON parser.

use serde_json::{Map, Number, Value};

use super::character::quoted;
use super::memory::DocumentMemory;
use crate::bounded::{TEXT_BYTES, shortened};
use crate::refusal::Refusal;

/// Maximum nesting depth, since the parser is recursive.
pub(crate) const MAX_DEPTH: usize = 128;

/// Maximum number of values: a value of two bytes takes sixteen times that in memory, and more with
/// a key.
pub(crate) const MAX_VALUES: usize = 100_000;

/// Maximum number of duplicate keys to report, since they are sent in headers.
const MAX_DUPLICATES: usize = 100;

/// A parsed document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedJson {
    /// The value. Of duplicate keys the last applies.
    pub(crate) value: Value,
    /// The paths of duplicate keys, the first hundred: `spec.ports[0].name`.
    pub(crate) duplicates: Vec<String>,
}

/// A syntax error, with the texts of Go, which clients know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MalformedJson(pub(crate) String);

impl MalformedJson {
    /// The document has too many values.
    pub(crate) fn too_many() -> Self {
        Self(format!("the document has more than {MAX_VALUES} values"))
    }

    /// The document would take too much memory for its length.
    pub(crate) fn too_small_objects() -> Self {
        Self("the document has too many objects of one or few fields: use fewer objects, with more fields each".into())
    }

    /// Whether the document is refused for its size, not for its syntax.
    pub(crate) fn is_limit(&self) -> bool {
        *self == Self::too_many() || *self == Self::too_small_objects()
    }
}

/// Parses one document.
///
/// Invalid UTF-8 bytes and unpaired surrogates become U+FFFD. Numbers are those that Go would
/// decode and encode: signed 64-bit integers, however they are written, otherwise doubles.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedJson, MalformedJson> {
    let mut reader = JsonReader {
        bytes,
        at: 0,
        depth: 0,
        values: 0,
        memory: DocumentMemory::of(bytes),
        duplicates: Vec::new(),
    };
    let value = reader.value()?;
    match reader.space() {
        None => Ok(ParsedJson { value, duplicates: reader.duplicates }),
        Some(_) => Err(reader.wrong("after top-level value")),
    }
}

/// Parses a number in JSON syntax; `None` if it exceeds the range of a double.
pub(crate) fn number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    let double = text.parse::<f64>().ok()?;
    // Go writes doubles up to 10^21 without an exponent, so that it decodes them as integers again.
    let again = (double.fract() == 0.0 && double.abs() < 1e19).then(|| format!("{double}").parse::<i64>());
    match again {
        Some(Ok(whole)) => Some(whole.into()),
        _ => Number::from_f64(double),
    }
}

struct JsonReader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    values: usize,
    memory: DocumentMemory,
    /// Paths relative to the current value; each level prepends its own step.
    duplicates: Vec<String>,
}

impl JsonReader<'_> {
    fn value(&mut self) -> Result<Value, MalformedJson> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(MalformedJson::too_many());
        }
        match self.space() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.wrong("looking for beginning of value")),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, MalformedJson>,
    ) -> Result<Value, MalformedJson> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong("exceeded max depth"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, MalformedJson> {
        let (mut map, mut fields) = (Map::new(), 0);
        let first = self.duplicates.len();
        if self.space() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(map));
        }
        loop {
            if self.space() != Some(b'"') {
                return Err(self.wrong("looking for beginning of object key string"));
            }
            let key = self.string()?;
            if self.space() != Some(b':') {
                return Err(self.wrong("after object key"));
            }
            self.at += 1;
            let below = self.duplicates.len();
            let value = self.value()?;
            self.below(first, below, |path| match path.as_bytes() {
                [b'[', ..] => format!("{key}{path}"),
                _ => format!("{key}.{path}"),
            });
            match map.entry(key) {
                serde_json::map::Entry::Vacant(place) => {
                    self.memory.field(place.key(), fields)?;
                    fields += 1;
                    place.insert(value);
                }
                serde_json::map::Entry::Occupied(mut place) => {
                    self.twice(first, below, place.key());
                    place.insert(value);
                }
            }
            match self.space() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.wrong("after object key:value pair")),
            }
        }
        self.at += 1;
        Ok(Value::Object(map))
    }

    fn array(&mut self) -> Result<Value, MalformedJson> {
        let mut items = Vec::new();
        let first = self.duplicates.len();
        if self.space() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            let below = self.duplicates.len();
            let value = self.value()?;
            let index = items.len();
            self.below(first, below, |path| match path.as_bytes() {
                [b'[', ..] => format!("[{index}]{path}"),
                _ => format!("[{index}].{path}"),
            });
            items.push(value);
            match self.space() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.wrong("after array element")),
            }
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    /// Prepends a step to the duplicates found since `below`, and drops those already known.
    fn below(&mut self, first: usize, below: usize, path: impl Fn(&str) -> String) {
        if self.duplicates.len() == below {
            return;
        }
        for found in self.duplicates.split_off(below) {
            // A prefix is repeated in each path below it.
            let found = shortened(path(&found), TEXT_BYTES);
            if !self.duplicates[first..].contains(&found) {
                self.duplicates.push(found);
            }
        }
    }

    /// Reports a duplicate key of this object, before those found below it.
    fn twice(&mut self, first: usize, below: usize, key: &str) {
        if !self.duplicates[first..].iter().any(|known| known == key) {
            self.duplicates.insert(below, shortened(key.to_owned(), TEXT_BYTES));
            self.duplicates.truncate(MAX_DUPLICATES);
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, MalformedJson> {
        for expected in word.chars() {
            if self.peek().map(char::from) != Some(expected) {
                return Err(self.wrong(&format!("in literal {word} (expecting '{expected}')")));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, MalformedJson> {
        let begin = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits("in numeric literal")?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits("in exponent of numeric literal")?;
        }
        let text = std::str::from_utf8(&self.bytes[begin..self.at]).expect("only ASCII was passed over");
        number(text).map(Value::Number).ok_or_else(|| {
            MalformedJson(format!("json: cannot unmarshal number {text} into Go value of type float64"))
        })
    }

    fn digits(&mut self, place: &str) -> Result<(), MalformedJson> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.wrong(place)) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, MalformedJson> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
            push(&mut text, &rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escaped()?);
                }
                _ => return Err(self.wrong("in string literal")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, MalformedJson> {
        let char = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.wrong("in string escape code")),
        };
        self.at += 1;
        Ok(char)
    }

    /// Parses four digits after `\u`, and the second half of a surrogate pair.
    fn unicode(&mut self) -> Result<char, MalformedJson> {
        for _ in 0..4 {
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(self.wrong("in \\u hexadecimal character escape"));
            }
            self.at += 1;
        }
        let unit = four(&self.bytes[self.at - 4..]).expect("four digits were passed over");
        let next = match &self.bytes[self.at..] {
            [b'\\', b'u', digits @ ..] => four(digits),
            _ => None,
        };
        match (unit, next) {
            (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
                self.at += 6;
                let code = 0x10000 + ((u32::from(unit) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            _ => Ok(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    fn space(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn wrong(&self, place: &str) -> MalformedJson {
        MalformedJson(match self.peek() {
            None => "unexpected end of JSON input".into(),
            Some(byte) => format!("invalid character {} {place}", quoted(byte)),
        })
    }
}

fn four(digits: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    if digits.starts_with('+') {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

/// Appends bytes as UTF-8, with U+FFFD for each invalid byte.
fn push(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

impl std::fmt::Display for MalformedJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<MalformedJson> for Refusal {
    fn from(MalformedJson(why): MalformedJson) -> Self {
        Self::bad_request(why)
    }
}
