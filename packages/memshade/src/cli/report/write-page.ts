import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { formatBytes } from "../../profile/model/format.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { fromHere, say } from "../../record/host/run/terminal-line.ts";
import { writePageFile } from "../../runs/page/page-file.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";
import { openInBrowser } from "./open-in-browser.ts";

/** Writes a page, says where it is, and opens it where that was asked for. */
export async function writePage(
  page: PageData,
  text: string,
  {
    file,
    inputs,
    open = false,
  }: { readonly file: string; readonly inputs: readonly string[]; readonly open?: boolean | undefined },
): Promise<void> {
  const bytes = await writePageFile(page, text, { file, inputs });
  say(`page written to ${quoteForShell(fromHere(resolve(file), process.cwd()))} (${formatBytes(bytes)})`);
  const address = pathToFileURL(file).href;
  const isOpen = open && (await openInBrowser(address));
  if (!isOpen) say(`open it in a browser: ${address}`);
}
