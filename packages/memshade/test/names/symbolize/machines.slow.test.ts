import { describe, expect, it } from "vitest";
import { cfiStatistics, UnwindTable } from "../../../src/code/unwind/index.ts";
import { loadObject } from "../../../src/names/load/objects.ts";
import {
  codeAddresses,
  isInstalled,
  LLVM_SYMBOLIZER,
  llvmAnswers,
  ourAnswers,
  sh,
  temporaryFolder,
} from "./support.ts";

const installed = isInstalled("clang-22", "ld.lld-22", LLVM_SYMBOLIZER);
if (!installed)
  console.warn("SKIPPED: programs for other machines need clang-22, ld.lld-22, llvm-symbolizer-22");

const MACHINES = [
  "riscv64-linux-gnu",
  "riscv32-linux-gnu",
  "aarch64-linux-gnu",
  "powerpc64le-linux-gnu",
  "armv7-linux-gnueabihf",
  "loongarch64-linux-gnu",
  "mipsel-linux-gnu",
];

const answersOf = (file: string) => {
  const addresses = codeAddresses(file, 1);
  const ours = ourAnswers(file, addresses);
  // For an address without code, both programs print only the file's name.
  return { ours, theirs: llvmAnswers(file, addresses) };
};

const build = (machine: string, flags: string, output: string) => {
  const file = `${temporaryFolder()}/${output}`;
  sh(
    `clang-22 --target=${machine} -g ${flags} -c "$P/machines.c" -o ${file}.o && ld.lld-22 ${file}.o -o ${file}`,
  );
  return file;
};

describe.skipIf(!installed)("programs for any machine are named as by llvm-symbolizer", () => {
  for (const machine of MACHINES)
    it.each(["-O0 -gdwarf-4", "-O2 -gdwarf-5 -ffunction-sections"])(`${machine} %s`, (flags) => {
      const file = build(machine, flags, `${machine}${flags.length}`);
      const { ours, theirs } = answersOf(file);
      expect(ours).toEqual(theirs);
      expect(ours.filter((answer) => answer.includes("machines.c")).length).toBeGreaterThan(100);
    });

  it.each(["riscv64", "riscv32", "aarch64", "powerpc64le", "armv7"])(
    "object files too, whose debug information is relocated: %s",
    (name) => {
      const machine = MACHINES.find((each) => each.startsWith(name))!;
      for (const flags of ["-O0 -gdwarf-4", "-O2 -gdwarf-5"]) {
        const { ours, theirs } = answersOf(`${build(machine, flags, `object-${name}${flags.length}`)}.o`);
        expect(ours).toEqual(theirs);
        expect(ours.filter((answer) => answer.includes("machines.c")).length).toBeGreaterThan(100);
      }
    },
  );

  it("an object file whose relocations are not known says so, instead of telling wrong lines", () => {
    const { object } = loadObject(`${build("mipsel-linux-gnu", "-O1", "mips")}.o`);
    expect(object.problems.map(String).join()).toMatch(/relocations of machine 8 are not known/);
    expect(object.section(".debug_info")).toBeUndefined();
  });

  it("split debug information has no relocations and is read for any machine", () => {
    const { ours, theirs } = answersOf(build("mips64el-linux-gnu", "-O1 -gsplit-dwarf", "split"));
    expect(ours).toEqual(theirs);
    expect(ours.filter((answer) => answer.includes("machines.c")).length).toBeGreaterThan(100);
  });

  it("none but those that can be unwound has rules", () => {
    const { object } = loadObject(build("riscv64-linux-gnu", "-O1", "riscv"));
    expect(object.architecture).toBe("other");
    expect(UnwindTable.fromObject(object).rowCount).toBe(0);
    expect(cfiStatistics(object)).toBeUndefined();
  });
});
