//! A small reverse-mode tape over row-major matrices.
