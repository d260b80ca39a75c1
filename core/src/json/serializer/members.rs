//! Arrays and objects of the canonical writer.

use super::{NotCanonical, Writer, string};
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
};
use std::cmp::Ordering;
use std::ops::Range;

pub(crate) struct Items<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Items<'o> {
    pub(super) fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, first: true }
    }

    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        value.serialize(Writer(self.out))
    }

    fn close(self) {
        self.out.push(b']');
    }
}

/// Members are written as they come; [`Members::close`] puts them in order if they did not come in it.
pub(crate) struct Members<'o> {
    out: &'o mut Vec<u8>,
    /// Behind the brace.
    start: usize,
    members: Vec<Member>,
}

/// Places in the text that is written.
struct Member {
    /// Between the quotes.
    name: Range<usize>,
    /// From the name's first quote to the end of the value.
    whole: Range<usize>,
}

impl<'o> Members<'o> {
    pub(super) fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { start: out.len(), out, members: Vec::new() }
    }

    fn begin(&mut self) -> usize {
        if !self.members.is_empty() {
            self.out.push(b',');
        }
        self.out.len()
    }

    /// Behind the name, which began at `from`.
    fn named(&mut self, from: usize) {
        let name = from + 1..self.out.len() - 1;
        self.out.push(b':');
        self.members.push(Member { name, whole: from..from });
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
        value.serialize(Writer(self.out))?;
        let end = self.out.len();
        let member = self.members.last_mut().ok_or_else(|| NotCanonical::custom("a value without a name"))?;
        member.whole.end = end;
        Ok(())
    }

    fn add<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), NotCanonical> {
        let from = self.begin();
        string(name, self.out);
        self.named(from);
        self.value(value)
    }

    fn close(mut self) -> Result<(), NotCanonical> {
        let text = &*self.out;
        let in_order = self.members.is_sorted_by(|a, b| order(text, a, b) == Ordering::Less);
        if !in_order {
            self.members.sort_by(|a, b| order(text, a, b));
            if self.members.windows(2).any(|pair| order(text, &pair[0], &pair[1]) == Ordering::Equal) {
                return Err(NotCanonical::custom("two members of one name"));
            }
            let written = self.out.split_off(self.start);
            let start = self.start;
            for (place, member) in self.members.iter().enumerate() {
                if place > 0 {
                    self.out.push(b',');
                }
                self.out.extend_from_slice(&written[member.whole.start - start..member.whole.end - start]);
            }
        }
        self.out.push(b'}');
        Ok(())
    }
}

/// By UTF-16 code units. Names in plain ASCII sort alike by their bytes.
fn order(text: &[u8], a: &Member, b: &Member) -> Ordering {
    let (a, b) = (&text[a.name.clone()], &text[b.name.clone()]);
    let plain = |name: &[u8]| name.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
    if plain(a) && plain(b) {
        return a.cmp(b);
    }
    units(a).cmp(&units(b))
}

fn units(name: &[u8]) -> Vec<u16> {
    let quoted = [b"\"", name, b"\""].concat();
    let name: String = serde_json::from_slice(&quoted).expect("we wrote it as a JSON string");
    name.encode_utf16().collect()
}

impl SerializeMap for Members<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotCanonical> {
        let from = self.begin();
        key.serialize(Writer(self.out))?;
        if self.out.get(from) != Some(&b'"') {
            return Err(NotCanonical::custom("a name that is no string"));
        }
        self.named(from);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
        self.value(value)
    }

    fn end(self) -> Result<(), NotCanonical> {
        self.close()
    }
}

impl SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), NotCanonical> {
        self.add(name, value)
    }

    fn end(self) -> Result<(), NotCanonical> {
        self.close()
    }
}

macro_rules! items {
    ($($form:ident $add:ident;)*) => {$(
        impl $form for Items<'_> {
            type Ok = ();
            type Error = NotCanonical;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
                self.add(value)
            }

            fn end(self) -> Result<(), NotCanonical> {
                self.close();
                Ok(())
            }
        }
    )*};
}

items! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
}
