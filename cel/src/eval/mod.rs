//! Evaluation of plans. Each step counts its cost, as in cel-go.

mod access;
mod logic;
mod loops;
pub(crate) mod plan;

use plan::{Args, Step};

use crate::cost::actual;
use crate::value::{Failure, List, Map, Outcome, Val, fail};

/// A run in progress.
pub(crate) struct Run<'r, 'a> {
    /// The values of the environment's variables.
    pub(crate) variables: &'r [Option<Outcome<'a>>],
    pub(crate) names: &'r [String],
    /// The variables of macros, by their index in the plan.
    pub(crate) locals: Vec<Outcome<'a>>,
    pub(crate) cost: u64,
    pub(crate) limit: u64,
}

impl<'a> Run<'_, 'a> {
    pub(crate) fn spend(&mut self, cost: u64) -> Result<(), Failure> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Failure::Cost) } else { Ok(()) }
    }

    pub(crate) fn eval(&mut self, step: &'a Step) -> Outcome<'a> {
        match step {
            Step::Const(value) => Ok(value.clone()),
            Step::Variable(place) => self.variable(*place),
            Step::Local(place) => {
                self.spend(actual::IDENT)?;
                self.locals[*place].clone()
            }
            Step::Access(it) => self.access(it),
            Step::And(terms) => self.and(terms),
            Step::Or(terms) => self.or(terms),
            Step::Conditional(parts) => self.conditional(parts),
            Step::NotStrictlyFalse(term) => self.not_strictly_false(term),
            Step::List(items) => self.list(items),
            Step::Map(entries) => self.map(entries),
            Step::Call(call) => self.call(call),
            Step::OrValue(parts) => self.or_value(parts),
            Step::Loop(it) => self.run_loop(it),
        }
    }

    fn variable(&mut self, place: usize) -> Outcome<'a> {
        self.spend(actual::IDENT)?;
        match &self.variables[place] {
            Some(value) => value.clone(),
            None => Err(Failure::Unbound(self.names[place].clone())),
        }
    }

    fn list(&mut self, items: &'a [(Step, bool)]) -> Outcome<'a> {
        let mut made = Vec::with_capacity(items.len());
        for (item, optional) in items {
            let value = self.eval(item)?;
            match (optional, value) {
                (false, value) => made.push(value),
                (true, Val::Optional(value)) => made.extend(value.map(|it| (*it).clone())),
                (true, other) => return not_optional(&other),
            }
        }
        self.spend(actual::LIST)?;
        Ok(Val::list(made))
    }

    fn map(&mut self, entries: &'a [plan::MapEntryStep]) -> Outcome<'a> {
        let mut made = std::collections::BTreeMap::new();
        for entry in entries {
            let key = self.eval(&entry.key)?;
            let value = self.eval(&entry.value)?;
            let value = match (entry.optional, value) {
                (false, value) => value,
                (true, Val::Optional(Some(value))) => (*value).clone(),
                (true, Val::Optional(None)) => continue,
                (true, other) => return not_optional(&other),
            };
            made.insert(crate::value::Key::of(key)?, value);
        }
        self.spend(actual::MAP)?;
        Ok(Val::Map(Map::made(made)))
    }

    // Not inlined: `eval` recurses, and its frame would have the variables of every kind of step.
    #[inline(never)]
    fn call(&mut self, call: &'a plan::CallStep) -> Outcome<'a> {
        let mut values = Vec::with_capacity(call.args.len());
        let mut failed = None;
        for arg in &call.args {
            match self.eval(arg) {
                Ok(value) => values.push(value),
                Err(Failure::Error(why)) => {
                    failed.get_or_insert(why);
                }
                Err(other) => return Err(other),
            }
        }
        if let Some(why) = failed {
            self.spend(1)?;
            return Err(Failure::Error(why));
        }
        let args = Args { values: &values, pattern: call.pattern.as_ref() };
        if call.free {
            return (call.function)(&args);
        }
        // Quadratic functions are charged before they run, so that they stop early.
        if call.rule.is_steep() {
            self.spend(actual::cost(call.rule, &values, &Ok(Val::Null)))?;
            return (call.function)(&args);
        }
        let result = (call.function)(&args);
        self.spend(actual::cost(call.rule, &values, &result))?;
        result
    }
}

fn not_optional<'a>(value: &Val<'_>) -> Outcome<'a> {
    fail(format!("cannot initialize optional list element from non-optional value {value}"))
}

/// Inserts into a map that has no other owner, or else into a copy.
pub(crate) fn insert<'a>(map: Val<'a>, key: Val<'a>, value: Val<'a>) -> Outcome<'a> {
    let Val::Map(Map(crate::value::MapKind::Made(mut entries))) = map else {
        return crate::value::no_overload();
    };
    let key = crate::value::Key::of(key)?;
    if entries.contains_key(&key) {
        return fail(format!("insert failed: key {key} already exists"));
    }
    std::sync::Arc::make_mut(&mut entries).insert(key, value);
    Ok(Val::Map(Map(crate::value::MapKind::Made(entries))))
}

/// Appends to a list that has no other owner, or else to a copy.
pub(crate) fn push<'a>(list: Val<'a>, item: Val<'a>) -> Outcome<'a> {
    match list {
        Val::List(List { items: crate::value::Items::Made(mut items), order }) => {
            std::sync::Arc::make_mut(&mut items).push(item);
            Ok(Val::List(List { items: crate::value::Items::Made(items), order }))
        }
        _ => crate::value::no_overload(),
    }
}
