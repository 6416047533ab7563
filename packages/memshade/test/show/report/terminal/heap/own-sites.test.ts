import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FrameRuleOptions, FrameRules } from "../../../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../../../src/explain/analyses/frames/mark-frames.ts";
import type {
  HeapProfile,
  ProfileModule,
  ResolvedFrame,
} from "../../../../../src/profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../../../../src/profile/model/heap-profile-builder.ts";
import type { IndexIntoModuleTable } from "../../../../../src/profile/model/indices.ts";
import { blockMib } from "../../../../../src/profile/model/mib.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { heapReport } from "../../../../../src/show/report/terminal/heap/heap-report.ts";
import { expectFits } from "../../../../support/expect-fits.ts";
import { topOf } from "../../../../support/ranked.ts";

const CPP = "/usr/lib/llvm/include/c++/v1/vector.h";
const START: ResolvedFrame = { name: "_start", offset: 1 };

let offset = 16;
/** `load load.cc:7`, a function's name and its source line; without a line it is unknown. */
function frame(text: string): ResolvedFrame {
  const [, name, file, line] = /^(.*?)(?: (\S+):(\d+))?$/.exec(text)!;
  return { name, offset: offset++, file, line: line === undefined ? undefined : Number(line), column: 1 };
}

/** A profile of call paths, innermost frame first, each of which allocates one block of 64 bytes. */
function profileOf(
  paths: readonly (readonly ResolvedFrame[])[],
  modules: readonly ProfileModule[] = [],
): HeapProfile {
  const builder = new HeapProfileBuilder(
    { clock: { kind: "virtual", unit: "allocations" }, granuleBytes: 8, rawVersion: 4, notTracked: [] },
    modules,
  );
  const times = { allocTimestamp: 0, deallocTimestamp: 1, allocCpuId: 0, deallocCpuId: 0 };
  paths.forEach((path, index) => {
    builder.addContext(BigInt(index), path, blockMib({ size: 64, accessCount: 1n, ...times }));
  });
  return builder.build();
}

const PLAIN = { paint: createPaint(false), width: 80, isWide: false };
const top = (profile: HeapProfile, rules?: FrameRuleOptions) =>
  topOf(
    { heap: rules === undefined ? profile : withOwnSites(profile, new FrameRules(rules)) },
    { by: "bytes" },
  )!;
const report = (profile: HeapProfile, isWide = false) =>
  heapReport(withOwnSites(profile, new FrameRules()), { ...PLAIN, isWide, input: "out" });

describe("a program that fills containers", () => {
  const push = () => [
    frame(`std::vector<int>::__append(unsigned long) ${CPP}:900`),
    frame(`std::vector<int>::push_back(int const&) ${CPP}:400`),
  ];
  const main = frame("main shop.cc:20");
  const fill = frame("fill(std::vector<int>&, int) shop.cc:7");
  const filled = profileOf([
    [...push(), fill, main, START],
    [...push(), fill, main, START],
    [...push(), main, START],
  ]);

  it("has its own lines as sites, with what they called behind", () => {
    expect(report(filled)).toContain("fill (shop.cc:7) via std::vector::push_back");
    expect(report(filled)).toContain("main (shop.cc:20) via std::vector::push_back");
    expect(top(filled, {})).toContain("192 B in 2 sites");
  });

  it("has the file and line of every caller, and not what called its main function", () => {
    expect(report(filled)).toContain("      ← main (shop.cc:20)\n");
    expect(report(filled)).not.toContain("_start");
    expect(report(filled, true)).toContain("← main (shop.cc:20:1)\n      ← _start");
  });

  it("shows every frame where nobody asked whose code it is", () => {
    const text = top(filled);
    expect(text).toContain("__append (vector.h:900)");
    expect(text).not.toContain("via");
  });

  it("shows as many lines of callers as they need, too", () => {
    const deep = [...push(), fill, ...Array.from({ length: 30 }, (_, i) => frame(`step${i} a.c:${i + 1}`))];
    const text = heapReport(profileOf([deep]), { ...PLAIN, allFrames: true, input: "out" });
    for (let i = 0; i < 30; i++) expect(text).toContain(`step${i} (a.c:${i + 1})`);
    expect(text).not.toContain("more");
  });

  it("is a library itself where the user says so", () => {
    expect(top(filled, { library: ["fill"] })).toContain("main (shop.cc:20)");
    expect(top(filled, { library: ["fill"] })).toContain("in 1 site");
    expect(top(filled, { own: ["c++/v1/*"] })).toContain("(vector.h:900)");
  });
});

describe("frames of libraries between the program's own", () => {
  it("are one word, and the program's outermost function is kept", () => {
    const sorted = profileOf([
      [
        frame("malloc"),
        frame("compare_names_of_customers sort.c:3"),
        frame("cycle /src/wasi-libc/libc-top-half/musl/src/stdlib/qsort.c:50"),
        frame("qsort /src/wasi-libc/libc-top-half/musl/src/stdlib/qsort.c:190"),
        frame("order_customers_by_name sort.c:9"),
        ...Array.from({ length: 8 }, (_, i) => frame(`step${i} steps.c:${i + 1}`)),
        frame("serve server.c:44"),
        frame("main server.c:60"),
        frame("__libc_start_main"),
        START,
      ],
    ]);
    const text = report(sorted);
    expect(text).toContain("compare_names_of_customers (sort.c:3) via malloc");
    expect(text).toMatch(/← \[the C library\] ← order_customers_by_name \(sort\.c:9\)/);
    expect(text).toMatch(/← … \d more\s+← main \(server\.c:60\)$/m);
  });

  it("name the place where there is nothing else", () => {
    expect(top(profileOf([[frame("malloc"), frame("fopen")]]), {})).toMatch(/ malloc$/m);
    expect(top(profileOf([[frame("malloc"), frame("fopen"), START]]), {})).toMatch(/ _start via fopen$/m);
  });
});

describe("a layer on the allocator", () => {
  const module = {
    name: "app.wasm",
    buildId: "",
    start: 0n,
    end: 2n ** 32n,
    allocator: { how: "names" as const, functions: [], layers: [7] },
  };
  const layer = { ...frame("allocate pool.c:3"), module: 0 as IndexIntoModuleTable, wasmIndex: 7 };
  const asked = profileOf(
    [
      [layer, frame("newNode tree.c:9"), frame("main tree.c:30")],
      [layer, frame("newName tree.c:15"), layer, frame("main tree.c:31")],
      [layer],
    ],
    [module],
  );

  it("is not who asked, but is shown with its line, and among callers it is as good as others", () => {
    const text = report(asked);
    expect(text).toContain("newNode (tree.c:9) via allocate (pool.c:3)");
    expect(text).toContain("newName (tree.c:15) via allocate (pool.c:3)");
    expect(text).toContain("← allocate (pool.c:3) ← main (tree.c:31)");
  });

  it("is one by its declaration, too, which is all that is known of what is inlined", () => {
    const inlined = { ...frame("need pool.c:8"), inlined: true, handsOutMemory: true };
    const make = { ...frame("newNode tree.c:9"), inlined: true };
    expect(report(profileOf([[inlined, make, frame("main tree.c:30")]]))).toContain(
      "newNode (tree.c:9) via need (pool.c:8)",
    );
  });

  it("is who asked where nobody else is known, or the user says so", () => {
    expect(top(asked, {})).toContain("192 B in 3 sites");
    expect(top(asked, {})).toMatch(/ allocate \(pool\.c:3\)$/m);
    expect(top(asked, { own: ["pool.c"] })).toContain("192 B in 1 site");
  });
});

describe("whatever the frames", () => {
  const names = fc.constantFrom(
    "main main.c:1",
    "parse",
    "a_function_with_a_name_that_is_longer_than_any_line_of_the_report_could_ever_be_in_eighty_columns a.c:7",
    "f a-file-with-a-name-that-is-longer-than-any-line-of-the-report-could-ever-be-in-eighty-columns.c:77",
    `std::vector<int, std::allocator<int> >::push_back(int const&) ${CPP}:2`,
    "std::map<int, int>::operator[](int const&)",
    "_start",
    "qsort",
  );

  it("no line is wider than the terminal but for longer names, and no allocation is lost", () => {
    fc.assert(
      fc.property(fc.array(fc.array(names, { maxLength: 14 }), { minLength: 1, maxLength: 12 }), (paths) => {
        const profile = profileOf(paths.map((path) => path.map(frame)));
        const marked = withOwnSites(profile, new FrameRules());
        const texts = [heapReport(marked, { ...PLAIN, input: "out" }), top(profile, {})];
        for (const line of texts.join("\n").split("\n")) expectFits(line);
        expect(texts[1]).toMatch(paths.length === 1 ? /64 B in/ : /(B|KiB) in/);
      }),
    );
  });
});
