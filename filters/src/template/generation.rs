//! What is a `{% generation %}` block? A mark that `transformers` puts around the assistant's words for training. Here it only groups.

const TAGS: [(&str, &str); 2] = [("generation", "with"), ("endgeneration", "endwith")];

/// The template with its generation tags turned into tags that do nothing but open a scope, as the original does. Comments and texts
/// stay as they are.
pub(super) fn without_tags(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%").into_iter().chain(rest.find("{#")).min() {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let closing = if rest.starts_with("{#") { "#}" } else { "%}" };
        let end = rest[2..].find(closing).map_or(rest.len(), |end| 2 + end + 2);
        text.push_str(&renamed(&rest[..end]).unwrap_or_else(|| rest[..end].to_owned()));
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

fn renamed(tag: &str) -> Option<String> {
    let inside = tag.strip_prefix("{%")?.strip_suffix("%}")?;
    let name = inside.trim_matches(['-', '+']).trim();
    let (_, other) = TAGS.iter().find(|(old, _)| *old == name)?;
    Some(format!("{{%{}%}}", inside.replacen(name, other, 1)))
}
