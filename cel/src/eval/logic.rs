//! Logical operators, which absorb an error of one operand if the other decides.

use super::Run;
use super::plan::Step;
use crate::value::{Failure, Outcome, Val, no_overload};

impl<'a> Run<'_, 'a> {
    #[inline(never)]
    pub(super) fn and(&mut self, terms: &'a [Step; 2]) -> Outcome<'a> {
        self.decided_by(terms, false)
    }

    #[inline(never)]
    pub(super) fn or(&mut self, terms: &'a [Step; 2]) -> Outcome<'a> {
        self.decided_by(terms, true)
    }

    fn decided_by(&mut self, terms: &'a [Step; 2], deciding: bool) -> Outcome<'a> {
        let mut failed: Option<Outcome<'a>> = None;
        for term in terms {
            match self.eval(term) {
                Ok(Val::Bool(it)) if it == deciding => return Ok(Val::Bool(deciding)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => {
                    failed.get_or_insert(no_overload());
                }
                Err(Failure::Error(why)) => {
                    failed.get_or_insert(Err(Failure::Error(why)));
                }
                // The cost limit ends the run: an operator that absorbed it would undo the limit.
                Err(other) => return Err(other),
            }
        }
        failed.unwrap_or(Ok(Val::Bool(!deciding)))
    }

    #[inline(never)]
    pub(super) fn conditional(&mut self, parts: &'a [Step; 3]) -> Outcome<'a> {
        let [condition, then, other] = parts;
        let branch = match self.eval(condition)? {
            Val::Bool(true) => then,
            Val::Bool(false) => other,
            _ => return no_overload(),
        };
        let value = self.eval(branch);
        self.refund(branch);
        value
    }

    /// Refunds one unit for a variable or a part of one used as a branch or index: cel-go resolves
    /// it together with its operand.
    pub(super) fn refund(&mut self, step: &Step) {
        if matches!(step, Step::Variable(_) | Step::Local(_) | Step::Access(_)) {
            self.cost = self.cost.saturating_sub(crate::cost::actual::IDENT);
        }
    }

    #[inline(never)]
    pub(super) fn not_strictly_false(&mut self, term: &'a Step) -> Outcome<'a> {
        let value = self.eval(term);
        self.spend(1)?;
        match value {
            Ok(Val::Bool(it)) => Ok(Val::Bool(it)),
            Err(Failure::Cost | Failure::Unbound(_)) => value,
            // After an error the loop goes on, as a later item may decide.
            _ => Ok(Val::Bool(true)),
        }
    }

    /// Evaluates `a.or(b)` and `a.orValue(b)`: the second operand only if the first has no value.
    #[inline(never)]
    pub(super) fn or_value(&mut self, parts: &'a (Step, Step, bool)) -> Outcome<'a> {
        let (first, second, unwrap) = parts;
        match self.eval(first)? {
            Val::Optional(Some(value)) if *unwrap => Ok((*value).clone()),
            Val::Optional(Some(value)) => Ok(Val::Optional(Some(value))),
            Val::Optional(None) => match self.eval(second)? {
                value if *unwrap => Ok(value),
                Val::Optional(value) => Ok(Val::Optional(value)),
                _ => no_overload(),
            },
            _ => no_overload(),
        }
    }
}
