//! Reads HTML as strictly as a page of ours must be written.

use std::collections::BTreeSet;

const VOID: &[&str] = &["meta", "link", "input", "br", "hr", "img"];

/// Panics at the first thing that is not as it should be; gives back the text that a reader sees.
pub fn strict(page: &str) -> String {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    let (mut open, mut ids, mut links) = (Vec::<String>::new(), BTreeSet::new(), BTreeSet::new());
    let (mut text, mut heading) = (String::new(), 0);
    while let Some(start) = rest.find('<') {
        let words = &rest[..start];
        if open.last().is_none_or(|last| last != "style") {
            text.push_str(words);
            text.push(' ');
        }
        let end = start + rest[start..].find('>').expect("a tag that ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "a tag closes what was opened last");
            continue;
        }
        let (name, attributes) = read(tag);
        for (attribute, value) in &attributes {
            assert!(!attribute.starts_with("on"), "a handler in <{tag}>");
            assert_ne!(attribute, "style", "a style in <{tag}>");
            match attribute.as_str() {
                "id" => assert!(ids.insert(value.clone()), "id `{value}` stands twice"),
                "href" if value.starts_with('#') => drop(links.insert(value[1..].to_owned())),
                "href" | "src" => assert!(value.starts_with(['/', '?']), "a link to elsewhere: {value}"),
                "aria-labelledby" => drop(links.insert(value.clone())),
                _ => {}
            }
        }
        let has = |wanted: &str| attributes.iter().any(|(name, _)| name == wanted);
        match name.as_str() {
            "script" => assert!(has("src"), "an inline script"),
            "th" => assert!(has("scope"), "a header cell without a scope"),
            "html" => assert!(has("lang"), "a page without a language"),
            "h1" | "h2" | "h3" | "h4" => {
                let level: usize = name[1..].parse().expect("a level");
                assert!(level <= heading + 1, "heading {name} after level {heading}");
                heading = level;
            }
            _ => {}
        }
        if !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    assert!(rest.trim().is_empty());
    for link in links {
        assert!(ids.contains(&link), "nothing has the id `{link}`");
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Name and attributes of a tag; every value is in double quotes.
fn read(tag: &str) -> (String, Vec<(String, String)>) {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "<{tag}>");
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let plain = rest.find([' ', '=']).unwrap_or(rest.len());
        let attribute = rest[..plain].to_owned();
        assert!(!attribute.is_empty(), "<{tag}>");
        rest = &rest[plain..];
        let mut value = String::new();
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let end = quoted.find('"').expect("a quote that ends");
            value = quoted[..end].to_owned();
            rest = &quoted[end + 1..];
        }
        rest = rest.strip_prefix(' ').unwrap_or(rest);
        attributes.push((attribute, value));
    }
    (name.to_owned(), attributes)
}
