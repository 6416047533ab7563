import { type Command, Option } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import type { MemprofVersion } from "../../profile/formats/memprof-indexed/index.ts";
import { addHotColdOptions } from "../hot-cold-options.ts";
import { CONTAINERS, FORMATS, type MergeFlags, runMerge } from "../merge/run-merge.ts";
import { collect } from "./add-options.ts";
import { parseChoice } from "./report-options.ts";

const EXAMPLES = `
Examples:
  memshade merge -o app.memprofdata --binary ./app memprof.profraw.*
  memshade merge -o fleet.memprofdata --search ./build --skip-bad profiles/
  memshade merge -o all.memshade --binary app --binary libcodec.so @inputs.txt
  memshade merge -o app.memprofdata memshade.out/app.4711
  memshade merge -o app.memprofdata --classify --cold-lifetime 10 \\
    --binary ./app memprof.profraw.*
  clang++ -O2 -g -fdebug-info-for-profiling \\
    -fmemory-profile-use=app.memprofdata app.cpp

Inputs are raw profiles, indexed ones, YAML, memshade profiles, run folders,
folders with any of these, and @files with one input per line. Raw profiles need
their programs: modules are matched by build id. A single input is converted as
llvm-profdata does; of several, contexts with the same call stack become one.`;

export function addMergeCommand(program: Command): void {
  const command = program
    .command("merge")
    .summary("merge MemProf profiles of many runs into one")
    .description(
      "Merges heap profiles of native programs and WebAssembly runs into one profile for the compiler.",
    )
    .argument("<input...>", "profiles, run folders, folders, @files")
    .requiredOption("-o, --output <file>", "file to write")
    .option("--binary <exe>", "program, library or wasm module; can be repeated", collect, [])
    .option("--search <dir>", "folder with binaries, found by build id; can be repeated", collect, [])
    .option(
      "--format <format>",
      `${FORMATS.join(", ")} (default: by the name of the output: .yaml, .memshade)`,
      (text) => parseChoice("--format", FORMATS, text),
    )
    .option(
      "--memprof-version <N>",
      "version of an indexed profile: 2, 3, 4",
      (text) => parseVersion(text),
      3,
    )
    .addOption(
      new Option("--container <N>", "version of the file around an indexed profile: 8 to 13")
        .argParser((text) => Number(parseChoice("--container", CONTAINERS, text)))
        .default(13),
    )
    .option("--full-schema", "keep all fields of the blocks, not only those that the compiler needs")
    .option("--combine", "combine equal contexts of a single input too")
    .option("--skip-bad", "skip and name inputs that cannot be read or symbolized, instead of stopping")
    .option("--force", "merge files that have other counters too, and drop these counters")
    .option("--threads <N>", "threads to use (default: one per core for large inputs)", parseThreads)
    .option(
      "--classify",
      "print which allocation calls the compiler would treat as hot, cold or ambiguous, and why",
    );
  addHotColdOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((inputs: string[], flags: MergeFlags) => runMerge(inputs, flags));
}

function parseVersion(text: string): MemprofVersion {
  return Number(parseChoice("--memprof-version", ["2", "3", "4"], text)) as MemprofVersion;
}

function parseThreads(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 256)
    throw new UserError(`--threads takes a number from 1 to 256, not "${text}"`);
  return count;
}
