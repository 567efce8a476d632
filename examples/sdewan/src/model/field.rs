//! A field of a kind: its schema in the CR, its name and check at the REST API of a CNF.

use super::check::Check;
use super::collection::CollectionId;

/// A field of a kind or of an object in it.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in the CR; for a field of the REST API alone, the name there.
    pub name: &'static str,
    /// The name in the REST API.
    pub rest: RestName,
    /// The shape of the value.
    pub shape: Shape,
    /// The check of the value, or of each item of a list.
    pub check: Check,
    /// The text of the original for a failed check.
    pub message: &'static str,
    /// A sentence for `kubectl explain`.
    pub about: &'static str,
    /// Whether a CR needs it.
    pub is_required: bool,
    /// Whether the REST API needs it.
    pub is_required_by_cnf: bool,
    /// Deprecated spellings, accepted with a warning.
    pub spellings: &'static [&'static str],
    /// The object or interface that the value names.
    pub reference: Option<Reference>,
    /// Whether the value is a secret: never shown, compared by its HMAC.
    pub is_secret: bool,
    /// Whether the CR may name a Secret instead: `NAME_ref` with `name` and `key`.
    pub has_secret_reference: bool,
}

/// The place of a field in a REST object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestName {
    /// The name of the CR's field.
    Same,
    /// Another name.
    Renamed(&'static str),
    /// The field is not sent to a CNF.
    CrOnly,
    /// The field is in REST objects only.
    RestOnly,
}

/// The shape of a field's value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A text.
    Text,
    /// A text, or an integer in its place: the same text in REST objects.
    Number,
    /// An integer in CRs, and its text in REST objects.
    Integer,
    /// A boolean.
    Flag,
    /// A list of texts.
    List,
    /// A list of objects.
    Objects(&'static [Field]),
    /// A label selector.
    Selector,
}

/// The target of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// An object of a collection of the same CNF, by its name.
    Object(CollectionId),
    /// A network of the CNF's annotation in a CR; its NIC in a REST object.
    Network,
    /// A NIC of the CNF, `#default`, `#source` or `#IP`.
    Nic,
}

impl Field {
    const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            name,
            rest: RestName::Same,
            shape,
            check: Check::Any,
            message: "",
            about,
            is_required: false,
            is_required_by_cnf: false,
            spellings: &[],
            reference: None,
            is_secret: false,
            has_secret_reference: false,
        }
    }

    /// A text.
    #[must_use]
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Shape::Text, about)
    }

    /// A port, a mark, a priority or another number, as text or integer.
    #[must_use]
    pub const fn number(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Shape::Number, about)
    }

    /// A list of texts.
    #[must_use]
    pub const fn list(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Shape::List, about)
    }

    /// A field of another shape.
    #[must_use]
    pub const fn of(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self::new(name, shape, about)
    }

    /// Sets the check, with the original's message.
    #[must_use]
    pub const fn check(mut self, check: Check, message: &'static str) -> Self {
        (self.check, self.message) = (check, message);
        self
    }

    /// Sets the name in REST objects.
    #[must_use]
    pub const fn renamed(mut self, rest: &'static str) -> Self {
        self.rest = RestName::Renamed(rest);
        self
    }

    /// Keeps the field out of REST objects.
    #[must_use]
    pub const fn cr_only(mut self) -> Self {
        self.rest = RestName::CrOnly;
        self
    }

    /// Keeps the field out of CRs.
    #[must_use]
    pub const fn rest_only(mut self) -> Self {
        self.rest = RestName::RestOnly;
        self
    }

    /// Requires the field in CRs and REST objects.
    #[must_use]
    pub const fn required(mut self) -> Self {
        (self.is_required, self.is_required_by_cnf) = (true, true);
        self
    }

    /// Requires the field in CRs, and not in REST objects.
    #[must_use]
    pub const fn required_by_cr(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Requires the field in REST objects, and not in CRs.
    #[must_use]
    pub const fn required_by_cnf(mut self) -> Self {
        self.is_required_by_cnf = true;
        self
    }

    /// Adds deprecated spellings.
    #[must_use]
    pub const fn spelled(mut self, spellings: &'static [&'static str]) -> Self {
        self.spellings = spellings;
        self
    }

    /// Makes the value a reference.
    #[must_use]
    pub const fn refers_to(mut self, reference: Reference) -> Self {
        self.reference = Some(reference);
        self
    }

    /// Lets the CR name a Secret for the value.
    #[must_use]
    pub const fn from_secret(mut self) -> Self {
        self.has_secret_reference = true;
        self
    }

    /// Makes the value a secret, which the CR may take from a Secret.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        (self.is_secret, self.has_secret_reference) = (true, true);
        self
    }

    /// Returns whether CRs have the field.
    #[must_use]
    pub const fn is_in_cr(&self) -> bool {
        !matches!(self.rest, RestName::RestOnly)
    }

    /// Returns the name in REST objects, if they have the field.
    #[must_use]
    pub const fn rest_name(&self) -> Option<&'static str> {
        match self.rest {
            RestName::Same | RestName::RestOnly => Some(self.name),
            RestName::Renamed(name) => Some(name),
            RestName::CrOnly => None,
        }
    }
}
