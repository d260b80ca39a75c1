//! The five hosts: where each keeps its servers, and which members of an entry are its own business.
//!
//! Written from the hosts' documentation as of November 2026; docs/hosts.md says which were tried.

use std::path::{Path, PathBuf};

use serde_json::Value;

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub enum Host {
    ClaudeCode,
    ClaudeDesktop,
    #[value(name = "vscode")]
    VsCode,
    Cursor,
    Codex,
}

/// How a host writes variables into its values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spelling {
    /// Values are taken as they stand.
    Literal,
    /// `${NAME}` and `${NAME:-otherwise}`.
    Shell,
    /// `${env:NAME}`, `${workspaceFolder}` and the like.
    Editor,
}

impl Host {
    /// The files that the host reads: those of the folder first, then those of the person.
    pub fn files(self, folder: &Path, home: &Path) -> Vec<PathBuf> {
        match self {
            Self::ClaudeCode => vec![folder.join(".mcp.json"), home.join(".claude.json")],
            Self::ClaudeDesktop => vec![
                home.join("Library/Application Support/Claude/claude_desktop_config.json"),
                home.join(".config/Claude/claude_desktop_config.json"),
            ],
            Self::VsCode => vec![folder.join(".vscode/mcp.json")],
            Self::Cursor => vec![folder.join(".cursor/mcp.json"), home.join(".cursor/mcp.json")],
            Self::Codex => vec![home.join(".codex/config.toml")],
        }
    }

    /// Where servers lie in a file: `mcpServers`, and for Claude Code those of each project too.
    pub(super) fn server_maps(self, whole: &Value) -> Vec<Vec<String>> {
        let top = |name: &str| vec![vec![name.to_owned()]];
        match self {
            Self::ClaudeDesktop | Self::Cursor => top("mcpServers"),
            Self::VsCode => top("servers"),
            Self::Codex => top("mcp_servers"),
            Self::ClaudeCode => {
                let projects = whole["projects"].as_object().into_iter().flatten();
                let of_projects = projects
                    .filter(|(_, project)| project.get("mcpServers").is_some())
                    .map(|(folder, _)| vec!["projects".to_owned(), folder.clone(), "mcpServers".to_owned()]);
                top("mcpServers").into_iter().chain(of_projects).collect()
            }
        }
    }

    /// Members that speak of the host's side alone, and hold for our bridge as for the server before.
    pub(super) fn keeps(self, member: &str) -> bool {
        let kept: &[&str] = match self {
            Self::ClaudeCode => &["type", "timeout"],
            Self::ClaudeDesktop => &["type"],
            Self::VsCode => &["type", "gallery", "version"],
            Self::Cursor => &["type"],
            Self::Codex => &[
                "startup_timeout_sec",
                "startup_timeout_ms",
                "tool_timeout_sec",
                "enabled",
                "required",
                "enabled_tools",
                "disabled_tools",
                "default_tools_approval_mode",
                "tools",
                "supports_parallel_tool_calls",
            ],
        };
        kept.contains(&member)
    }

    pub(super) fn spelling(self) -> Spelling {
        match self {
            Self::ClaudeCode => Spelling::Shell,
            Self::VsCode | Self::Cursor => Spelling::Editor,
            Self::ClaudeDesktop | Self::Codex => Spelling::Literal,
        }
    }

    /// The folder in which the host would start a server of this file.
    pub fn workspace(self, file: &Path, keys: &[String]) -> Option<PathBuf> {
        match (self, keys) {
            (Self::ClaudeCode, [projects, folder, ..]) if projects == "projects" => Some(folder.into()),
            (Self::ClaudeCode, _) => {
                file.file_name().filter(|name| *name == ".mcp.json").and(file.parent()).map(Path::to_owned)
            }
            (Self::VsCode | Self::Cursor, _) => file.parent().and_then(Path::parent).map(Path::to_owned),
            (Self::ClaudeDesktop | Self::Codex, _) => None,
        }
    }
}
