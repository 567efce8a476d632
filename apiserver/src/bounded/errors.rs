//! Field errors, bounded in number and bytes while they are collected.

use super::{LIST_BYTES, MAX_ERRORS};
use crate::invalid::{FieldError, Problem};

/// Field errors, of which only the first are kept and the others are counted.
///
/// Validators that find an error for each value of a body collect into this. Its list ends in
/// [`Problem::More`] if it was too short.
#[derive(Debug, Default)]
pub(crate) struct FieldErrors {
    kept: Vec<FieldError>,
    bytes: usize,
    more: usize,
}

impl FieldErrors {
    /// Adds an error.
    pub(crate) fn push(&mut self, error: FieldError) {
        if let Problem::More(more) = error.problem {
            self.more += more;
        } else if self.is_full() {
            self.more += 1;
        } else {
            self.bytes += error.bytes();
            self.kept.push(error);
        }
    }

    /// Adds an error, which is made only if there is room.
    pub(crate) fn add(&mut self, error: impl FnOnce() -> FieldError) {
        if self.is_full() {
            self.more += 1;
        } else {
            self.push(error());
        }
    }

    pub(crate) fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        errors.into_iter().for_each(|error| self.push(error));
    }

    /// Returns whether further errors are only counted.
    pub(crate) const fn is_full(&self) -> bool {
        self.kept.len() >= MAX_ERRORS || self.bytes >= LIST_BYTES
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the errors, and as the last one the number of the others, if there are any.
    pub(crate) fn into_list(mut self) -> Vec<FieldError> {
        if self.more > 0 {
            self.kept.push(FieldError::new("", Problem::More(self.more), ""));
        }
        self.kept
    }
}

impl FromIterator<FieldError> for FieldErrors {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        let mut all = Self::default();
        all.extend(errors);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(field: &str) -> FieldError {
        FieldError::new(field, Problem::Required, "")
    }

    #[test]
    fn a_short_list_is_as_it_was_collected() {
        let errors: FieldErrors = [error("a"), error("b")].into_iter().collect();
        assert_eq!(errors.into_list(), [error("a"), error("b")]);
    }

    #[test]
    fn the_others_are_counted_across_lists() {
        let many =
            || (0..MAX_ERRORS + 3).map(|at| error(&at.to_string())).collect::<FieldErrors>().into_list();
        let all: FieldErrors = many().into_iter().chain(many()).collect();
        let all = all.into_list();
        assert_eq!(all.len(), MAX_ERRORS + 1);
        assert_eq!(all[MAX_ERRORS].problem, Problem::More(MAX_ERRORS + 6));
    }

    #[test]
    fn an_error_beyond_the_limit_is_not_made() {
        let mut errors = FieldErrors::default();
        let long = "x".repeat(1 << 20);
        let mut made = 0;
        for _ in 0..1000 {
            errors.add(|| {
                made += 1;
                error(&long)
            });
        }
        assert!(made < 20, "{made}");
        assert_eq!(errors.into_list().last().unwrap().problem, Problem::More(1000 - made));
    }
}
