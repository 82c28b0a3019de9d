//! Are these the numbers that an encode call asked for?

use super::array::{Element, Kind};
use super::numeral::Number;

/// How the numbers of dense vectors and multivectors are written, as `output_dtype` asks (contract section 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputDtype {
    /// One bit for each dimension, eight in one number.
    Binary,
    /// 16-bit floats.
    Float16,
    /// 32-bit floats, also when nothing is asked.
    #[default]
    Float32,
    /// Whole numbers from -128.
    Int8,
    /// The same; SIE writes both alike.
    Ubinary,
    /// Whole numbers up to 255.
    Uint8,
}

impl OutputDtype {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "binary" => Some(Self::Binary),
            "float16" => Some(Self::Float16),
            "float32" => Some(Self::Float32),
            "int8" => Some(Self::Int8),
            "ubinary" => Some(Self::Ubinary),
            "uint8" => Some(Self::Uint8),
            _ => None,
        }
    }

    const fn is_packed(self) -> bool {
        matches!(self, Self::Binary | Self::Ubinary)
    }

    /// Whether a vector of `width` numbers has as many dimensions as it states and as the model declares. Packed vectors have eight in
    /// one number; one that states its own width counts too, where the upstream knows no declared one.
    pub(super) fn is_wide(self, width: usize, stated: Option<u64>, declared: Option<u32>) -> bool {
        let packed = |dims: u64| if self.is_packed() { dims.div_ceil(8) } else { dims };
        let (width, declared) = (width as u64, declared.map(u64::from));
        match (stated, declared) {
            (Some(stated), Some(declared)) => stated == declared && width == packed(declared),
            (None, Some(declared)) => width == packed(declared),
            (Some(stated), None) => width == packed(stated) || width == stated,
            (None, None) => true,
        }
    }

    /// Whether an upstream that was asked for this names its numbers so; floats are floats.
    pub(super) fn is_named(self, name: &str) -> bool {
        match self {
            Self::Float16 | Self::Float32 => matches!(name, "float32" | "float16"),
            Self::Int8 => name == "int8",
            Self::Uint8 => name == "uint8",
            Self::Binary | Self::Ubinary => matches!(name, "binary" | "ubinary" | "int8" | "uint8"),
        }
    }

    pub(super) const fn is_element(self, element: Element) -> bool {
        match self {
            Self::Float16 | Self::Float32 => matches!(element.kind, Kind::Float),
            Self::Int8 => matches!(element, Element { kind: Kind::Signed, size: 1, .. }),
            Self::Uint8 => matches!(element, Element { kind: Kind::Unsigned, size: 1, .. }),
            Self::Binary | Self::Ubinary => {
                matches!(element, Element { kind: Kind::Signed | Kind::Unsigned, size: 1, .. })
            }
        }
    }

    pub(super) fn is_number(self, number: Number<'_>) -> bool {
        let is_in = |from, to| number.whole().is_some_and(|number| (from..=to).contains(&number));
        match self {
            Self::Float16 | Self::Float32 => number.fits_f32(),
            Self::Int8 => is_in(-128, 127),
            Self::Uint8 => is_in(0, 255),
            Self::Binary | Self::Ubinary => is_in(-128, 255),
        }
    }
}
