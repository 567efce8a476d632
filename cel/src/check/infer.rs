//! Type inference by the rules of CEL's checker: a type that is not known is assignable to
//! anything, and the more general of two matching types is kept.

use crate::types::Type;

/// Work limit of one compilation. Each step of an expression can double the size of its type.
const WORK: u32 = 2_000_000;
/// Maximum size of a node's type, counted in nested types.
const PARTS: usize = 2_000;

/// The substitution of type variables.
#[derive(Debug)]
pub(crate) struct Infer {
    known: Vec<Option<Type>>,
    /// Previous values of substituted variables, restored if an overload does not match.
    trail: Vec<(u32, Option<Type>)>,
    work: u32,
}

impl Infer {
    pub(crate) fn new() -> Self {
        Self { known: Vec::new(), trail: Vec::new(), work: WORK }
    }

    /// Returns whether the work limit is exceeded.
    pub(crate) fn exhausted(&self) -> bool {
        self.work == 0
    }

    /// Returns a fresh type variable.
    pub(crate) fn open(&mut self) -> Type {
        Type::Var(self.open_many(1))
    }

    /// Returns the first of `count` fresh type variables.
    pub(crate) fn open_many(&mut self, count: u32) -> u32 {
        let first = self.known.len() as u32;
        self.known.resize(self.known.len() + count as usize, None);
        first
    }

    /// Returns whether `from` is assignable to `to`. If not, the substitution is unchanged.
    pub(crate) fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        self.all_assignable(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    pub(crate) fn all_assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        self.trail.clear();
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.fits(from, to));
        if !fits {
            while let Some((var, known)) = self.trail.pop() {
                self.known[var as usize] = known;
            }
        }
        fits
    }

    fn spend(&mut self) -> bool {
        self.work = self.work.saturating_sub(1);
        self.work > 0
    }

    fn fits(&mut self, from: &Type, to: &Type) -> bool {
        if !self.spend() {
            return false;
        }
        if let Type::Var(var) = to {
            let (valid, known) = self.stands_for(from, *var);
            if valid || known {
                return valid;
            }
        }
        if let Type::Var(var) = from {
            return self.stands_for(to, *var).0;
        }
        match (from, to) {
            _ if from.is_dyn_or_error() || to.is_dyn_or_error() => true,
            (Type::Null, other) | (other, Type::Null) => {
                use Type::{Duration, Null, Object, Opaque, Optional, Timestamp};
                matches!(other, Null | Object(_) | Opaque(_) | Optional(_) | Duration | Timestamp)
            }
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.fits(a, b),
            (Type::Map(k, v), Type::Map(l, w)) => self.fits(k, l) && self.fits(v, w),
            (Type::Object(a), Type::Object(b)) => std::sync::Arc::ptr_eq(a, b) || a.name == b.name,
            _ => from == to,
        }
    }

    /// Returns whether a type variable can be substituted by `ty`, and whether it already has a
    /// substitution.
    fn stands_for(&mut self, ty: &Type, var: u32) -> (bool, bool) {
        if *ty == Type::Var(var) {
            return (true, true);
        }
        if let Some(known) = self.known[var as usize].clone() {
            if self.same(ty, &known) {
                return (true, true);
            }
            if !self.fits(ty, &known) {
                return (false, true);
            }
            let general = if self.less_specific(ty, &known) { ty.clone() } else { known };
            if !self.mentions(&general, var) {
                self.learn(var, general);
            }
            return (true, true);
        }
        if self.mentions(ty, var) {
            return (false, false);
        }
        self.learn(var, ty.clone());
        (true, false)
    }

    fn learn(&mut self, var: u32, ty: Type) {
        let before = self.known[var as usize].replace(ty);
        self.trail.push((var, before));
    }

    fn same(&mut self, a: &Type, b: &Type) -> bool {
        if !self.spend() || std::mem::discriminant(a) != std::mem::discriminant(b) {
            return false;
        }
        match (a, b) {
            (Type::Object(a), Type::Object(b)) => a.name == b.name,
            _ if a.parameters().next().is_some() => {
                a.parameters().zip(b.parameters()).all(|(a, b)| self.same(a, b))
            }
            _ => a == b,
        }
    }

    fn mentions(&mut self, ty: &Type, var: u32) -> bool {
        if !self.spend() {
            return true;
        }
        match ty {
            Type::Var(it) if *it == var => true,
            Type::Var(it) => {
                let known = self.known[*it as usize].clone();
                known.is_some_and(|known| self.mentions(&known, var))
            }
            _ => ty.parameters().any(|it| self.mentions(it, var)),
        }
    }

    /// Returns the more general of two matching types.
    pub(crate) fn most_general(&mut self, a: &Type, b: &Type) -> Type {
        if self.less_specific(a, b) { a.clone() } else { b.clone() }
    }

    fn less_specific(&mut self, a: &Type, b: &Type) -> bool {
        if !self.spend() {
            return false;
        }
        match (a, b) {
            (Type::Dyn | Type::Error | Type::Var(_), _) => true,
            (_, Type::Dyn | Type::Error | Type::Var(_)) => false,
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
                self.less_specific(a, b)
            }
            (Type::Map(k, v), Type::Map(l, w)) => self.less_specific(k, l) && self.less_specific(v, w),
            _ => self.same(a, b),
        }
    }

    /// Substitutes the type variables of `ty`; with `finally`, unbound ones become `dyn`.
    pub(crate) fn resolve(&mut self, ty: &Type, finally: bool) -> Type {
        let mut parts = PARTS;
        self.resolved(ty, finally, &mut parts)
    }

    fn resolved(&mut self, ty: &Type, finally: bool, parts: &mut usize) -> Type {
        if *parts == 0 || !self.spend() {
            self.work = 0;
            return Type::Error;
        }
        *parts -= 1;
        let mut inner = |ty: &Type| std::sync::Arc::new(self.resolved(ty, finally, parts));
        match ty {
            Type::Var(var) => match self.known[*var as usize].clone() {
                Some(known) => self.resolved(&known, finally, parts),
                None if finally => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(item) => Type::List(inner(item)),
            Type::Optional(value) => Type::Optional(inner(value)),
            Type::Type(of) => Type::Type(inner(of)),
            Type::Map(key, value) => Type::Map(inner(key), inner(value)),
            _ => ty.clone(),
        }
    }

    /// Returns a declared type with its parameters renumbered from `first`.
    pub(crate) fn instantiate(ty: &Type, first: u32) -> Type {
        let inner = |ty: &Type| std::sync::Arc::new(Self::instantiate(ty, first));
        match ty {
            Type::Var(var) => Type::Var(first + var),
            Type::List(item) => Type::List(inner(item)),
            Type::Optional(value) => Type::Optional(inner(value)),
            Type::Type(of) => Type::Type(inner(of)),
            Type::Map(key, value) => Type::Map(inner(key), inner(value)),
            _ => ty.clone(),
        }
    }
}
