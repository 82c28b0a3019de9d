//! How is an engine known by its command line, and what does that say?

/// What is known of an engine's command.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// File names of its program, or the module after `-m`.
    pub programs: &'static [&'static str],
    /// It is this engine only when the command has one of these flags or variables (written `$NAME`); empty: always.
    pub only_with: &'static [&'static str],
    /// Flags whose value is the port.
    pub port_flags: &'static [&'static str],
    /// The variable whose value is the port; empty: none.
    pub port_variable: &'static str,
    /// Flags whose value is the model: a path, or a name of a hub.
    pub model_flags: &'static [&'static str],
    /// Flags whose value is the revision of a hub model.
    pub revision_flags: &'static [&'static str],
    /// Flags whose value is the number format of the weights.
    pub dtype_flags: &'static [&'static str],
    /// A line of its log that has one of these texts tells how far a load is.
    pub progress: &'static [&'static str],
}

impl Launch {
    /// An engine that no command line tells.
    pub const UNKNOWN: Self = Self {
        programs: &[],
        only_with: &[],
        port_flags: &["--port"],
        port_variable: "PORT",
        model_flags: &[],
        revision_flags: &[],
        dtype_flags: &[],
        progress: &[],
    };
}
