import type { Command } from "commander";
import { UNWIND_OPTIONS, type UnwindOptions } from "../unwind/options.ts";
import { runUnwind } from "../unwind/run-unwind.ts";
import { addOptions } from "./add-options.ts";

const EXAMPLES = `
Examples:
  memshade unwind core                        each thread's stack, as in GDB
  memshade unwind core.zst --sysroot /mnt/target
  memshade unwind core --regs --format json > stacks.json
  memshade unwind crash.dmp --binary-path symbols/
  memshade unwind perf.data                   what took the time
  memshade unwind perf.data --samples         each sample, as perf script does
  memshade unwind perf.data --format pprof -o cpu.pb.gz
  memshade unwind perf.data --html --open     as pictures: graph, sites, source
  memshade unwind --stats /usr/lib/libfoo.so  its call frame information`;

export function addUnwindCommand(program: Command): void {
  const command = program
    .command("unwind")
    .summary("unwind the stacks of a core dump, perf.data or minidump")
    .description(
      "Unwinds native stacks by call frame information: of the threads in an ELF core dump (x86-64, AArch64; gzip and " +
        "zstd too) or a minidump, and of the samples in perf.data recorded with --call-graph dwarf. Programs need no " +
        "frame pointers. Objects are found by path and build id; missing ones are named.",
    )
    .argument("<input>", "core dump, perf.data or minidump; - for standard input; an object with --stats");
  addOptions(command, UNWIND_OPTIONS);
  command
    .addHelpText("after", EXAMPLES)
    .action((input: string, options: UnwindOptions) => runUnwind(input, options));
}
