//! Which engine does a command start?

mod listens;

pub(super) use listens::Unclear;

use spillway_filters::presets::{Launch, Preset};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

/// An engine's command, as far as it tells which engine it is.
pub(super) struct Launched<'a> {
    /// The names that it may be known by: the program's file name; behind an interpreter, the module or the script.
    names: Vec<String>,
    /// What stands behind the program.
    arguments: &'a [OsString],
    environment: &'a dyn Fn(&str) -> Option<String>,
}

/// Options of Python that a value follows.
const PYTHON_OPTIONS: [&str; 3] = ["-W", "-X", "--check-hash-based-pycs"];

impl<'a> Launched<'a> {
    pub(super) fn new(command: &'a [OsString], environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        let Some((program, arguments)) = command.split_first() else {
            return Self { names: Vec::new(), arguments: &[], environment };
        };
        let name = file_name(program);
        let (names, arguments) = if is_python(&name) { script(name, arguments) } else { (vec![name], arguments) };
        Self { names, arguments, environment }
    }

    /// The program's name, for a message.
    pub(super) fn name(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// The engine that this command starts, out of those that are known. One that is known by its flags or variables too goes first.
    pub(super) fn preset(&self, known: impl Iterator<Item = &'static Preset>) -> Option<&'static Preset> {
        let mut by_name = None;
        for preset in known.filter(|preset| self.is_named(&preset.launch)) {
            if preset.launch.only_with.iter().any(|sign| self.has(sign)) {
                return Some(preset);
            }
            if preset.launch.only_with.is_empty() {
                by_name = by_name.or(Some(preset));
            }
        }
        by_name
    }

    fn is_named(&self, launch: &Launch) -> bool {
        self.names.iter().any(|name| launch.programs.contains(&&**name))
    }

    /// Whether the command has a flag, or the environment the variable that a `$` stands in front of.
    fn has(&self, sign: &str) -> bool {
        match sign.strip_prefix('$') {
            Some(variable) => (self.environment)(variable).is_some_and(|value| !value.is_empty()),
            None => self.arguments.iter().any(|word| {
                let word = word.to_string_lossy();
                word == sign || word.strip_prefix(sign).is_some_and(|rest| rest.starts_with('='))
            }),
        }
    }

    /// The last of these flags, which is the one that counts, and its value.
    fn last_value(&self, flags: &[&'static str]) -> Option<(&'static str, Cow<'a, str>)> {
        let mut found = None;
        for (at, word) in self.arguments.iter().enumerate() {
            let word = word.to_string_lossy();
            for flag in flags {
                let Some(rest) = word.strip_prefix(flag) else { continue };
                if let Some(value) = rest.strip_prefix('=') {
                    found = Some((*flag, Cow::Owned(value.to_owned())));
                } else if rest.is_empty() {
                    found = self.arguments.get(at + 1).map(|value| (*flag, value.to_string_lossy())).or(found);
                }
            }
        }
        found
    }
}

fn file_name(program: &OsString) -> String {
    Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// What Python runs, and the arguments of that.
fn script(python: String, arguments: &[OsString]) -> (Vec<String>, &[OsString]) {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let option = word.to_string_lossy();
        if option == "-m" {
            let module = arguments.get(at + 1).map(|module| module.to_string_lossy().into_owned());
            return (Vec::from_iter(module), arguments.get(at + 2..).unwrap_or_default());
        }
        if option == "-c" {
            break;
        }
        if !option.starts_with('-') {
            return (vec![file_name(word)], &arguments[at + 1..]);
        }
        at += if PYTHON_OPTIONS.contains(&&*option) { 2 } else { 1 };
    }
    (vec![python], &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway_filters::presets::preset;

    fn made_up(name: &'static str, launch: Launch) -> &'static Preset {
        Box::leak(Box::new(Preset { name, launch, ..preset("openai").expect("it is listed").clone() }))
    }

    fn known() -> [&'static Preset; 3] {
        let server = Launch { programs: &["big-server", "small.server"], ..Launch::UNKNOWN };
        let router = Launch { programs: &["many"], ..Launch::UNKNOWN };
        let single = Launch { only_with: &["-m", "--model", "$MANY_MODEL"], ..router };
        [made_up("server", server), made_up("router", router), made_up("single", single)]
    }

    fn words(command: &str) -> Vec<OsString> {
        command.split_whitespace().map(OsString::from).collect()
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn an_engine_is_known_by_its_program_module_script_or_flags() {
        for (command, wanted) in [
            ("big-server", Some("server")),
            ("/opt/bin/big-server serve x", Some("server")),
            ("python -m small.server --x", Some("server")),
            ("python3 -u -X dev -m small.server", Some("server")),
            ("/usr/bin/python3.12 /opt/venv/bin/big-server serve", Some("server")),
            ("many", Some("router")),
            ("many --port 1", Some("router")),
            ("many -m x.gguf", Some("single")),
            ("many --model=x", Some("single")),
            ("many --models-dir x", Some("router")),
            ("python3 -c big-server", None),
            ("python3 -m", None),
            ("python3", None),
            ("python3 -m big.server -m many", None),
            ("big-server2", None),
            ("echo big-server", None),
            ("", None),
        ] {
            let command = words(command);
            let found = Launched::new(&command, &nothing).preset(known().into_iter());
            assert_eq!(found.map(|preset| preset.name), wanted, "{command:?}");
        }
    }

    #[test]
    fn a_variable_tells_an_engine_as_a_flag_does() {
        let command = words("many");
        for (value, wanted) in [("x", "single"), ("", "router")] {
            let environment = |name: &str| (name == "MANY_MODEL").then(|| value.to_owned());
            let found = Launched::new(&command, &environment).preset(known().into_iter());
            assert_eq!(found.map(|preset| preset.name), Some(wanted));
        }
    }
}
