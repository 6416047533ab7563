// Builds the documentation as a site that needs no network: the pages behind docs/index.md, and the API reference from the types.
//
//     npm run site [-- FOLDER]        (default: site)
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { withWayBack } from "./site/api-page.ts";
import { sitePages } from "./site/pages.ts";
import { packageFile, ROOT } from "./tools.ts";

const folder = resolve(process.argv[2] ?? join(ROOT, "site"));
const { files, brokenLinks } = sitePages(ROOT);
if (brokenLinks.length > 0) {
  console.error(`links that lead nowhere:\n${brokenLinks.join("\n")}`);
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
for (const { path, contents } of files) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), contents);
}
const { status } = spawnSync(
  process.execPath,
  [
    packageFile("typedoc/bin/typedoc"),
    "--options",
    "scripts/site/typedoc.json",
    "--out",
    join(folder, "api"),
  ],
  { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] },
);
if (status !== 0) process.exit(1);
for (const name of readdirSync(join(folder, "api"), { recursive: true, encoding: "utf8" })) {
  const file = join(folder, "api", name);
  if (name.endsWith(".html")) writeFileSync(file, withWayBack(readFileSync(file, "utf8"), name));
}
console.log(`${files.length} files and the API reference: ${join(folder, "index.html")}`);
