//! Rules about this crate's own text.

use std::path::Path;

#[test]
fn no_target_is_built_outside_its_type() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = 0;
    for file in std::fs::read_dir(sources).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let built = code.filter(|line| line.contains("\"-t") || line.contains(" -t ")).count();
        assert_eq!(built > 0, path.ends_with("target.rs"), "{}", path.display());
        files += 1;
    }
    assert!(files > 10, "the sources were not found");
}
