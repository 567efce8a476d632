//! Environments, programs, and their runs.

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

/// The variables of expressions, with their types. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Env {
    variables: Arc<Vec<Variable>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) declared: Arc<DeclaredType>,
    /// Whether expressions see an optional, as `oldSelf` with `optionalOldSelf`.
    pub(crate) optional: bool,
}

impl Env {
    /// Creates an environment without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable, replacing one of the same name.
    #[must_use]
    pub fn with(self, name: &str, declared: Arc<DeclaredType>) -> Self {
        self.add(name, declared, false)
    }

    /// Adds a variable that expressions see as an optional, without a value if unbound.
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

    /// Compiles an expression.
    ///
    /// Errors have their positions; exceeding a limit is one of them.
    pub fn compile(&self, text: &str) -> Result<Program, CompileErrors> {
        let wrong = |errors| CompileErrors::new(text, errors);
        let (node, ids) = syntax::parse(text).map_err(wrong)?;
        let types: Vec<_> = self.variables.iter().map(Variable::ty).collect();
        let checked = check::check(node, ids, &types).map_err(wrong)?;
        let (step, pattern_states) = plan(&checked).map_err(wrong)?;
        let names = self.variables.iter().map(|it| it.name.clone()).collect();
        Ok(Program { variables: self.variables.clone(), names, checked, step, pattern_states })
    }
}

impl Variable {
    fn ty(&self) -> (String, Type) {
        let ty = self.declared.ty().clone();
        (self.name.clone(), if self.optional { Type::optional(ty) } else { ty })
    }
}

/// A compiled expression. Immutable: any number of threads may run it.
#[derive(Debug)]
pub struct Program {
    variables: Arc<Vec<Variable>>,
    names: Vec<String>,
    checked: Checked,
    step: Step,
    pattern_states: u64,
}

impl Program {
    /// Returns the result type. A validation rule is a [`Type::Bool`].
    pub fn result_type(&self) -> &Type {
        self.checked.ty(&self.checked.node)
    }

    /// Returns whether the expression refers to `variable`.
    pub fn uses(&self, variable: &str) -> bool {
        let is = |it: &Meaning| matches!(it, Meaning::Variable(place) if self.names[*place] == variable);
        self.checked.meanings.iter().any(is)
    }

    /// Returns the number of states of the constant regular expressions.
    pub fn pattern_states(&self) -> u64 {
        self.pattern_states
    }

    /// Returns the cost range of a run, from the declared limits.
    pub fn estimate(&self) -> Estimate {
        estimate::estimate(&self.checked, &self.variables)
    }

    /// Evaluates the expression, and subtracts its cost from `budget`, also on an error.
    ///
    /// Never panics. A value that does not match its declared type is an error where it is used.
    pub fn run<'a>(&'a self, bindings: &Bindings<'a>, budget: &mut Budget) -> Result<Val<'a>, RunError> {
        let variables: Vec<_> = self.variables.iter().map(|it| it.value(bindings)).collect();
        let locals = Vec::new();
        let mut run = Run { variables: &variables, names: &self.names, locals, cost: 0, limit: budget.run };
        let outcome = run.eval(&self.step);
        budget.last = run.cost;
        // Also after an error, or failing rules would evade the budget of the object.
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

/// The values of variables for one run. JSON is read only as far as the expression needs.
#[derive(Debug, Clone, Default)]
pub struct Bindings<'a> {
    values: Vec<(&'a str, &'a Value)>,
    /// Values that are not JSON.
    given: Vec<(&'a str, Val<'a>)>,
}

impl<'a> Bindings<'a> {
    /// Creates empty bindings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds a JSON value.
    #[must_use]
    pub fn with(mut self, variable: &'a str, value: &'a Value) -> Self {
        self.values.push((variable, value));
        self
    }

    /// Binds an authorizer.
    #[must_use]
    pub fn with_authorizer(mut self, variable: &'a str, authorizer: &Arc<dyn Authorizer>) -> Self {
        self.given
            .push((variable, Val::Opaque(Arc::new(Opaque::Authorizer(BoundAuthorizer::of(authorizer))))));
        self
    }

    /// Binds a resource check.
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

/// The cost budget of all expressions of one object, and of each run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    left: u64,
    run: u64,
    last: u64,
}

impl Budget {
    /// Creates a budget of `total` for all runs and `run` for each.
    pub fn new(total: u64, run: u64) -> Self {
        Self { left: total, run, last: 0 }
    }

    /// Returns Kubernetes' budget for one object: [`limits::OBJECT_COST`] and [`limits::RUN_COST`].
    pub fn object() -> Self {
        Self::new(limits::OBJECT_COST, limits::RUN_COST)
    }

    /// Returns Kubernetes' budget for the conditions of one webhook: [`limits::CONDITIONS_COST`]
    /// and [`limits::RUN_COST`].
    pub fn conditions() -> Self {
        Self::new(limits::CONDITIONS_COST, limits::RUN_COST)
    }

    /// Returns the remaining budget.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the cost of the last run.
    pub fn last(&self) -> u64 {
        self.last
    }
}
