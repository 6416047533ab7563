import { rmSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  codeAddresses,
  isInstalled,
  LLVM_SYMBOLIZER,
  llvmAnswers,
  npmModule,
  ourAnswers,
  sh,
  temporaryFolder,
} from "./support.ts";

const hasNative = isInstalled(LLVM_SYMBOLIZER, "clang-22", "clang++-22", "g++", "objcopy", "llvm-dwp-22");
const hasWasm = isInstalled(LLVM_SYMBOLIZER, "clang-22", "wasm-ld-22");
const hasOracle = isInstalled(LLVM_SYMBOLIZER);
if (!hasNative)
  console.warn("SKIPPED: native programs are not compared with llvm-symbolizer-22: compilers missing");
if (!hasWasm)
  console.warn("SKIPPED: wasm programs are not compared with llvm-symbolizer-22: clang-22 missing");

afterAll(() => rmSync(temporaryFolder(), { recursive: true, force: true }));

/** How each program is made; `$P` has the sources. */
const NATIVE = {
  "clang -O0, DWARF 4": "clang++-22 -g -gdwarf-4 -O0 $P/cart.cpp -o a0",
  "clang -O2, DWARF 5": "clang++-22 -g -O2 $P/cart.cpp -o a1",
  "clang -g1 -O2": "clang++-22 -g1 -O2 $P/cart.cpp -o a2",
  "clang -O2, split, DWARF 5":
    "clang++-22 -g -gsplit-dwarf -O2 -c $P/cart.cpp -o a3.o && clang++-22 a3.o -o a3",
  "clang -O2, split, DWARF 4":
    "clang++-22 -gdwarf-4 -gsplit-dwarf -O2 -c $P/cart.cpp -o a4.o && clang++-22 a4.o -o a4",
  "clang -O2, package of split units":
    "clang++-22 -g -gsplit-dwarf -O2 -c $P/cart.cpp -o a5.o && clang++-22 a5.o -o a5 && llvm-dwp-22 -e a5 -o a5.dwp && rm a5.dwo",
  "clang -O2, compressed with zstd": "clang++-22 -g -gz=zstd -O2 $P/cart.cpp -o a6",
  "clang -O2, 64-bit DWARF": "clang++-22 -g -gdwarf64 -O2 $P/cart.cpp -o a7",
  "gcc -O0": "g++ -g -O0 $P/cart.cpp -o a8",
  "gcc -O2": "g++ -g -O2 $P/cart.cpp -o a9",
  "gcc -O2, DWARF 4, compressed with zlib": "g++ -gdwarf-4 -gz=zlib -O2 $P/cart.cpp -o a10",
  "gcc -O1, DWARF 2": "g++ -gdwarf-2 -gstrict-dwarf -O1 $P/cart.cpp -o a11",
  "gcc -O2, split": "g++ -g -gsplit-dwarf -O2 -c $P/cart.cpp -o a12.o && g++ a12.o -o a12",
  "gcc -O1, type units": "g++ -g -fdebug-types-section -O1 $P/cart.cpp -o a13",
  "debug information in a file of its own":
    "g++ -g -O2 $P/cart.cpp -o a14 && objcopy --only-keep-debug a14 a14.debug && objcopy --strip-debug --add-gnu-debuglink=a14.debug a14",
  "no debug information": "g++ -O2 -s $P/cart.cpp -o a15",
};

const WASM = {
  "-O0": "clang-22 --target=wasm32 -nostdlib -g -O0 -c $P/list.c -o w0.o && wasm-ld-22 --no-entry w0.o -o w0",
  "-O2, DWARF 4":
    "clang-22 --target=wasm32 -nostdlib -gdwarf-4 -O2 -c $P/list.c -o w1.o && wasm-ld-22 --no-entry w1.o -o w1",
  "-O2, DWARF 5":
    "clang-22 --target=wasm32 -nostdlib -g -O2 -c $P/list.c -o w2.o && wasm-ld-22 --no-entry w2.o -o w2",
  "-g1 -O1":
    "clang-22 --target=wasm32 -nostdlib -g1 -O1 -c $P/list.c -o w3.o && wasm-ld-22 --no-entry w3.o -o w3",
};

/** The first answers that differ, beside each other: whole lists of thousands help nobody. */
function differences(ours: readonly unknown[], theirs: readonly unknown[]): unknown[] {
  expect(ours.length).toBe(theirs.length);
  return ours
    .map((answer, index) => [answer, theirs[index]])
    .filter(([our, their]) => JSON.stringify(our) !== JSON.stringify(their))
    .slice(0, 3);
}

function built(command: string): string {
  sh(command);
  return path.join(temporaryFolder(), command.split(" ").findLast((word) => /^[aw]\d+$/.test(word))!);
}

describe.skipIf(!hasNative)(
  "answers for a native program are those of llvm-symbolizer",
  { timeout: 120_000 },
  () => {
    for (const [name, command] of Object.entries(NATIVE)) {
      it(name, () => {
        const file = built(command);
        const addresses = codeAddresses(file, 3);
        expect(addresses.length).toBeGreaterThan(500);
        expect(
          differences(ourAnswers(file, addresses), llvmAnswers(file, addresses, ["--no-demangle"])),
        ).toEqual([]);
      });
    }

    it("one frame per address", () => {
      const file = built(NATIVE["gcc -O2"]);
      const addresses = codeAddresses(file, 5);
      expect(ourAnswers(file, addresses, false)).toEqual(
        llvmAnswers(file, addresses, ["--no-demangle", "--no-inlines"]),
      );
    });
  },
);

interface Answer {
  Symbol: { FunctionName: string; FileName: string; Line: number; Column: number; Discriminator: number }[];
}

/**
 * What can be compared in a linked wasm module. llvm-symbolizer looks debug information up by offsets in the code
 * section, but symbols by offsets in the file, and local symbols as if all were at address 0: names of outermost
 * functions that it takes from there are those of other functions. Names from debug information stay.
 */
function comparable(answer: string): unknown {
  const { Symbol: frames } = JSON.parse(answer) as Answer;
  return frames.map(({ FunctionName, FileName, Line, Column, Discriminator }, index) => ({
    name: index === frames.length - 1 ? "" : FunctionName,
    place: `${FileName}:${Line}:${Column}:${Discriminator}`,
  }));
}

describe.skipIf(!hasWasm)("answers for a wasm program are those of llvm-symbolizer", () => {
  for (const [name, command] of Object.entries(WASM)) {
    it(name, () => {
      const file = built(command);
      const addresses = codeAddresses(file, 1);
      expect(addresses.length).toBeGreaterThan(100);
      const theirs = llvmAnswers(file, addresses, ["--no-demangle"]);
      expect(differences(ourAnswers(file, addresses).map(comparable), theirs.map(comparable))).toEqual([]);
    });
  }
});

const MODULES = {
  "web-tree-sitter": npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm"),
  "ruby.debug+stdlib": npmModule("bench/node_modules/@ruby/3.4-wasm-wasi/dist/ruby.debug+stdlib.wasm"),
};

describe("answers for modules of npm packages are those of llvm-symbolizer", { timeout: 120_000 }, () => {
  for (const [name, file] of Object.entries(MODULES)) {
    const skipped = file === undefined || !hasOracle;
    if (skipped) console.warn(`SKIPPED: ${name} is not compared with llvm-symbolizer-22`);
    it.skipIf(skipped)(name, () => {
      const all = codeAddresses(file!, 1);
      const addresses = Array.from(
        { length: 20_000 },
        (_, index) => all[Math.floor((index * all.length) / 20_000)]!,
      );
      const theirs = llvmAnswers(file!, addresses, ["--no-demangle"]).map(comparable);
      const ours = ourAnswers(file!, addresses).map(comparable);
      expect(differences(ours, theirs)).toEqual([]);
    });
  }
});
