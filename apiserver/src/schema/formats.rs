//! The formats that Kubernetes knows. It ignores all others, and so do we.

mod codes;
mod email;
mod net;
mod time;

#[cfg(test)]
mod tests;

use machinery_cel::{declared_duration, is_request_uri};

use super::node::JsonType;

/// The format of a string, or the range of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueFormat {
    Int32,
    Int64,
    Float,
    Double,
    Text(TextFormat),
}

/// The format of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    LongName,
    Mac,
    Password,
    RgbColor,
    ShortName,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

impl ValueFormat {
    /// The format of this name for values of this kind, if it is checked. Dashes do not matter.
    pub(super) fn parse(name: &str, kind: Option<JsonType>) -> Option<Self> {
        match (kind, name) {
            (Some(JsonType::Integer), "int32") => Some(Self::Int32),
            (Some(JsonType::Integer), "int64") => Some(Self::Int64),
            (Some(JsonType::Number), "float") => Some(Self::Float),
            (Some(JsonType::Number), "double") => Some(Self::Double),
            (None | Some(JsonType::String), name) => {
                TextFormat::parse(&name.replace('-', "")).map(Self::Text)
            }
            _ => None,
        }
    }

    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Returns whether a string is of the format. Formats of numbers allow any string.
    pub(super) fn holds(self, text: &str) -> bool {
        match self {
            Self::Text(format) => format.holds(text),
            Self::Int32 | Self::Int64 | Self::Float | Self::Double => true,
        }
    }
}

impl TextFormat {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "k8slongname" => Self::LongName,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "k8sshortname" => Self::ShortName,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    fn holds(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|c| c.is_ascii_hexdigit()),
            Self::Byte => codes::is_base64(text),
            Self::Cidr => net::is_cidr(text),
            Self::CreditCard => codes::is_credit_card(text),
            Self::Date => time::is_date(text),
            Self::DateTime => time::is_date_time(text),
            Self::Duration => declared_duration(text).is_some(),
            Self::Email => email::is_email(text),
            Self::HexColor => codes::is_hex_color(text),
            Self::Hostname => net::is_hostname(text),
            Self::Ipv4 => net::is_ipv4(text),
            Self::Ipv6 => net::is_ipv6(text),
            Self::Isbn => codes::is_isbn10(text) || codes::is_isbn13(text),
            Self::Isbn10 => codes::is_isbn10(text),
            Self::Isbn13 => codes::is_isbn13(text),
            Self::LongName => net::is_long_name(text),
            Self::Mac => net::is_mac(text),
            Self::Password => true,
            Self::RgbColor => codes::is_rgb_color(text),
            Self::ShortName => net::is_short_name(text),
            Self::Ssn => codes::is_ssn(text),
            Self::Uri => is_request_uri(text),
            Self::Uuid => codes::is_uuid(text, None),
            Self::Uuid3 => codes::is_uuid(text, Some('3')),
            Self::Uuid4 => codes::is_uuid(text, Some('4')),
            Self::Uuid5 => codes::is_uuid(text, Some('5')),
        }
    }
}
