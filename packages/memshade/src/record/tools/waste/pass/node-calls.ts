import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  I32,
  I64,
  OPCODE_NAME,
  type OpcodeName,
  RESULT_TYPE,
  type ValType,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { CallTreatment } from "../../../contexts/call-plan.ts";
import {
  type FramePlan,
  type FrameSnippets,
  type Frames,
  KeptHost,
} from "../../../contexts/frames/call-frames.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { operandsAbove } from "../../../rewrite/walk/access-operands.ts";
import { NO_LOCAL } from "../../../rewrite/walk/value-numbers.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import type { FramedSites } from "../framed-sites.ts";
import { BodySink } from "./body-sink.ts";
import type { StreamTargets } from "./loop-streams.ts";
import type { SnippetAddress } from "./shadow-words.ts";
import {
  checkAddress,
  computeAddress,
  computeNear,
  type FixedRecords,
  type FramedRecords,
  type SiteRecords,
  trapTooFar,
} from "./sites.ts";
import type { SummarySnippets } from "./summary-snippets.ts";

interface NodeTargets {
  plan: FramePlan;
  /** Global with the node of the context at hand. */
  nodeGlobal: number;
  /** The tool's memory. */
  memory: number;
  /** (code offset of a call) → node of what it calls. */
  enter: number;
  /** Where the host stands; the global above is what they count from 0. */
  snippets: FrameSnippets;
}

/**
 * What calls do to the calling context in precise mode. A global has the node at hand: a call changes it, and puts back
 * what the function keeps in a local. Whoever catches an exception puts it back too, and wrappers around what the host may
 * call set it to where the host stands.
 */
export class NodeCalls {
  readonly #targets: NodeTargets;
  readonly #catches: boolean;
  readonly #host: KeptHost;
  #state!: WalkState;
  #codeStart = 0;
  #local = NO_LOCAL;

  /** `catches`: whether functions of the module may catch exceptions. */
  constructor(targets: NodeTargets, catches: boolean) {
    this.#targets = targets;
    this.#catches = catches;
    this.#host = new KeptHost(targets.snippets);
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#codeStart = codeStart;
    this.#local = NO_LOCAL;
    this.#host.begin();
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    const { plan, snippets, nodeGlobal, enter } = this.#targets;
    const { insertions, module } = this.#state;
    const treatment = plan.treatment(this.#state.function, callee, isTail);
    if (treatment === CallTreatment.None) return;
    const leavesForGood = !isTail && plan.leavesForGood(callee);
    const leaves = callee >= 0;
    if (treatment === CallTreatment.Host || leavesForGood)
      this.#host.around(this.#state, start, end, leaves || leavesForGood);
    if (treatment === CallTreatment.Keep) return;
    const node = this.#node();
    insertions.add(start, {
      write(sink) {
        sink.i32(start - module.codePayloadStart);
        sink.indexed(Op.CALL, enter);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
      },
    });
    if (treatment === CallTreatment.Host)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves) });
    if (treatment === CallTreatment.KeepHost)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves, node) });
    if (!isTail) this.#putBack(end, node);
  }

  /** What follows at `position` may be what comes behind a throw. */
  caught(position: number): void {
    if (this.#catches) this.#putBack(position, this.#node());
  }

  /** Puts the node at hand into a word of the tool's memory, before the instruction at `start`. */
  note(start: number, word: number): void {
    const { nodeGlobal, memory } = this.#targets;
    this.#state.insertions.add(start, {
      write(sink) {
        sink.i32(0);
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.access(Op.I32_STORE, 2, memory, word);
      },
    });
  }

  /** The local with the function's own node. */
  #node(): number {
    if (this.#local !== NO_LOCAL) return this.#local;
    const { nodeGlobal } = this.#targets;
    const local = extraLocal(this.#state.temporaries, I32);
    this.#local = local;
    this.#state.insertions.add(this.#codeStart, {
      write(sink) {
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.local(Op.LOCAL_SET, local);
      },
    });
    return local;
  }

  #putBack(position: number, node: number): void {
    const { nodeGlobal } = this.#targets;
    this.#state.insertions.add(position, {
      write(sink) {
        sink.local(Op.LOCAL_GET, node);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
      },
    });
  }
}

/** The instruction's address is in a local, as it takes it; what follows the access takes `followed`. */
interface Accessed {
  whole: number;
  followed: SnippetAddress;
}

/**
 * Functions that take the place of plain loads and stores where code size counts more than time. Parameters: those of
 * the instruction, then its displacement, and what `SiteRecords.pushCold` pushes.
 */
export class SummaryFunctions {
  readonly #appended: AppendedFunctions;
  readonly #snippets: SummarySnippets;
  readonly #memory64: boolean;
  readonly #made = new Map<number, number>();
  #tooFar = -1;

  /** `memory64`: addresses are i64. */
  constructor(appended: AppendedFunctions, snippets: SummarySnippets, memory64: boolean) {
    this.#appended = appended;
    this.#snippets = snippets;
    this.#memory64 = memory64;
  }

  get(op: number): number {
    const known = this.#made.get(op);
    if (known !== undefined) return known;
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    const record: ValType[] = Array(this.#snippets.records.coldOperands).fill(I32);
    const type = this.#appended.typeIndex(
      [this.#memory64 ? I64 : I32, ...operandsAbove(op), I32, ...record],
      isStore ? [] : [RESULT_TYPE[op]],
    );
    const index = this.#appended.add(type, () => (isStore ? this.#store(op) : this.#load(op)));
    this.#made.set(op, index);
    return index;
  }

  #load(op: number): Uint8Array {
    const record = 2;
    const result = record + this.#snippets.records.coldOperands;
    const body = new BodyBuilder([RESULT_TYPE[op], ...this.#addressTypes()]);
    const sink = new BodySink(body);
    const { whole, followed } = this.#address(body, 1, result + 1);
    body
      .op("local.get", whole)
      .op(OPCODE_NAME[op] as OpcodeName, 0, 0)
      .op("local.set", result);
    this.#snippets.records.setCold(sink, record);
    this.#snippets.followLoad(sink, ACCESS_BYTES[op], followed, record);
    return body.op("local.get", result).finish();
  }

  #store(op: number): Uint8Array {
    const value = 1;
    const record = 3;
    const id = record + this.#snippets.records.coldOperands;
    const body = new BodyBuilder([I64, ...this.#addressTypes()]);
    const sink = new BodySink(body);
    const { whole, followed } = this.#address(body, 2, id + 1);
    this.#snippets.records.setCold(sink, record);
    body.op("local.get", whole);
    sink.local(Op.LOCAL_GET, value);
    const size = ACCESS_BYTES[op];
    this.#snippets.compareCold(sink, op, size, { whole, followed, value, store: record });
    body.op(OPCODE_NAME[op] as OpcodeName, 0, 0);
    this.#snippets.followStore(sink, size, followed, record, id);
    return body.finish();
  }

  /** Types of locals with an address: an i32, and what the access itself takes. */
  #addressTypes(): ValType[] {
    return this.#memory64 ? [I32, I64] : [I32];
  }

  /** Adds the displacement that a parameter has to the address, in the locals from `address` on. */
  #address(body: BodyBuilder, parameter: number, address: number): Accessed {
    const followed = { local: address, constant: 0, displacement: 0, isWide: false };
    if (!this.#memory64) {
      computeNear(body, parameter, address, this.#trap());
      return { whole: address, followed };
    }
    const whole = address + 1;
    computeAddress(body, parameter, address, whole);
    checkAddress(body, address, whole);
    return { whole, followed };
  }

  #trap(): number {
    if (this.#tooFar < 0)
      this.#tooFar = this.#appended.add(this.#appended.typeIndex([], []), () => trapTooFar());
    return this.#tooFar;
  }
}

/** What follows plain accesses quickly. */
export interface SummaryParts {
  snippets: SummarySnippets;
  functions: SummaryFunctions;
  /** 1 for each site that is followed inline. */
  inlined: Uint8Array;
  streams: StreamTargets;
  /** Frames of contexts, where they are told apart; otherwise the records of sites. */
  framed: FramedParts | undefined;
  fixed: FixedRecords | undefined;
}

interface FramedParts {
  frames: Frames;
  sites: FramedSites;
  records: FramedRecords;
}

export interface PassTargets {
  /** Bytes of the program's memory that are followed. */
  covered: number;
  /** Keys of sites, which functions in the place of accesses get too. */
  records: SiteRecords;
  /** Id of the first store. */
  firstId: number;
  notePages: number;
  /** Gets the operand of memory.grow and hands it on, or one too large; −1: the memory's own maximum does. */
  growing: number;
  /** Gets the result of memory.grow and hands it on. */
  grown: number;
  /** Imported functions of which it is known what they read and write, by index. */
  exactImports: ReadonlySet<number>;
  /** What an opaque host may have read; −1 where the host is none. */
  hostMayRead: number;
  /** What takes the place of setting the stack pointer; −1 for nothing. */
  stackMoved: number;
  /** How calls change contexts in precise mode; undefined where nobody asks for them. */
  nodes: NodeTargets | undefined;
  /** Words of the control block: site of a store, of a load, of an allocation. */
  storeSite: number;
  loadSite: number;
  allocationSite: number;
  /** Word of the control block with the context of that. */
  allocationNode: number;
  zeroedSite: number;
  returnSite: number;
  /** Address where the beginnings of loops are counted, by the key of the first access that is counted with them; undefined: nowhere. */
  loopsOf: ((key: number, isStore: boolean) => number) | undefined;
  /** Whether calls of the allocator, and ends of frames, are told apart by place. */
  notesPlaces: boolean;
}
