//! Where an upstream's key comes from. The file names the source and never holds the key.

use super::params;
use super::surroundings::Surroundings;
use crate::config::table::{Node, Table};
use spillway_policies::upstream::CredentialRef;

pub(super) fn credential(table: &mut Table<'_>, surroundings: &Surroundings<'_>) -> Option<CredentialRef> {
    let (secret, file) = (table.take("api_key_secret"), table.take("api_key_file"));
    if let (Some(_), Some(file)) = (&secret, &file) {
        file.name.wrong("stands beside api_key_secret", "keep one of them: a key has one source");
    }
    let env = secret.and_then(|node| variable(&node, surroundings)).map(CredentialRef::Env);
    env.or_else(|| file.and_then(|node| surroundings.file_text(&node)).map(CredentialRef::File))
}

/// The name of an environment variable that holds an upstream's key.
fn variable(node: &Node<'_>, surroundings: &Surroundings<'_>) -> Option<String> {
    let name = variable_name(node)?;
    surroundings.expect_variable(name, &node.place);
    Some(name.into())
}

/// A well-formed name of an environment variable; what is none is never repeated, it may be the key itself.
pub(super) fn variable_name<'t>(node: &Node<'t>) -> Option<&'t str> {
    let name = node.text()?;
    if params::is_identifier(name, 128) {
        return Some(name);
    }
    let hint = "letters, digits and _, at most 128, not starting with a digit; put the key into such a variable, never into this file";
    node.place.wrong("must be the name of an environment variable", hint);
    None
}
