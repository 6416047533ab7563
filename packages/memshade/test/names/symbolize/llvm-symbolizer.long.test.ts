import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { MAIN } from "../../command.ts";
import {
  codeAddresses,
  isInstalled,
  LLVM_SYMBOLIZER,
  llvmAnswers,
  npmModule,
  ourAnswers,
  sampledAddresses,
  sh,
  temporaryFolder,
} from "./support.ts";

const hasNative = isInstalled(
  LLVM_SYMBOLIZER,
  "clang-22",
  "clang++-22",
  "g++",
  "objcopy",
  "ld.lld-22",
  "llvm-dwp-22",
);
const hasWasm = isInstalled(LLVM_SYMBOLIZER, "clang-22", "wasm-ld-22");
const hasOracle = isInstalled(LLVM_SYMBOLIZER);
if (!hasNative)
  console.warn("SKIPPED: native programs are not compared with llvm-symbolizer-22: compilers missing");
if (!hasWasm)
  console.warn("SKIPPED: wasm programs are not compared with llvm-symbolizer-22: clang-22 missing");

afterAll(() => rmSync(temporaryFolder(), { recursive: true, force: true }));

/** Options with which no files of the target are needed. */
const BARE = "-fno-rtti -fno-exceptions -ffreestanding -nostdlib";

/**
 * Build commands of each program; `$P` is the folder of the sources. The large program uses the standard library, the small one no header.
 */
const NATIVE = {
  "clang -O0, DWARF 4": `clang++-22 -gdwarf-4 -O0 ${BARE} -static $P/shapes.cpp -o a0`,
  "clang -O2, DWARF 5, with the standard library": "clang++-22 -g -O2 $P/cart.cpp -o a1",
  "clang -g1 -O2": `clang++-22 -g1 -O2 ${BARE} -static $P/shapes.cpp -o a2`,
  "clang -O2, split, DWARF 5": `clang++-22 -g -gsplit-dwarf -O2 ${BARE} -c $P/shapes.cpp -o a3.o && ld.lld-22 a3.o -o a3`,
  "clang -O2, split, DWARF 4": `clang++-22 -gdwarf-4 -gsplit-dwarf -O2 ${BARE} -c $P/shapes.cpp -o a4.o && ld.lld-22 a4.o -o a4`,
  "clang -O2, package of split units":
    "clang++-22 -g -gsplit-dwarf -O2 -c $P/cart.cpp -o a5.o && clang++-22 a5.o -o a5 && llvm-dwp-22 -e a5 -o a5.dwp && rm a5.dwo",
  "clang -O2, compressed with zstd": `clang++-22 -g -gz=zstd -O2 ${BARE} -static $P/shapes.cpp -o a6`,
  "clang -O2, 64-bit DWARF": `clang++-22 -g -gdwarf64 -O2 ${BARE} -static $P/shapes.cpp -o a7`,
  "clang -O2, unused sections removed": `clang++-22 -g -O2 -ffunction-sections ${BARE} -static -fuse-ld=lld -Wl,--gc-sections,--icf=all $P/shapes.cpp -o a16`,
  "clang, link-time optimization": `clang++-22 -g -O2 -flto ${BARE} -static -fuse-ld=lld $P/shapes.cpp -o a17`,
  "gcc -O0": `g++ -g -O0 ${BARE} -static $P/shapes.cpp -o a8`,
  "gcc -O2, with the standard library": "g++ -g -O2 $P/cart.cpp -o a9",
  "gcc -O2, DWARF 4, compressed with zlib, with macros": `g++ -g3 -gdwarf-4 -gz=zlib -O2 ${BARE} -static $P/shapes.cpp -o a10`,
  "gcc -O1, DWARF 2": `g++ -gdwarf-2 -gstrict-dwarf -O1 ${BARE} -static $P/shapes.cpp -o a11`,
  "gcc -O2, split": `g++ -g -gsplit-dwarf -O2 ${BARE} -c $P/shapes.cpp -o a12.o && ld.lld-22 a12.o -o a12`,
  "gcc -O1, type units, with the standard library": "g++ -g -fdebug-types-section -O1 $P/cart.cpp -o a13",
  "debug information in a file of its own": `g++ -g -O2 ${BARE} -static $P/shapes.cpp -o a14 && objcopy --only-keep-debug a14 a14.debug && objcopy --strip-debug --add-gnu-debuglink=a14.debug a14`,
  "no debug information": `g++ -O2 -s ${BARE} -static $P/shapes.cpp -o a15`,
  aarch64: `clang++-22 --target=aarch64-linux-gnu -g -O2 ${BARE} -static -fuse-ld=lld $P/shapes.cpp -o a18`,
  "aarch64, DWARF 4": `clang++-22 --target=aarch64-linux-gnu -gdwarf-4 -O1 ${BARE} -static -fuse-ld=lld $P/shapes.cpp -o a19`,
  i386: `clang++-22 --target=i386-linux-gnu -g -O2 ${BARE} -static -fuse-ld=lld $P/shapes.cpp -o a20`,
  "an object file": `clang++-22 -g -O2 ${BARE} -c $P/shapes.cpp -o o0`,
  "an object file, a section per function, compressed": `clang++-22 -gdwarf-4 -gz -O2 -ffunction-sections ${BARE} -c $P/shapes.cpp -o o1`,
  "an object file of gcc": `g++ -g -O2 ${BARE} -c $P/shapes.cpp -o o2`,
  "an object file for aarch64": `clang++-22 --target=aarch64-linux-gnu -g -O2 ${BARE} -c $P/shapes.cpp -o o3`,
  "an object file for i386": `clang++-22 --target=i386-linux-gnu -gdwarf-4 -O2 ${BARE} -c $P/shapes.cpp -o o4`,
  "a split object file": `clang++-22 -g -gsplit-dwarf -O2 ${BARE} -c $P/shapes.cpp -o o5`,
};

const WASM_TARGET = `clang++-22 --target=wasm32 ${BARE}`;

const WASM = {
  "-O0": `${WASM_TARGET} -g -O0 -c $P/shapes.cpp -o w0.o && wasm-ld-22 --no-entry --export-all w0.o -o w0`,
  "-O2, DWARF 4": `${WASM_TARGET} -gdwarf-4 -O2 -c $P/shapes.cpp -o w1.o && wasm-ld-22 --no-entry --export-all w1.o -o w1`,
  "-O2, DWARF 5":
    "clang-22 --target=wasm32 -nostdlib -g -O2 -c $P/list.c -o w2.o && wasm-ld-22 --no-entry w2.o -o w2",
  "-g1 -O1": `${WASM_TARGET} -g1 -O1 -c $P/shapes.cpp -o w3.o && wasm-ld-22 --no-entry --export-all w3.o -o w3`,
  "unused functions removed": `${WASM_TARGET} -g -O2 -ffunction-sections -c $P/shapes.cpp -o w4.o && wasm-ld-22 --no-entry --gc-sections --export=_start w4.o -o w4`,
  "an object file": `${WASM_TARGET} -g -O2 -c $P/shapes.cpp -o w5`,
};

/** The first answers that differ, side by side: lists of thousands would be unreadable. */
function differences(ours: readonly unknown[], theirs: readonly unknown[]): unknown[] {
  expect(ours.length).toBe(theirs.length);
  return ours
    .map((answer, index) => [answer, theirs[index]])
    .filter(([our, their]) => JSON.stringify(our) !== JSON.stringify(their))
    .slice(0, 3);
}

function built(command: string): string {
  sh(command);
  return path.join(temporaryFolder(), command.split(" ").findLast((word) => /^[aow]\d+$/.test(word))!);
}

describe.skipIf(!hasNative)("answers for a native program are those of llvm-symbolizer", () => {
  for (const [name, command] of Object.entries(NATIVE))
    it(name, () => {
      const file = built(command);
      const addresses = codeAddresses(file, command.includes("cart.cpp") ? 5 : 1);
      expect(addresses.length).toBeGreaterThan(400);
      expect(
        differences(ourAnswers(file, addresses), llvmAnswers(file, addresses, ["--no-demangle"])),
      ).toEqual([]);
    });

  it("one frame per address", () => {
    const file = path.join(temporaryFolder(), "a9");
    const addresses = codeAddresses(file, 11);
    expect(ourAnswers(file, addresses, false)).toEqual(
      llvmAnswers(file, addresses, ["--no-demangle", "--no-inlines"]),
    );
  });
});

/** The same numbers in a shuffled but reproducible order. */
function shuffled(numbers: readonly number[]): number[] {
  const rank = (number: number) => Math.imul(number, 0x9e37_79b1) >>> 0;
  return numbers.toSorted((first, second) => rank(first) - rank(second));
}

describe.skipIf(!hasNative)("prints what llvm-symbolizer prints, in whatever order it is asked", () => {
  it.each([
    ["with the standard library", "a1", 23],
    ["package of split units", "a5", 23],
    ["of gcc", "a9", 23],
    ["with type units", "a13", 23],
    ["for aarch64", "a18", 2],
  ])("%s", (_, name, step) => {
    const file = path.join(temporaryFolder(), name);
    const ascending = codeAddresses(file, step);
    expect(ascending.length).toBeGreaterThan(200);
    for (const addresses of [ascending, shuffled(ascending)]) {
      const input = addresses.map((address) => `0x${address.toString(16)}`).join("\n");
      expect(printed([process.execPath, MAIN, "symbolize", "--obj", file], input)).toEqual(
        printed([LLVM_SYMBOLIZER, "--obj", file], input),
      );
    }
  });
});

/** Options that change the printed text, each list compared as text. */
const OPTIONS = [
  "--addresses --verbose",
  "--verbose --no-inlines --no-demangle",
  "--output-style=GNU --addresses --functions=short",
  "--output-style=GNU --no-inlines --basenames --pretty-print",
  "--relativenames --no-demangle --pretty-print --addresses",
  "--skip-line-zero --functions=none",
  "--print-source-context-lines=6 --no-inlines",
  "--adjust-vma=0x40 --addresses",
  "--output-style=JSON",
];

describe.skipIf(!hasNative)("prints what llvm-symbolizer prints", () => {
  const file = () => path.join(temporaryFolder(), "a9");
  for (const options of OPTIONS)
    it(options, () => {
      const input = [
        ...codeAddresses(file(), 97).map((address) => `0x${address.toString(16)}`),
        "main",
        "main+3",
        "DATA 0x4010",
        "CODE 4500",
        "",
        "  ",
        "0x12zz",
        "nowhere",
        "0xffffffffffffffff",
        "0x123456789012345678",
        "0b101",
        "017",
      ].join("\n");
      const args = ["--obj", file(), ...options.split(" ")];
      expect(printed([process.execPath, MAIN, "symbolize", ...args], input)).toEqual(
        printed([LLVM_SYMBOLIZER, ...args], input),
      );
    });
});

function printed([command, ...args]: readonly string[], input: string): string[] {
  const { stdout } = spawnSync(command!, args, { input, encoding: "utf8", cwd: temporaryFolder() });
  return stdout.split("\n");
}

interface Answer {
  Symbol: { FunctionName: string; FileName: string; Line: number; Column: number; Discriminator: number }[];
}

/**
 * Comparable part of an answer for a linked wasm module. llvm-symbolizer looks debug information up by offsets in the code
 * section, but symbols by offsets in the file, and treats local symbols as if all were at address 0. Names of outermost
 * functions from symbols are therefore wrong and removed; names from debug information stay.
 */
function comparable(answer: string): unknown {
  const { Symbol: frames } = JSON.parse(answer) as Answer;
  return frames.map(({ FunctionName, FileName, Line, Column, Discriminator }, index) => ({
    name: index === frames.length - 1 ? "" : FunctionName,
    place: `${FileName}:${Line}:${Column}:${Discriminator}`,
  }));
}

describe.skipIf(!hasWasm)("answers for a wasm program are those of llvm-symbolizer", () => {
  for (const [name, command] of Object.entries(WASM))
    it(name, () => {
      const file = built(command);
      const addresses = codeAddresses(file, 1);
      expect(addresses.length).toBeGreaterThan(100);
      const theirs = llvmAnswers(file, addresses, ["--no-demangle"]);
      expect(differences(ourAnswers(file, addresses).map(comparable), theirs.map(comparable))).toEqual([]);
    });
});

const MODULES = {
  "web-tree-sitter": npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm"),
  "ruby.debug+stdlib": npmModule("node_modules/@ruby/3.4-wasm-wasi/dist/ruby.debug+stdlib.wasm"),
};

describe("answers for modules of npm packages are those of llvm-symbolizer", () => {
  for (const [name, file] of Object.entries(MODULES)) {
    const skipped = file === undefined || !hasOracle;
    if (skipped) console.warn(`SKIPPED: ${name} is not compared with llvm-symbolizer-22`);
    it.skipIf(skipped)(name, () => {
      const addresses = sampledAddresses(file!, 20_000);
      const theirs = llvmAnswers(file!, addresses, ["--no-demangle"]).map(comparable);
      const ours = ourAnswers(file!, addresses).map(comparable);
      expect(differences(ours, theirs)).toEqual([]);
    });
  }
});
