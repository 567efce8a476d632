//! Fields, keys and indexes; `has`; and the same of optionals.

use super::Run;
use super::plan::{Access, By, Mode};
use crate::cost::actual;
use crate::value::{Outcome, Val, fail};

impl<'a> Run<'_, 'a> {
    #[inline(never)]
    pub(super) fn access(&mut self, it: &'a Access) -> Outcome<'a> {
        let operand = self.eval(&it.operand)?;
        let key = match &it.by {
            By::Field(name) => Val::text(name.clone()),
            By::Index(step) => {
                let key = self.eval(step)?;
                self.refund(step);
                key
            }
        };
        if it.computed {
            self.spend(actual::IDENT)?;
        }
        // Below an optional everything is optional.
        let (operand, optional) = match operand {
            Val::Optional(None) if it.mode == Mode::Test => return Ok(Val::Bool(false)),
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => ((*value).clone(), true),
            other => (other, it.mode == Mode::Optional),
        };
        let found = match &it.by {
            By::Field(name) => field(&operand, name),
            By::Index(_) => index(&operand, &key),
        };
        // What is not there where it need not be costs nothing.
        if it.mode != Mode::Test && !(optional && matches!(found, Found::No(_))) {
            self.spend(actual::SELECT)?;
        }
        match (found, it.mode) {
            (Found::Value(value), Mode::Test) => value.map(|_| Val::Bool(true)),
            (Found::No(_), Mode::Test) => Ok(Val::Bool(false)),
            (Found::Value(value), _) if optional => value.map(Val::some),
            (Found::No(_), _) if optional => Ok(Val::Optional(None)),
            (Found::Value(value), _) => value,
            (Found::No(why) | Found::Wrong(why), _) => fail(why),
        }
    }
}

enum Found<'a> {
    Value(Outcome<'a>),
    /// It is not there.
    No(String),
    /// It cannot be there.
    Wrong(String),
}

fn field<'a>(operand: &Val<'a>, name: &str) -> Found<'a> {
    match operand {
        Val::Map(map) => match map.field(name) {
            Some(value) => Found::Value(value),
            None => Found::No(format!("no such key: {name}")),
        },
        _ => Found::Wrong("no such overload".to_owned()),
    }
}

fn index<'a>(operand: &Val<'a>, key: &Val<'a>) -> Found<'a> {
    match operand {
        Val::Map(map) => match map.get(key) {
            Some(value) => Found::Value(value),
            None => Found::No(format!("no such key: {key}")),
        },
        Val::List(list) => {
            let place = match key {
                Val::Int(it) => usize::try_from(*it).ok(),
                Val::Uint(it) => usize::try_from(*it).ok(),
                Val::Double(it) if it.fract() == 0.0 && *it >= 0.0 && *it < 2f64.powi(53) => {
                    Some(*it as usize)
                }
                Val::Double(_) => None,
                other => {
                    return Found::Wrong(format!("unsupported index type '{}' in list", other.ty().name()));
                }
            };
            match place.and_then(|it| list.get(it)) {
                Some(value) => Found::Value(value),
                None => Found::No(format!("index out of bounds: {key}")),
            }
        }
        _ => Found::Wrong("no such overload".to_owned()),
    }
}
