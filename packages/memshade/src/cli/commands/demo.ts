import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { DEFAULT_RUNS_FOLDER } from "../../profile/model/run.ts";
import { fromHere } from "../../record/host/run/terminal-line.ts";
import { runWasi } from "../../record/host/wasi/run-wasi.ts";
import type { ToolOptions } from "../../record/tools/run-options.ts";
import { type ColorChoice, createPaint, wantsColors } from "../../show/report/terminal/common/paint.ts";
import { endProcess } from "../end-summary.ts";
import { writeOutput } from "../line-input.ts";
import { assertNode } from "../other-runtime.ts";
import { targetOf } from "../standard-streams.ts";
import { addShared } from "./report-options.ts";

/** All options, because the program is small. */
const TOOLS: ToolOptions = {
  tools: ["heap", "waste", "workingset"],
  exactHistogram: true,
  waste: { objects: true },
  workingset: {
    interval: 20_000,
    attribution: { firstTouch: true, owners: true, fill: true },
    locality: { rate: 1 },
  },
};
const MARGIN = "  ";
const OUT = join(DEFAULT_RUNS_FOLDER, "demo");

const EXAMPLES = `
The program is a small service in C with five memory problems. Its source is in
the folder demo of the package. The run is written to ${OUT}.`;

export function addDemoCommand(program: Command): void {
  const command = program
    .command("demo")
    .summary("profile a demo program, and show the findings")
    .description(
      "Profiles a small demo program with the tools heap, waste and workingset, and shows the findings with their source lines.",
    );
  addShared(command, "color")
    .addHelpText("after", EXAMPLES)
    .action(async ({ color }: { color: ColorChoice }) => {
      assertNode("memshade demo", ["bun"]);
      const folder = demoFolder();
      const code = await runWasi({
        path: join(folder, "shop.wasm"),
        args: [],
        env: {},
        preopens: {},
        out: OUT,
        isQuiet: true,
        tools: TOOLS,
        onWritten: (run) => showFindings(run, folder, color),
      });
      endProcess(code);
    });
}

/**
 * Returns the folder of the demo program. It is in the package's root, above both the sources and the built
 * files.
 */
function demoFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  for (let folder = here; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "demo/shop.wasm"))) return join(folder, "demo");
    if (folder === dirname(folder)) throw new UserError("the demo is not part of this installation");
  }
}

async function showFindings(run: string, folder: string, color: ColorChoice): Promise<void> {
  const { summaryOf } = await import("../summary.ts");
  const { writeReportPage } = await import("../../runs/page/run-page.ts");
  const paint = createPaint(wantsColors(color, isatty(1), process.env));
  const lines = ["", paint.heading(`Summary of ${fromHere(join(folder, "shop.c"), process.cwd())}`)];
  for (const { line, advice, place } of await summaryOf(run, targetOf(1), MARGIN.length, paint)) {
    lines.push(MARGIN + line);
    const source = sourceLine(folder, place);
    if (source !== undefined) lines.push(paint.faint(`${MARGIN}    ${source}`));
    lines.push(...advice.map((text) => MARGIN + text));
  }
  lines.push(
    "",
    `The run is in ${OUT}. Full report: memshade report`,
    "Meaning of a word: memshade explain leak",
    "",
    "Report page, to open in a browser:",
    pathToFileURL(await writeReportPage(run)).href,
  );
  // Writes directly, because opening the stream changes a pipe that the program used.
  writeOutput(`${lines.join("\n")}\n`);
}

/** Returns a line of source, such as `42 │ struct order *order = malloc(sizeof *order);` */
function sourceLine(
  folder: string,
  { file, line }: { readonly file?: string | undefined; readonly line?: number | undefined },
): string | undefined {
  if (file === undefined || line === undefined) return undefined;
  const path = join(folder, basename(file));
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, "utf8").split("\n")[line - 1];
  return text === undefined ? undefined : `${line} │ ${text.trim()}`;
}
