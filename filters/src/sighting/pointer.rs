//! Which values of a JSON document does a pointer find, when `*` stands for each element of an array?

use serde_json::Value;

/// Every value that `path` finds: a JSON pointer (RFC 6901) whose token `*` is every element of an array.
pub(super) fn all<'a>(root: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut parts = path.split("/*");
    let first = root.pointer(parts.next().unwrap_or_default());
    parts.fold(first.into_iter().collect(), |found, rest| {
        let elements = found.into_iter().filter_map(Value::as_array).flatten();
        elements.filter_map(|element| element.pointer(rest)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_star_is_every_element_and_nothing_else() {
        let root =
            json!({"data": [{"n": 1, "tags": ["a", "b"]}, {"m": 2}, {"n": 3, "tags": []}], "odd": {"x": {"n": 9}}});
        assert_eq!(all(&root, "/data/*/n"), [&json!(1), &json!(3)]);
        assert_eq!(all(&root, "/data/*/tags/*"), [&json!("a"), &json!("b")]);
        assert_eq!(all(&root, "/data/0/n"), [&json!(1)]);
        assert_eq!(all(&root, ""), [&root]);
        assert!(
            all(&root, "/odd/*/n").is_empty() && all(&root, "/data/*/n/*").is_empty() && all(&root, "/no").is_empty()
        );
        assert_eq!(all(&json!([[1], [2]]), "/*/*"), [&json!(1), &json!(2)]);
    }
}
