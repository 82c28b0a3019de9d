//! The command line of the shim.

fn main() {}
