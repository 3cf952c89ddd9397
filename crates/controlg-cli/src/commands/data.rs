//! `controlg data`: what there is, what is in it, get it, change its format.

use controlg::Result;
use controlg::data::{self, info::Info};

use super::load_options;
use crate::args::{Common, Data};
use crate::output::Output;

pub(super) fn run(command: &Data, common: &Common, output: &Output) -> Result<()> {
    match command {
        Data::Info { data, features } => {
            let info = Info::of(&data::load(data, &load_options(common, *features))?);
            output.result(&info, &info)
        }
        _ => Ok(()),
    }
}
