import { UserError } from "../../ground/bytes/errors.ts";
import { type PathMap, parsePathMap } from "../../names/symbolize/path-map.ts";
import { collect } from "../collect.ts";
import type { OptionDescription } from "../commands/add-options.ts";
import { assertPlaces } from "../option-values.ts";
import { parseAddress, parseBuildId } from "./requests.ts";
import type { OutputStyle } from "./styles.ts";

/** What `memshade symbolize` was asked for. */
export interface SymbolizeOptions {
  binary?: string;
  obj?: string;
  exe?: string;
  buildId?: string;
  json?: boolean;
  outputStyle: OutputStyle;
  inlines: boolean;
  inlining?: string | boolean;
  functions: "linkage" | "short" | "none" | true;
  demangle: boolean | string;
  basenames?: boolean;
  relativenames?: boolean;
  addresses?: boolean;
  printAddress?: boolean;
  prettyPrint?: boolean;
  verbose?: boolean;
  printSourceContextLines: number;
  adjustVma: number;
  fileOffsets?: boolean;
  skipLineZero?: boolean;
  dwp?: string;
  debugFileDirectory: string[];
  pathMap: PathMap[];
}

/** The options in the order of the help. */
export const SYMBOLIZE_OPTIONS: readonly OptionDescription[] = [
  {
    flags: "-e, --binary <file>",
    description: "the module, executable or library (also --obj, --exe)",
    parse: valueBehindEquals,
  },
  {
    flags: "--build-id <hex>",
    description: "the object with this build id, found in debug directories",
    parse: toBuildId,
  },
  { flags: "--json", description: "write JSON, as --output-style=JSON does" },
  {
    flags: "--output-style <style>",
    description: "LLVM, GNU (as addr2line) or JSON",
    parse: parseStyle,
    initial: "LLVM",
  },
  {
    flags: "-f, --functions [kind]",
    description: "names of functions: linkage, short or none",
    parse: parseFunctions,
    initial: "linkage",
  },
  { flags: "-i, --inlines", description: "show inlined functions", initial: true },
  { flags: "--no-inlines", description: "show one frame per address" },
  { flags: "-C, --demangle [boolean]", description: "show names as in the source", initial: true },
  { flags: "--no-demangle", description: "show the linker's names" },
  { flags: "-s, --basenames", description: "show files without their directories" },
  { flags: "--relativenames", description: "show files relative to the compilation directory" },
  { flags: "-a, --addresses", description: "show the address before each answer" },
  { flags: "-p, --pretty-print", description: "one line per frame" },
  { flags: "-v, --verbose", description: "show all that is known of each frame" },
  {
    flags: "--print-source-context-lines <N>",
    description: "show lines of the source around each place",
    parse: parseCount,
    initial: 0,
  },
  {
    flags: "--path-map <FROM=TO>",
    description: "replace the start of paths; may be given several times",
    parse: addPathMap,
    initial: [],
  },
  { flags: "--file-offsets", description: "wasm: addresses are offsets in the file" },
  {
    flags: "--adjust-vma <offset>",
    description: "subtracted from each address",
    parse: parseOffset,
    initial: 0,
  },
  { flags: "--skip-line-zero", description: "use the line before where a place has none" },
  { flags: "--dwp <file>", description: "the package with the split debug information" },
  {
    flags: "--debug-file-directory <dir>",
    description: "where to look for debug files; may be given several times",
    parse: collect,
    check: assertPlaces("--debug-file-directory"),
    initial: [],
  },
  { flags: "--obj <file>" },
  { flags: "--exe <file>" },
  { flags: "--print-address" },
  { flags: "--inlining [boolean]" },
  // What llvm-symbolizer has for files that are not read here, and for what is never done.
  { flags: "--default-arch <arch>" },
  { flags: "--cache-size <bytes>" },
  { flags: "--relative-address" },
  { flags: "--no-untag-addresses" },
  { flags: "--no-debuginfod" },
  { flags: "--disable-gsym" },
];

/** `-e=FILE` is as good as `-e FILE`. */
function valueBehindEquals(text: string): string {
  return text.startsWith("=") ? text.slice(1) : text;
}

function toBuildId(text: string): string {
  const buildId = parseBuildId(text);
  if (buildId !== undefined) return buildId;
  throw new UserError(`--build-id is a number in hexadecimal, not ${text}`);
}

function parseStyle(text: string): OutputStyle {
  const style = text.toUpperCase();
  if (style === "LLVM" || style === "GNU" || style === "JSON") return style;
  throw new UserError(`--output-style is LLVM, GNU or JSON, not ${text}`);
}

function parseFunctions(text: string): "linkage" | "short" | "none" {
  const kind = valueBehindEquals(text);
  if (kind === "linkage" || kind === "short" || kind === "none") return kind;
  throw new UserError(`--functions is linkage, short or none, not ${text}`);
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0) return count;
  throw new UserError(`--print-source-context-lines is a number of lines, not ${text}`);
}

function parseOffset(text: string): number {
  const offset = parseAddress(text);
  if (offset !== undefined) return offset;
  throw new UserError(`--adjust-vma is a number, not ${text}`);
}

function addPathMap(text: string, previous: readonly PathMap[]): PathMap[] {
  return [...previous, parsePathMap(text)];
}
