//! Plans: checked trees with variables resolved to indexes, functions to pointers, and constants to
//! values.

use std::sync::Arc;

use crate::check::{Checked, Meaning};
use crate::cost::actual::Rule;
use crate::error::{Errors, Problem};
use crate::functions;
use crate::limits::PATTERN_STATES;
use crate::pattern::Pattern;
use crate::syntax::ast::{self, Literal, Node, NodeKind};
use crate::value::{Failure, Outcome, Val};

#[derive(Debug)]
pub(crate) enum Step {
    Const(Val<'static>),
    Variable(usize),
    Local(usize),
    Access(Box<Access>),
    And(Box<[Step; 2]>),
    Or(Box<[Step; 2]>),
    Conditional(Box<[Step; 3]>),
    NotStrictlyFalse(Box<Step>),
    List(Vec<(Step, bool)>),
    Map(Vec<MapEntryStep>),
    Call(Box<CallStep>),
    OrValue(Box<(Step, Step, bool)>),
    Loop(Box<LoopStep>),
}

#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) operand: Step,
    pub(crate) by: AccessBy,
    pub(crate) mode: AccessMode,
    /// Whether the operand is neither a variable nor a part of one: access costs one more.
    pub(crate) computed: bool,
}

#[derive(Debug)]
pub(crate) enum AccessBy {
    Field(Arc<str>),
    Index(Step),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AccessMode {
    Get,
    Test,
    Optional,
}

#[derive(Debug)]
pub(crate) struct MapEntryStep {
    pub(crate) key: Step,
    pub(crate) value: Step,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct CallStep {
    pub(crate) function: functions::Function,
    pub(crate) rule: Rule,
    pub(crate) args: Vec<Step>,
    /// The regular expression, if constant.
    pub(crate) pattern: Option<Pattern>,
    /// The local to which the call adds one item or entry.
    pub(crate) appends: Option<usize>,
    /// Whether the call is free: a search in constants, which cel-go turns into a set.
    pub(crate) free: bool,
}

#[derive(Debug)]
pub(crate) struct LoopStep {
    pub(crate) range: Step,
    /// The index of the accumulator. The variables follow it.
    pub(crate) accu: usize,
    pub(crate) two: bool,
    pub(crate) init: Step,
    pub(crate) condition: Step,
    pub(crate) step: Step,
    pub(crate) result: Step,
}

/// The arguments of a function.
pub(crate) struct Args<'s, 'a> {
    pub(crate) values: &'s [Val<'a>],
    pub(crate) pattern: Option<&'s Pattern>,
}

/// Returns the plan, and the number of states of its constant patterns.
pub(crate) fn plan(checked: &Checked) -> Result<(Step, u64), Errors> {
    let mut planner = Planner { checked, locals: Vec::new(), states: 0 };
    let step = planner.plan(&checked.node)?;
    Ok((step, planner.states))
}

struct Planner<'c> {
    checked: &'c Checked,
    locals: Vec<Arc<str>>,
    /// The states of the constant patterns.
    states: u64,
}

type Planned<T = Step> = Result<T, Errors>;

impl Planner<'_> {
    fn plan(&mut self, node: &Node) -> Planned {
        Ok(match &node.kind {
            NodeKind::Literal(literal) => Step::Const(value_of(literal)),
            NodeKind::Ident(name) => self.ident(node, name)?,
            NodeKind::Select(select) => {
                let operand = self.plan(&select.operand)?;
                let mode = if select.test { AccessMode::Test } else { AccessMode::Get };
                access(operand, AccessBy::Field(select.field.clone()), mode)
            }
            NodeKind::Call(call) => self.call(node, call)?,
            NodeKind::List(list) => {
                let mut items = Vec::new();
                for (item, optional) in list.items.iter().zip(&list.optional) {
                    items.push((self.plan(item)?, *optional));
                }
                constant_list(items)
            }
            NodeKind::Map(entries) => {
                let mut made = Vec::new();
                for ast::Entry { key, value, optional } in entries {
                    let (key, value) = (self.plan(key)?, self.plan(value)?);
                    made.push(MapEntryStep { key, value, optional: *optional });
                }
                constant_map(made)
            }
            NodeKind::Comprehension(it) => self.comprehension(it)?,
        })
    }

    fn ident(&self, node: &Node, name: &Arc<str>) -> Planned {
        Ok(match self.checked.meaning(node) {
            Meaning::Variable(place) => Step::Variable(*place),
            Meaning::Type(ty) => Step::Const(Val::Type(ty.name().into())),
            _ => match self.locals.iter().rposition(|it| it == name) {
                Some(place) => Step::Local(place),
                None => return Err(Errors::one(node.at, Problem::Undeclared(name.to_string()))),
            },
        })
    }

    fn comprehension(&mut self, it: &ast::Comprehension) -> Planned {
        let range = self.plan(&it.range)?;
        let init = self.plan(&it.init)?;
        let accu = self.locals.len();
        self.locals.push(it.accu.clone());
        self.locals.push(it.var.clone());
        self.locals.extend(it.var2.clone());
        let condition = self.plan(&it.condition)?;
        let step = self.plan(&it.step)?;
        self.locals.truncate(accu + 1);
        let result = self.plan(&it.result)?;
        self.locals.truncate(accu);
        let two = it.var2.is_some();
        Ok(Step::Loop(Box::new(LoopStep { range, accu, two, init, condition, step, result })))
    }

    fn call(&mut self, node: &Node, call: &ast::Call) -> Planned {
        let mut args = Vec::new();
        for arg in call.target.iter().chain(&call.args) {
            args.push(self.plan(arg)?);
        }
        let mut rest = args.into_iter();
        let mut next = || rest.next().unwrap_or(Step::Const(Val::Null));
        Ok(match &*call.function {
            "_&&_" => Step::And(Box::new([next(), next()])),
            "_||_" => Step::Or(Box::new([next(), next()])),
            "_?_:_" => Step::Conditional(Box::new([next(), next(), next()])),
            "@not_strictly_false" => Step::NotStrictlyFalse(Box::new(next())),
            "_[_]" => access(next(), AccessBy::Index(next()), AccessMode::Get),
            "_[?_]" => access(next(), AccessBy::Index(next()), AccessMode::Optional),
            "or" => Step::OrValue(Box::new((next(), next(), false))),
            "orValue" => Step::OrValue(Box::new((next(), next(), true))),
            "_?._" => match (next(), next()) {
                (operand, Step::Const(Val::String(name))) => {
                    access(operand, AccessBy::Field(name.as_str().into()), AccessMode::Optional)
                }
                (operand, field) => access(operand, AccessBy::Index(field), AccessMode::Optional),
            },
            name => self.function(node, name, rest.collect())?,
        })
    }

    fn function(&mut self, node: &Node, name: &str, args: Vec<Step>) -> Planned {
        let unsupported =
            || Errors::one(node.at, Problem::Other(format!("the function '{name}' is not supported")));
        let function = functions::function(name).ok_or_else(unsupported)?;
        let wrong = |arg: usize, why: String| {
            let part = match &node.kind {
                NodeKind::Call(call) => call.target.iter().chain(&call.args).nth(arg),
                _ => None,
            };
            Errors::one(part.unwrap_or(node).at, Problem::Other(why))
        };
        if let ("duration" | "timestamp", [Step::Const(value)]) = (name, args.as_slice())
            && function(&Args { values: std::slice::from_ref(value), pattern: None }).is_err()
        {
            return Err(wrong(0, format!("invalid {name} argument")));
        }
        // Constants are converted once, here; an invalid one is a compile error.
        let overloads = self.checked.overloads(node);
        if let (true, [Step::Const(value)]) = (functions::converts(name), args.as_slice()) {
            let folded: Outcome<'static> =
                function(&Args { values: std::slice::from_ref(value), pattern: None });
            return match folded {
                Ok(value) => Ok(Step::Const(value)),
                Err(Failure::Error(why)) => {
                    Err(Errors::one(node.at, Problem::Other(format!("program instantiation failed: {why}"))))
                }
                Err(_) => Err(unsupported()),
            };
        }
        // Compiled once, and an invalid pattern is refused with its definition.
        let mut pattern = None;
        if let ("matches" | "find" | "findAll", Some(Step::Const(Val::String(said)))) = (name, args.get(1)) {
            // Before the compilation, which they bound.
            let states = Pattern::states_of(said.as_str()).unwrap_or_default();
            self.states = self.states.saturating_add(states);
            if self.states > PATTERN_STATES {
                return Err(Errors::one(node.at, Problem::Limit(too_many_states())));
            }
            match Pattern::parse(said.as_str()) {
                Ok(parsed) => pattern = Some(parsed),
                Err(_) => return Err(wrong(1, format!("invalid {name} argument"))),
            }
        }
        let free = name == "@in"
            && overloads == ["in_list"]
            && matches!(&args[1], Step::Const(Val::List(list)) if list.iter().all(|it| it.is_ok_and(|it| hashable(&it))));
        let appends = match args.as_slice() {
            [Step::Local(place), Step::List(items)] if name == "_+_" && items.len() == 1 => Some(*place),
            [Step::Local(place), _, _] if name == "cel.@mapInsert" => Some(*place),
            [Step::Local(place), Step::Map(entries)] if name == "cel.@mapInsert" && entries.len() == 1 => {
                Some(*place)
            }
            _ => None,
        };
        // With several candidate overloads upstream knows no id, and charges one unit.
        let rule = match Rule::of(name) {
            Rule::Order
            | Rule::Plus
            | Rule::In
            | Rule::Convert
            | Rule::Sort
            | Rule::SortBy
            | Rule::Flatten
                if overloads.len() != 1 =>
            {
                Rule::One
            }
            rule => rule,
        };
        Ok(Step::Call(Box::new(CallStep { function, rule, args, pattern, appends, free })))
    }
}

fn too_many_states() -> String {
    format!(
        "the regular expressions have more than {PATTERN_STATES} states: use fewer of them, or smaller counts, \
         such as {{1,63}}"
    )
}

fn hashable(value: &Val<'_>) -> bool {
    matches!(value, Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::String(_) | Val::Null)
}

fn access(operand: Step, by: AccessBy, mode: AccessMode) -> Step {
    let computed =
        !matches!(operand, Step::Variable(_) | Step::Local(_) | Step::Access(_) | Step::Conditional(_));
    Step::Access(Box::new(Access { operand, by, mode, computed }))
}

/// Returns a constant for a list of constants.
fn constant_list(items: Vec<(Step, bool)>) -> Step {
    let values: Option<Vec<_>> = items
        .iter()
        .map(|it| match it {
            (Step::Const(value), false) => Some(value.clone()),
            _ => None,
        })
        .collect();
    values.map_or(Step::List(items), |values| Step::Const(Val::list(values)))
}

fn constant_map(entries: Vec<MapEntryStep>) -> Step {
    let values: Option<_> = entries
        .iter()
        .map(|it| match it {
            MapEntryStep { key: Step::Const(key), value: Step::Const(value), optional: false } => {
                Some((crate::value::Key::of(key.clone()).ok()?, value.clone()))
            }
            _ => None,
        })
        .collect();
    values.map_or(Step::Map(entries), |values| Step::Const(Val::Map(crate::value::Map::made(values))))
}

fn value_of(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(it) => Val::Bool(*it),
        Literal::Int(it) => Val::Int(*it),
        Literal::Uint(it) => Val::Uint(*it),
        Literal::Double(it) => Val::Double(*it),
        Literal::String(it) => Val::text(it.clone()),
        Literal::Bytes(it) => Val::Bytes(it.clone()),
    }
}
