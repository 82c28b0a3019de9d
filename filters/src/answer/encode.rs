//! Is this a well-formed answer of encode, and what does the caller see of it?
//!
//! Every vector is as wide as the model declares and finite (contract sections 1.3 and 5, "Validation"). In msgpack vectors are arrays
//! of numpy, in JSON lists of numbers; either way they are passed on as the bytes they were.

use super::array::Array;
use super::cursor::Cursor;
use super::members::Members;
use super::native::{answer, id, write_items};
use super::{Content, Expected, OutputDtype};
use crate::writer::Writer;

/// The upper end of sparse indexes where the model declares none.
const MAX_SPARSE_DIM: u64 = 1 << 31;

const DENSE: [&str; 3] = ["dims", "dtype", "values"];
const SPARSE: [&str; 4] = ["dims", "dtype", "indices", "values"];
const MULTIVECTOR: [&str; 4] = ["token_dims", "num_tokens", "dtype", "values"];
const TIMING: [&str; 5] = ["total_ms", "queue_ms", "tokenization_ms", "inference_ms", "postprocessing_ms"];

/// The answer as the caller sees it; none when it is not a valid one.
pub(super) fn shown(members: &Members<'_>, expected: &Expected) -> Option<Vec<u8>> {
    answer(members, expected, |writer| {
        let mut widths = Widths::default();
        write_items(members, expected, writer, |cursor, place, writer| {
            write_item(cursor, place, expected, &mut widths, writer)
        })?;
        write_timing(members, writer);
        Some(())
    })
}

/// How wide the vectors of this answer are: where the model declares nothing, at least all of one width.
#[derive(Default)]
struct Widths {
    dense: Option<usize>,
    token: Option<usize>,
}

fn write_item(
    cursor: &mut Cursor<'_>,
    place: usize,
    expected: &Expected,
    widths: &mut Widths,
    writer: &mut Writer,
) -> Option<()> {
    let (mut dense, mut sparse, mut multivector) = (None, None, None);
    let names = ["id", "dense", "sparse", "multivector"];
    let [found, ..] = cursor.members(&names, |name, cursor| match name {
        "id" => cursor.null_or(Cursor::any_text),
        _ if cursor.null().is_some() => Some(()),
        "dense" => read_dense(cursor, expected, widths).map(|found| dense = Some(found)),
        "sparse" => read_sparse(cursor, expected).map(|found| sparse = Some(found)),
        _ => read_multivector(cursor, expected, widths).map(|found| multivector = Some(found)),
    })?;
    let (there, asked) = ([dense.is_some(), sparse.is_some(), multivector.is_some()], expected.outputs);
    let lacks = [asked.dense, asked.sparse, asked.multivector].iter().zip(there).any(|(asked, there)| *asked && !there);
    (there.contains(&true) && !lacks).then_some(())?;
    writer.object(|writer| {
        writer.member_if("id", id(expected, place, found));
        write_output("dense", &DENSE, dense, writer);
        write_output("sparse", &SPARSE, sparse, writer);
        write_output("multivector", &MULTIVECTOR, multivector, writer);
    });
    Some(())
}

fn write_output<const N: usize>(name: &str, names: &[&str; N], found: Option<[Option<&[u8]>; N]>, writer: &mut Writer) {
    if let Some(found) = found {
        writer.member(name);
        writer.object(|writer| writer.members(names, &found));
    }
}

fn read_dense<'a>(cursor: &mut Cursor<'a>, expected: &Expected, widths: &mut Widths) -> Option<[Option<&'a [u8]>; 3]> {
    let dtype = expected.output_dtype;
    let (mut dims, mut width) = (None, None);
    let found = cursor.members(&DENSE, |name, cursor| match name {
        "dims" => cursor.count().map(|count| dims = Some(count)),
        "dtype" => dtype.is_named(&cursor.text()?).then_some(()),
        _ => vector(cursor, dtype).map(|count| width = Some(count)),
    })?;
    let width = width.filter(|width| *width > 0)?;
    let fits = dtype.is_wide(width, dims, expected.dim) && *widths.dense.get_or_insert(width) == width;
    fits.then_some(found)
}

/// Sparse vectors are floats, whatever the caller asked for.
fn read_sparse<'a>(cursor: &mut Cursor<'a>, expected: &Expected) -> Option<[Option<&'a [u8]>; 4]> {
    let (mut dims, mut indexes, mut values) = (None, None, None);
    let found = cursor.members(&SPARSE, |name, cursor| match name {
        "dims" => cursor.null_or(|cursor| cursor.count().map(|count| dims = Some(count))),
        "dtype" => OutputDtype::Float32.is_named(&cursor.text()?).then_some(()),
        "indices" => index_list(cursor).map(|found| indexes = Some(found)),
        _ => vector(cursor, OutputDtype::Float32).map(|count| values = Some(count)),
    })?;
    let (count, bound) = indexes?;
    let declared = expected.sparse_dim.map(u64::from);
    let agrees = dims.zip(declared).is_none_or(|(stated, declared)| stated == declared);
    let limit = declared.or(dims).unwrap_or(MAX_SPARSE_DIM).min(MAX_SPARSE_DIM);
    (agrees && bound <= limit && values? == count).then_some(found)
}

fn read_multivector<'a>(
    cursor: &mut Cursor<'a>,
    expected: &Expected,
    widths: &mut Widths,
) -> Option<[Option<&'a [u8]>; 4]> {
    let dtype = expected.output_dtype;
    let (mut dims, mut tokens, mut shape) = (None, None, None);
    let found = cursor.members(&MULTIVECTOR, |name, cursor| match name {
        "token_dims" => cursor.count().map(|count| dims = Some(count)),
        "num_tokens" => cursor.count().map(|count| tokens = Some(count)),
        "dtype" => dtype.is_named(&cursor.text()?).then_some(()),
        _ => matrix(cursor, dtype).map(|found| shape = Some(found)),
    })?;
    let (rows, width) = shape?;
    // A claimed shape costs nothing: rows of no width, and widths of no row, are only as many as somebody has.
    (rows == 0 || width != Some(0)).then_some(())?;
    width.is_none_or(|width| width <= MOST_WIDTH).then_some(())?;
    // A list without rows does not say how wide they would be.
    let fits = width.is_none_or(|width| {
        dtype.is_wide(width, dims, expected.multivector_dim) && *widths.token.get_or_insert(width) == width
    });
    (fits && tokens.is_none_or(|tokens| tokens == rows as u64)).then_some(found)
}

/// Widest vector that makes sense, as in the configuration.
const MOST_WIDTH: usize = 1 << 24;

/// The numbers of one vector, and how many they are.
fn vector(cursor: &mut Cursor<'_>, dtype: OutputDtype) -> Option<usize> {
    if cursor.content() != Content::Msgpack {
        return row(cursor, dtype);
    }
    match array(cursor, dtype)?.shape() {
        [width] => Some(*width),
        _ => None,
    }
}

/// The rows of a multivector: how many, and how wide where that is known.
fn matrix(cursor: &mut Cursor<'_>, dtype: OutputDtype) -> Option<(usize, Option<usize>)> {
    if cursor.content() == Content::Msgpack {
        return match array(cursor, dtype)?.shape() {
            [rows, width] => Some((*rows, Some(*width))),
            _ => None,
        };
    }
    let mut first = None;
    let rows = cursor.list(|cursor| {
        let width = row(cursor, dtype)?;
        (*first.get_or_insert(width) == width).then_some(())
    })?;
    Some((rows, first))
}

fn array<'a>(cursor: &mut Cursor<'a>, dtype: OutputDtype) -> Option<Array<'a>> {
    let array = Array::read(cursor.raw()?)?;
    (dtype.is_element(array.element()) && array.is_finite()).then_some(array)
}

fn row(cursor: &mut Cursor<'_>, dtype: OutputDtype) -> Option<usize> {
    cursor.list(|cursor| dtype.is_number(cursor.number()?).then_some(()))
}

/// Sparse indexes: how many, and the largest and one more.
fn index_list(cursor: &mut Cursor<'_>) -> Option<(usize, u64)> {
    if cursor.content() == Content::Msgpack {
        let array = Array::read(cursor.raw()?)?;
        let [count] = array.shape() else { return None };
        return Some((*count, array.index_bound()?));
    }
    let mut bound = 0;
    let count = cursor.list(|cursor| {
        bound = cursor.count()?.checked_add(1)?.max(bound);
        Some(())
    })?;
    Some((count, bound))
}

/// Timing is for the curious: what is not well-formed of it is left out.
fn write_timing(members: &Members<'_>, writer: &mut Writer) {
    let Some(raw) = members.raw("timing") else { return };
    let mut cursor = Cursor::new(members.content(), raw);
    if cursor.null().is_some() {
        writer.member_if("timing", Some(raw));
    } else if let Some(found) = cursor.members(&TIMING, |_, cursor| cursor.null_or(Cursor::finite)) {
        write_output("timing", &TIMING, Some(found), writer);
    }
}
