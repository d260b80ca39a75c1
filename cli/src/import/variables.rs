//! Variables in a host's values, put in place as the host itself would.
//!
//! Promised: what cannot be known here, such as what VS Code asks its user for, is an error and never a guess.

use std::path::PathBuf;

use super::host::Spelling;

/// What the values of an entry may refer to.
pub struct Surroundings<'a> {
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    pub home: PathBuf,
    /// The host's workspace, where the file belongs to one.
    pub workspace: Option<PathBuf>,
    /// The gateway itself, such as `http://127.0.0.1:8787`.
    pub gateway: &'a str,
}

/// The value with its variables put in place, or the reason why one cannot be.
pub fn expand(text: &str, spelling: Spelling, around: &Surroundings<'_>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}').filter(|_| spelling != Spelling::Literal) else {
            break;
        };
        expanded.push_str(before);
        expanded.push_str(&match spelling {
            Spelling::Shell => shell(name, around)?,
            Spelling::Editor | Spelling::Literal => editor(name, around)?,
        });
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn shell(name: &str, around: &Surroundings<'_>) -> Result<String, String> {
    let (name, otherwise) = match name.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
        None => (name, None),
    };
    (around.environment)(name).or(otherwise).ok_or_else(|| unset(name))
}

fn editor(name: &str, around: &Surroundings<'_>) -> Result<String, String> {
    let text =
        |path: &PathBuf| path.to_str().map(str::to_owned).ok_or_else(|| "a folder is no text".to_owned());
    let workspace = || around.workspace.as_ref().ok_or_else(|| "the file belongs to no folder".to_owned());
    match name {
        "workspaceFolder" => text(workspace()?),
        "workspaceFolderBasename" => text(&workspace()?.file_name().map(PathBuf::from).unwrap_or_default()),
        "userHome" => text(&around.home),
        "pathSeparator" | "/" => Ok("/".to_owned()),
        _ => match name.split_once(':') {
            Some(("env", name)) => (around.environment)(name).ok_or_else(|| unset(name)),
            Some(("input", _)) => {
                Err(format!("`${{{name}}}` is asked for by the host and known to nobody else"))
            }
            Some(_) | None => Err(format!("`${{{name}}}` is not known here")),
        },
    }
}

fn unset(name: &str) -> String {
    format!("the variable `{name}` is not set here: set it and run this again")
}
