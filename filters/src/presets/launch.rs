//! How is an engine known by its command line, and what does that say?

/// What is known of an engine's command.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// File names of its program, or the module after `-m`.
    pub programs: &'static [&'static str],
    /// It is this engine only when the command has one of these flags or variables (written `$NAME`); empty: always.
    pub only_with: &'static [&'static str],
    /// Flags whose value is the port, or an address that ends with it.
    pub port_flags: &'static [&'static str],
    /// The variable whose value is the port, or such an address; empty: none.
    pub port_variable: &'static str,
    /// Flags whose value is the host that it listens on, an address that begins with it, or a path of a Unix socket that ends with `.sock`.
    pub host_flags: &'static [&'static str],
    /// The variable whose value is one of these; empty: none.
    pub host_variable: &'static str,
    /// Flags whose value is the path of a Unix socket. With one of them it listens nowhere else.
    pub socket_flags: &'static [&'static str],
    /// Flags whose value is the model: a path, or a name of a hub. A word without dashes is a subcommand that the model follows.
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
        host_flags: &["--host"],
        host_variable: "",
        socket_flags: &[],
        model_flags: &[],
        revision_flags: &[],
        dtype_flags: &[],
        progress: &[],
    };
}
