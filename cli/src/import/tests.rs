//! Files as the five hosts write them, carried over and pointed at the gateway.

use super::*;
use counterfoil_jwks::Credential;
use counterfoil_jwks::credentials::HeaderName;
use std::path::PathBuf;

const PROGRAM: &str = "/opt/counterfoil";

fn fixture(host: Host) -> (&'static str, PathBuf) {
    let (text, path) = match host {
        Host::ClaudeCode => (include_str!("fixtures/claude_code.json"), "/srv/site/.mcp.json"),
        Host::ClaudeDesktop => {
            (include_str!("fixtures/claude_desktop.json"), "/c/claude_desktop_config.json")
        }
        Host::VsCode => (include_str!("fixtures/vscode.json"), "/srv/site/.vscode/mcp.json"),
        Host::Cursor => (include_str!("fixtures/cursor.json"), "/srv/site/.cursor/mcp.json"),
        Host::Codex => (include_str!("fixtures/codex.toml"), "/home/ada/.codex/config.toml"),
    };
    (text, path.into())
}

fn environment(name: &str) -> Option<String> {
    match name {
        "GITHUB_TOKEN" => Some("gh-secret".to_owned()),
        "USERNAME" => Some("ada".to_owned()),
        _ => None,
    }
}

fn fates(host: Host, file: &HostFile, path: &Path) -> Vec<(Entry, Fate)> {
    let entries = file.entries().unwrap();
    let fate = |entry: Entry| {
        let around = Surroundings {
            environment: &environment,
            home: "/home/ada".into(),
            workspace: host.workspace(path, &entry.keys),
            gateway: "http://127.0.0.1:8787",
        };
        let fate = carry(host, &entry, &around);
        (entry, fate)
    };
    entries.into_iter().map(fate).collect()
}

fn fate(host: Host, name: &str) -> Option<Fate> {
    let (text, path) = fixture(host);
    let found = fates(host, &HostFile::parse(host, text).unwrap(), &path);
    found.into_iter().find(|(entry, _)| entry.name() == name).map(|(_, fate)| fate)
}

fn carried(host: Host, name: &str) -> Child {
    match fate(host, name) {
        Some(Fate::Carried(Carried::Child(child))) => child,
        _ => panic!("{host:?} {name} is not carried"),
    }
}

/// Address and headers of a server that is reached over HTTP.
fn reached(host: Host, name: &str) -> (String, Vec<(String, String)>) {
    let Some(Fate::Carried(Carried::Remote(Remote { url, headers }))) = fate(host, name) else {
        panic!("{host:?} {name} is not carried")
    };
    let text = |(name, value): (&HeaderName, &Credential)| {
        (name.as_str().to_owned(), value.dangerous_text().to_owned())
    };
    (url, headers.iter().map(text).collect())
}

fn refusals(host: Host) -> Vec<String> {
    let (text, path) = fixture(host);
    let found = fates(host, &HostFile::parse(host, text).unwrap(), &path);
    let refused = |(_, fate)| match fate {
        Fate::Refused(refusals) => refusals.into_iter().map(|refusal| refusal.place).collect(),
        Fate::Carried(_) | Fate::Ours | Fate::SwitchedOff => Vec::new(),
    };
    found.into_iter().flat_map(refused).collect()
}

/// What the file becomes when everything that can be carried is.
fn imported(host: Host, text: &str, path: &Path) -> String {
    let mut file = HostFile::parse(host, text).unwrap();
    for (entry, fate) in fates(host, &file, path) {
        if let Fate::Carried(_) = fate {
            let bridge = ["stdio", entry.name(), "--key-file", "/k"].map(str::to_owned);
            file.replace(&entry, Path::new(PROGRAM), &bridge).unwrap();
        }
    }
    file.text()
}

const ALL: [Host; 5] = [Host::ClaudeCode, Host::ClaudeDesktop, Host::VsCode, Host::Cursor, Host::Codex];

#[test]
fn a_second_run_finds_nothing_to_do() {
    for host in ALL {
        let (text, path) = fixture(host);

        let once = imported(host, text, &path);
        let file = HostFile::parse(host, &once).unwrap();

        assert_ne!(once, text, "{host:?}");
        assert_eq!(imported(host, &once, &path), once, "{host:?}");
        let again = fates(host, &file, &path);
        assert!(again.iter().all(|(_, fate)| !matches!(fate, Fate::Carried(_))), "{host:?}");
        assert!(again.iter().any(|(_, fate)| matches!(fate, Fate::Ours)), "{host:?}");
    }
}

/// T9: what a host's file held as a variable does not stay in it, and never stood in an argument of ours.
#[test]
fn no_secret_stays_in_a_hosts_file() {
    for host in ALL {
        let (text, path) = fixture(host);
        let imported = imported(host, text, &path);

        assert!(!imported.contains("-secret"), "{host:?}: {imported}");
    }
}

#[test]
fn claude_codes_variables_are_put_in_place() {
    let github = carried(Host::ClaudeCode, "github");

    assert_eq!(github.command, ["npx", "-y", "@modelcontextprotocol/server-github", "--root", "/srv/repo"]);
    assert_eq!(github.env["GITHUB_PERSONAL_ACCESS_TOKEN"], "gh-secret");
    assert_eq!(github.folder.as_deref(), Some(Path::new("/srv/site")));
    let (text, path) = fixture(Host::ClaudeCode);
    assert!(imported(Host::ClaudeCode, text, &path).contains("\"timeout\": 60000"));
}

#[test]
fn claude_codes_own_file_keeps_all_that_is_not_a_server() {
    let text = include_str!("fixtures/claude_code_user.json");
    let path = Path::new("/home/ada/.claude.json");
    let file = HostFile::parse(Host::ClaudeCode, text).unwrap();

    let places: Vec<String> = file.entries().unwrap().iter().map(Entry::place).collect();
    let imported = imported(Host::ClaudeCode, text, path);

    assert_eq!(places, ["mcpServers.time", "projects./home/ada/site.mcpServers.db"]);
    assert!(imported.contains("\"history\": [{ \"display\": \"hello\", \"pastedContents\": {} }],"));
    assert!(imported.contains("\"lastCost\": 0.25"));
    assert!(!imported.contains("pg-secret"));
    let of_site = fates(Host::ClaudeCode, &file, path).pop().map(|(_, fate)| fate);
    let Some(Fate::Carried(Carried::Child(db))) = of_site else { panic!("the project's server is carried") };
    assert_eq!(db.folder.as_deref(), Some(Path::new("/home/ada/site")));
}

#[test]
fn claude_desktops_values_are_taken_as_they_stand() {
    let files = carried(Host::ClaudeDesktop, "filesystem");

    assert_eq!(files.command[4], "/Users/ada/${not-a-variable}");
    assert_eq!(carried(Host::ClaudeDesktop, "brave-search").env["BRAVE_API_KEY"], "brave-secret");
}

#[test]
fn vs_codes_comments_stay_and_its_questions_are_refused() {
    let memory = carried(Host::VsCode, "memory");
    let (text, path) = fixture(Host::VsCode);
    let imported = imported(Host::VsCode, text, &path);

    assert_eq!(memory.env["MEMORY_FILE_PATH"], "/srv/site/.memory/ada.jsonl");
    assert!(imported.contains("// shared with the team") && imported.contains("\"id\": \"token\""));
    assert_eq!(
        refusals(Host::VsCode),
        ["servers.asks.env.TOKEN", "servers.fileful.envFile", "servers.remote.headers.Authorization"]
    );
}

#[test]
fn cursors_variables_are_put_in_place_and_what_needs_a_sign_in_is_refused() {
    let git = carried(Host::Cursor, "git");

    assert_eq!(git.command, ["uvx", "mcp-server-git", "--repository", "/srv/site"]);
    assert_eq!((git.env["GIT_TOKEN"].as_str(), git.env["HOME_DIR"].as_str()), ("gh-secret", "/home/ada"));
    assert_eq!(refusals(Host::Cursor), ["mcpServers.old.type", "mcpServers.signed-in.auth"]);
}

/// C5: address and headers in each host's own spelling; what is put in an entry's place names neither.
#[test]
fn servers_behind_http_are_carried_over_from_every_host() {
    let url = |path: &str| format!("https://tickets.example.com/{path}");
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for (host, name, url, headers) in [
        (Host::ClaudeCode, "tickets", url("mcp"), vec![header("authorization", "Bearer gh-secret")]),
        (Host::ClaudeDesktop, "tickets", url("mcp"), vec![header("x-key", "tickets-secret")]),
        (Host::VsCode, "tickets", url("mcp"), vec![header("x-key", "gh-secret")]),
        (
            Host::Cursor,
            "linear",
            "https://mcp.linear.app/mcp".to_owned(),
            vec![header("authorization", "Bearer gh-secret"), header("x-team", "linear-secret")],
        ),
        (
            Host::Codex,
            "tickets",
            url("mcp"),
            vec![
                header("authorization", "Bearer gh-secret"),
                header("x-team", "team-secret"),
                header("x-user", "ada"),
            ],
        ),
    ] {
        assert_eq!(reached(host, name), (url.clone(), headers), "{host:?}");
        let (text, path) = fixture(host);
        let imported = imported(host, text, &path);
        assert!(!imported.contains(&url), "{imported}");
        let entries = HostFile::parse(host, &imported).unwrap().entries().unwrap();
        let entry = entries.into_iter().find(|entry| entry.name() == name).unwrap();
        assert!(entry.members.get("type").is_none_or(|kind| kind == "stdio"), "{imported}");
        assert!(
            !imported.contains("bearer_token_env_var") && !imported.contains("http_headers"),
            "{imported}"
        );
    }
    assert!(
        imported(Host::ClaudeCode, fixture(Host::ClaudeCode).0, &fixture(Host::ClaudeCode).1)
            .contains("30000")
    );
}

/// Otherwise an import would put the gateway behind itself.
#[test]
fn an_entry_that_leads_to_the_gateway_is_ours() {
    assert!(matches!(fate(Host::Cursor, "ours"), Some(Fate::Ours)));
}

#[test]
fn codexs_own_settings_and_comments_stay() {
    let docs = carried(Host::Codex, "docs");
    let (text, path) = fixture(Host::Codex);
    let imported = imported(Host::Codex, text, &path);

    assert_eq!(
        (docs.env["API_KEY"].as_str(), docs.env["GITHUB_TOKEN"].as_str()),
        ("docs-secret", "gh-secret")
    );
    assert_eq!(carried(Host::Codex, "time").folder.as_deref(), Some(Path::new("/srv/time")));
    for kept in
        ["# my settings", "startup_timeout_sec = 20", "enabled_tools = [\"search\"]", "notifications = true"]
    {
        assert!(imported.contains(kept), "{imported}");
    }
    assert!(imported.contains("command = \"off-server\""));
    assert!(!imported.contains("env_vars") && !imported.contains("TZ"));
}

#[test]
fn what_cannot_be_carried_over_is_refused_with_its_place() {
    for (entry, place) in [
        (r#"{"args":["x"]}"#, "mcpServers.s.command"),
        (r#"{"command":7}"#, "mcpServers.s.command"),
        (r#"{"command":"x","args":"y"}"#, "mcpServers.s.args"),
        (r#"{"command":"x","args":["a",1]}"#, "mcpServers.s.args[1]"),
        (r#"{"command":"x","env":{"A":null}}"#, "mcpServers.s.env.A"),
        (r#"{"command":"x","env":{"A":"${ABSENT}"}}"#, "mcpServers.s.env.A"),
        (r#"{"command":"x","cwd":"../up","timeout":1,"autoApprove":["*"]}"#, "mcpServers.s.autoApprove"),
        (r#"{"type":"sse","command":"x"}"#, "mcpServers.s.type"),
        (r#"{"type":"http"}"#, "mcpServers.s.url"),
        (r#"{"type":"stdio","url":"https://a.example/"}"#, "mcpServers.s.type"),
        (r#"{"serverUrl":"https://a.example/"}"#, "mcpServers.s.url"),
        (r#"{"url":"https://a.example/?key=1"}"#, "mcpServers.s.url"),
        (r#"{"url":"http://a.example/"}"#, "mcpServers.s.url"),
        (r#"{"url":"https://a.example/","headers":{"Host":"b"}}"#, "mcpServers.s.headers.Host"),
        (r#"{"url":"https://a.example/","headers":{"X":"a\nb"}}"#, "mcpServers.s.headers.X"),
        (r#"{"url":"https://a.example/","headers":{"X":"${ABSENT}"}}"#, "mcpServers.s.headers.X"),
        (r#"{"url":"https://a.example/","headersHelper":"./token.sh"}"#, "mcpServers.s.headersHelper"),
        (r#"{"url":"https://a.example/","oauth":{}}"#, "mcpServers.s.oauth"),
    ] {
        let text = format!(r#"{{"mcpServers":{{"s":{entry}}}}}"#);
        let file = HostFile::parse(Host::ClaudeCode, &text).unwrap();
        let fate =
            fates(Host::ClaudeCode, &file, Path::new("/srv/site/.mcp.json")).pop().map(|(_, fate)| fate);
        let Some(Fate::Refused(refusals)) = fate else { panic!("{entry} is not refused") };
        assert_eq!(refusals[0].place, place, "{entry}");
        assert!(!refusals[0].reason.contains("key=1"), "{}", refusals[0].reason);
    }
    for bad in
        ["[]", "{\"mcpServers\":[]}", "{\"mcpServers\":{\"s\":1}}", "{\"mcpServers\":{},\"mcpServers\":{}}"]
    {
        let entries = HostFile::parse(Host::ClaudeCode, bad).and_then(|file| file.entries());
        assert!(bad == "[]" || entries.is_err(), "{bad}");
    }
}
