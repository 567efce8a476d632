//! The type checker: resolves names, overloads and types.

mod clauses;
pub(crate) mod declarations;
mod infer;
mod literals;

use std::sync::Arc;

use declarations::Overload;
use infer::Infer;

use crate::error::{Errors, Problem};
use crate::syntax::ast::{Call, Comprehension, Id, ListLiteral, Literal, Node, NodeKind, Select};
use crate::types::{Type, opaque};

/// Results of the checker, by node id.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) node: Node,
    pub(crate) types: Vec<Type>,
    pub(crate) meanings: Vec<Meaning>,
}

/// The referent of a node.
#[derive(Debug, Clone, Default)]
pub(crate) enum Meaning {
    #[default]
    None,
    /// A variable of the environment, by its index.
    Variable(usize),
    /// A variable of a macro.
    Local,
    /// A type used as a value.
    Type(Type),
    /// The candidate overloads of a call.
    Function(Vec<&'static str>),
}

impl Checked {
    pub(crate) fn ty(&self, node: &Node) -> &Type {
        &self.types[node.id as usize]
    }

    pub(crate) fn meaning(&self, node: &Node) -> &Meaning {
        &self.meanings[node.id as usize]
    }

    pub(crate) fn overloads(&self, node: &Node) -> &[&'static str] {
        match self.meaning(node) {
            Meaning::Function(overloads) => overloads,
            _ => &[],
        }
    }
}

/// Checks a tree with `ids` nodes against the declared variables.
pub(crate) fn check(mut node: Node, ids: Id, variables: &[(String, Type)]) -> Result<Checked, Errors> {
    let mut checker = Checker {
        variables,
        locals: Vec::new(),
        infer: Infer::new(),
        types: vec![Type::Error; ids as usize],
        meanings: vec![Meaning::None; ids as usize],
        errors: Errors::default(),
    };
    checker.check(&mut node);
    let open = std::mem::take(&mut checker.types);
    checker.types = open.iter().map(|ty| checker.infer.resolve(ty, true)).collect();
    if checker.infer.exhausted() {
        let problem = "the types in this expression are too large; nest lists and maps less deep";
        return Err(Errors::one(0, Problem::Limit(problem.to_owned())));
    }
    if !checker.errors.0.is_empty() {
        return Err(checker.errors);
    }
    let checked = Checked { node, types: checker.types, meanings: checker.meanings };
    let mut errors = Errors::default();
    literals::check(&checked, &checked.node, &mut errors);
    clauses::check(&checked, &checked.node, &mut errors);
    if errors.0.is_empty() { Ok(checked) } else { Err(errors) }
}

struct Checker<'v> {
    variables: &'v [(String, Type)],
    /// Variables of the enclosing macros, innermost last.
    locals: Vec<(Arc<str>, Type)>,
    infer: Infer,
    types: Vec<Type>,
    meanings: Vec<Meaning>,
    errors: Errors,
}

impl Checker<'_> {
    fn ty(&self, node: &Node) -> Type {
        self.types[node.id as usize].clone()
    }

    fn set(&mut self, id: Id, ty: Type) {
        self.types[id as usize] = ty;
    }

    fn mean(&mut self, id: Id, meaning: Meaning) {
        self.meanings[id as usize] = meaning;
    }

    fn check(&mut self, node: &mut Node) {
        let (id, at) = (node.id, node.at);
        match &mut node.kind {
            NodeKind::Literal(literal) => self.set(id, type_of(literal)),
            NodeKind::Ident(name) => {
                let name = name.clone();
                if !self.named(id, &name) {
                    self.errors.push(at, Problem::Undeclared(name.to_string()));
                }
            }
            NodeKind::Select(_) => self.select(node),
            NodeKind::Call(call) => self.call(id, at, call),
            NodeKind::List(list) => self.list(id, list),
            NodeKind::Map(_) => self.map(node),
            NodeKind::Comprehension(it) => self.comprehension(id, it),
        }
    }

    /// Resolves a variable or type name.
    fn named(&mut self, id: Id, name: &str) -> bool {
        let global = name.strip_prefix('.');
        if global.is_none()
            && let Some((_, ty)) = self.locals.iter().rev().find(|it| *it.0 == *name)
        {
            let ty = ty.clone();
            self.set(id, ty);
            self.mean(id, Meaning::Local);
            return true;
        }
        let name = global.unwrap_or(name);
        if let Some(place) = self.variables.iter().position(|it| it.0 == name) {
            self.set(id, self.variables[place].1.clone());
            self.mean(id, Meaning::Variable(place));
            return true;
        }
        let Some(ty) = named_type(name) else { return false };
        self.set(id, Type::Type(Arc::new(ty.clone())));
        self.mean(id, Meaning::Type(ty));
        true
    }

    fn select(&mut self, node: &mut Node) {
        let (id, at) = (node.id, node.at);
        // `google.protobuf.Timestamp` is one name, unless its first part is a variable.
        if let Some(name) = node.qualified_name()
            && let first = name.split('.').find(|it| !it.is_empty()).unwrap_or_default()
            && !self.locals.iter().any(|it| *it.0 == *first)
            && self.named(id, &name)
        {
            node.kind = NodeKind::Ident(name.into());
            return;
        }
        let NodeKind::Select(select) = &mut node.kind else { return };
        let Select { operand, field, test } = &mut **select;
        let ty = self.field(at, operand, field, false);
        let ty = if *test { Type::Bool } else { self.infer.resolve(&ty, false) };
        self.set(id, ty);
    }

    fn field(&mut self, at: u32, operand: &mut Node, field: &str, optional: bool) -> Type {
        self.check(operand);
        let ty = self.ty(operand);
        let ty = self.infer.resolve(&ty, false);
        let (target, wrapped) = match &ty {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let result = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => match object.field(field) {
                Some(field) => field.declared.ty().clone(),
                None => {
                    self.errors.push(at, Problem::UndefinedField(field.to_owned()));
                    Type::Error
                }
            },
            Type::Var(_) => {
                self.infer.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            Type::Opaque(name) if opaque::OF_AUTHORIZER.contains(name) => {
                self.errors.push(at, Problem::Other(format!("unexpected failed resolution of '{name}'")));
                Type::Error
            }
            other => {
                self.errors.push(at, Problem::NoSelection(other.to_string()));
                Type::Dyn
            }
        };
        if optional || wrapped { Type::optional(result) } else { result }
    }

    fn call(&mut self, id: Id, at: u32, call: &mut Call) {
        if &*call.function == "_?._" {
            return self.optional_field(id, at, call);
        }
        call.args.iter_mut().for_each(|it| self.check(it));
        if let Some(target) = &mut call.target {
            // `sets.contains(a, b)` is a namespaced function, not a member call on `sets`.
            let qualified = target.qualified_name().map(|it| format!("{it}.{}", call.function));
            let qualified = qualified.map(|it| it.trim_start_matches('.').to_owned());
            if let Some(name) = qualified.filter(|it| declarations::overloads(it).is_some()) {
                call.target = None;
                call.function = name.into();
            } else {
                self.check(target);
            }
        }
        let Some(overloads) = declarations::overloads(&call.function) else {
            self.errors.push(at, Problem::Undeclared(call.function.to_string()));
            return;
        };
        self.resolve(id, at, call, overloads);
    }

    fn resolve(&mut self, id: Id, at: u32, call: &Call, overloads: &'static [Overload]) {
        let args: Vec<_> = call.target.iter().chain(&call.args).map(|it| self.ty(it)).collect();
        if let "_&&_" | "_||_" = &*call.function {
            for (arg, ty) in call.args.iter().zip(&args) {
                self.expect(arg.at, ty, &Type::Bool);
            }
            self.set(id, Type::Bool);
            self.mean(id, Meaning::Function(vec![overloads[0].id]));
            return;
        }
        let mut result: Option<Type> = None;
        let mut fitting = Vec::new();
        for overload in overloads.iter().filter(|it| it.member == call.target.is_some()) {
            let first = self.infer.open_many(overload.open);
            let expected: Vec<_> = overload.args.iter().map(|it| Infer::instantiate(it, first)).collect();
            if !self.infer.all_assignable(&args, &expected) {
                continue;
            }
            fitting.push(overload.id);
            let found = Infer::instantiate(&overload.result, first);
            let found = self.infer.resolve(&found, false);
            result = Some(match result {
                None => found,
                Some(Type::Dyn) => Type::Dyn,
                Some(before) if before == found => before,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let args: Vec<_> = args.iter().map(|it| self.infer.resolve(it, true).to_string()).collect();
            let applied = match args.split_first() {
                Some((target, args)) if call.target.is_some() => format!("{target}.({})", args.join(", ")),
                _ => format!("({})", args.join(", ")),
            };
            let function = call.function.to_string();
            self.errors.push(at, Problem::NoOverload { function, applied });
            return;
        };
        self.set(id, result);
        self.mean(id, Meaning::Function(fitting));
    }

    fn optional_field(&mut self, id: Id, at: u32, call: &mut Call) {
        let [operand, field] = call.args.as_mut_slice() else { return };
        let NodeKind::Literal(Literal::String(name)) = &field.kind else { return };
        let name = name.clone();
        let ty = self.field(at, operand, &name, true);
        let ty = self.infer.resolve(&ty, false);
        self.set(field.id, Type::String);
        self.set(id, ty);
        self.mean(id, Meaning::Function(vec!["select_optional_field"]));
    }

    fn list(&mut self, id: Id, list: &mut ListLiteral) {
        let mut joined = None;
        for (item, optional) in list.items.iter_mut().zip(&list.optional) {
            self.check(item);
            let ty = self.entry(item, *optional);
            joined = Some(self.join(joined, ty));
        }
        let item = joined.unwrap_or_else(|| self.infer.open());
        self.set(id, Type::list(item));
    }

    fn map(&mut self, node: &mut Node) {
        let NodeKind::Map(entries) = &mut node.kind else { return };
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let ty = self.ty(&entry.key);
            keys = Some(self.join(keys, ty));
            self.check(&mut entry.value);
            let ty = self.entry(&entry.value, entry.optional);
            values = Some(self.join(values, ty));
        }
        let key = keys.unwrap_or_else(|| self.infer.open());
        let value = values.unwrap_or_else(|| self.infer.open());
        self.set(node.id, Type::map(key, value));
    }

    /// Returns the type of an item or value, which may be written with a question mark.
    fn entry(&mut self, node: &Node, optional: bool) -> Type {
        let ty = self.ty(node);
        if !optional {
            return ty;
        }
        match self.infer.resolve(&ty, false) {
            Type::Optional(inner) => (*inner).clone(),
            ty if ty.is_dyn_or_error() => ty,
            ty => {
                let expected = Type::optional(ty.clone()).to_string();
                self.errors.push(node.at, Problem::Mismatch { expected, found: ty.to_string() });
                ty
            }
        }
    }

    fn join(&mut self, before: Option<Type>, ty: Type) -> Type {
        let Some(before) = before else { return ty };
        if self.infer.assignable(&before, &ty) {
            return self.infer.most_general(&before, &ty);
        }
        Type::Dyn
    }

    fn expect(&mut self, at: u32, ty: &Type, expected: &Type) {
        if !self.infer.assignable(ty, expected) {
            self.mismatch(at, expected, ty);
        }
    }

    fn mismatch(&mut self, at: u32, expected: &Type, found: &Type) {
        let mut shown = |ty: &Type| self.infer.resolve(ty, true).to_string();
        let (expected, found) = (shown(expected), shown(found));
        self.errors.push(at, Problem::Mismatch { expected, found });
    }

    fn comprehension(&mut self, id: Id, it: &mut Comprehension) {
        self.check(&mut it.range);
        self.check(&mut it.init);
        let range = self.ty(&it.range);
        let range = self.infer.resolve(&range, false);
        let accu = self.ty(&it.init);
        let two = it.var2.is_some();
        let (first, second) = match &range {
            Type::List(item) if two => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Error),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error => (Type::Dyn, Type::Dyn),
            Type::Var(_) => {
                self.infer.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.errors.push(it.range.at, Problem::NoRange(other.to_string()));
                (Type::Error, Type::Error)
            }
        };
        let outside = self.locals.len();
        self.locals.push((it.accu.clone(), accu.clone()));
        self.locals.push((it.var.clone(), first));
        self.locals.extend(it.var2.clone().map(|var| (var, second)));
        self.check(&mut it.condition);
        let condition = self.ty(&it.condition);
        self.expect(it.condition.at, &condition, &Type::Bool);
        self.check(&mut it.step);
        let step = self.ty(&it.step);
        self.expect(it.step.at, &step, &accu);
        self.locals.truncate(outside + 1);
        self.check(&mut it.result);
        self.locals.truncate(outside);
        let ty = self.ty(&it.result);
        let ty = self.infer.resolve(&ty, false);
        self.set(id, ty);
    }
}

fn type_of(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// Returns the type of a type name.
fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "null_type" => Type::Null,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "type" => Type::Type(Arc::new(Type::Dyn)),
        "optional_type" => Type::optional(Type::Dyn),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        _ => Type::Opaque(opaque::ALL.into_iter().find(|it| *it == name)?),
    })
}
