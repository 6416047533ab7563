import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { UserError } from "../../bytes/errors.ts";
import { fromHere, quoteForShell, say } from "../../host/run/terminal-line.ts";
import { RUN_PAGES } from "../../model/run.ts";
import { formatBytes } from "../../report/format.ts";
import { pageFile } from "../../report/page/data/file.ts";
import type { PageData } from "../../report/page/data/page-data.ts";
import { writePieces } from "../output.ts";
import { openInBrowser } from "./open-in-browser.ts";

const TEMPLATE = "report-page.html";

/** `--html [file]`: true without a file. */
export type HtmlOption = string | true;

/**
 * Where a page goes: to the file that was named, else into the folder of the run, as `report.html`, or beside what is no folder.
 *
 * @throws UserError where that is a folder
 */
export function pagePath(html: HtmlOption, input: string, kind: keyof typeof RUN_PAGES = "report"): string {
  const name = RUN_PAGES[kind];
  if (html !== true) {
    if (statSync(html, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new UserError(`--html ${html}: it is a folder; name a file in it, such as ${join(html, name)}`);
    return html;
  }
  const isFolder = statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) return join(input, name);
  return /(?:^|[/\\])(?:run|waste|workingset)\.json$|(?:^|[/\\])heap\.memprofraw$/.test(input)
    ? join(dirname(input), name)
    : `${input}${kind === "report" ? "" : `.${kind}`}.html`;
}

/** Writes a page, says where it is, and opens it where that was asked for. */
export async function writePage(
  page: PageData,
  text: string,
  { file, open = false }: { readonly file: string; readonly open?: boolean | undefined },
): Promise<void> {
  const bytes = await writePageFile(page, text, file);
  say(`page written to ${quoteForShell(fromHere(resolve(file), process.cwd()))} (${formatBytes(bytes)})`);
  const address = pathToFileURL(file).href;
  const isOpen = open && (await openInBrowser(address));
  if (!isOpen) say(`open it in a browser: ${address}`);
}

/** @returns the size of the file, bytes */
export async function writePageFile(page: PageData, text: string, file: string): Promise<number> {
  const pieces = await pageFile(template(), page, text);
  await writePieces(file, pieces);
  return statSync(file).size;
}

/** The page without data. It lies beside what is built, and the sources find it there. */
function template(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const place of [join(folder, TEMPLATE), join(folder, "dist", TEMPLATE)])
      if (existsSync(place)) return readFileSync(place, "utf8");
    if (folder === dirname(folder)) throw new UserError(`${TEMPLATE} is not part of this installation`);
  }
}
