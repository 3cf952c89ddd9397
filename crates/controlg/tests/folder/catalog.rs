//! Data sets of the catalog whose files are missing.

use std::path::PathBuf;

use controlg::data::{FeatureSource, LoadOptions, load};

#[test]
fn the_error_for_a_missing_file_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let load_as = |name: &str, features| {
        load(name, &LoadOptions { data_dir: Some(folder.path().to_owned()), features, ..Default::default() })
            .unwrap_err()
    };
    let error = load_as("wikics", FeatureSource::Given);
    let line = error.to_string();
    assert_eq!(error.exit_code(), 2);
    let place: PathBuf = folder.path().join("wikics").join("data.json");
    for fragment in
        [place.to_str().unwrap(), "controlg data fetch wikics", "https://raw.githubusercontent.com/pmernyei/"]
    {
        assert!(line.contains(fragment), "{line}");
    }
    assert!(!line.contains("structural"), "{line}");
    let line = load_as("ogbn-arxiv", FeatureSource::Given).to_string();
    for fragment in ["node-feat.csv.gz", "arxiv.zip", "--features structural"] {
        assert!(line.contains(fragment), "{line}");
    }
    let line = load_as("ogbn-arxiv", FeatureSource::Structural).to_string();
    assert!(!line.contains("node-feat.csv.gz"), "{line}");
}
