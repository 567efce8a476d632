//! The loop of macros over lists and maps.

use super::plan::{CallStep, LoopStep, MapEntryStep, Step};
use super::{Run, insert, push};
use crate::value::{Failure, Outcome, Val, no_overload};

impl<'a> Run<'_, 'a> {
    #[inline(never)]
    pub(super) fn run_loop(&mut self, it: &'a LoopStep) -> Outcome<'a> {
        let range = self.eval(&it.range)?;
        let accu = match self.eval(&it.init) {
            Err(fatal @ (Failure::Cost | Failure::Unbound(_))) => return Err(fatal),
            value => value,
        };
        // Also an error, which the operators of the step may absorb.
        self.locals.push(accu);
        let outcome = self.rounds(it, &range);
        self.locals.truncate(it.accu + 1);
        let result = outcome.and_then(|()| self.eval(&it.result));
        self.locals.truncate(it.accu);
        result
    }

    fn rounds(&mut self, it: &'a LoopStep, range: &Val<'a>) -> Result<(), Failure> {
        match range {
            Val::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    let first = if it.two { Ok(Val::Int(index as i64)) } else { item.clone() };
                    if !self.round(it, first, item)? {
                        break;
                    }
                }
            }
            Val::Map(map) => {
                for (key, value) in map.entries() {
                    if !self.round(it, Ok(key.to_val()), value)? {
                        break;
                    }
                }
            }
            _ => return no_overload().map(|_| ()),
        }
        Ok(())
    }

    /// Runs one iteration. Returns false if the remaining iterations cannot change the result.
    fn round(&mut self, it: &'a LoopStep, first: Outcome<'a>, second: Outcome<'a>) -> Result<bool, Failure> {
        self.locals.truncate(it.accu + 1);
        self.locals.push(first);
        if it.two {
            self.locals.push(second);
        }
        match self.eval(&it.condition) {
            Ok(Val::Bool(false)) => return Ok(false),
            Err(fatal @ (Failure::Cost | Failure::Unbound(_))) => return Err(fatal),
            _ => {}
        }
        let next = match self.step(it) {
            Err(fatal @ (Failure::Cost | Failure::Unbound(_))) => return Err(fatal),
            next => next,
        };
        self.locals[it.accu] = next;
        Ok(true)
    }

    fn step(&mut self, it: &'a LoopStep) -> Outcome<'a> {
        self.grown(&it.step, it.accu)
    }

    /// Runs a step that appends to the accumulator in place, with the cost of a copy.
    fn grown(&mut self, step: &'a Step, accu: usize) -> Outcome<'a> {
        match step {
            Step::Conditional(parts) => {
                let branch = match self.eval(&parts[0])? {
                    Val::Bool(true) => &parts[1],
                    Val::Bool(false) => &parts[2],
                    _ => return no_overload(),
                };
                let value = self.grown(branch, accu);
                self.refund(branch);
                value
            }
            // In place: a copy in each iteration takes quadratic time at a linear cost.
            Step::Call(call) if call.appends == Some(accu) => {
                let (key, value, literal) = match call.args.as_slice() {
                    [_, key, value] => (key, value, 0),
                    [_, Step::Map(entries)] => match entries.as_slice() {
                        [MapEntryStep { key, value, optional: false }] => {
                            (key, value, crate::cost::actual::MAP)
                        }
                        _ => return self.eval(step),
                    },
                    _ => return self.appended(step, call, accu),
                };
                // The accumulator, the entry, and the call.
                self.spend(crate::cost::actual::IDENT)?;
                let (key, value) = (self.eval(key), self.eval(value));
                self.spend(literal + 1)?;
                let map = std::mem::replace(&mut self.locals[accu], Ok(Val::Null))?;
                insert(map, key?, value?)
            }
            other => self.eval(other),
        }
    }

    fn appended(&mut self, step: &'a Step, call: &'a CallStep, accu: usize) -> Outcome<'a> {
        let [_, Step::List(items)] = call.args.as_slice() else { return self.eval(step) };
        let [(item, false)] = items.as_slice() else { return self.eval(step) };
        let item = self.eval(item);
        // The accumulator, the list of one, and the call.
        self.spend(crate::cost::actual::IDENT + crate::cost::actual::LIST + 1)?;
        let list = std::mem::replace(&mut self.locals[accu], Ok(Val::Null))?;
        push(list, item?)
    }
}
