//! Label selectors and field selectors.

mod error;
mod field;
mod label;
mod parse_field;
mod parse_label;
mod requirement;

pub use error::{RequirementError, SelectorError};
pub(crate) use field::check_field;
pub use field::{FieldSelector, FieldTerm};
pub use label::LabelSelector;
pub use requirement::{LabelTest, Requirement};
