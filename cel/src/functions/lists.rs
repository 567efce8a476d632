//! Functions on lists, and on lists as sets.

use std::cmp::Ordering;

use super::{Function, operators};
use crate::limits::RANGE_ITEMS;
use crate::value::{List, Outcome, Val, compare, contains, equal, fail, no_overload};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "isSorted" => |args| is_sorted(list(args.values)?),
        "sum" => |args| sum(list(args.values)?),
        "min" => |args| extreme(list(args.values)?, Ordering::Greater, "min"),
        "max" => |args| extreme(list(args.values)?, Ordering::Less, "max"),
        "includes" => |args| match args.values {
            [Val::List(list), value] => contains(&list.all()?, value).map(Val::Bool),
            _ => no_overload(),
        },
        "sets.contains" => |args| sets(args.values, |a, b| all_in(b, a)),
        "sets.equivalent" => |args| sets(args.values, |a, b| Ok(all_in(a, b)? && all_in(b, a)?)),
        "sets.intersects" => |args| {
            sets(args.values, |a, b| {
                for item in b {
                    if contains(a, item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            })
        },
        "slice" => |args| match args.values {
            [Val::List(list), Val::Int(from), Val::Int(to)] => slice(list, *from, *to),
            _ => no_overload(),
        },
        "reverse" => |args| Ok(Val::list(list(args.values)?.all()?.into_iter().rev().collect())),
        "distinct" => |args| {
            let mut seen: Vec<Val<'_>> = Vec::new();
            for item in list(args.values)?.all()? {
                if !contains(&seen, &item)? {
                    seen.push(item);
                }
            }
            Ok(Val::list(seen))
        },
        "sort" => |args| {
            let items = list(args.values)?.all()?;
            sorted(items.clone(), items)
        },
        "@sortByAssociatedKeys" => |args| match args.values {
            [Val::List(list), Val::List(keys)] => sorted(list.all()?, keys.all()?),
            _ => no_overload(),
        },
        "lists.range" => |args| match args.values {
            // The cost depends on the result, so it is charged too late for a huge list.
            [Val::Int(count)] if *count > RANGE_ITEMS => {
                fail(format!("lists.range size exceeds limit: {RANGE_ITEMS}"))
            }
            [Val::Int(count)] => Ok(Val::list((0..*count).map(Val::Int).collect())),
            _ => no_overload(),
        },
        "flatten" => |args| match args.values {
            [Val::List(list)] => flat(list, 1),
            [Val::List(_), Val::Int(depth)] if *depth < 0 => fail("level must be non-negative"),
            [Val::List(list), Val::Int(depth)] => flat(list, *depth),
            _ => no_overload(),
        },
        "first" => |args| Ok(Val::Optional(end(list(args.values)?, |_| Some(0))?)),
        "last" => |args| Ok(Val::Optional(end(list(args.values)?, |len| len.checked_sub(1))?)),
        _ => return None,
    })
}

fn list<'s, 'a>(values: &'s [Val<'a>]) -> Result<&'s List<'a>, crate::value::Failure> {
    match values.first() {
        Some(Val::List(list)) => Ok(list),
        _ => Err(crate::value::Failure::Error("no such overload".to_owned())),
    }
}

type Ended<'a> = Result<Option<std::sync::Arc<Val<'a>>>, crate::value::Failure>;

fn end<'a>(list: &List<'a>, place: fn(usize) -> Option<usize>) -> Ended<'a> {
    place(list.len()).and_then(|it| list.get(it)).transpose().map(|it| it.map(std::sync::Arc::new))
}

fn is_sorted<'a>(list: &List<'a>) -> Outcome<'a> {
    let items = list.all()?;
    for pair in items.windows(2) {
        match compare(&pair[0], &pair[1]) {
            None => return no_overload(),
            Some(Some(Ordering::Greater)) => return Ok(Val::Bool(false)),
            _ => {}
        }
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(list: &List<'a>) -> Outcome<'a> {
    let mut items = list.all()?.into_iter();
    let Some(first) = items.next() else { return Ok(Val::Int(0)) };
    items.try_fold(first, |sum, item| operators::plus(&[sum, item]))
}

fn extreme<'a>(list: &List<'a>, worse: Ordering, name: &str) -> Outcome<'a> {
    let mut best: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        let better = match &best {
            None => true,
            Some(before) => match compare(before, &item) {
                None => return no_overload(),
                Some(order) => order == Some(worse),
            },
        };
        if better {
            best = Some(item);
        }
    }
    best.map_or_else(|| fail(format!("{name} called on empty list")), Ok)
}

pub(super) fn index_of<'a>(values: &[Val<'a>], last: bool) -> Outcome<'a> {
    let [Val::List(list), value] = values else { return no_overload() };
    let mut found = -1;
    for (index, item) in list.iter().enumerate() {
        if equal(&item?, value)? {
            found = index as i64;
            if !last {
                break;
            }
        }
    }
    Ok(Val::Int(found))
}

type Test = for<'s, 'a> fn(&'s [Val<'a>], &'s [Val<'a>]) -> Result<bool, crate::value::Failure>;

fn sets<'a>(values: &[Val<'a>], test: Test) -> Outcome<'a> {
    match values {
        [Val::List(a), Val::List(b)] => test(&a.all()?, &b.all()?).map(Val::Bool),
        _ => no_overload(),
    }
}

fn all_in(items: &[Val<'_>], set: &[Val<'_>]) -> Result<bool, crate::value::Failure> {
    for item in items {
        if !contains(set, item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn slice<'a>(list: &List<'a>, from: i64, to: i64) -> Outcome<'a> {
    if from < 0 || to < 0 {
        return fail(format!("cannot slice({from}, {to}), negative indexes not supported"));
    }
    if from > to {
        return fail(format!(
            "cannot slice({from}, {to}), start index must be less than or equal to end index"
        ));
    }
    if to as usize > list.len() {
        return fail(format!("cannot slice({from}, {to}), list is length {}", list.len()));
    }
    let items = (from as usize..to as usize).filter_map(|it| list.get(it)).collect::<Result<_, _>>()?;
    Ok(Val::list(items))
}

fn sorted<'a>(items: Vec<Val<'a>>, keys: Vec<Val<'a>>) -> Outcome<'a> {
    if items.len() != keys.len() {
        return fail("@sortByAssociatedKeys() expected a list of the same size as the associated keys list");
    }
    let comparable = keys.windows(2).all(|it| it[0].ty() == it[1].ty() && compare(&it[0], &it[1]).is_some());
    if !comparable || keys.first().is_some_and(|it| compare(it, it).is_none()) {
        return fail("list elements must have the same, comparable type");
    }
    let mut pairs: Vec<_> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|a, b| compare(&a.0, &b.0).flatten().unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|it| it.1).collect()))
}

fn flat<'a>(list: &List<'a>, depth: i64) -> Outcome<'a> {
    let mut items = list.all()?;
    for _ in 0..depth {
        // The depth is an argument, and may be far larger than any nesting.
        if !items.iter().any(|it| matches!(it, Val::List(_))) {
            break;
        }
        let mut next = Vec::new();
        for item in items {
            match item {
                Val::List(inner) => next.extend(inner.all()?),
                other => next.push(other),
            }
        }
        items = next;
    }
    Ok(Val::list(items))
}
