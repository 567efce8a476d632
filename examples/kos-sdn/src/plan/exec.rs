//! Programs that agents run for attachments: permission, arguments and metrics.

use std::collections::BTreeSet;

/// The values that program arguments may refer to.
#[derive(Clone, Copy, Debug)]
pub struct ExecValues<'a> {
    /// Name of the interface.
    pub ifname: &'a str,
    /// IPv4 address of the interface.
    pub ipv4: &'a str,
    /// MAC address of the interface.
    pub mac: &'a str,
}

/// Returns an error text unless the program's path is byte for byte one of the allowed ones.
#[must_use]
pub fn not_allowed(hook: &str, exec: &[String], allowed: &BTreeSet<String>) -> Option<String> {
    let path = exec.first().filter(|path| !allowed.contains(*path))?;
    Some(format!("{hook} specifies non-allowed path {path}"))
}

/// Expands `${ifname}`, `${ipv4}` and `${mac}` in the arguments, not in the path. Other references
/// stay.
#[must_use]
pub fn expand(exec: &[String], values: &ExecValues<'_>) -> Vec<String> {
    let path = exec.first().cloned();
    path.into_iter().chain(exec.iter().skip(1).map(|argument| expand_one(argument, values))).collect()
}

/// Expands in one pass: expanded text is not expanded again.
fn expand_one(argument: &str, values: &ExecValues<'_>) -> String {
    let known = [("${ifname}", values.ifname), ("${ipv4}", values.ipv4), ("${mac}", values.mac)];
    let (mut expanded, mut rest) = (String::new(), argument);
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        expanded.push_str(before);
        match known.iter().find(|(name, _)| from.starts_with(name)) {
            Some((name, value)) => {
                expanded.push_str(value);
                rest = &from[name.len()..];
            }
            None => {
                expanded.push_str("${");
                rest = &from[2..];
            }
        }
    }
    expanded + rest
}

/// Counts the occurrences of `Invalid` in the output of a program.
#[must_use]
pub fn complaints(output: &str, errors: &str) -> usize {
    output.matches("Invalid").count() + errors.matches("Invalid").count()
}

/// Returns the metric label: the base-2 logarithm of the count rounded down, -1 for none.
#[must_use]
pub fn complaints_label(complaints: usize) -> i32 {
    complaints.checked_ilog2().and_then(|log| i32::try_from(log).ok()).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(str::to_owned).into()
    }

    /// The original expanded the values in the cached object itself.
    #[test]
    fn expansion_does_not_modify_the_spec() {
        let values = ExecValues { ifname: "kos0", ipv4: "10.0.0.2", mac: "${ipv4}" };
        let exec =
            texts(["/bin/${ifname}", "${ifname}", "a${ipv4}/24${ipv4}b", "${x}${", "$${ifname}}", "${mac}"]);
        let before = exec.clone();
        let expected = ["/bin/${ifname}", "kos0", "a10.0.0.2/2410.0.0.2b", "${x}${", "$kos0}", "${ipv4}"];
        assert_eq!(expand(&exec, &values), texts(expected));
        assert_eq!(exec, before);
        assert_eq!(expand(&[], &values), Vec::<String>::new());
    }

    #[test]
    fn paths_outside_the_allow_list_are_rejected() {
        let allowed = BTreeSet::from(["/bin/a".to_owned()]);
        let check = |exec: &[String], expected: Option<&str>| {
            assert_eq!(not_allowed("postCreate", exec, &allowed).as_deref(), expected);
        };
        check(&[], None);
        check(&texts(["/bin/a", "x"]), None);
        check(&texts(["/bin//a"]), Some("postCreate specifies non-allowed path /bin//a"));
    }

    #[test]
    fn complaints_are_counted_by_their_logarithm() {
        let check = |count: usize, expected: i32| {
            assert_eq!(complaints_label(complaints(&"Invalid ".repeat(count), "")), expected);
        };
        check(0, -1);
        check(1, 0);
        check(3, 1);
        check(4, 2);
        assert_eq!(complaints("Invalid", "invalid Invalid"), 2);
    }
}
