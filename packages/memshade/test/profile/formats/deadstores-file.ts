import type { DeadstoresIp, LoadRecord, StoreRecord } from "../../../src/profile/formats/deadstores.ts";

/** A file as the Valgrind tool writes it: one member per line, names unescaped, quotes escaped in the command only. */
export function fileOfTool(
  command: string,
  stores: readonly StoreRecord[],
  loads: readonly LoadRecord[] = [],
): string {
  const words = command.replaceAll("\n", "\\\n").replaceAll('"', '\\"');
  const all = (records: readonly (StoreRecord | LoadRecord)[]): string =>
    records.map(recordLines).join(",\n") + (records.length > 0 ? "\n" : "");
  return `{\n  "command": "${words}",\n  "stores": [\n${all(stores)}  ],\n  "loads": [\n${all(loads)}  ]\n}\n`;
}

function recordLines({ ips, ...counters }: StoreRecord | LoadRecord): string {
  const frames = ips.map((ip, i) => `        {\n${ipLines(ip)}        }${i + 1 < ips.length ? "," : " "}\n`);
  const members = Object.entries(counters).map(([name, value]) => `      "${name}": ${value}`);
  return `    {\n      "ips": [\n${frames.join("")}      ],\n${members.join(",\n")}\n    }`;
}

function ipLines({ address, function: name, file, line }: DeadstoresIp): string {
  const indent = " ".repeat(10);
  const more = (isMore: boolean): string => (isMore ? "," : " ");
  let text = `${indent}"address": ${address}${more(name !== undefined || file !== undefined)}\n`;
  if (name !== undefined) text += `${indent}"function": "${name}"${more(file !== undefined)}\n`;
  if (file !== undefined) text += `${indent}"file": "${file}",\n${indent}"line": ${line}\n`;
  return text;
}
