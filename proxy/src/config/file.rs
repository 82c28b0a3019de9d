//! What the operator wrote: one TOML file, the place of everything in it, and what was found wrong with it.

use super::error::{Diagnostic, Severity};
use super::repeated;
use super::table::{Place, Table};
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, Error};

/// One file as written.
pub(super) struct File {
    /// Its name in diagnostics.
    name: String,
    text: String,
}

impl File {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Reads a file from disk.
    pub(super) fn read(path: &Path) -> Result<Self, Box<Diagnostic>> {
        let name = path.display().to_string();
        let about = |problem: &str, hint: &str| Box::new(Diagnostic::about(&name, Severity::Error, problem, hint));
        let bytes = std::fs::read(path).map_err(|error| about(&format!("cannot be read: {error}"), ""))?;
        let text = String::from_utf8(bytes).map_err(|_| about("is not UTF-8", "TOML files are UTF-8 text"))?;
        Ok(Self { name, text })
    }

    /// The parsed tree, as much of it as is well-formed. Every syntax mistake goes into the notes.
    pub(super) fn parse(&self) -> (Spanned<DeTable<'_>>, Notes<'_>) {
        let (tree, mut errors) = DeTable::parse_recoverable(&self.text);
        errors.sort_by_key(start_of);
        let (repeated, mut broken): (Vec<_>, Vec<_>) = errors.into_iter().partition(is_repeated);
        // What follows a syntax mistake on its line is a consequence of it.
        broken.dedup_by_key(|error| self.position(start_of(error)).0);
        let broken_lines = broken.iter().map(|error| self.position(start_of(error)).0).collect();
        let notes = Notes { file: self, broken_lines, found: RefCell::default() };
        for error in broken {
            notes.syntax(&error);
        }
        for error in repeated.iter().filter(|error| notes.is_certain(start_of(error))) {
            notes.repeated(error, tree.get_ref());
        }
        (tree, notes)
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }
}

/// The files of a model folder, in the order of their names: every `*.toml` that does not start with a dot.
pub(super) fn model_files(folder: &Path, place: &Place<'_>) -> Vec<Result<File, Box<Diagnostic>>> {
    let listed = std::fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = match listed {
        Ok(paths) => paths,
        Err(error) => {
            place.wrong(
                format!("cannot be read as a folder: {error}"),
                "a relative path starts at the deployment file's folder",
            );
            return Vec::new();
        }
    };
    paths.retain(|path| is_model_file(path));
    paths.sort();
    paths.iter().map(|path| File::read(path)).collect()
}

fn is_model_file(path: &Path) -> bool {
    let hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && path.extension().is_some_and(|extension| extension == "toml") && path.is_file()
}

fn start_of(error: &Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

/// A repeated key leaves a tree that can be trusted; other syntax mistakes may have swallowed something.
fn is_repeated(error: &Error) -> bool {
    error.message().starts_with("duplicate key")
}

/// What was found wrong with one file.
pub(super) struct Notes<'f> {
    file: &'f File,
    /// Lines that do not parse: what stands there is not judged any further.
    broken_lines: Vec<usize>,
    found: RefCell<Vec<Diagnostic>>,
}

impl Notes<'_> {
    /// The whole document as a table.
    pub(super) fn root<'t>(&'t self, tree: &'t Spanned<DeTable<'t>>) -> Table<'t> {
        Table::root(self, tree.get_ref())
    }

    /// Whether parts of the file may not have been understood, so that nothing in it can be called missing.
    pub(super) fn is_broken(&self) -> bool {
        !self.broken_lines.is_empty()
    }

    /// Whether everything before an offset could be read, so that what stands there is certainly in the table it seems to be in.
    pub(super) fn is_certain(&self, offset: usize) -> bool {
        let line = self.file.position(offset).0;
        self.broken_lines.iter().all(|broken| *broken >= line)
    }

    /// How many mistakes were found so far.
    pub(super) fn mistakes(&self) -> usize {
        self.found.borrow().iter().filter(|diagnostic| diagnostic.is_error()).count()
    }

    /// Everything found, consumed.
    pub(super) fn into_found(self) -> Vec<Diagnostic> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        found
    }

    fn syntax(&self, error: &Error) {
        let problem = format!("is not valid TOML: {}", error.message());
        self.push(Severity::Error, String::new(), &error.span().unwrap_or_default(), problem, String::new());
    }

    fn repeated(&self, error: &Error, tree: &DeTable<'_>) {
        let span = error.span().unwrap_or_default();
        let key = repeated::path_of(tree, &self.file.text, span.clone());
        self.push(Severity::Error, key, &span, "stands here for the second time".into(), "keep one of them".into());
    }

    pub(super) fn add(&self, severity: Severity, key: &str, span: &Range<usize>, problem: String, hint: String) {
        if !self.broken_lines.contains(&self.file.position(span.start).0) {
            self.push(severity, key.into(), span, problem, hint);
        }
    }

    /// `file:line:column` of a span, for a diagnostic that names two places.
    pub(super) fn locate(&self, span: &Range<usize>) -> String {
        let (line, column) = self.file.position(span.start);
        format!("{}:{line}:{column}", self.file.name)
    }

    fn push(&self, severity: Severity, key: String, span: &Range<usize>, problem: String, hint: String) {
        let (line, column) = self.file.position(span.start);
        let file = self.file.name.clone();
        self.found.borrow_mut().push(Diagnostic { severity, file, line, column, key, problem, hint });
    }
}
