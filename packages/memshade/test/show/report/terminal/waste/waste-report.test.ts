import { describe, expect, it } from "vitest";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { wasteReport } from "../../../../../src/show/report/terminal/waste.ts";
import { load, store, wasteOf } from "../../../../explain/analyses/waste/waste-picture.ts";

const SCREEN = { paint: createPaint(false), width: 80, isWide: false };

const file = wasteOf({
  stores: [
    store("parse", 88, { class: "fill", nof_stores: 100, bytes_written: 409_600, dead_overwritten: 401_408 }),
    store("read_all", 12, {
      nof_stores: 500,
      bytes_written: 401_408,
      bytes_read: 401_408,
      nof_silent: 400,
      bytes_silent: 32_000,
    }),
    {
      ...store("memcpy", 5, {
        nof_stores: 100,
        bytes_written: 16_484,
        dead_overwritten: 16_384,
        dead_deallocated: 100,
      }),
      ips: [{ address: 80, function: "memcpy", file: "wasi-libc/libc-top-half/string/memcpy.c", line: 5 }],
    },
  ],
  loads: [load("walk", 30, { nof_loads: 1000, nof_silent: 900, bytes_loaded: 800_000, nof_again: 950 })],
  pairs: [{ kind: "overwritten", first: 0, second: 1, bytes: 393_216, operations: 98 }],
});

describe("the report of waste", () => {
  const text = wasteReport(file, { ...SCREEN, input: "out" });

  it("says who overwrites what in how many cases, and what to try", () => {
    const flowing = text.replace(/\s+/g, " ");
    expect(flowing).toContain(
      "392 KiB stored by parse (parse.c:88) are overwritten before anything reads them, 98.0 % of them by read_all (read_all.c:12)",
    );
    expect(flowing).toContain("→ Remove the zeroing: read_all (read_all.c:12) fills the memory anyway.");
    expect(flowing).toContain(
      "400 of the 500 stores (80.0 %) of read_all (read_all.c:12) write what is there already.",
    );
    expect(flowing).toContain(
      "900 of the 1,000 loads (90.0 %) of walk (walk.c:30) load again what the same loop has loaded and nothing has changed",
    );
  });

  it("groups libraries apart from findings", () => {
    const [findings, libraries] = text.split("In libraries");
    expect(findings).not.toContain("memcpy");
    expect(libraries).toContain("the C library: 16.0 KiB at 1 place, most at memcpy (memcpy.c:5)");
    expect(libraries).toContain("Record with --contexts to see what calls them");
  });

  it("does not say that there are no findings where some are too small for its summary", () => {
    const small = wasteReport(file, { ...SCREEN, input: "out", findings: [] });
    expect(small).toBe(text);
    expect(small).not.toContain("No findings");
  });

  it("says how the program ended, where that is known", () => {
    const end = { kind: "signal", signal: "SIGTERM" } as const;
    const [title] = wasteReport(file, { ...SCREEN, input: "out", end }).split("\n");
    expect(title).toMatch(/^Wasted memory operations {2,}ended by SIGTERM$/);
    expect(text).toMatch(/^Wasted memory operations\n/);
  });

  it("keeps to the width of the terminal", () => {
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe("blocks of waste", () => {
  const member = (name: string | undefined, offset: number, size: number, reads: number, writes: number) => ({
    offset,
    size,
    reads: reads * size,
    writes: writes * size,
    dead: 0,
    silent: 0,
    accesses: reads + writes,
    ...(name === undefined ? {} : { name }),
  });
  const objects = {
    ips: [{ address: 4, function: "make_session", file: "src/session.c", line: 9 }],
    objects: 40,
    bytes: 5120,
    size: 128,
    varies: false,
    bytesDead: 1600,
    usage: 0.755,
    usefulLifetime: 0.9,
    type: { name: "session", size: 128, by: "variable" as const },
    fields: [
      member("state", 0, 4, 4000, 40),
      member("generation", 4, 4, 0, 40),
      member("name", 8, 100, 3, 1),
      member("count", 108, 8, 3000, 40),
      member("spare", 116, 4, 0, 0),
      member(undefined, 120, 8, 0, 0),
    ],
  };

  it("say which members are never read, never touched, and hot", () => {
    const text = wasteReport(wasteOf({ objects: [objects] }), { ...SCREEN, input: "out" });
    const flowing = text.replace(/\s+/g, " ");
    expect(flowing).toContain(
      "used 75.5 % of their bytes, and from the first access to the last 90.0 % of their time",
    );
    expect(flowing).toContain("never touched spare (4 bytes)");
    expect(flowing).toContain("padding 8 of 128 bytes");
    expect(flowing).toContain("side by side their 12 bytes need 1 line instead of 2");
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("says of blocks that the host asks for that the call came from outside", () => {
    const text = wasteReport(wasteOf({ objects: [{ ...objects, ips: [] }] }), { ...SCREEN, input: "out" });
    expect(text).toContain("  a call from outside: 40 blocks of 128 bytes");
  });

  it("name each place once whose stores died in them, the most costly first", () => {
    const stores = [store("fill", 7, {}), store("reset", 9, {}), store("fill", 7, {})];
    const deadBy = [
      { store: 1, bytes: 900 },
      { store: 0, bytes: 500 },
      { store: 2, bytes: 500 },
    ];
    const text = wasteReport(wasteOf({ stores, objects: [{ ...objects, deadBy }] }), {
      ...SCREEN,
      input: "out",
    });
    expect(text.replace(/\s+/g, " ")).toContain(
      "dead from fill (fill.c:7) 1,000 B, reset (reset.c:9) 900 B ",
    );
  });

  it("say what copies of an inlined function are inlined into, as far as that tells them apart", () => {
    const inlinedInto = (...functions: string[]) => ({
      ...objects,
      ips: [
        {
          ...objects.ips[0],
          inlined: functions.map((name, i) => ({ function: name, file: "src/session.c", line: 20 + i })),
        },
      ],
    });
    const sites = [inlinedInto("open", "main"), inlinedInto("renew", "main"), inlinedInto("renew", "tick")];
    const text = wasteReport(wasteOf({ objects: sites }), { ...SCREEN, input: "out" }).replace(/\s+/g, " ");
    const place = "make_session (session.c:9)";
    expect(text).toContain(` ${place} in open (session.c:20): 40 blocks`);
    expect(text).toContain(` ${place} in renew (session.c:20) in main (session.c:21): 40 blocks`);
    expect(text).toContain(` ${place} in renew (session.c:20) in tick (session.c:21): 40 blocks`);
  });

  it("say offset and size where a type is only likely", () => {
    const likely = { ...objects, type: { name: "session", size: 128, by: "size" as const } };
    const text = wasteReport(wasteOf({ objects: [likely] }), { ...SCREEN, input: "out" }).replace(
      /\s+/g,
      " ",
    );
    expect(text).toContain("40 blocks of 128 bytes (probably session)");
    expect(text).toContain("never read offset 4 (4 bytes, generation?)");
  });
});

describe("advice", () => {
  const adviceFor = (file: Parameters<typeof wasteReport>[0]): string =>
    wasteReport(file, { ...SCREEN, input: "out" }).replace(/\s+/g, " ");
  const frame = (name: string, file: string, line: number) => ({ address: line, function: name, file, line });
  const libc = "wasi-libc/libc-top-half/musl/src/stdio/";

  it("names the program's own call of a library, where contexts show it", () => {
    const clear = { class: "fill" as const, nof_stores: 10, bytes_written: 800, dead_overwritten: 800 };
    const file = wasteOf({
      stores: [
        { ...store("", 1, clear), ips: [frame("memset", `${libc}memset.c`, 9), frame("fill", "io.c", 7)] },
        {
          ...store("", 2, { class: "host" }),
          ips: [
            frame("__wasi_fd_read", `${libc}real.c`, 299),
            frame("fread", `${libc}fread.c`, 30),
            frame("fill", "io.c", 8),
          ],
        },
      ],
      pairs: [{ kind: "overwritten", first: 0, second: 1, bytes: 800, operations: 10 }],
    });
    const text = adviceFor(file);
    expect(text).toContain(
      "800 B stored by fill (io.c:7) via memset are overwritten before anything reads them, 100 % of them by fill (io.c:8) via fread",
    );
    expect(text).toContain("→ Remove the zeroing: fill (io.c:8) via fread fills the memory anyway.");
  });

  it("does not name the place again where its own line, or itself in another call, is the partner", () => {
    const dead = { nof_stores: 10, bytes_written: 800, dead_overwritten: 800 };
    const at = (address: number, ...callers: string[]) => ({
      ...store("", 1, dead),
      ips: [
        { ...frame("eval", "a.c", 7), address },
        ...callers.map((name, i) => ({ address: 900 + i, function: name })),
      ],
    });
    const pairs = [{ kind: "overwritten" as const, first: 0, second: 1, bytes: 800, operations: 10 }];
    expect(adviceFor(wasteOf({ stores: [at(50), { ...at(58), dead_overwritten: 0 }], pairs }))).toContain(
      "800 B stored by eval (a.c:7) are overwritten before anything reads them, 100 % of them by another store of that line",
    );
    expect(adviceFor(wasteOf({ stores: [at(50, "left"), at(50, "right")], pairs }))).toContain(
      "are overwritten before anything reads them, 50.0 % of them by itself in another call",
    );
  });

  it("fits constructors, and vectors that are made with elements", () => {
    const clear = { class: "fill" as const, nof_stores: 1, bytes_written: 80, dead_overwritten: 80 };
    const inlined = [
      { function: "std::__2::vector<int>::vector(unsigned long)", file: "c++/v1/__vector/vector.h" },
    ];
    const file = wasteOf({
      stores: [
        { ...store("", 1, clear), ips: [frame("Particle::Particle()", "p.cc", 8)] },
        {
          ...store("", 2, clear),
          ips: [
            {
              ...frame("std::__2::allocator<int>::construct()", "c++/v1/__memory/allocator.h", 3),
              inlined: [...inlined, { function: "build(int)", file: "p.cc", line: 19 }],
            },
          ],
        },
        store("init", 10, { nof_stores: 40, bytes_written: 160, bytes_read: 160 }),
      ],
      pairs: [0, 1].map((first) => ({ kind: "overwritten", first, second: 2, bytes: 80, operations: 20 })),
    });
    const text = adviceFor(file);
    expect(text).toContain("→ Remove the initialization: init (init.c:10) fills the memory anyway.");
    expect(text).toContain("→ Use reserve and append instead of resize: init (init.c:10)");
  });

  it("is to do once what stores the same every time", () => {
    const table = store("build", 19, {
      nof_stores: 1000,
      bytes_written: 4000,
      nof_silent: 980,
      bytes_silent: 3920,
      dead_overwritten: 3600,
      bytes_read: 400,
    });
    const itself = { first: 0, second: 0 };
    const pairs = [
      { kind: "silent" as const, ...itself, bytes: 3920, operations: 980 },
      { kind: "overwritten" as const, ...itself, bytes: 3600, operations: 900 },
    ];
    const text = adviceFor(wasteOf({ stores: [table], pairs }));
    expect(text.match(/→ Store the result once, and again only after its input has changed\./g)).toHaveLength(
      1,
    );
    expect(text).toContain(
      "980 of the 1,000 stores (98.0 %) of build (build.c:19) write what is there already",
    );
    expect(text).not.toContain("Each pass");
  });

  it("is not given where next to nothing of a place is wasted", () => {
    const stores = [
      store("often", 3, { nof_stores: 100, bytes_written: 400, nof_silent: 9, bytes_silent: 36 }),
      store("once", 4, { nof_stores: 1, bytes_written: 400, nof_silent: 1, bytes_silent: 400 }),
    ];
    const loads = [load("walk", 5, { nof_loads: 1000, nof_silent: 99, bytes_loaded: 4000 })];
    const text = adviceFor(wasteOf({ stores, loads }));
    expect(text).not.toMatch(/often|walk/);
    expect(text).toContain("The only store of once (once.c:4) writes what is there already.");
  });
});

describe("places told apart by their calling contexts", () => {
  const callers = ["readPage<int>", "moveToRoot", "balance_nonroot_and_more_of_it", "step", "main", "_start"];
  const inContext = wasteOf({
    stores: [
      {
        ...store("parse", 88, { nof_stores: 100, bytes_written: 4096, dead_overwritten: 4096 }),
        ips: [
          { address: 1, function: "parse", file: "parse.c", line: 88, inlined: [{ function: "outer" }] },
          ...callers.map((name, i) => ({ address: i + 2, function: name, file: "btree.c", line: i + 1 })),
        ],
      },
    ],
  });
  const callersIn = (isWide: boolean) =>
    wasteReport(inContext, { ...SCREEN, isWide, input: "out" })
      .split("\n")
      .filter((line) => line.includes("←"));

  it("show the callers that fit on a line", () => {
    expect(callersIn(false)).toEqual(["     ← outer ← readPage (btree.c:1) ← … 4 more ← _start (btree.c:6)"]);
  });

  it("show all of them on a wide screen", () => {
    const names = callers.map((name, i) => `← ${name.replace("<int>", "")} (btree.c:${i + 1})`);
    expect(callersIn(true).map((line) => line.trim())).toEqual([`← outer ${names.join(" ")}`]);
  });

  it("show none where there is no context", () => {
    expect(wasteReport(file, { ...SCREEN, input: "out" })).not.toContain("←");
  });
});
