import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { formatBytes } from "../../profile/model/format.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { fromHere, say } from "../../record/host/run/terminal-line.ts";
import { writePageFile } from "../../runs/page/page-file.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";

/** Writes a page, prints its location, and opens it if requested. */
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

/** Milliseconds without a failure after which the browser counts as started. */
const PATIENCE_MS = 3000;

/** Opens an address in the system's browser. @returns true if a browser was started */
function openInBrowser(address: string): Promise<boolean> {
  const command = opener(address);
  if (command === undefined) return Promise.resolve(false);
  const [name, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(name!, args, { stdio: "ignore", detached: true });
    const timer = setTimeout(() => resolve(true), PATIENCE_MS);
    const end = (isOpen: boolean) => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    child.on("error", () => end(false));
    child.on("exit", (code) => end(code === 0));
    child.unref();
  });
}

function opener(address: string): readonly string[] | undefined {
  switch (process.platform) {
    case "darwin":
      return ["open", address];
    case "win32":
      return ["rundll32", "url.dll,FileProtocolHandler", address];
    default: {
      const { DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME } = process.env;
      const hasScreen = [DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME].some((value) => (value ?? "") !== "");
      // xdg-open without a display may start a browser in the terminal and block it.
      return hasScreen ? ["xdg-open", address] : undefined;
    }
  }
}
