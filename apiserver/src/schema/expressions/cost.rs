//! Cost limits of rules by estimate: of each rule, and of a whole definition.

use machinery_cel::limits::{ESTIMATED_COST, ESTIMATED_TOTAL_COST};

use crate::invalid::FieldError;
use crate::schema::read::forbidden;

/// Number of the most expensive rules that the error names.
const NAMED: usize = 4;

/// The estimates of all rules of one version.
#[derive(Default)]
pub(super) struct Costs {
    total: u64,
    /// The most expensive of the rules that cost a hundredth of the limit or more.
    expensive: Vec<(u64, String)>,
}

impl Costs {
    pub(super) fn add(&mut self, at: &str, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost >= ESTIMATED_TOTAL_COST / 100 {
            self.expensive.push((cost, at.into()));
            // The sort is stable: of rules of one cost the first are named.
            self.expensive.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.expensive.truncate(NAMED);
        }
    }

    /// Returns an error if the total cost exceeds its limit.
    pub(super) fn errors(self, at: &str) -> Vec<FieldError> {
        const PART: &str =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        const WHOLE: &str = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        if self.total <= ESTIMATED_TOTAL_COST {
            return Vec::new();
        }
        let named = self.expensive.iter().map(|(_, at)| forbidden(at, PART));
        named.chain([forbidden(at, &too_much(WHOLE, self.total, ESTIMATED_TOTAL_COST))]).collect()
    }
}

/// Returns the message for a rule that exceeds the cost limit by itself.
pub(super) fn beyond(what: &str, cost: u64) -> Option<String> {
    (cost > ESTIMATED_COST).then(|| too_much(what, cost, ESTIMATED_COST))
}

/// Multiplies the cost of a rule by the number of values that it validates.
pub(super) const fn times(cost: u64, cardinality: u64) -> u64 {
    cost.saturating_mul(cardinality)
}

fn too_much(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        many if many > 100.0 => "more than 100x".to_owned(),
        few if few < 1.5 => format!("{few:.6}x"),
        some => format!("{some:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength \
         where arrays, maps, and strings are declared)"
    )
}
