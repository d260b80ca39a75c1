//! What to paste into an agent host so that it speaks to the gateway (docs/hosts.md).

use std::fmt::Write;
use std::path::Path;

/// Where an agent host finds one provider.
pub struct Access<'a> {
    /// Such as `http://127.0.0.1:8787`.
    pub gateway: &'a str,
    pub provider: &'a str,
    /// This program, for hosts that start processes.
    pub program: &'a Path,
    /// The API key, or what stands in its place when it was shown before.
    pub key: &'a str,
}

/// Ready to paste, one paragraph a host.
#[must_use]
pub fn ready_to_paste(access: &Access<'_>) -> String {
    let mut text = String::new();
    for (host, place, paste) in [
        ("Claude Code", "in a shell", claude_code(access)),
        ("Claude Desktop", "claude_desktop_config.json", claude_desktop(access)),
        ("VS Code", ".vscode/mcp.json (asks for the key once)", vs_code(access)),
        ("Cursor", ".cursor/mcp.json", cursor(access)),
        ("Codex", "~/.codex/config.toml, and the key in the environment", codex(access)),
    ] {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{host}: {place}\n");
        for line in paste.lines() {
            let indent = if line.is_empty() { "" } else { "    " };
            let _ = writeln!(text, "{indent}{line}");
        }
        text.push('\n');
    }
    text
}

fn address(access: &Access<'_>) -> String {
    format!("{}/mcp/{}", access.gateway, access.provider)
}

fn claude_code(access: &Access<'_>) -> String {
    let (provider, url, key) = (access.provider, address(access), access.key);
    format!("claude mcp add --transport http {provider} {url} --header \"Authorization: Bearer {key}\"")
}

fn claude_desktop(access: &Access<'_>) -> String {
    pretty(&serde_json::json!({ "mcpServers": { access.provider: {
        "command": access.program,
        "args": ["stdio", access.provider, "--gateway", access.gateway],
        "env": { "COUNTERFOIL_KEY": access.key },
    } } }))
}

fn vs_code(access: &Access<'_>) -> String {
    pretty(&serde_json::json!({
        "inputs": [{
            "type": "promptString",
            "id": "counterfoil-key",
            "description": "Counterfoil API key",
            "password": true,
        }],
        "servers": { access.provider: {
            "type": "http",
            "url": address(access),
            "headers": { "Authorization": "Bearer ${input:counterfoil-key}" },
        } },
    }))
}

fn cursor(access: &Access<'_>) -> String {
    pretty(&serde_json::json!({ "mcpServers": { access.provider: {
        "url": address(access),
        "headers": { "Authorization": format!("Bearer {}", access.key) },
    } } }))
}

fn codex(access: &Access<'_>) -> String {
    let (provider, url, key) = (access.provider, address(access), access.key);
    format!(
        "[mcp_servers.{provider}]\nurl = \"{url}\"\nbearer_token_env_var = \"COUNTERFOIL_KEY\"\n\n# export COUNTERFOIL_KEY={key}"
    )
}

fn pretty(document: &serde_json::Value) -> String {
    format!("{document:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed() -> String {
        ready_to_paste(&Access {
            gateway: "http://127.0.0.1:8787",
            provider: "notes",
            program: Path::new("/opt/counterfoil"),
            key: "cfk_example",
        })
    }

    /// The JSON documents among what is printed, by the host they are for.
    fn document(host: &str) -> serde_json::Value {
        let printed = printed();
        let (_, after) = printed.split_once(&format!("{host}: ")).unwrap();
        let lines = after.lines().skip(2).take_while(|line| !line.is_empty());
        serde_json::from_str(&lines.collect::<String>()).unwrap()
    }

    #[test]
    fn every_host_is_told_the_same_address() {
        let url = "http://127.0.0.1:8787/mcp/notes";

        assert!(printed().contains(&format!("claude mcp add --transport http notes {url} --header")));
        assert_eq!(document("VS Code")["servers"]["notes"]["url"], url);
        assert_eq!(document("Cursor")["mcpServers"]["notes"]["url"], url);
        assert!(printed().contains(&format!("url = \"{url}\"")));
    }

    #[test]
    fn a_host_that_starts_processes_gets_the_bridge_and_the_key_by_environment() {
        let notes = document("Claude Desktop")["mcpServers"]["notes"].clone();

        assert_eq!(notes["command"], "/opt/counterfoil");
        assert_eq!(
            notes["args"],
            serde_json::json!(["stdio", "notes", "--gateway", "http://127.0.0.1:8787"])
        );
        assert_eq!(notes["env"]["COUNTERFOIL_KEY"], "cfk_example");
    }

    /// T3: a file that is likely to be committed asks for the key instead of holding it.
    #[test]
    fn the_file_for_vs_code_does_not_hold_the_key() {
        assert!(!document("VS Code").to_string().contains("cfk_example"));
    }
}
