import { UserError } from "../../ground/bytes/errors.ts";
import type { HtmlOption } from "../../runs/page/page-file.ts";
import { SAMPLE_FORMATS, type SampleFormat } from "../../show/exports/sample-formats.ts";
import { collect, type OptionDescription } from "../commands/add-options.ts";
import { parseChoice, parseRows } from "../commands/report-options.ts";
import { assertPlaces } from "../tool-options.ts";

const FORMATS = ["text", "json", ...(Object.keys(SAMPLE_FORMATS) as SampleFormat[])] as const;

export interface UnwindOptions {
  readonly binaryPath?: readonly string[];
  readonly sysroot?: string;
  readonly debugFileDirectory?: readonly string[];
  readonly format: (typeof FORMATS)[number];
  readonly regs?: boolean;
  readonly samples?: boolean;
  readonly event?: string;
  readonly addresses?: boolean;
  readonly framePointers: boolean;
  readonly scan?: boolean;
  readonly maxFrames?: number;
  readonly rows?: number;
  readonly wide?: boolean;
  readonly out?: string;
  readonly stats?: boolean;
  readonly html?: HtmlOption;
  readonly open?: boolean;
}

export const UNWIND_OPTIONS: readonly OptionDescription[] = [
  {
    flags: "--binary-path <dir>",
    description: "folder or file with object files; can be repeated",
    parse: collect,
    check: assertPlaces("--binary-path"),
  },
  { flags: "--sysroot <dir>", description: "root of the file system of the machine that ran the program" },
  {
    flags: "--debug-file-directory <dir>",
    description: "root of separate debug files; can be repeated (default: /usr/lib/debug)",
    parse: collect,
    check: assertPlaces("--debug-file-directory"),
  },
  {
    flags: "--format <format>",
    description: FORMATS.join(", "),
    parse: (text: string) => parseChoice("--format", FORMATS, text),
    initial: "text",
  },
  { flags: "--regs", description: "show the registers known in each frame (text and json of dumps)" },
  {
    flags: "--samples",
    description: "show each sample of perf.data instead of their sum (text and json)",
  },
  { flags: "--event <name>", description: "show only samples of this event of perf.data" },
  {
    flags: "--addresses",
    description: "show the addresses of each sample without names, as perf script -F ip does",
  },
  { flags: "-n, --rows <N>", description: "functions to show (text of perf.data)", parse: parseRows },
  { flags: "--wide", description: "full names, lines as long as they get" },
  {
    flags: "--no-frame-pointers",
    description: "do not use frame pointers if there is no call frame information",
  },
  {
    flags: "--scan",
    description: "if unwinding fails, guess return addresses from words on the stack (x86-64)",
  },
  { flags: "--max-frames <N>", description: "most frames per stack", parse: parseFrames },
  {
    flags: "--html [file]",
    description: "write the whole report as one HTML file (docs/report-page.md); default: INPUT.html",
  },
  { flags: "--open", description: "with --html, open the page in the browser" },
  { flags: "-o, --out <file>", description: "write to a file instead of standard output" },
  {
    flags: "--stats",
    description: "print statistics of the call frame information of an object file instead",
  },
];

function parseFrames(text: string): number {
  const frames = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(frames) || frames === 0)
    throw new UserError(`--max-frames takes a number from 1, not "${text}"`);
  return frames;
}
