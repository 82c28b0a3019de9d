//! Which key stands there twice? The parser says where; the tree says in which table.

use super::table::join;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The path of the key that starts at `offset`: the innermost braces or the last header before it, and the key as written there.
pub(super) fn path_of(tree: &DeTable<'_>, text: &str, key: std::ops::Range<usize>) -> String {
    let mut tables = Vec::new();
    collect(tree, "", text, &mut tables);
    let (path, is_header_itself) = tables
        .iter()
        .filter(|table| table.holds(key.start))
        .max_by_key(|table| table.start)
        .map_or(("", false), |table| (table.path.as_str(), table.is_header && key.start < table.end));
    if is_header_itself {
        return path.to_owned();
    }
    let line_start = text[..key.start].rfind(['\n', '{', ',']).map_or(0, |at| at + 1);
    let dotted = text[line_start..key.start].trim().trim_end_matches('.');
    let is_plain = dotted.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let prefix = if is_plain { dotted.split('.').filter(|part| !part.is_empty()).collect() } else { Vec::new() };
    let name = text[key].trim_matches(['"', '\'']);
    prefix.into_iter().chain([name]).fold(path.to_owned(), |path, part| join(&path, part))
}

/// A table that has a place of its own: a header, or braces.
struct Written {
    path: String,
    start: usize,
    end: usize,
    is_header: bool,
}

impl Written {
    /// Braces hold what lies in them, a header everything after it.
    fn holds(&self, offset: usize) -> bool {
        self.start <= offset && (self.is_header || offset < self.end)
    }
}

fn collect(table: &DeTable<'_>, path: &str, text: &str, tables: &mut Vec<Written>) {
    for (name, value) in table {
        collect_value(value, join(path, name.get_ref()), text, tables);
    }
}

fn collect_value(value: &Spanned<DeValue<'_>>, path: String, text: &str, tables: &mut Vec<Written>) {
    match value.get_ref() {
        DeValue::Table(inner) => {
            collect(inner, &path, text, tables);
            let span = value.span();
            // A table that dotted keys imply has no place of its own.
            if let Some(is_header) = text[span.clone()].chars().next().and_then(|first| match first {
                '[' => Some(true),
                '{' => Some(false),
                _ => None,
            }) {
                tables.push(Written { path, start: span.start, end: span.end, is_header });
            }
        }
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_value(item, format!("{path}[{index}]"), text, tables);
            }
        }
        _ => {}
    }
}
