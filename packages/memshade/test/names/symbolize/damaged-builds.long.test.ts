import path from "node:path";
import { describe, expect, it } from "vitest";
import { loadObject } from "../../../src/names/load/objects.ts";
import { Symbolizer } from "../../../src/names/symbolize/symbolizer.ts";
import { damaged, randomNumbers } from "./damage.ts";
import { codeAddresses, isInstalled, sh, temporaryFolder } from "./support.ts";

const NATIVE = '-nostdlib -nostartfiles -Wl,-e,main "$P/variables.c"';
const CPP = '-nostdlib -nostartfiles -fno-exceptions -fno-rtti -shared -fPIC "$P/shapes.cpp"';

/** Every version and form of debug information, each in a program of a few kilobytes. */
const BUILDS: Readonly<Record<string, string>> = {
  "DWARF 5": `clang-22 -g -O1 ${NATIVE}`,
  "DWARF 4": `clang-22 -g -gdwarf-4 -O2 ${NATIVE}`,
  "DWARF 3": `clang-22 -g -gdwarf-3 -O2 ${NATIVE}`,
  "DWARF 2, gcc": `gcc -g -gdwarf-2 -gstrict-dwarf -O2 ${NATIVE}`,
  "DWARF 5, gcc": `gcc -g -O2 ${NATIVE}`,
  "DWARF of 64 bits": `clang-22 -g -gdwarf64 -O1 ${NATIVE}`,
  compressed: `clang-22 -g -gz=zstd -O1 ${NATIVE}`,
  "type units": `clang-22 -g -fdebug-types-section -O1 ${CPP}`,
  ranges: `clang-22 -g -O2 -ffunction-sections ${CPP}`,
  "object file": `clang-22 -g -O1 -ffunction-sections -c "$P/variables.c"`,
  wasm: `clang-22 -g -O1 --target=wasm32 -nostdlib -Wl,--no-entry -Wl,--export-dynamic "$P/list.c"`,
};

const installed = isInstalled("clang-22", "gcc", "wasm-ld-22");
if (!installed)
  console.warn("SKIPPED: clang-22, gcc or wasm-ld-22 is not installed, no damage is done to their programs");

/** Mutations per program; MEMSHADE_RUNS sets their number, MEMSHADE_SEED selects others. */
const runs = Number(process.env.MEMSHADE_RUNS ?? 60);
const firstSeed = Number(process.env.MEMSHADE_SEED ?? 1);

describe.skipIf(!installed)(
  "debug information that is damaged anywhere ends in frames",
  { timeout: 3_600_000 },
  () => {
    for (const [name, command] of Object.entries(BUILDS))
      it(name, () => {
        const output = path.join(temporaryFolder(), "damaged");
        sh(`${command} -o ${output}`);
        const { object } = loadObject(output);
        expect(object.section(".debug_info")!.length).toBeGreaterThan(100);
        const addresses = codeAddresses(output, 1);
        const random = randomNumbers(firstSeed);
        for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
          const symbolizer = new Symbolizer(damaged(object, seed));
          for (let count = 0; count < 12; count++) {
            const address = addresses[random(addresses.length)]!;
            const frames = symbolizer.frames(address);
            expect(frames.length, `seed ${seed}`).toBeGreaterThan(0);
            expect(frames.at(-1)!.inlined, `seed ${seed}`).toBe(false);
            for (const { line, column } of frames)
              expect(line >= 0 && column >= 0, `seed ${seed}`).toBe(true);
            for (const variable of symbolizer.variables(address)) expect(variable.line >= 0).toBe(true);
            symbolizer.dataDeclaration(address);
          }
        }
      });

    it("also in split units", () => {
      const folder = temporaryFolder();
      sh(`clang-22 -g -O1 -gsplit-dwarf ${NATIVE} -o splitdamage`);
      const program = loadObject(path.join(folder, "splitdamage"));
      const addresses = codeAddresses(program.path, 3);
      const random = randomNumbers(firstSeed);
      let found = 0;
      for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
        const symbolizer = new Symbolizer(program.object);
        for (let count = 0; count < 8; count++) {
          const address = addresses[random(addresses.length)]!;
          symbolizer.frames(address);
          for (const request of symbolizer.needs())
            if (request.kind === "dwo") {
              const split = loadObject(path.resolve(request.compilationDirectory, request.name)).object;
              symbolizer.provide(request, damaged(split, seed));
              found++;
            } else symbolizer.provide(request, undefined);
          expect(symbolizer.frames(address).length, `seed ${seed}`).toBeGreaterThan(0);
        }
      }
      expect(found).toBeGreaterThan(runs / 2);
    });
  },
);
