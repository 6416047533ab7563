// Builds the report page without its data: one file with the app, its styles and a policy that blocks all network access.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import { rolldown } from "rolldown";
import { GLOSSARY } from "../src/show/report/glossary-words.ts";
import { noteBundled } from "./third-party.ts";

const page = fileURLToPath(new URL("../src/show/report/page/", import.meta.url));
const dist = fileURLToPath(new URL("../dist/", import.meta.url));

/** Folders below src/show/report/page/ whose style sheets the page has, in this order. */
const STYLE_FOLDERS = ["app", "graph", "time"];

/**
 * The page as text. `{{title}}` and `{{text}}` are replaced by escaped text, `{{data}}` by the output of `encodePage`; each
 * occurs once. The policy has hashes of the code that the browser may run; data is not among it. The app is deflated, and a small
 * script inflates it. Data comes last, so that a truncated file can be detected.
 */
export async function reportPage(): Promise<string> {
  const start = escapeScript(await bundle("start/start.ts"));
  const script = await bundle("app/main.ts");
  const style = shortenStyles(styleSheets());
  const policy = [
    "default-src 'none'",
    `script-src ${hashSource(start)} ${hashSource(script)}`,
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
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{{title}}</title>
<script>${start}</script>
</head>
<body>
<div id="app"></div>
<noscript><pre>{{text}}</pre></noscript>
<script type="application/vnd.memshade" id="app-style">${deflated(style)}</script>
<script type="application/vnd.memshade" id="app-script">${deflated(script)}</script>
<script type="application/vnd.memshade" id="data">{{data}}</script>
</body>
</html>
`;
}

export async function writeReportPage(): Promise<void> {
  mkdirSync(dist, { recursive: true });
  writeFileSync(`${dist}report-page.html`, await reportPage());
}

async function bundle(entry: string): Promise<string> {
  const app = await rolldown({
    input: `${page}${entry}`,
    platform: "browser",
    checks: { unresolvedImport: true },
    // The glossary is included as text. Its sources would pull all searches and measures into the page.
    plugins: [
      {
        name: "glossary",
        load: (id) =>
          id.endsWith("/show/report/glossary-words.ts")
            ? `export const GLOSSARY = ${JSON.stringify(GLOSSARY)};`
            : null,
      },
    ],
  });
  const { output } = await app.generate({ format: "iife", minify: true, comments: false });
  await app.close();
  noteBundled(output);
  if (output.length !== 1) throw new Error(`${entry} is to be one script`);
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

/** Removes comments and line breaks; strings of these style sheets contain neither. */
function shortenStyles(text: string): string {
  return text
    .replaceAll(/\/\*.*?\*\//gs, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([{};,]) ?/g, "$1")
    .replaceAll(": ", ":")
    .replaceAll(";}", "}")
    .trim();
}

/** Deflates a text into the form that the page inflates. */
function deflated(text: string): string {
  return deflateSync(text, { level: 9 }).toString("base64");
}

/** Escapes the sequences that would end the element; both occur only in strings. */
function escapeScript(code: string): string {
  return code.replaceAll(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
}

function hashSource(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
