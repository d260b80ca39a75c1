//! The canonical text of anything that serializes: RFC 8785 in one pass, members put in order at the end of an object.
//!
//! Everything that is signed goes through here, so it is most of the work beside signatures. Doubles, and integers
//! that are none in every reader, are left to `serde_jcs`; a test holds all of it to two other implementations.

mod members;

use super::MAX_INTEGER;
use super::writer::string;
use members::{Items, Members};
use serde::ser::{Error as _, Impossible, Serialize, Serializer};
use std::fmt::Display;
use std::io::Write as _;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotCanonical(String);

impl serde::ser::Error for NotCanonical {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

pub(super) fn write<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
    value.serialize(Writer(out))
}

struct Writer<'o>(&'o mut Vec<u8>);

impl Writer<'_> {
    fn text(self, text: &str) -> Result<(), NotCanonical> {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn double(self, value: f64) -> Result<(), NotCanonical> {
        let text = serde_jcs::to_vec(&value).map_err(NotCanonical::custom)?;
        self.0.extend(text);
        Ok(())
    }
}

/// Integers have one spelling up to 2^53 − 1; beyond, RFC 8785 prints the double that most readers make of them.
macro_rules! integers {
    ($($name:ident $kind:ty;)*) => {$(
        fn $name(self, value: $kind) -> Result<(), NotCanonical> {
            match i64::try_from(value) {
                Ok(small) if (-MAX_INTEGER..=MAX_INTEGER).contains(&small) => {
                    write!(self.0, "{small}").map_err(NotCanonical::custom)
                }
                _ => {
                    let text = serde_jcs::to_vec(&value).map_err(NotCanonical::custom)?;
                    self.0.extend(text);
                    Ok(())
                }
            }
        }
    )*};
}

impl<'o> Serializer for Writer<'o> {
    type Ok = ();
    type Error = NotCanonical;
    type SerializeSeq = Items<'o>;
    type SerializeTuple = Items<'o>;
    type SerializeTupleStruct = Items<'o>;
    type SerializeTupleVariant = Impossible<(), NotCanonical>;
    type SerializeMap = Members<'o>;
    type SerializeStruct = Members<'o>;
    type SerializeStructVariant = Impossible<(), NotCanonical>;

    integers! {
        serialize_i8 i8;
        serialize_i16 i16;
        serialize_i32 i32;
        serialize_i64 i64;
        serialize_u8 u8;
        serialize_u16 u16;
        serialize_u32 u32;
        serialize_u64 u64;
    }

    fn serialize_bool(self, value: bool) -> Result<(), NotCanonical> {
        self.text(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, value: f32) -> Result<(), NotCanonical> {
        self.double(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), NotCanonical> {
        self.double(value)
    }

    fn serialize_char(self, value: char) -> Result<(), NotCanonical> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), NotCanonical> {
        string(value, self.0);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), NotCanonical> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), NotCanonical> {
        self.text("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotCanonical> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), NotCanonical> {
        self.text("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), NotCanonical> {
        self.text("null")
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), NotCanonical> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotCanonical> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NotCanonical> {
        self.0.push(b'{');
        string(variant, self.0);
        self.0.push(b':');
        value.serialize(Writer(self.0))?;
        self.0.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'o>, NotCanonical> {
        Ok(Items::open(self.0))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'o>, NotCanonical> {
        Ok(Items::open(self.0))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'o>, NotCanonical> {
        Ok(Items::open(self.0))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Impossible<(), NotCanonical>, NotCanonical> {
        Err(NotCanonical::custom(format!("{name}::{variant} has no form in our documents")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'o>, NotCanonical> {
        Ok(Members::open(self.0))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'o>, NotCanonical> {
        Ok(Members::open(self.0))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Impossible<(), NotCanonical>, NotCanonical> {
        Err(NotCanonical::custom(format!("{name}::{variant} has no form in our documents")))
    }
}
