//! The page, the tables and the figures of a reproduction of the paper.

mod charts;
mod records;

use std::fmt::Write;
use std::path::Path;

use super::page::HtmlPage;
use super::{Figure, RenderedReport};
use crate::compare::table::{TextTable, html_escape};
use crate::compare::{JsonlStore, ResultCell};
use crate::error::Result;
use crate::reproduce::timing::{self, StepTime};
use crate::reproduce::{
    Evidence, ReproduceSettings, ReproduceTarget, ReproductionManifest, TARGETS, claims_table,
};
use records::RecordFigures;

/// Everything that is made from the results of a reproduction.
pub struct RenderedReproduction {
    /// The page with its figures.
    pub report: RenderedReport,
    /// All tables as Markdown.
    pub markdown: String,
    /// Tables and figures as files: paths within the folder and contents.
    pub files: Vec<(String, String)>,
}

/// Renders the folder of a reproduction; safe while it is running.
pub fn of_reproduction(folder: &Path) -> Result<RenderedReproduction> {
    let ReproductionManifest { settings, data_hashes } = ReproductionManifest::read(folder)?;
    let mut cells = JsonlStore::<ResultCell>::read(folder, "results")?;
    cells.retain(|cell| {
        cell.data_hash.is_empty() || data_hashes.get(&cell.data).is_none_or(|hash| *hash == cell.data_hash)
    });
    let times = JsonlStore::<StepTime>::read(folder, "timings")?;
    let records = records::of_runs(folder, &settings)?;
    let diagnostics = records.iter().map(|record| record.diagnostics.clone()).collect();
    let evidence = Evidence::new(&settings, &cells, times, diagnostics);
    let texts = text_tables(&settings, &evidence)?;
    let figures = charts::all(&evidence);
    let mut page = HtmlPage::new("Reproduction of the paper");
    page.paragraph(&setup(&settings));
    page.html(&progress(&settings, &cells));
    let claims = claims_table(&evidence);
    page.html(&section(
        "The paper's claims",
        &claims.html().replacen("<table>", "<table class=\"claims\">", 1),
    ));
    page.figures("Charts", &figures, &[]);
    let mut body = String::new();
    for table in &evidence.tables {
        let _ = writeln!(
            body,
            "<h2 id=\"{0}\">{0}: {1}</h2>\n{2}",
            table.name,
            html_escape(&table.title),
            table.html()
        );
    }
    for text in &texts {
        let _ = writeln!(body, "<h2>{}</h2>\n{}", html_escape(&text.title), text.html());
    }
    page.html(&section("Tables", &body));
    for record in &records {
        page.html(&record.html());
    }
    let report = RenderedReport { page: page.finish(), figures };
    let markdown = markdown(&settings, &evidence, &claims, &texts);
    let files = files(&evidence, &claims, &texts, &report.figures, &records);
    Ok(RenderedReproduction { report, markdown, files })
}

/// Tables that are not of scores by data set.
fn text_tables(settings: &ReproduceSettings, evidence: &Evidence) -> Result<Vec<TextTable>> {
    let mut texts: Vec<TextTable> = evidence.sweeps.iter().map(|sweep| sweep.table()).collect();
    texts.extend(timing::table(settings, &evidence.times)?);
    Ok(texts)
}

/// How all numbers were made.
fn setup(settings: &ReproduceSettings) -> String {
    let ReproduceSettings { preset, budget, seeds, .. } = settings;
    format!(
        "Presets: {preset}, with {}; budget: equal {}; up to {seeds} seeds. Each cell has our mean ± 95 % t-interval over the seeds, the \
         paper's number ± its interval, and the difference. The interval of a difference is the root of the sum of the squared \
         half-widths. Average ranks are among the methods of the table, without the floors.",
        settings.assignments().join(", "),
        budget.name(),
    )
}

/// How many runs of each target are there.
fn progress(settings: &ReproduceSettings, cells: &[ResultCell]) -> String {
    let count = |target: &ReproduceTarget| -> Result<(usize, usize)> {
        let (mut all, mut done) = (0, 0);
        for part in target.parts(settings) {
            let jobs = part.jobs()?;
            let runs = jobs.iter().filter(|job| job.is_run());
            all += runs.clone().count();
            done += runs.filter(|job| part.comparison.remaining(job, cells).is_none()).count();
        }
        Ok((done, all))
    };
    let with_runs = TARGETS.iter().filter(|target| target.name != ReproduceTarget::TIMING);
    let rows = with_runs.map(|target| {
        let runs = match count(target) {
            Ok((done, all)) => format!("{done} of {all}"),
            Err(_) => "not with these settings".to_owned(),
        };
        vec![target.name.to_owned(), target.title.to_owned(), runs]
    });
    let table = TextTable {
        name: "progress".to_owned(),
        title: "Runs".to_owned(),
        head: ["table or figure", "what", "runs done"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    section("Runs", &table.html())
}

/// Tables under a heading; wide ones scroll by themselves, with the keyboard too.
fn section(title: &str, html: &str) -> String {
    let scroll = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table";
    let tables = html.replace("<table", scroll).replace("</table>", "</table></div>");
    format!("<h2>{title}</h2>\n<div class=\"tables reproduction\">\n{tables}</div>\n")
}

fn markdown(
    settings: &ReproduceSettings,
    evidence: &Evidence,
    claims: &TextTable,
    texts: &[TextTable],
) -> String {
    let mut out = format!("{}\n\n## claims\n\n{}", setup(settings), claims.markdown());
    for table in &evidence.tables {
        let _ = write!(out, "\n{}", table.markdown());
    }
    for text in texts {
        let _ = write!(out, "\n## {}: {}\n\n{}", text.name, text.title, text.markdown());
    }
    out
}

fn files(
    evidence: &Evidence,
    claims: &TextTable,
    texts: &[TextTable],
    figures: &[Figure],
    records: &[RecordFigures],
) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for table in &evidence.tables {
        files.push((format!("tables/{}.csv", table.name), table.csv()));
        files.push((format!("tables/{}.tex", table.name), table.text().latex()));
    }
    for text in texts.iter().chain([claims]) {
        files.push((format!("tables/{}.csv", text.name), text.csv()));
        files.push((format!("tables/{}.tex", text.name), text.latex()));
    }
    let runs = records.iter().flat_map(|record| record.figures.iter().map(|figure| (record.name(), figure)));
    for (prefix, figure) in figures.iter().map(|figure| (String::new(), figure)).chain(runs) {
        files.push((format!("figures/{prefix}{}.svg", figure.name), figure.svg()));
        files.push((format!("figures/{prefix}{}.csv", figure.name), figure.csv.clone()));
    }
    files
}
