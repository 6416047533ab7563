import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WasmModule } from "../../../../src/code/wasm/index.ts";
import { type AllocatorPlan, findAllocator } from "../../../../src/record/allocator/find/index.ts";
import type { AllocatorRole, AllocatorSource } from "../../../../src/record/allocator/find/plan.ts";
import { decodeFile, indexOf, installed, withoutNames } from "./support.ts";

/*
 * Modules that people install from npm. The truth about each comes from its debug build, its glue or its documentation, not from the
 * finder;
 * the structural rule is compared with it after all names are removed.
 * - wasm, glue: paths below node_modules
 * - how: source that must find the allocator
 * - truth: role → export or function name; these functions must be hooked in that role
 * - more: further roles that must be found
 * - structure: `same` if malloc and free are found without any name; else the sentence that gives the reason
 */
interface Row {
  wasm: string;
  glue?: string;
  how: AllocatorSource;
  truth: Partial<Record<AllocatorRole, string>>;
  more?: AllocatorRole[];
  structure: "same" | RegExp;
}

const quickjs = (build: string) => `@jitl/quickjs-wasmfile-${build}/dist/emscripten-module`;

const ROWS: Row[] = [
  {
    wasm: "sql.js/dist/sql-wasm.wasm",
    glue: "sql.js/dist/sql-wasm.js",
    how: "glue",
    truth: { malloc: "Ia", free: "Ja" },
    more: ["memalign", "realloc"],
    structure: "same",
  },
  {
    wasm: "sql.js/dist/sql-wasm-debug.wasm",
    glue: "sql.js/dist/sql-wasm-debug.js",
    how: "exports",
    truth: { malloc: "malloc", free: "free", memalign: "emscripten_builtin_memalign" },
    more: ["calloc", "realloc"],
    structure: "same",
  },
  {
    wasm: "@sqlite.org/sqlite-wasm/sqlite-wasm/jswasm/sqlite3.wasm",
    how: "exports",
    truth: { malloc: "malloc", free: "free", realloc: "realloc" },
    structure: "same",
  },
  {
    wasm: "web-tree-sitter/web-tree-sitter.wasm",
    glue: "web-tree-sitter/web-tree-sitter.js",
    how: "exports",
    truth: { malloc: "malloc", calloc: "calloc", realloc: "realloc", free: "free" },
    // This is position-independent code: static addresses are small offsets from a base, so only malloc is recognized by its shape.
    structure: "same",
  },
  {
    wasm: "web-tree-sitter/debug/web-tree-sitter.wasm",
    how: "names",
    truth: { malloc: "dlmalloc", calloc: "dlcalloc", realloc: "dlrealloc", free: "dlfree" },
    structure: "same",
  },
  {
    wasm: `${quickjs("release-sync")}.wasm`,
    glue: `${quickjs("release-sync")}.mjs`,
    how: "glue",
    truth: { malloc: "v", free: "M" },
    more: ["realloc"],
    structure: "same",
  },
  {
    wasm: `${quickjs("release-asyncify")}.wasm`,
    glue: `${quickjs("release-asyncify")}.mjs`,
    how: "glue",
    truth: { malloc: "w", free: "N" },
    more: ["realloc"],
    structure: "same",
  },
  {
    wasm: `${quickjs("debug-asyncify")}.wasm`,
    glue: `${quickjs("debug-asyncify")}.mjs`,
    how: "exports",
    truth: { malloc: "malloc", free: "free" },
    more: ["realloc"],
    structure: "same",
  },
  {
    wasm: "@bokuweb/zstd-wasm/dist/common/zstd.wasm",
    glue: "@bokuweb/zstd-wasm/dist/common/zstd.js",
    how: "glue",
    truth: { malloc: "s", free: "t" },
    structure: "same",
  },
  {
    wasm: "@resvg/resvg-wasm/index_bg.wasm",
    how: "wrapper",
    truth: {},
    more: ["malloc", "free", "memalign", "rust_realloc"],
    structure: "same",
  },
  {
    wasm: "tiktoken/tiktoken_bg.wasm",
    glue: "tiktoken/tiktoken_bg.js",
    how: "wrapper",
    truth: {},
    more: ["malloc", "free", "memalign", "rust_realloc"],
    structure: "same",
  },
  {
    wasm: "gecko-profiler-demangle/index_bg.wasm",
    how: "wrapper",
    truth: {},
    more: ["malloc", "free", "memalign", "rust_realloc"],
    structure: "same",
  },
  {
    wasm: "@ruby/3.4-wasm-wasi/dist/ruby.debug+stdlib.wasm",
    how: "names",
    truth: { malloc: "dlmalloc", calloc: "calloc", realloc: "realloc", rust_alloc: "__rustc::__rust_alloc" },
    more: ["free", "posix_memalign", "memalign", "rust_dealloc", "rust_realloc"],
    structure: "same",
  },
];

const indexOfRole = (plan: AllocatorPlan, role: AllocatorRole) =>
  plan.functions.filter((entry) => entry.role === role).map(({ index }) => index);

function expectConsistent(module: WasmModule, plan: AllocatorPlan): void {
  const hooked = plan.functions.map(({ index }) => index);
  expect(new Set(hooked).size).toBe(hooked.length);
  expect(plan.internals).toEqual(expect.arrayContaining(hooked));
  expect(plan.wrappers.filter((index) => plan.internals.includes(index))).toEqual([]);
  for (const index of [...plan.internals, ...plan.wrappers, ...plan.sharedHelpers])
    expect(index).toBeGreaterThanOrEqual(module.importedFunctionCount);
}

describe.each(ROWS)("$wasm", ({ wasm, glue, how, truth, more, structure }) => {
  const file = installed(wasm);
  if (file === undefined) console.warn(`find-allocator: ${wasm} is not installed, its checks are skipped`);
  const glueFile = glue === undefined ? undefined : installed(glue);

  it.skipIf(file === undefined)(`is found by its ${how}`, () => {
    const module = decodeFile(file!);
    const plan = findAllocator(module, {
      glue: glueFile === undefined ? undefined : readFileSync(glueFile, "utf8"),
    });
    expect(plan.how).toBe(how);
    expect(plan.needsConfirmation).toBe(false);
    for (const [role, name] of Object.entries(truth))
      expect(indexOfRole(plan, role as AllocatorRole), `${role} = ${name}`).toContain(indexOf(module, name));
    for (const role of more ?? []) expect(indexOfRole(plan, role), role).not.toEqual([]);
    expectConsistent(module, plan);
  });

  it.skipIf(file === undefined)("agrees with its structure once the names are gone", () => {
    const module = decodeFile(file!);
    const named = findAllocator(module, {
      glue: glueFile === undefined ? undefined : readFileSync(glueFile, "utf8"),
    });
    const plan = findAllocator(withoutNames(module));
    if (structure !== "same") {
      expect(plan.how).toBe("none");
      expect(plan.functions).toEqual([]);
      expect(plan.notes.join("\n")).toMatch(structure);
      return;
    }
    expect(plan.how).toBe("structure");
    expect(plan.needsConfirmation).toBe(true);
    for (const entry of plan.functions) {
      const known = named.functions.find(({ index }) => index === entry.index);
      expect(known?.kind, `${entry.role} #${entry.index}`).toBe(entry.kind);
      expect(known?.sizeParam).toBe(entry.sizeParam);
      expect(known?.pointerParam).toBe(entry.pointerParam);
      expect(known?.pointerOffset).toBe(entry.pointerOffset);
    }
    expect(indexOfRole(named, "malloc")).toEqual(expect.arrayContaining(indexOfRole(plan, "malloc")));
    expect(indexOfRole(named, "free")).toEqual(expect.arrayContaining(indexOfRole(plan, "free")));
    expectConsistent(module, plan);
  });
});

describe("SQLite's xRealloc", () => {
  const sqlite = installed("sql.js/dist/sql-wasm.wasm");
  it.skipIf(sqlite === undefined)(
    "is hooked behind its 8-byte header, because realloc is inlined into it",
    () => {
      const plan = findAllocator(withoutNames(decodeFile(sqlite!)));
      const realloc = plan.functions.find(({ role }) => role === "realloc");
      expect(realloc).toMatchObject({
        kind: "reallocate",
        pointerParam: 0,
        sizeParam: 1,
        pointerOffset: -8,
        sizeOffset: 8,
      });
    },
  );
});

describe("modules with another owner of their memory", () => {
  const sanitized = installed(`${quickjs("debug-sync")}.wasm`);
  it.skipIf(sanitized === undefined)(
    "hooks a sanitizer's malloc, not the allocator that it takes regions from",
    () => {
      const module = decodeFile(sanitized!);
      const plan = findAllocator(module);
      expect(plan.how).toBe("exports");
      expect(indexOfRole(plan, "malloc")).toEqual([indexOf(module, "malloc")]);
      expect(plan.functions.map(({ index }) => index)).not.toContain(
        indexOf(module, "emscripten_builtin_memalign"),
      );
      expect(plan.notes.join("\n")).toContain("debugging allocator");
    },
  );

  const esbuild = installed("esbuild-wasm/esbuild.wasm");
  if (esbuild === undefined)
    console.warn("find-allocator: esbuild-wasm is not installed, its check is skipped");
  it.skipIf(esbuild === undefined)("says that Go collects its garbage itself", () => {
    const plan = findAllocator(decodeFile(esbuild!));
    expect(plan.how).toBe("none");
    expect(plan.collector).toBe("Go has its own garbage collector: only working set and waste apply.");
  });
});
