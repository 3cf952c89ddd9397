//! `controlg generate`: shell completions and man pages, derived from the argument definitions.

use std::fs;

use clap::CommandFactory;
use controlg::{Error, Result};
use serde_json::json;

use crate::args::{Args, GenerateCommand};
use crate::console::{Console, shown};

pub(super) fn run(what: &GenerateCommand, console: &Console) -> Result<()> {
    let mut command = Args::command();
    match what {
        GenerateCommand::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut command, "controlg", &mut text);
            let text = String::from_utf8_lossy(&text).into_owned();
            console.result(&json!({ "shell": shell.to_string(), "text": text }), &text)
        }
        GenerateCommand::Man { folder } => {
            fs::create_dir_all(folder)
                .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
            clap_mangen::generate_to(command, folder)
                .map_err(|error| Error::io(format_args!("writing to {}", folder.display()), error))?;
            console.result(
                &json!({ "folder": shown(folder) }),
                format_args!("{}: wrote the man pages", folder.display()),
            )
        }
    }
}
