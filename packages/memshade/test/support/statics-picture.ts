import {
  type NamedStatics,
  STATICS_SCHEMA,
  STATICS_VERSION,
  type StaticsOfModule,
  type StaticVariable,
} from "../../src/profile/model/statics.ts";

export function variable(
  name: string | undefined,
  address: number,
  bytes: number | undefined,
  more: Partial<StaticVariable> = {},
): StaticVariable {
  return { name, address, bytes, linkageName: undefined, file: "/src/crc.c", line: 12, ...more };
}

/** Static data of one module: a segment of 4 KiB from 1024 on, unless `more` overrides it. */
export function statics(
  cells: Readonly<Record<number, number[]>>,
  variables: readonly StaticVariable[] = [],
  more: Partial<StaticsOfModule> & { spreadBytes?: number } = {},
): NamedStatics {
  const { spreadBytes = 0, ...module } = more;
  return {
    file: {
      schema: STATICS_SCHEMA,
      version: STATICS_VERSION,
      counters: spreadBytes === 0 ? "exact" : "merged",
      spreadBytes,
      modules: [
        {
          module: 0,
          start: 1024,
          end: 8192,
          segments: [{ index: 0, name: ".rodata", start: 1024, bytes: 4096 }],
          symbols: [],
          uncounted: [],
          initialization: 0,
          cellBytes: 8,
          runs: Object.entries(cells).map(([address, run]) => ({ address: Number(address), cells: run })),
          ...module,
        },
      ],
    },
    variables: new Map([[0, variables]]),
    modules: ["crc.wasm"],
  };
}
