// Makes the report page without its data: one file with the app, its styles and the policy that keeps it from every network.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const page = fileURLToPath(new URL("../src/report/page/", import.meta.url));
const dist = fileURLToPath(new URL("../dist/", import.meta.url));

/** Folders below src/report/page/ whose style sheets the page has, in this order. */
const STYLE_FOLDERS = ["app", "graph", "time"];

/**
 * The page as text. `{{title}}` and `{{text}}` are to be replaced with escaped text, `{{data}}` with what `encodePage` makes; each
 * stands in it once. Hashes of what the browser may run are part of it: the data is none of that.
 */
export async function reportPage(): Promise<string> {
  const script = escapeScript(await bundleApp());
  const style = shortenStyles(styleSheets());
  const policy = [
    "default-src 'none'",
    `script-src ${hashSource(script)}`,
    `style-src ${hashSource(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{{title}}</title>
<style>${style}</style>
</head>
<body>
<noscript><pre>{{text}}</pre></noscript>
<div id="app"></div>
<script type="application/vnd.memshade" id="data">{{data}}</script>
<script>${script}</script>
</body>
</html>
`;
}

/** Writes dist/report-page.html. */
export async function writeReportPage(): Promise<void> {
  mkdirSync(dist, { recursive: true });
  writeFileSync(`${dist}report-page.html`, await reportPage());
}

async function bundleApp(): Promise<string> {
  const app = await rolldown({
    input: `${page}app/main.ts`,
    platform: "browser",
    checks: { unresolvedImport: true },
  });
  const { output } = await app.generate({ format: "iife", minify: true, comments: false });
  await app.close();
  if (output.length !== 1) throw new Error("the report page is to be one script");
  return output[0].code.trim();
}

function styleSheets(): string {
  const names = readdirSync(page, { recursive: true, encoding: "utf8" }).sort();
  return STYLE_FOLDERS.flatMap((folder) =>
    names.filter((name) => name.startsWith(`${folder}/`) && name.endsWith(".css")),
  )
    .map((name) => readFileSync(`${page}${name}`, "utf8"))
    .join("\n");
}

/** Without comments and line breaks; strings of these style sheets have neither. */
function shortenStyles(text: string): string {
  return text
    .replaceAll(/\/\*.*?\*\//gs, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([{};,]) ?/g, "$1")
    .replaceAll(": ", ":")
    .replaceAll(";}", "}")
    .trim();
}

/** What would end the element, written otherwise; both stand in strings alone. */
function escapeScript(code: string): string {
  return code.replaceAll(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
}

function hashSource(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
