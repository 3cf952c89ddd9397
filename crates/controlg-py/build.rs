//! Says to the linker that Python's own symbols are found when the module is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
