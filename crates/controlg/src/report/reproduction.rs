//! The page and the tables of a reproduction of the paper.

use std::fmt::Write;
use std::path::Path;

use super::page::HtmlPage;
use super::{Figure, RenderedReport};
use crate::compare::{JsonlStore, ResultCell};
use crate::error::Result;
use crate::reproduce::{ReproduceSettings, ReproductionManifest, TARGETS, TargetTable};

/// Everything that is made from the results of a reproduction.
pub struct RenderedReproduction {
    /// The page with its figures.
    pub report: RenderedReport,
    /// All tables as Markdown.
    pub markdown: String,
    /// Tables as CSV and LaTeX: file names and contents.
    pub files: Vec<(String, String)>,
}

/// Renders the folder of a reproduction; safe while it is running.
pub fn of_reproduction(folder: &Path) -> Result<RenderedReproduction> {
    let ReproductionManifest { settings, data_hashes } = ReproductionManifest::read(folder)?;
    let current = |cell: &ResultCell| {
        cell.data_hash.is_empty() || data_hashes.get(&cell.data).is_none_or(|hash| *hash == cell.data_hash)
    };
    let mut cells = JsonlStore::<ResultCell>::read(folder, "results")?;
    cells.retain(current);
    let mut tables = Vec::new();
    for target in TARGETS {
        tables.extend(TargetTable::new(target, &settings, &cells)?.filter(TargetTable::has_results));
    }
    let setup = setup(&settings);
    let mut markdown = format!("{setup}\n");
    let mut files = Vec::new();
    for table in &tables {
        let _ = write!(markdown, "\n{}", table.markdown());
        files.push((format!("{}.csv", table.name), table.csv()));
        files.push((format!("{}.tex", table.name), table.text().latex()));
    }
    let mut page = HtmlPage::new("Reproduction of the paper");
    page.paragraph(&setup);
    let figures: Vec<Figure> = Vec::new();
    page.figures("Charts", &figures, &[]);
    let mut body = String::from("<h2>Tables</h2>\n<div class=\"tables\">\n");
    let scroll = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table";
    for table in &tables {
        let html = table.html().replace("<table", scroll).replace("</table>", "</table></div>");
        let _ = writeln!(body, "<h2 id=\"{0}\">{0}: {1}</h2>\n{html}", table.name, table.title);
    }
    page.html(&format!("{body}</div>\n"));
    Ok(RenderedReproduction { report: RenderedReport { page: page.finish(), figures }, markdown, files })
}

/// How all numbers were made.
fn setup(settings: &ReproduceSettings) -> String {
    let ReproduceSettings { preset, budget, seeds, .. } = settings;
    format!(
        "Presets: {preset}, with {}; budget: equal {}; up to {seeds} seeds. In each cell: our mean ± 95 % t-interval over the seeds, the \
         paper's number ± its interval, and the difference. The interval of a difference is the root of the sum of the squared \
         half-widths. Average ranks are among the methods that the table has, floors apart.",
        settings.assignments().join(", "),
        budget.name(),
    )
}
