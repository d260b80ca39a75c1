use crate::Bundle;

const REGISTRY: &str = r#"
v = 1
[provider.notes]
[provider.notes.tool.note_read]
service = "notes"
verb = "read"
nouns = [{ type = "path", at = "/path" }]
[provider.notes.tool.note_write]
service = "notes"
verb = "update"
nouns = [{ type = "path", at = "/path" }]
fields = { count = { at = "/count", type = "long" }, title = { at = "/title", type = "string" } }
[provider.mail.tool.send]
service = "mail"
verb = "send"
nouns = [{ type = "mail_address", each = "/to" }]
"#;

fn said(rules: &str) -> Vec<String> {
    let bundle = Bundle::compile(REGISTRY, rules).unwrap_or_else(|faults| panic!("{faults:?}"));
    bundle.sentences().into_iter().map(|sentence| sentence.text).collect()
}

#[test]
fn a_rule_is_said_in_words() {
    let rules = r#"
        @id("a") permit (principal, action == Gw::Action::"notes.update", resource in Gw::Path::"/marked/folder")
        when { context.now < datetime("2027-01-01T00:00:00Z") && context.args has count && context.args.count <= 3 };
        @id("b") @verdict("STEP_UP") forbid (principal, action == Gw::Action::"mail.send", resource)
        when { context.destination == Gw::Destination::"external" };
        @id("c") forbid (principal, action in Gw::Action::"update", resource is Gw::Path)
        unless { context.provider == "notes" };
    "#;

    let said = said(rules);

    assert_eq!(
        said,
        [
            "May notes.update (notes/note_write): a path in a folder that the rule names, only if `count` is given and \
         `count` is at most 3, until 2027-01-01T00:00:00.000Z.",
            "Asks a person before mail.send (mail/send): whatever it is about, if `destination` is external.",
            "Never update anything: any path, unless `provider` is notes.",
        ]
    );
}

/// T4: nouns, texts and numbers of a rule are its own; what is said of them is that it names them.
#[test]
fn no_text_of_a_rule_is_repeated() {
    let rules = r#"
        @id("a") @note("MARKED") permit (principal, action == Gw::Action::"mail.send", resource == Gw::MailAddress::"MARKED@example.com")
        when { context.now < datetime("2027-01-01T00:00:00Z") && context has principal && context.principal == "MARKED" };
        @id("b") forbid (principal, action == Gw::Action::"notes.update", resource)
        when { context.args has title && (context.args.title like "*MARKED*" || ["MARKED", "x"].contains(context.args.title))
               && context.args has count && context.args.count == 41791234567 };
        @id("c") forbid (principal == Gw::Agent::"agt_019355a0c0007000800000000000a001", action, resource == Gw::Path::"/MARKED");
    "#;

    for sentence in said(rules) {
        assert!(!sentence.contains("MARKED"), "{sentence}");
        assert!(!sentence.contains("41791234567"), "{sentence}");
        assert!(!sentence.contains("agt_"), "{sentence}");
    }
}
