//! Where is a compiled template? Compiling takes many times as long as rendering, so each thread keeps the ones it used last. They are
//! found by their text: a reloaded configuration is never served an old one.

use crate::template::Template;
use std::cell::RefCell;
use std::rc::Rc;

/// Most templates that one thread keeps.
const MOST: usize = 16;

/// Text and template, the one used last at the end.
type Kept = Vec<(String, Rc<Template>)>;

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Vec::new()) };
}

/// The template of this text; none when it is not one.
pub(super) fn template(source: &str) -> Option<Rc<Template>> {
    KEPT.with_borrow_mut(|kept| {
        let entry = match kept.iter().position(|(text, _)| text == source) {
            Some(place) => kept.remove(place),
            None => (source.to_owned(), Rc::new(Template::compile(source).ok()?)),
        };
        if kept.len() == MOST {
            kept.remove(0);
        }
        let template = entry.1.clone();
        kept.push(entry);
        Some(template)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_compiled_once_and_found_by_its_text() {
        let first = template("{{ messages }}").expect("a template");
        assert!(Rc::ptr_eq(&first, &template("{{ messages }}").expect("a template")));
        assert!(!Rc::ptr_eq(&first, &template("{{ messages }} ").expect("a template")));
        assert!(template("{% if %}").is_none());
        for place in 0..MOST {
            template(&format!("{place}")).expect("a template");
        }
        assert!(!Rc::ptr_eq(&first, &template("{{ messages }}").expect("a template")), "it gave way");
        KEPT.with_borrow(|kept| assert_eq!(kept.len(), MOST));
    }
}
