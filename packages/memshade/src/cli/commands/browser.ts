import { pathToFileURL } from "node:url";
import { type Command, InvalidArgumentError } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { runAsBrowser } from "../../record/host/browser/as-browser.ts";
import { runBrowser } from "../../record/host/browser/run-browser.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import type { ToolOptions } from "../../record/tools/run-options.ts";
import { endProcess, saySummary } from "../end-summary.ts";
import { joinLines } from "../failures.ts";
import {
  addHostStacksOption,
  addLearnOption,
  addOutOption,
  addToolOptions,
  type ToolFlags,
  toolOptionsOf,
} from "../tool-options.ts";
import { collect } from "./add-options.ts";

interface BrowserFlags extends ToolFlags {
  out?: string;
  quiet?: boolean;
  for?: number;
  browser?: string;
  browserArg?: string[];
  headless?: boolean;
  origin?: string[];
  allOrigins?: boolean;
  bypassCsp?: boolean;
  asBrowser?: boolean;
}

const EXAMPLES = `
Examples:
  memshade browser http://localhost:5173/
  memshade browser --for 10s --headless https://example.org/app
  memshade browser --tool heap,waste index.html

Opens Chromium or Chrome with a fresh profile and instruments every WebAssembly
module that the page compiles, in frames, workers and threads too. The page
needs no change. The run ends when the last page is closed, by Ctrl-C, or after
--for. Keys in the terminal: d writes a dump, r discards the figures so far, q
ends the run. SIGUSR2 writes a dump too. A second Ctrl-C does not wait for busy
pages.`;

export function addBrowserCommand(program: Command): void {
  const command = program
    .command("browser")
    .summary("open a web page and profile the WebAssembly modules it uses")
    .description(
      "Opens a web page in Chromium and writes the profile of the WebAssembly modules that it instantiates.",
    )
    .argument("<url>", "address of the page, or a file; with --as-browser the browser's program")
    .argument("[args...]", "with --as-browser: the browser's arguments");
  addLearnOption(addOutOption(addHostStacksOption(addToolOptions(command))))
    .option("--for <time>", "end after this time, such as 10s, 500ms or 2min", parseTime)
    .option("--headless", "run the browser without a window (default if there is no display)")
    .option("--browser <path>", "program of the browser (default: CHROME_PATH, then the usual names)")
    .option("--browser-arg <option>", "option for the browser itself; can be repeated", collect)
    .option("--origin <origin>", "also profile pages of this origin; can be repeated", collect)
    .option("--all-origins", "profile the pages of all origins")
    .option("--bypass-csp", "ignore the content security policies of pages")
    .option("--as-browser", "act as the browser program that Playwright or Puppeteer starts")
    .addHelpText("after", EXAMPLES)
    .action(async (url: string, args: string[], flags: BrowserFlags) => {
      const shared = {
        out: flags.out,
        isQuiet: flags.quiet,
        tools: pageTools(await toolOptionsOf(flags)),
        origins: (flags.origin ?? []).map(originOf),
        bypassesPolicies: flags.bypassCsp === true,
        onWritten: flags.quiet === true ? undefined : saySummaryAndPage,
      };
      if (flags.asBrowser === true) endProcess(await runAsBrowser({ ...shared, browser: url, args }));
      if (args.length > 0)
        throw new UserError(
          `${args.join(" ")}: one page is opened; options for the browser go behind --browser-arg`,
        );
      const code = await runBrowser({
        ...shared,
        url,
        browser: flags.browser,
        browserArgs: flags.browserArg ?? [],
        headless: flags.headless,
        forMs: flags.for,
        allOrigins: flags.allOrigins === true,
      });
      endProcess(code);
    });
}

function pageTools(tools: ToolOptions): ToolOptions {
  const { unit } = tools.workingset ?? {};
  if (unit !== undefined && unit !== "accesses")
    throw new UserError(
      "intervals of time are not possible in a page: give --interval in accesses, such as 1000000acc",
    );
  return tools;
}

function originOf(text: string): string {
  try {
    return new URL(text).origin;
  } catch {
    throw new UserError(`--origin ${text}: not an origin, such as https://example.org`);
  }
}

/** Prints the summary of a run, and writes and names its report page. */
async function saySummaryAndPage(folder: string): Promise<void> {
  await saySummary(folder);
  try {
    // Loaded late, because the page does not need it while it runs.
    const { writeReportPage } = await import("../../runs/page/run-page.ts");
    say(`report page: ${pathToFileURL(await writeReportPage(folder)).href}`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    say(joinLines(error.message));
  }
}

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000 };

function parseTime(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|min)$/.exec(text) ?? [];
  const time = Number(digits) * MILLISECONDS[unit];
  if (unit === undefined || time < 1 || time > 2 ** 31 - 1)
    throw new InvalidArgumentError("It must be a time such as 10s, 500ms or 2min.");
  return time;
}
