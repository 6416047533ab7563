import { isMap, isScalar, isSeq, type Node, parseAllDocuments, type YAMLMap } from "yaml";
import { FormatError } from "../../../ground/bytes/errors.ts";
import {
  canonicalSymbol,
  type DataAccessProfile,
  type DataAccessRecord,
  type MemprofProfile,
  ProfileBuilder,
} from "../../model/memprof/index.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";
import { functionGuid } from "../memprof/guid.ts";
import { isTooDeep } from "../yaml-depth.ts";
import { isMemprofYaml } from "./fast-yaml.ts";

const CONSTRUCT = "MemProf YAML";
const U32 = 0xffffffffn;
const U64 = 0xffffffffffffffffn;

/**
 * Reads a profile from YAML of the shape that `llvm-profdata show --memory` prints for indexed profiles
 * (memprof-format, section 14.3). Function names are accepted instead of GUIDs.
 *
 * @throws FormatError of kind bad-magic or malformed
 */
export function readMemprofYaml(bytes: Uint8Array): MemprofProfile {
  if (!isMemprofYaml(bytes))
    throw new FormatError("bad-magic", 0, CONSTRUCT, "the first three characters are not ---");
  const root = parseRoot(bytes);
  const heap = root?.optional("HeapProfileRecords");
  const dataAccess = root?.optional("DataAccessProfiles");
  root?.assertNoOtherKeys();
  const records = heap?.items() ?? [];
  const fieldNames = new Set<string>();
  const parsed = records.map((record) => parseRecord(record, fieldNames));
  const builder = new ProfileBuilder(
    MIB_FIELDS.filter(({ name }) => fieldNames.has(name)),
    false,
  );
  const stackOrder: number[] = [];
  for (const record of parsed) addRecord(builder, record, stackOrder);
  if (new Set(parsed.map(({ guid }) => guid)).size < parsed.length) builder.metStacks = stackOrder;
  if (dataAccess !== undefined) builder.dataAccess = parseDataAccess(dataAccess);
  return builder.build();
}

interface ParsedFrame {
  guid: bigint;
  lineOffset: number;
  column: number;
  inline: boolean;
}
interface ParsedRecord {
  guid: bigint;
  allocSites: { frames: ParsedFrame[]; fields: Map<string, bigint> }[];
  callSites: { frames: ParsedFrame[]; callees: bigint[] }[];
}

function parseRecord(node: YamlNode, fieldNames: Set<string>): ParsedRecord {
  const guid = parseGuid(node.required("GUID"));
  const allocSites = (node.optional("AllocSites")?.items() ?? []).map((site) => {
    const frames = site.required("Callstack").items().map(parseFrame);
    const fields = parseBlock(site.required("MemInfoBlock"), fieldNames);
    site.assertNoOtherKeys();
    return { frames, fields };
  });
  const callSites = (node.optional("CallSites")?.items() ?? []).map((site) => {
    const frames = site.required("Frames").items().map(parseFrame);
    const callees = (site.optional("CalleeGuids")?.items() ?? []).map(parseGuid);
    site.assertNoOtherKeys();
    return { frames, callees };
  });
  node.assertNoOtherKeys();
  return { guid, allocSites, callSites };
}

function parseFrame(node: YamlNode): ParsedFrame {
  const frame = {
    guid: parseGuid(node.required("Function")),
    lineOffset: Number(node.required("LineOffset").integer(U32)),
    column: Number(node.required("Column").integer(U32)),
    inline: node.required("IsInlineFrame").flag(),
  };
  node.assertNoOtherKeys();
  return frame;
}

function parseBlock(node: YamlNode, fieldNames: Set<string>): Map<string, bigint> {
  const fields = new Map<string, bigint>();
  for (const { name, bytes } of MIB_FIELDS) {
    const value = node.optional(`${name[0]!.toUpperCase()}${name.slice(1)}`);
    if (value === undefined) continue;
    fields.set(name, value.integer(bytes === 4 ? U32 : U64));
    fieldNames.add(name);
  }
  node.assertNoOtherKeys();
  return fields;
}

/**
 * Adds a record, unless its function already has one. The stacks of all records are appended to `stackOrder`, in their order
 * of occurrence.
 */
function addRecord(
  builder: ProfileBuilder,
  { guid, allocSites, callSites }: ParsedRecord,
  stackOrder: number[],
): void {
  const stackOf = (frames: readonly ParsedFrame[]): number => {
    const stack = builder.stackOf(frames.map((frame) => builder.frames.intern(frame)));
    stackOrder.push(stack);
    return stack;
  };
  if (builder.has(guid)) {
    for (const { frames } of [...allocSites, ...callSites]) stackOf(frames);
    return;
  }
  const record = builder.record(guid);
  const { blocks } = builder;
  for (const { frames, fields } of allocSites) {
    const block = blocks.addRow();
    for (const [index, { name }] of blocks.fields.entries())
      blocks.setNumber(index, block, fields.get(name) ?? 0n);
    record.addAllocSite(stackOf(frames), block);
  }
  for (const { frames, callees } of callSites) record.addCallSite(stackOf(frames), callees);
}

function parseGuid(node: YamlNode): bigint {
  const text = node.text();
  if (/^0x/i.test(text)) return node.integer(U64);
  if (/^\d+$/.test(text) || text === "")
    throw node.error(`"${text}" is neither a hexadecimal GUID (0x…) nor the name of a function`);
  return functionGuid(text);
}

function parseDataAccess(node: YamlNode): DataAccessProfile {
  const sampled = node.optional("SampledRecords")?.items() ?? [];
  const seenSymbols = new Set<string | bigint>();
  const records = sampled.map((record) => {
    const parsed = parseDataRecord(record);
    if (seenSymbols.has(parsed.symbol)) throw record.error(`two records of ${parsed.symbol}`);
    seenSymbols.add(parsed.symbol);
    return parsed;
  });
  const symbols = node.optional("KnownColdSymbols")?.items() ?? [];
  const hashes = node.optional("KnownColdStrHashes")?.items() ?? [];
  node.assertNoOtherKeys();
  return {
    records,
    coldSymbols: [...new Set(symbols.map((symbol) => canonicalSymbol(symbol.text())))],
    coldHashes: [...new Set(hashes.map((hash) => hash.integer(U64)))],
  };
}

function parseDataRecord(node: YamlNode): DataAccessRecord {
  const symbol = node.optional("Symbol")?.text() ?? "";
  const hash = node.optional("Hash")?.integer(U64);
  if (symbol === "" && hash === undefined) throw node.error("neither Symbol nor Hash is given");
  const accessCount = node.required("AccessCount").integer(U64);
  const locations = (node.optional("Locations")?.items() ?? []).map((location) => {
    const file = location.required("FileName").text();
    const line = Number(location.required("Line").integer(U32));
    location.assertNoOtherKeys();
    return { file, line };
  });
  node.assertNoOtherKeys();
  return { symbol: symbol === "" ? hash! : canonicalSymbol(symbol), accessCount, locations };
}

/** Returns the root of the first non-empty document; comments may form a document of their own. */
function parseRoot(bytes: Uint8Array): YamlNode | undefined {
  const text = new TextDecoder().decode(bytes);
  try {
    if (isTooDeep(text)) throw new FormatError("malformed", 0, CONSTRUCT, "it is nested too deeply");
    // The failsafe schema keeps every scalar as its text.
    const documents = parseAllDocuments(text, { schema: "failsafe", logLevel: "silent" });
    for (const document of "empty" in documents ? [] : documents) {
      const [error] = document.errors;
      if (error !== undefined)
        throw new FormatError("malformed", error.pos[0], CONSTRUCT, firstLine(error.message));
      const { contents } = document;
      if (contents !== null && !(isScalar(contents) && String(contents.value ?? "") === ""))
        return new YamlNode(contents as Node, "document");
    }
    return undefined;
  } catch (error) {
    if (error instanceof FormatError) throw error;
    throw new FormatError("malformed", 0, CONSTRUCT, "it is nested too deeply or not YAML");
  }
}

function firstLine(message: string): string {
  return message.split("\n", 1)[0]!.replace(/ at line.*/, "");
}

/** LLVM's number syntax, in which a leading 0 means octal. */
const NUMBER = /^(?:0|[1-9]\d{0,19}|0[0-7]{1,22}|0[xX][0-9a-fA-F]{1,16}|0o[0-7]{1,22}|0[bB][01]{1,64})$/;
const OCTAL = /^0(?=\d)/;
const TRUE = /^(?:true|True|TRUE|yes|Yes|YES|y|Y|on|On|ON)$/;
const FALSE = /^(?:false|False|FALSE|no|No|NO|n|N|off|Off|OFF)$/;

class YamlNode {
  readonly #node: unknown;
  readonly #name: string;
  readonly #used = new Set<string>();

  constructor(node: unknown, name: string) {
    this.#node = node;
    this.#name = name;
  }

  error(detail: string): FormatError {
    const range = (this.#node as { range?: readonly number[] } | null)?.range;
    return new FormatError("malformed", range?.[0] ?? 0, CONSTRUCT, `${this.#name}: ${detail}`);
  }

  optional(key: string): YamlNode | undefined {
    const map = this.#map();
    this.#used.add(key);
    const pair = map.items.find((item) => isScalar(item.key) && item.key.value === key);
    return pair === undefined ? undefined : new YamlNode(pair.value, key);
  }

  required(key: string): YamlNode {
    const value = this.optional(key);
    if (value === undefined) throw this.error(`missing required key '${key}'`);
    return value;
  }

  assertNoOtherKeys(): void {
    for (const { key } of this.#map().items) {
      const name = isScalar(key) ? String(key.value) : "…";
      if (!this.#used.has(name)) throw this.error(`unknown key '${name}'`);
    }
  }

  items(): YamlNode[] {
    if (isScalar(this.#node) && String(this.#node.value ?? "") === "") return [];
    if (!isSeq(this.#node)) throw this.error("a list is needed");
    return this.#node.items.map((item) => new YamlNode(item, this.#name));
  }

  text(): string {
    if (!isScalar(this.#node)) throw this.error("a single value is needed");
    return String(this.#node.value ?? "");
  }

  integer(most: bigint): bigint {
    const text = this.text();
    const value = NUMBER.test(text) ? BigInt(text.replace(OCTAL, "0o")) : undefined;
    if (value === undefined || value > most) throw this.error(`"${text}" is not a number from 0 to ${most}`);
    return value;
  }

  flag(): boolean {
    const text = this.text();
    const isTrue = TRUE.test(text);
    if (!isTrue && !FALSE.test(text)) throw this.error(`"${text}" is neither true nor false`);
    return isTrue;
  }

  #map(): YAMLMap {
    if (isMap(this.#node)) return this.#node;
    throw this.error("keys and values are needed");
  }
}
