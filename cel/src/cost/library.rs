//! Cost estimates of library functions.

use super::actual::{FORMAT_REGEX_CHARS, LIST, PER_CHAR, PER_REGEX_CHAR, selector};
use super::estimate::Coster;
use super::size::{Cost, Size};
use crate::limits::CHECK_COST;
use crate::syntax::ast::{Call, Literal, Node, NodeKind};
use crate::types::{Type, opaque};

type Known = Option<(Cost, Option<Size>)>;

impl Coster<'_> {
    /// Returns the cost of a call without its arguments, and the size of its result, if the
    /// function has a rule of its own.
    pub(super) fn library(&mut self, call: &Call, overload: &str) -> Known {
        let function = &*call.function;
        let target = call.target.as_ref();
        let args = call.args.as_slice();
        let plain = |cost| Some((cost, None));
        match (function, target, args) {
            ("check", ..) => plain(Cost::fixed(CHECK_COST)),
            ("fieldSelector" | "labelSelector", Some(_), [it]) => {
                let Size { min, max } = self.size_of(it);
                plain(Cost { min: selector(min), max: selector(max) })
            }
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes", Some(it), _) => {
                self.traversal(function, it)
            }
            ("url", None, [it]) => {
                let size = self.size_of(it);
                Some((size.cost(PER_CHAR), Some(size)))
            }
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(it), _) => {
                let size = self.size_of(it);
                Some((size.cost(PER_CHAR), Some(size)))
            }
            ("replace", Some(it), [from, to, ..]) => {
                let (size, from, to) = (self.size_of(it), self.size_of(from), self.size_of(to));
                Some((size.cost(2.0 * PER_CHAR), Some(replaced(size, from, to))))
            }
            ("split", Some(it), _) => {
                let size = self.size_of(it);
                let most = match args.get(1).map(|it| &it.kind) {
                    Some(NodeKind::Literal(Literal::Int(most))) => *most as u64,
                    _ => size.max,
                };
                Some((size.cost(2.0 * PER_CHAR), Some(Size { min: 0, max: most })))
            }
            ("join", Some(it), _) => {
                let count = self.size_of(it);
                let mut size = Size { min: 0, max: 0 };
                if let Some((_, item)) = self.item(it) {
                    size = count.multiply(item);
                }
                if let Some(by) = args.first() {
                    let gaps = Size { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
                    size = size.add(self.size_of(by).multiply(gaps));
                }
                Some((size.cost(PER_CHAR), Some(size)))
            }
            ("find" | "findAll", Some(it), [pattern, ..]) => {
                let size = self.size_of(it);
                Some((self.matching(size, pattern), Some(Size { min: 0, max: size.max })))
            }
            ("matches", Some(it), [pattern]) | ("matches", None, [it, pattern]) => {
                let size = self.size_of(it);
                plain(self.matching(size, pattern))
            }
            ("ip", _, _) if overload == "cidr_ip" => plain(Cost::fixed(1)),
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
                _,
                [it, ..],
            ) => plain(self.size_of(it).cost(PER_CHAR)),
            ("ip.isCanonical", _, [it]) => plain(self.size_of(it).cost(2.0 * PER_CHAR)),
            ("containsIP" | "containsCIDR", _, [it]) => plain(self.within(overload, it)),
            ("validate", _, [it]) => {
                plain(self.size_of(it).cost(PER_CHAR).scaled(FORMAT_REGEX_CHARS as f64 * PER_REGEX_CHAR))
            }
            ("_==_", None, [left, right]) if self.same_kind(left, right).is_some() => {
                self.same_kind(left, right).map(|it| (it, None))
            }
            ("_==_" | "_!=_", None, [left, right]) => plain(self.smaller(left, right)),
            _ => self.standard(overload, target, args),
        }
    }

    fn standard(&mut self, overload: &str, target: Option<&Node>, args: &[Node]) -> Known {
        let plain = |cost| Some((cost, None));
        match (overload, target, args) {
            ("string_format", Some(it), _) => plain(self.size_of(it).cost(PER_CHAR)),
            ("string_to_bytes", _, [it]) => {
                let size = self.size_of(it);
                // An unbounded size wraps upstream, and the estimates must agree.
                Some((size.cost(PER_CHAR), Some(Size { min: size.min, max: size.max.wrapping_mul(4) })))
            }
            ("bytes_to_string", _, [it]) => {
                let size = self.size_of(it);
                Some((size.cost(PER_CHAR), Some(Size { min: size.min / 4, max: size.max })))
            }
            ("strings_quote", _, [it]) => {
                let size = self.size_of(it);
                let quoted =
                    Size { min: size.min.wrapping_add(2), max: size.max.wrapping_mul(2).wrapping_add(2) };
                Some((size.cost(PER_CHAR), Some(quoted)))
            }
            ("starts_with_string" | "ends_with_string", _, [it]) => plain(self.size_of(it).cost(PER_CHAR)),
            ("in_list", _, [_, list]) => plain(self.size_of(list).cost(1.0)),
            ("contains_string", Some(it), [part]) => {
                plain(self.size_of(it).cost(PER_CHAR).multiply(self.size_of(part).cost(PER_CHAR)))
            }
            (
                "less_string"
                | "greater_string"
                | "less_equals_string"
                | "greater_equals_string"
                | "less_bytes"
                | "greater_bytes"
                | "less_equals_bytes"
                | "greater_equals_bytes",
                _,
                [left, right],
            ) => plain(self.smaller(left, right)),
            ("list_sets_contains_list" | "list_sets_intersects_list", _, [a, b]) => {
                plain(self.sets(a, b, 1.0))
            }
            ("list_sets_equivalent_list", _, [a, b]) => plain(self.sets(a, b, 2.0)),
            ("list_slice", Some(it), [from, to]) => {
                let size = self.size_of(it);
                let (from, to) = (number(from).unwrap_or(0), number(to).unwrap_or(size.max));
                made(1.0, Size::fixed(to.wrapping_sub(from)))
            }
            ("lists_range", _, [count]) => made(1.0, Size::fixed(number(count).unwrap_or(u64::MAX))),
            ("list_reverse", Some(it), _) => made(1.0, self.size_of(it)),
            ("list_flatten" | "list_flatten_int", Some(it), _) => {
                let depth = args.first().map_or(1, |it| number(it).unwrap_or(u64::MAX));
                made(depth as f64, self.size_of(it))
            }
            ("list_distinct", Some(it), _) => {
                let size = self.size_of(it);
                made(2.0, size.multiply(size))
            }
            (sort, Some(it), []) if sort.ends_with("_sort") => {
                let size = self.size_of(it);
                made(compared(sort), size.multiply(size))
            }
            (sort, Some(_), [keys]) if sort.ends_with("_sortByAssociatedKeys") => {
                let size = self.size_of(keys);
                made(compared(sort), size.multiply(size))
            }
            _ => None,
        }
    }

    fn traversal(&mut self, function: &str, target: &Node) -> Known {
        let size = self.size_of(target);
        let Some((ty, item)) = self.item(target) else {
            let each = if function == "includes" { 1.0 } else { PER_CHAR };
            return Some((size.cost(each), None));
        };
        let mut each = Cost::fixed(1);
        if matches!(ty, Type::String | Type::Bytes) {
            each = each.add(item.cost(PER_CHAR));
        }
        Some((size.cost(1.0).multiply(each), None))
    }

    /// Returns the type and size of a list's items; keys of a map count as items, as upstream.
    fn item(&self, list: &Node) -> Option<(Type, Size)> {
        let ty = self.ty(list).parameters().next()?.clone();
        let mut path = self.path(list);
        let size = if path.is_empty() {
            None
        } else {
            path.push("@items".into());
            self.declared_size(&path)
        };
        Some((ty, size.unwrap_or(Size::UNKNOWN)))
    }

    fn matching(&mut self, text: Size, pattern: &Node) -> Cost {
        let text = text.add(Size::fixed(1)).cost(PER_CHAR);
        text.multiply(self.size_of(pattern).cost(PER_REGEX_CHAR))
    }

    fn within(&mut self, overload: &str, other: &Node) -> Cost {
        let address = Size { min: 4, max: 16 };
        let mut cost = address.add(address).cost(PER_CHAR);
        if overload.starts_with("cidr_contains_cidr") {
            cost = cost.add(address.cost(PER_CHAR)).add(Cost::fixed(1));
        }
        if overload.ends_with("_string") {
            cost = cost.add(self.size_of(other).cost(PER_CHAR));
        }
        cost
    }

    fn smaller(&mut self, left: &Node, right: &Node) -> Cost {
        let max = self.size_of(left).max.min(self.size_of(right).max);
        Cost { min: u64::from(max > 0), max }.scaled(PER_CHAR)
    }

    /// Returns the cost of `==` for two operands of the same library type.
    fn same_kind(&self, left: &Node, right: &Node) -> Option<Cost> {
        match (self.ty(left), self.ty(right)) {
            (Type::Opaque(a), Type::Opaque(b)) if a == b => Some(match *a {
                opaque::FORMAT => Cost { min: 1, max: 64 }.scaled(PER_CHAR),
                _ => Cost::fixed(1),
            }),
            _ => None,
        }
    }

    fn sets(&mut self, a: &Node, b: &Node, factor: f64) -> Cost {
        self.size_of(a).multiply(self.size_of(b)).cost(factor).add(Cost::fixed(1))
    }
}

fn compared(overload: &str) -> f64 {
    if overload.contains("_string_") || overload.contains("_bytes_") { 2.0 + PER_CHAR } else { 2.0 }
}

/// Returns the cost of a call that makes a list of `size`.
fn made(each: f64, size: Size) -> Known {
    Some((size.cost(each).add(Cost::fixed(1 + LIST)), Some(size)))
}

fn number(node: &Node) -> Option<u64> {
    match &node.kind {
        NodeKind::Literal(Literal::Int(it)) => u64::try_from(*it).ok(),
        _ => None,
    }
}

/// Returns the size of a string after a replacement.
fn replaced(size: Size, from: Size, to: Size) -> Size {
    let mut count = Size { min: 0, max: 0 };
    let mut kept = Size { min: 0, max: 0 };
    if from.min == 0 {
        (count.max, kept.max) = (size.max.saturating_add(1), size.max);
    } else if to.max <= from.min {
        kept.max = size.max;
    } else {
        count.max = (size.max as f64 / from.min as f64).ceil() as u64;
    }
    if from.max == 0 {
        (count.min, kept.min) = (size.min.saturating_add(1), size.min);
    } else if from.max <= to.min {
        kept.min = size.min;
    } else {
        count.min = (size.min as f64 / from.max as f64).ceil() as u64;
    }
    count.multiply(to).add(kept)
}
