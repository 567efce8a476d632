//! Access to fields, keys and indexes, `has`, and the same on optionals.

use super::Run;
use super::plan::{Access, AccessBy, AccessMode};
use crate::cost::actual;
use crate::value::{Outcome, Val, fail};

impl<'a> Run<'_, 'a> {
    #[inline(never)]
    pub(super) fn access(&mut self, it: &'a Access) -> Outcome<'a> {
        let operand = self.eval(&it.operand)?;
        let key = match &it.by {
            AccessBy::Field(name) => Val::text(name.clone()),
            AccessBy::Index(step) => {
                let key = self.eval(step)?;
                self.refund(step);
                key
            }
        };
        if it.computed {
            self.spend(actual::IDENT)?;
        }
        // Access on an optional yields an optional.
        let (operand, optional) = match operand {
            Val::Optional(None) if it.mode == AccessMode::Test => return Ok(Val::Bool(false)),
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => ((*value).clone(), true),
            other => (other, it.mode == AccessMode::Optional),
        };
        let found = match &it.by {
            AccessBy::Field(name) => field(&operand, name),
            AccessBy::Index(_) => index(&operand, &key),
        };
        // An absent optional part costs nothing.
        if it.mode != AccessMode::Test && !(optional && matches!(found, Lookup::No(_))) {
            self.spend(actual::SELECT)?;
        }
        match (found, it.mode) {
            (Lookup::Value(value), AccessMode::Test) => value.map(|_| Val::Bool(true)),
            (Lookup::No(_), AccessMode::Test) => Ok(Val::Bool(false)),
            (Lookup::Value(value), _) if optional => value.map(Val::some),
            (Lookup::No(_), _) if optional => Ok(Val::Optional(None)),
            (Lookup::Value(value), _) => value,
            (Lookup::No(why) | Lookup::Wrong(why), _) => fail(why),
        }
    }
}

enum Lookup<'a> {
    Value(Outcome<'a>),
    /// The field, key or index is absent.
    No(String),
    /// Values of the operand's type have no such field, key or index.
    Wrong(String),
}

fn field<'a>(operand: &Val<'a>, name: &str) -> Lookup<'a> {
    match operand {
        Val::Map(map) => match map.field(name) {
            Some(value) => Lookup::Value(value),
            None => Lookup::No(format!("no such key: {name}")),
        },
        _ => Lookup::Wrong("no such overload".to_owned()),
    }
}

fn index<'a>(operand: &Val<'a>, key: &Val<'a>) -> Lookup<'a> {
    match operand {
        Val::Map(map) => match map.get(key) {
            Some(value) => Lookup::Value(value),
            None => Lookup::No(format!("no such key: {key}")),
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
                    return Lookup::Wrong(format!("unsupported index type '{}' in list", other.ty().name()));
                }
            };
            match place.and_then(|it| list.get(it)) {
                Some(value) => Lookup::Value(value),
                None => Lookup::No(format!("index out of bounds: {key}")),
            }
        }
        _ => Lookup::Wrong("no such overload".to_owned()),
    }
}
