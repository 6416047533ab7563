import type { Command } from "commander";
import { ProfdataError, showProfile } from "../../names/memprof/show.ts";
import { printable } from "../../profile/model/printable.ts";
import { OutputBuffer } from "../line-input.ts";
import { keepHeapSmall } from "../small-heap.ts";

const EXAMPLES = `
Examples:
  memshade show memprof.profraw.4711 --binary ./server
  memshade show server.memprofdata
  memshade show server.memshade | less

The output equals that of llvm-profdata 22 show --memory, except that 0 is
printed for the random address after AccessHistogram. Errors are those of
llvm-profdata too, with exit code 1.`;

const FAILED = 1;

interface ShowFlags {
  binary: string[];
}

export function addShowCommand(program: Command): void {
  program
    .command("show")
    .summary("print a MemProf profile as llvm-profdata does")
    .description("Prints a raw or indexed MemProf profile, or a memshade profile, as YAML.")
    .argument("<file>", "raw, indexed or memshade profile")
    .option(
      "--binary <exe>",
      "program (or wasm module) of a raw profile; can be repeated",
      (path: string, paths: string[]) => [...paths, path],
      [],
    )
    .addHelpText("after", EXAMPLES)
    .action((file: string, { binary }: ShowFlags) => runShow(file, binary));
}

function runShow(file: string, binaries: readonly string[]): void {
  keepHeapSmall();
  try {
    // Written directly: a stream would hold all of it in memory if the reader is slow.
    const output = new OutputBuffer();
    for (const text of showProfile(file, binaries)) output.add(text);
    output.flush();
  } catch (error) {
    if (!(error instanceof ProfdataError)) throw error;
    process.stderr.write(`error: ${printable(error.message)}\n`);
    process.exitCode = FAILED;
  }
}
