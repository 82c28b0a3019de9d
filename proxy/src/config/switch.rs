//! May anything be served remotely at all? The environment can only turn it off (contract section 4).

use super::error::{Diagnostic, Severity};

/// Our own variable, and the one that SIE reads.
const VARIABLES: [&str; 2] = ["SPILLWAY_REMOTE_SERVING", "SIE_REMOTE_SERVING"];
const ON: [&str; 4] = ["1", "true", "yes", "on"];
const OFF: [&str; 5] = ["", "0", "false", "no", "off"];

/// Whether neither variable turns remote serving off. One that is set to anything but 1, true, yes or on does, and one that is
/// neither on nor off in any usual spelling is worth a warning.
pub(super) fn environment_allows(env: &dyn Fn(&str) -> Option<String>, warnings: &mut Vec<Diagnostic>) -> bool {
    let mut allowed = true;
    for name in VARIABLES {
        let Some(value) = env(name).map(|value| value.trim().to_ascii_lowercase()) else { continue };
        let value = value.as_str();
        allowed &= ON.contains(&value);
        if !ON.contains(&value) && !OFF.contains(&value) {
            let mut warning = Diagnostic::about(
                "environment",
                Severity::Warning,
                "is neither on nor off, so remote serving is off",
                "1, true, yes and on leave it to the file; 0, false, no and off turn it off",
            );
            warning.key = name.into();
            warnings.push(warning);
        }
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(name: &'static str, value: Option<&'static str>) -> (bool, usize) {
        let mut warnings = Vec::new();
        let allowed =
            environment_allows(&|asked| (asked == name).then_some(value).flatten().map(str::to_owned), &mut warnings);
        (allowed, warnings.len())
    }

    #[test]
    fn only_an_on_word_or_silence_leaves_it_on() {
        for name in VARIABLES {
            assert_eq!(seen(name, None), (true, 0));
            for on in ["1", "true", "TRUE", " yes ", "On"] {
                assert_eq!(seen(name, Some(on)), (true, 0), "{name}={on}");
            }
            for off in ["", "0", "false", "off", "No", "  "] {
                assert_eq!(seen(name, Some(off)), (false, 0), "{name}={off}");
            }
            for unclear in ["2", "yess", "enabled"] {
                assert_eq!(seen(name, Some(unclear)), (false, 1), "{name}={unclear}");
            }
        }
    }

    #[test]
    fn one_variable_cannot_undo_the_other() {
        let env = |name: &str| Some(if name == "SIE_REMOTE_SERVING" { "0" } else { "1" }.to_owned());
        assert!(!environment_allows(&env, &mut Vec::new()));
    }
}
