//! How much of what an engine's preset says has nobody seen an engine do?

use super::Config;
use super::error::{Diagnostic, Severity};
use super::file::File;
use spillway_filters::presets::Preset;
use std::path::Path;

impl Config {
    /// What the operator who checks `file` should know of the preset, where it stands; none: all of it was seen.
    #[must_use]
    pub fn unseen(&self, file: &Path) -> Option<Diagnostic> {
        let (problem, hint) = unseen(self.engine.preset)?;
        let whole = || Diagnostic::about(file.display().to_string(), Severity::Warning, &problem, hint);
        Some(placed(file, &problem, hint).unwrap_or_else(|| Diagnostic { key: "engine.preset".into(), ..whole() }))
    }
}

/// The warning where the preset stands. A configuration does not keep places, so the file is read once more; none: it has changed meanwhile.
fn placed(file: &Path, problem: &str, hint: &str) -> Option<Diagnostic> {
    let file = File::read(file).ok()?;
    let (tree, notes) = file.parse();
    notes.root(&tree).take("engine")?.table()?.take("preset")?.place.warn(problem, hint);
    notes.into_found().pop()
}

fn unseen(preset: &Preset) -> Option<(String, &'static str)> {
    let all = preset.origins().count();
    let (what, were, hint) = match preset.origins().filter(|origin| !origin.is_seen()).count() {
        0 => return None,
        1 if all == 1 => ("the only thing".into(), "was", "proxy/docs/engines.md says where"),
        1 => (format!("1 of the {all} things"), "was", "proxy/docs/engines.md says which"),
        unseen => (format!("{unseen} of the {all} things"), "were", "proxy/docs/engines.md lists them"),
    };
    let knows = "Spillway knows of this engine";
    Some((format!("{what} {knows} {were} read in its source or documents, and never seen on a running server"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway_filters::presets::{NAMES, preset};

    fn of(name: &str) -> Option<String> {
        unseen(preset(name).expect("the preset is listed")).map(|(problem, hint)| format!("{problem} ({hint})"))
    }

    #[test]
    fn rows_that_nobody_has_seen_are_counted() {
        assert_eq!(
            of("infinity").as_deref(),
            Some(
                "3 of the 3 things Spillway knows of this engine were read in its source or documents, and never seen on a \
                 running server (proxy/docs/engines.md lists them)"
            )
        );
        assert_eq!(of("llama_cpp"), None, "all of it was seen");
        assert_eq!(of("openai"), None, "it says nothing");
    }

    #[test]
    fn one_is_not_said_to_be_several() {
        assert_eq!(
            of("mlx").as_deref(),
            Some(
                "the only thing Spillway knows of this engine was read in its source or documents, and never seen on a running \
                 server (proxy/docs/engines.md says where)"
            )
        );
        for said in NAMES.iter().filter_map(|name| of(name)) {
            let one = said.starts_with("1 of ") || said.starts_with("the only ");
            assert_eq!(said.contains(" was read "), one, "{said}");
            assert!(!said.starts_with("1 of the 1 "), "{said}");
        }
    }

    #[test]
    fn without_its_file_it_is_about_the_whole() {
        assert!(placed(Path::new("/nowhere/spillway.toml"), "p", "h").is_none());
    }
}
