//! An environment, what is compiled in it, and a run of that.

use std::sync::Arc;

use serde_json::Value;

use crate::authorizer::{Authorizer, BoundAuthorizer, ResourceAttributes};
use crate::check::{self, Checked, Meaning};
use crate::cost::estimate::{self, Estimate};
use crate::declared::DeclaredType;
use crate::error::{CompileErrors, RunError};
use crate::eval::Run;
use crate::eval::plan::{Step, plan};
use crate::functions::opaque::Opaque;
use crate::limits;
use crate::syntax;
use crate::types::Type;
use crate::value::{Failure, Outcome, Val, read};

/// The variables that expressions may use, and their types. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Env {
    variables: Arc<Vec<Variable>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) declared: Arc<DeclaredType>,
    /// Given as an optional: `oldSelf` with `optionalOldSelf`.
    pub(crate) optional: bool,
}

impl Env {
    /// An environment without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more variable. One that has the name of another takes its place.
    #[must_use]
    pub fn with(self, name: &str, declared: Arc<DeclaredType>) -> Self {
        self.add(name, declared, false)
    }

    /// With one more variable, which expressions see as an optional: with no value bound to it, it has none.
    #[must_use]
    pub fn with_optional(self, name: &str, declared: Arc<DeclaredType>) -> Self {
        self.add(name, declared, true)
    }

    fn add(mut self, name: &str, declared: Arc<DeclaredType>, optional: bool) -> Self {
        let variables = Arc::make_mut(&mut self.variables);
        variables.retain(|it| it.name != name);
        variables.push(Variable { name: name.to_owned(), declared, optional });
        self
    }

    /// Parses and checks an expression, and makes it ready to run.
    ///
    /// The errors say what is wrong where; a limit that is reached is one of them.
    pub fn compile(&self, text: &str) -> Result<Program, CompileErrors> {
        let wrong = |errors| CompileErrors::new(text, errors);
        let (node, ids) = syntax::parse(text).map_err(wrong)?;
        let types: Vec<_> = self.variables.iter().map(Variable::ty).collect();
        let checked = check::check(node, ids, &types).map_err(wrong)?;
        let step = plan(&checked).map_err(wrong)?;
        let names = self.variables.iter().map(|it| it.name.clone()).collect();
        Ok(Program { variables: self.variables.clone(), names, checked, step })
    }
}

impl Variable {
    fn ty(&self) -> (String, Type) {
        let ty = self.declared.ty().clone();
        (self.name.clone(), if self.optional { Type::optional(ty) } else { ty })
    }
}

/// A compiled expression. It never changes, and any number of threads may run it.
#[derive(Debug)]
pub struct Program {
    variables: Arc<Vec<Variable>>,
    names: Vec<String>,
    checked: Checked,
    step: Step,
}

impl Program {
    /// The type of what it evaluates to. A validation rule is a [`Type::Bool`].
    pub fn result_type(&self) -> &Type {
        self.checked.ty(&self.checked.node)
    }

    /// Whether it refers to the variable.
    pub fn uses(&self, variable: &str) -> bool {
        let is = |it: &Meaning| matches!(it, Meaning::Variable(place) if self.names[*place] == variable);
        self.checked.meanings.iter().any(is)
    }

    /// What a run costs at least and at most, by what the declarations allow.
    pub fn estimate(&self) -> Estimate {
        estimate::estimate(&self.checked, &self.variables)
    }

    /// Evaluates it. What it costs is taken from the budget, also where it fails.
    ///
    /// It never panics, whatever the values are; those that do not fit their declarations are errors where they are used.
    pub fn run<'a>(&'a self, bindings: &Bindings<'a>, budget: &mut Budget) -> Result<Val<'a>, RunError> {
        let variables: Vec<_> = self.variables.iter().map(|it| it.value(bindings)).collect();
        let locals = Vec::new();
        let mut run = Run { variables: &variables, names: &self.names, locals, cost: 0, limit: budget.run };
        let outcome = run.eval(&self.step);
        budget.last = run.cost;
        let left = budget.left.checked_sub(run.cost);
        budget.left = left.unwrap_or(0);
        match outcome {
            Err(Failure::Cost) => Err(RunError::CostExceeded),
            _ if left.is_none() => Err(RunError::BudgetExceeded),
            Ok(value) => Ok(value),
            Err(Failure::Error(why)) => Err(RunError::Failed(why)),
            Err(Failure::Unbound(name)) => Err(RunError::Unbound(name)),
        }
    }
}

impl Variable {
    fn value<'a>(&'a self, bindings: &Bindings<'a>) -> Option<Outcome<'a>> {
        if let Some((_, value)) = bindings.given.iter().rev().find(|it| it.0 == self.name) {
            return Some(Ok(value.clone()));
        }
        let json = bindings.values.iter().rev().find(|it| it.0 == self.name).map(|it| it.1);
        match (json, self.optional) {
            (Some(json), false) => Some(read(json, &self.declared)),
            (Some(json), true) => Some(read(json, &self.declared).map(Val::some)),
            (None, true) => Some(Ok(Val::Optional(None))),
            (None, false) => None,
        }
    }
}

/// The values of variables for one run. JSON that is read only as far as the expression looks.
#[derive(Debug, Clone, Default)]
pub struct Bindings<'a> {
    values: Vec<(&'a str, &'a Value)>,
    /// What is no JSON.
    given: Vec<(&'a str, Val<'a>)>,
}

impl<'a> Bindings<'a> {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a value for the variable.
    #[must_use]
    pub fn with(mut self, variable: &'a str, value: &'a Value) -> Self {
        self.values.push((variable, value));
        self
    }

    /// With who is asked by the variable.
    #[must_use]
    pub fn with_authorizer(mut self, variable: &'a str, authorizer: &Arc<dyn Authorizer>) -> Self {
        self.given
            .push((variable, Val::Opaque(Arc::new(Opaque::Authorizer(BoundAuthorizer::of(authorizer))))));
        self
    }

    /// With a resource that the variable asks about.
    #[must_use]
    pub fn with_resource(
        mut self,
        variable: &'a str,
        authorizer: &Arc<dyn Authorizer>,
        resource: ResourceAttributes,
    ) -> Self {
        let check = Opaque::ResourceCheck(BoundAuthorizer::of(authorizer), resource);
        self.given.push((variable, Val::Opaque(Arc::new(check))));
        self
    }
}

/// What the expressions of one object may cost together, and each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    left: u64,
    run: u64,
    last: u64,
}

impl Budget {
    /// So much for all, and so much for each run.
    pub fn new(total: u64, run: u64) -> Self {
        Self { left: total, run, last: 0 }
    }

    /// What Kubernetes allows for one object: [`limits::OBJECT_COST`] and [`limits::RUN_COST`].
    pub fn object() -> Self {
        Self::new(limits::OBJECT_COST, limits::RUN_COST)
    }

    /// What Kubernetes allows for the conditions of one webhook: [`limits::CONDITIONS_COST`] and [`limits::RUN_COST`].
    pub fn conditions() -> Self {
        Self::new(limits::CONDITIONS_COST, limits::RUN_COST)
    }

    /// What is left for further runs.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// What the last run cost.
    pub fn last(&self) -> u64 {
        self.last
    }
}
