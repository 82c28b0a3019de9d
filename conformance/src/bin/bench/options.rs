//! What was asked for on the command line?

use std::path::PathBuf;

/// Programs that take part are given by path; what is not given is not measured.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// Few rounds and short ones: seconds instead of minutes.
    pub(crate) quick: bool,
    /// A missed target that does not depend on the machine's mood fails the run.
    pub(crate) gate: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) spillway: Option<PathBuf>,
    pub(crate) shim: Option<PathBuf>,
    pub(crate) stock: Option<PathBuf>,
    pub(crate) nginx: Option<PathBuf>,
    pub(crate) valgrind: Option<PathBuf>,
    pub(crate) strace: Option<PathBuf>,
    pub(crate) taskset: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// An unknown option, or one without its path.
    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            let place = match argument.as_str() {
                "--quick" => {
                    options.quick = true;
                    continue;
                }
                "--gate" => {
                    options.gate = true;
                    continue;
                }
                "--json" => &mut options.json,
                "--spillway" => &mut options.spillway,
                "--shim" => &mut options.shim,
                "--stock" => &mut options.stock,
                "--nginx" => &mut options.nginx,
                "--valgrind" => &mut options.valgrind,
                "--strace" => &mut options.strace,
                "--taskset" => &mut options.taskset,
                other => return Err(format!("unknown option {other}")),
            };
            *place = Some(arguments.next().ok_or_else(|| format!("{argument} needs a path"))?.into());
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn read(line: &str) -> Result<Options, String> {
        Options::from_arguments(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_and_paths_are_read_in_any_order() {
        let options = read("--json out.json --quick --nginx /usr/sbin/nginx").expect("legal");
        assert!(options.quick);
        assert_eq!(options.json, Some("out.json".into()));
        assert_eq!(options.nginx, Some("/usr/sbin/nginx".into()));
    }

    #[test]
    fn a_path_is_required_and_an_unknown_option_is_named() {
        assert_eq!(read("--json"), Err("--json needs a path".to_owned()));
        assert_eq!(read("--fast"), Err("unknown option --fast".to_owned()));
    }
}
