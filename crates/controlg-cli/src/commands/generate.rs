//! `controlg generate`: shell completions and manual pages, from the one description of the arguments.

use std::fs;

use clap::CommandFactory;
use controlg::{Error, Result};
use serde_json::json;

use crate::args::{Args, Generate};
use crate::output::Output;

pub(super) fn run(what: &Generate, output: &Output) -> Result<()> {
    let mut command = Args::command();
    match what {
        Generate::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut command, "controlg", &mut text);
            let text = String::from_utf8_lossy(&text).into_owned();
            output.result(&json!({ "shell": shell.to_string(), "text": text }), &text)
        }
        Generate::Man { folder } => {
            fs::create_dir_all(folder)
                .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
            clap_mangen::generate_to(command, folder)
                .map_err(|error| Error::io(format_args!("writing to {}", folder.display()), error))?;
            output
                .result(&json!({ "folder": folder }), format_args!("{}: the manual pages", folder.display()))
        }
    }
}
