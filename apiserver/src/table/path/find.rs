//! Selection of values by a path.

use std::cmp::Ordering;

use serde_json::Value;

use super::{ColumnPath, ColumnPathStep, Filter, Operator, Slice, Test, To};

/// Maximum number of values that a step selects: `..` after `..` multiplies them.
const MOST: usize = 100_000;

/// The path does not fit this object: an index out of bounds, a filter over a value that is no
/// list, too many values…
#[derive(Debug, PartialEq, Eq)]
struct Mismatch;

#[derive(Default)]
struct Found<'a>(Vec<&'a Value>);

impl ColumnPath {
    /// Returns the first selected value. A path that does not fit selects none.
    pub(crate) fn first<'a>(&'a self, object: &'a Value) -> Option<&'a Value> {
        walk(Found(vec![object]), &self.0).ok()?.0.into_iter().next()
    }
}

impl<'a> Found<'a> {
    fn add(&mut self, values: impl IntoIterator<Item = &'a Value>) -> Result<(), Mismatch> {
        let room = MOST - self.0.len();
        let mut values = values.into_iter();
        self.0.extend(values.by_ref().take(room));
        values.next().map_or(Ok(()), |_| Err(Mismatch))
    }

    /// The value and all below it that have something in them, as texts have letters.
    fn descend(&mut self, value: &'a Value) -> Result<(), Mismatch> {
        let below = inside(value);
        if below.is_empty() && value.as_str().is_none_or(str::is_empty) {
            return Ok(());
        }
        self.add([value])?;
        below.into_iter().try_for_each(|value| self.descend(value))
    }
}

fn walk<'a>(mut found: Found<'a>, steps: &'a [ColumnPathStep]) -> Result<Found<'a>, Mismatch> {
    for step in steps {
        found = take(&found.0, step)?;
    }
    Ok(found)
}

fn take<'a>(input: &[&'a Value], step: &'a ColumnPathStep) -> Result<Found<'a>, Mismatch> {
    let mut found = Found::default();
    match step {
        ColumnPathStep::Union(paths) => {
            for path in paths {
                found.add(walk(Found(input.to_vec()), path)?.0)?;
            }
        }
        ColumnPathStep::Never => return Err(Mismatch),
        ColumnPathStep::Literal(value) => found.add(input.iter().map(|_| value))?,
        ColumnPathStep::Field(name) => {
            found.add(input.iter().filter_map(|value| value.as_object()?.get(name)))?
        }
        ColumnPathStep::Wildcard => {
            for value in input {
                found.add(inside(value))?;
            }
        }
        ColumnPathStep::Recursive => {
            for value in input {
                found.descend(value)?;
            }
        }
        ColumnPathStep::Slice(slice) => {
            for value in input.iter().filter(|value| !value.is_null()) {
                let list = value.as_array().ok_or(Mismatch)?;
                let (from, to, step) = bounds(*slice, list.len())?;
                found.add(list[from..to].iter().step_by(step))?;
            }
        }
        ColumnPathStep::Filter(filter) => {
            for value in input {
                for item in value.as_array().ok_or(Mismatch)? {
                    if passes(item, filter)? {
                        found.add([item])?;
                    }
                }
            }
        }
    }
    Ok(found)
}

/// The values in a map (by key) or a list.
fn inside(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => Vec::new(),
    }
}

/// First, one after the last, and the step.
fn bounds(slice: Slice, length: usize) -> Result<(usize, usize, usize), Mismatch> {
    let whole = i64::try_from(length).map_err(|_| Mismatch)?;
    let wrap = |at: i64| if at < 0 { at + whole } else { at };
    let from = wrap(slice.from);
    let to = match slice.to {
        To::One => from + 1,
        To::At(at) => wrap(at),
        To::End => whole,
    };
    if from == to {
        return Ok((0, 0, 1));
    }
    let fits = (0..whole).contains(&from) && (from..=whole).contains(&to) && slice.step > 0;
    let size = |at: i64| usize::try_from(at).map_err(|_| Mismatch);
    if fits { Ok((size(from)?, size(to)?, size(slice.step)?)) } else { Err(Mismatch) }
}

fn passes(item: &Value, filter: &Filter) -> Result<bool, Mismatch> {
    let side = |steps| walk(Found(vec![item]), steps);
    let (operator, right) = match &filter.test {
        Test::Exists => return Ok(side(&filter.left).is_ok_and(|found| !found.0.is_empty())),
        Test::Compare(operator, right) => (*operator, right),
    };
    let (left, right) = (side(&filter.left)?, side(right)?);
    match (left.0.as_slice(), right.0.as_slice()) {
        ([], _) | (_, []) => Ok(false),
        ([left], [right]) => compare(left, operator, right),
        _ => Err(Mismatch),
    }
}

/// Compares values of one type; whole numbers are a type of their own.
fn compare(left: &Value, operator: Operator, right: &Value) -> Result<bool, Mismatch> {
    let order = match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => match operator {
            Operator::Equal => return Ok(a == b),
            Operator::NotEqual => return Ok(a != b),
            _ => return Err(Mismatch),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            (None, None) => a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b)),
            _ => None,
        },
        _ => None,
    };
    let order = order.ok_or(Mismatch)?;
    Ok(match operator {
        Operator::Less => order == Ordering::Less,
        Operator::LessEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterEqual => order != Ordering::Less,
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
    })
}
