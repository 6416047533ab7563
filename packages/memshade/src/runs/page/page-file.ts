import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { UserError } from "../../ground/bytes/errors.ts";
import { RUN_PAGES } from "../../profile/model/run.ts";
import { pageFile } from "../../show/report/page/data/encode.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";
import { writePieces } from "../output.ts";

const TEMPLATE = "report-page.html";

/** Value of `--html [file]`: true without a file. */
export type HtmlOption = string | true;

/**
 * Returns the path of a page: the named file, else `report.html` in the run's folder, else a file beside the
 * input.
 *
 * @throws UserError if the named file is a folder
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

/**
 * @param text the page's content as plain text
 * @param inputs files that the page is built from; none of them is overwritten
 * @returns the size of the file, bytes
 * @throws UserError if the file cannot be written, or is one of the inputs
 */
export async function writePageFile(
  page: PageData,
  text: string,
  { file, inputs }: { readonly file: string; readonly inputs: readonly string[] },
): Promise<number> {
  await writePieces(file, await pageFile(template(), page, text), inputs);
  return statSync(file).size;
}

/**
 * Returns the page without data, from the folder of the built files or, when run from sources, from `dist`.
 */
function template(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const place of [join(folder, TEMPLATE), join(folder, "dist", TEMPLATE)])
      if (existsSync(place)) return readFileSync(place, "utf8");
    if (folder === dirname(folder)) throw new UserError(`${TEMPLATE} is not part of this installation`);
  }
}
