//! How much of what an engine's preset says has nobody seen an engine do?

use super::Config;
use super::error::{Diagnostic, Severity};
use spillway_filters::presets::Preset;
use std::path::Path;

impl Config {
    /// What the operator who checks `file` should know of the preset; none: all of it was seen.
    #[must_use]
    pub fn unseen(&self, file: &Path) -> Option<Diagnostic> {
        unseen(self.engine.preset, file)
    }
}

fn unseen(preset: &Preset, file: &Path) -> Option<Diagnostic> {
    let all = preset.origins().count();
    let unseen = preset.origins().filter(|origin| !origin.is_seen()).count();
    let problem = format!("nobody has seen {unseen} of the {all} rows of this preset run");
    let hint = "proxy/docs/engines.md says which ones, and where each is from";
    let told = Diagnostic::about(file.display().to_string(), Severity::Warning, &problem, hint);
    (unseen > 0).then(|| Diagnostic { key: "engine.preset".into(), ..told })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway_filters::presets::preset;

    #[test]
    fn rows_that_nobody_has_seen_are_counted() {
        let of =
            |name| unseen(preset(name).expect("the preset is listed"), Path::new("f")).map(|told| told.to_string());
        assert_eq!(
            of("infinity").as_deref(),
            Some(
                "f: warning: engine.preset: nobody has seen 3 of the 3 rows of this preset run \
                 (proxy/docs/engines.md says which ones, and where each is from)"
            )
        );
        assert_eq!(of("llama_cpp"), None, "all of it was seen");
        assert_eq!(of("openai"), None, "it says nothing");
    }
}
