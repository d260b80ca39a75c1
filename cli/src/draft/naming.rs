//! A provider's id from the command that starts it, or from its address.

use counterfoil_core::id::ProviderId;

/// `npx -y @modelcontextprotocol/server-memory` is `memory`, `uvx mcp-server-git` is `git`.
#[must_use]
pub fn provider_id(command: &[String]) -> ProviderId {
    let telling = |word: &&str| !word.starts_with('-') && !word.contains('=');
    let words = command.iter().map(String::as_str).filter(telling);
    let candidates = words.filter(|word| !is_launcher(word)).flat_map(parts);
    candidates.filter_map(|part| label(&part)).next().unwrap_or_else(fallback)
}

/// `https://mcp.linear.app/mcp` is `linear`: the last part of the host that tells anything.
#[must_use]
pub fn provider_id_at(url: &str) -> ProviderId {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', ':', '?']).next();
    let host = host.unwrap_or_default();
    let is_number = host.split('.').all(|part| part.parse::<u8>().is_ok());
    let mut parts: Vec<&str> = host.split('.').filter(|part| !matches!(*part, "www" | "api")).collect();
    if parts.len() > 1 {
        parts.pop();
    }
    // `example.co.uk`: what is this short in front of the end says as little as the end.
    while parts.len() > 1 && parts.last().is_some_and(|part| part.len() < 4) {
        parts.pop();
    }
    match is_number || host == "localhost" || host.starts_with('[') {
        true => fallback(),
        false => parts.iter().rev().find_map(|part| label(part)).unwrap_or_else(fallback),
    }
}

fn fallback() -> ProviderId {
    "tools".parse().expect("`tools` is a provider id")
}

/// Programs that start others.
fn is_launcher(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let launchers = [
        "npx", "npm", "node", "bunx", "bun", "deno", "pnpm", "yarn", "dlx", "exec", "uvx", "uv", "run",
        "tool", "pipx", "python", "python3", "docker", "podman", "sh", "bash", "env", "cmd",
    ];
    launchers.contains(&name)
}

/// The telling parts of a word, last first: of a path its file, unless that is called as everybody's is.
fn parts(word: &str) -> Vec<String> {
    let everybodys = ["index", "main", "server", "cli", "dist", "build", "src", "bin", "lib", "node_modules"];
    // A scope (`@name/…`) is no name of its own, and neither is a version behind a name.
    let name = |part: &str| part.split('@').next().unwrap_or(part).to_owned();
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let stems = word.rsplit('/').filter(|part| !part.starts_with('@')).map(|part| stem(&name(part)));
    stems.filter(|stem| !everybodys.contains(&stem.as_str())).collect()
}

fn label(name: &str) -> Option<ProviderId> {
    let words: Vec<String> = name
        .to_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !matches!(*word, "" | "mcp" | "server"))
        .map(str::to_owned)
        .collect();
    let mut id = String::new();
    for word in words {
        let longer = if id.is_empty() { word } else { format!("{id}-{word}") };
        if longer.len() > 16 {
            break;
        }
        id = longer;
    }
    id.parse().ok().filter(|_| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_provider() {
        for (command, id) in [
            ("npx -y @modelcontextprotocol/server-memory", "memory"),
            ("npx -y @modelcontextprotocol/server-filesystem@2026.1.1 /srv/files", "filesystem"),
            ("uvx mcp-server-git --repository .", "git"),
            ("node /opt/node_modules/@modelcontextprotocol/server-memory/dist/index.js", "memory"),
            ("/usr/bin/python3 -m weather_server", "weather"),
            ("node index.js", "tools"),
            ("uv run server.py", "tools"),
            ("./Notes", "notes"),
            ("env KEY=/a/b.json node /opt/weather/index.js", "weather"),
        ] {
            let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(provider_id(&command).as_str(), id, "{command:?}");
        }
    }

    #[test]
    fn an_address_names_its_provider() {
        for (url, id) in [
            ("https://mcp.linear.app/mcp", "linear"),
            ("https://api.githubcopilot.com/mcp/", "githubcopilot"),
            ("https://mcp.example.co.uk:8443/mcp", "example"),
            ("https://www.notes-server.example/", "notes"),
            ("http://127.0.0.1:3001/mcp", "tools"),
            ("http://[::1]:3001/mcp", "tools"),
            ("http://localhost:3001/mcp", "tools"),
        ] {
            assert_eq!(provider_id_at(url).as_str(), id, "{url}");
        }
    }
}
