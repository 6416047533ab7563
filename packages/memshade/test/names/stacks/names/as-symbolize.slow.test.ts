import path from "node:path";
import { describe, expect, it } from "vitest";
import { loadDemangler } from "../../../../src/names/load/demangler.ts";
import { loadObject, ObjectFinder } from "../../../../src/names/load/objects.ts";
import { loadSymbolizer } from "../../../../src/names/load/symbolizer.ts";
import { loadFrameNamer, preferAsGdb, withoutParameters } from "../../../../src/names/stacks/names.ts";
import { NativeFile } from "../../../../src/names/stacks/native-file.ts";
import { codeAddresses, isInstalled, sh, temporaryFolder } from "../../symbolize/support.ts";

const tools = ["g++", "clang++-22", "dwz", "objcopy"];
const installed = isInstalled(...tools);
if (!installed) console.warn(`SKIPPED: names of two commands are not compared without ${tools.join(", ")}`);

/** Options that keep calls returning, so that the program's functions call each other by name. */
const COMMON = '-std=c++20 -w -g -fno-optimize-sibling-calls "$P/names.cpp" -o';

const BUILDS: Readonly<Record<string, string>> = {
  "gcc -O0": `g++ -O0 ${COMMON} NAME`,
  "gcc -O2": `g++ -O2 ${COMMON} NAME`,
  "gcc -O2 -flto": `g++ -O2 -flto ${COMMON} NAME`,
  "gcc DWARF 4": `g++ -O1 -gdwarf-4 ${COMMON} NAME`,
  "gcc split": `g++ -O1 -gsplit-dwarf ${COMMON} NAME`,
  "clang -O0": `clang++-22 -O0 ${COMMON} NAME`,
  "clang -O2": `clang++-22 -O2 ${COMMON} NAME`,
  "clang DWARF 4": `clang++-22 -O1 -gdwarf-4 ${COMMON} NAME`,
  "clang split": `clang++-22 -O1 -gsplit-dwarf ${COMMON} NAME`,
  "clang type units": `clang++-22 -O1 -fdebug-types-section ${COMMON} NAME`,
  dwz: `g++ -O1 ${COMMON} NAME && cp NAME NAME-copy && dwz -m NAME-shared NAME NAME-copy`,
  "debug information elsewhere": `g++ -O2 ${COMMON} NAME && objcopy --only-keep-debug NAME NAME.debug &&
    strip NAME && objcopy --add-gnu-debuglink=NAME.debug NAME`,
};

interface Named {
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly inlined: boolean;
}

const shown = ({ function: name, file, line, inlined }: Named) =>
  `${name === undefined ? "??" : withoutParameters(name)} ${file}:${line || 0}${inlined ? " inlined" : ""}`;

describe.skipIf(!installed)("the same addresses have the same names, files and lines", () => {
  it.each(Object.entries(BUILDS))("%s", (name, command) => {
    const output = path.join(temporaryFolder(), `names-${name.replaceAll(/\W/g, "")}`);
    sh(command.replaceAll("NAME", output));
    const finder = new ObjectFinder({});
    const namer = loadFrameNamer(preferAsGdb, finder);
    const file = new NativeFile(output, loadObject(output).object.buildId, finder);
    const symbolizer = loadSymbolizer(output, { demangle: loadDemangler(), finder });
    const functions = new Set<string>();
    for (const address of codeAddresses(output, 1)) {
      const expected = symbolizer.frames(address);
      // For stubs, and for code that only the symbol table covers, the names are GDB's, not llvm-symbolizer's.
      if (expected[0]!.line === 0 || expected.at(-1)!.function === undefined) continue;
      const { frames } = namer.name(file, address);
      expect(frames.map(shown), `0x${address.toString(16)}`).toEqual(expected.map(shown));
      for (const frame of frames) functions.add(withoutParameters(frame.function!));
    }
    expect([...functions]).toEqual(
      expect.arrayContaining([
        "(anonymous namespace)::Hidden::go",
        "void (anonymous namespace)::hiddenTemplate<int>",
        "NamedByTypedef::member",
        "Outer::'unnamed'::unnamed",
        "void Pack<int>::run<42u>",
        "auto Resource::~Resource()::'lambda'(auto)::operator()<int>",
        "void inlined<true, (char)120, -5ll>",
      ]),
    );
  });
});
