//! Which line of statements.jsonl an entry gets. Pure. What strangers get is the word of the public pages' projection.

use counterfoil_core::package::Line;

use super::job::Audience;
use crate::ledger::store::EntryRow;
use crate::public::projection;

/// `None` if the body is not what the ledger stores: then there is no package until the self-audit's word is heard.
pub(super) fn line(row: &EntryRow, audience: Audience) -> Option<Line> {
    let seq = row.entry.seq;
    match (audience, &row.body) {
        (Audience::Public, _) => projection::line(row),
        (Audience::Own | Audience::Rules, None) => Some(Line::of_absent(seq)),
        (Audience::Own | Audience::Rules, Some(body)) => Line::of_body(seq, body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterfoil_core::digest::Digest;
    use counterfoil_core::entry::Entry;
    use counterfoil_core::envelope::Signed;
    use counterfoil_core::key::{Ledger, SigningKey};
    use counterfoil_core::statement::{Received, ReceivedBytes, ReceivedForm, ReceivedType, Signer};
    use counterfoil_core::time::Timestamp;

    fn received(form: ReceivedForm) -> EntryRow {
        let project = "prj_019355a0c0007000800000000000a001".parse().unwrap();
        let at = Timestamp::from_millis(1_700_000_000_000).unwrap();
        let signer = Signer { kid: Some("k1".to_owned()), thumbprint: None };
        let bytes = ReceivedBytes(b"what they sent".to_vec());
        let received = Received { typ: ReceivedType::V1, form, signer, project, at, holds: false, bytes };
        let signed = Signed::sign(received, &SigningKey::<Ledger>::from_seed(&[7; 32]));
        let entry = Entry::new(project, 9, at, form.kind(), signed.digest(), Digest::of(b""));
        EntryRow { entry, body: Some(signed.bytes().to_vec()), path: Vec::new(), note: None }
    }

    /// FORMATS, section 2: other people's bytes are for the project; a provider's native statement is public.
    #[test]
    fn strangers_get_no_body_that_was_wrapped_for_the_project() {
        for form in [ReceivedForm::VendorWire, ReceivedForm::Catalog, ReceivedForm::Webauthn] {
            let row = received(form);
            let public = line(&row, Audience::Public).expect("a line");
            let withheld = public.withheld.expect("what is shown of it");
            assert!(public.body.is_none() && withheld.form == form && !withheld.holds);
            assert_eq!(withheld.signer.kid, None, "an alias is somebody's text");
            for own in [Audience::Own, Audience::Rules] {
                assert!(line(&row, own).expect("a line").body.is_some());
            }
        }
        assert!(line(&received(ReceivedForm::ExecutionNative), Audience::Public).unwrap().body.is_some());
        let erased = EntryRow { body: None, ..received(ReceivedForm::VendorWire) };
        assert_eq!(line(&erased, Audience::Public).unwrap().absent, Some(true));
        let unreadable = EntryRow { body: Some(b"{}".to_vec()), ..received(ReceivedForm::VendorWire) };
        assert!(line(&unreadable, Audience::Public).is_none());
    }
}
