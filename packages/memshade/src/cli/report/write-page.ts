import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { fromHere, quoteForShell, say } from "../../host/run/terminal-line.ts";
import { formatBytes } from "../../report/format.ts";
import type { PageData } from "../../report/page/data/page-data.ts";
import { writePageFile } from "../../runs/page/page-file.ts";
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
