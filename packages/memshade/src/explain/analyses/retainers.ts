import { entryOf } from "../../ground/bytes/entries.ts";
import type { RetainerRoot, RetainersFile, RootKind } from "../../profile/model/retainers.ts";

/** Root of paths, by its name. */
export interface NamedRoot {
  /** Kind as in retainers.json; "host": no pointer in the module's memory, but the host, JavaScript, may hold the blocks. */
  readonly kind: RootKind | "host";
  /** Variable or global; undefined if it has no name. */
  readonly name?: string | undefined;
  /** Module or object of the static data. */
  readonly module?: string | undefined;
  /** Offset of a pointer in the variable, or in the data without names. */
  readonly offset?: number | undefined;
}

/** Names that the file does not have. */
export interface RetainerNames {
  root(root: RetainerRoot): NamedRoot;
  /** Returns the place of a context, as a number that contexts of one place share. */
  placeOf(site: number): number;
  /** Returns the member of a context's blocks at an offset; undefined if their type is unknown. */
  memberAt(site: number, offset: number): string | undefined;
}

/** Blocks that hold the next ones of a path. */
export interface Holder {
  readonly place: number;
  /** Offset of the pointer to the next blocks; undefined if it is unknown. `member`: its name. */
  readonly offset?: number | undefined;
  readonly member?: string | undefined;
}

/** Blocks of one place with one way from a root. */
export interface RetainerPath {
  readonly root: NamedRoot;
  /** Holders from the root on. */
  readonly holders: readonly Holder[];
  readonly blocks: number;
  readonly bytes: number;
  /** Bytes that become unreachable without the pointers to these blocks: they, and what only they hold. */
  readonly falls: number;
  /** Bytes that become unreachable without the pointers of the root. */
  readonly fallsWithRoot: number;
}

export interface RetainedPlace {
  readonly place: number;
  /** Live blocks of the place. */
  readonly blocks: number;
  /** Sum of their sizes. */
  readonly bytes: number;
  /** Bytes that become unreachable without the pointers to any of these blocks. */
  readonly falls: number;
  /** Most bytes first. */
  readonly paths: readonly RetainerPath[];
}

export interface Retained {
  /** Live blocks of the run. Those without room in the tables are in no place. */
  readonly blocks: number;
  readonly bytes: number;
  /** Most bytes first. */
  readonly places: readonly RetainedPlace[];
}

interface Node {
  readonly parent: Node | undefined;
  readonly root: NamedRoot | undefined;
  readonly place: number;
  /** Pointer in a block of the parent. */
  readonly pointer: Omit<Holder, "place">;
  readonly below: Map<number, Node>;
  blocks: number;
  bytes: number;
}

/**
 * Returns the places of live blocks with the ways to them. Groups whose roots and places have the same names are one.
 * Whether blocks fall is decided for groups: if each way to a group leads through another one, it falls with that.
 * Sums are therefore lower bounds.
 */
export function retainedPlaces({ instances }: RetainersFile, names: RetainerNames): Retained {
  const roots = new Map<string, Node>();
  const targets = new Map<Node, Set<Node>>();
  for (const { holders, sites, offsets, blocks, bytes, froms, tos, roots: described } of instances) {
    const rootOf = new Map(described.map((root) => [root.row, root]));
    const nodes: Node[] = [];
    holders.forEach((holder, row) => {
      const site = sites[row]!;
      const node =
        holder < 0
          ? rootNode(roots, names.root(rootOf.get(row)!))
          : nodeBelow(nodes[holder]!, site < 0 ? -1 : names.placeOf(site), () =>
              pointerAt(offsets[row]!, sites[holder]!, names),
            );
      node.blocks += blocks[row]!;
      node.bytes += bytes[row]!;
      nodes.push(node);
      // The way to a group is a pointer, too, even if the table of pointers was full.
      if (holder >= 0) entryOf(targets, nodes[holder]!, () => new Set()).add(node);
    });
    froms.forEach((from, index) => {
      entryOf(targets, nodes[from]!, () => new Set()).add(nodes[tos[index]!]!);
    });
  }
  const falls = fallingBytes([...roots.values()], (node) => targets.get(node) ?? []);
  return ranked(falls);
}

function rootNode(roots: Map<string, Node>, root: NamedRoot): Node {
  const { kind, name, module, offset } = root;
  // Pointers in one variable are one root.
  const key = `${kind} ${module} ${name ?? offset}`;
  return entryOf(roots, key, () => newNode(undefined, -1, {}, root));
}

function nodeBelow(parent: Node, place: number, pointer: () => Node["pointer"]): Node {
  for (let node: Node | undefined = parent; node !== undefined; node = node.parent)
    if (node.root === undefined && node.place === place) return node;
  return entryOf(parent.below, place, () => newNode(parent, place, pointer()));
}

function newNode(parent: Node | undefined, place: number, pointer: Node["pointer"], root?: NamedRoot): Node {
  return { parent, root, place, pointer, below: new Map(), blocks: 0, bytes: 0 };
}

function pointerAt(offset: number, holder: number, names: RetainerNames): Node["pointer"] {
  if (offset < 0 || holder < 0) return {};
  return { offset, member: names.memberAt(holder, offset) };
}

/** Falling bytes by node: its own, and those of the nodes that it dominates. */
interface Falling {
  readonly order: readonly Node[];
  readonly dominators: ReadonlyMap<Node, Node>;
  readonly bytes: ReadonlyMap<Node, number>;
}

/**
 * Finds dominators by the algorithm of Cooper, Harvey and Kennedy, in the reverse postorder of a search from the roots.
 */
function fallingBytes(roots: readonly Node[], targetsOf: (node: Node) => Iterable<Node>): Falling {
  const order = reversePostorder(roots, targetsOf);
  const numbers = new Map(order.map((node, index) => [node, index]));
  const sources = order.map((): number[] => []);
  order.forEach((node, index) => {
    for (const target of targetsOf(node)) sources[numbers.get(target)!]!.push(index);
  });
  /** Dominator of each node; −1 is above all roots. Undefined: not found yet. */
  const dominators: (number | undefined)[] = order.map(({ root }) => (root === undefined ? undefined : -1));
  const meet = (one: number, other: number): number => {
    let [a, b] = [one, other];
    while (a !== b)
      if (a > b) a = dominators[a]!;
      else b = dominators[b]!;
    return a;
  };
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    order.forEach(({ root }, index) => {
      if (root !== undefined) return;
      const known = sources[index]!.filter((source) => dominators[source] !== undefined);
      const found = known.reduce(meet);
      if (found !== dominators[index]) isChanged = true;
      dominators[index] = found;
    });
  }
  const bytes = order.map((node) => node.bytes);
  for (let index = order.length - 1; index >= 0; index--) {
    const above = dominators[index]!;
    if (above >= 0) bytes[above]! += bytes[index]!;
  }
  return {
    order,
    dominators: new Map(
      order.flatMap((node, index) => (dominators[index]! < 0 ? [] : [[node, order[dominators[index]!]!]])),
    ),
    bytes: new Map(order.map((node, index) => [node, bytes[index]!])),
  };
}

function reversePostorder(roots: readonly Node[], targetsOf: (node: Node) => Iterable<Node>): Node[] {
  const seen = new Set<Node>(roots);
  const order: Node[] = [];
  const path = roots.map((node) => ({ node, targets: targetsOf(node)[Symbol.iterator]() }));
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const { value: target, done } = top.targets.next();
    if (done === true) {
      order.push(top.node);
      path.pop();
    } else if (!seen.has(target)) {
      seen.add(target);
      path.push({ node: target, targets: targetsOf(target)[Symbol.iterator]() });
    }
  }
  return order.reverse();
}

function ranked({ order, dominators, bytes }: Falling): Retained {
  const byPlace = new Map<number, Node[]>();
  for (const node of order)
    if (node.root === undefined && node.place >= 0) entryOf(byPlace, node.place, () => []).push(node);
  const isBelowSame = (node: Node): boolean => {
    for (let above = dominators.get(node); above !== undefined; above = dominators.get(above))
      if (above.root === undefined && above.place === node.place) return true;
    return false;
  };
  const sum = (nodes: readonly Node[], amount: (node: Node) => number): number =>
    nodes.reduce((total, node) => total + amount(node), 0);
  const fallsOf = (node: Node): number => bytes.get(node)!;
  const places = Array.from(byPlace, ([place, nodes]): RetainedPlace => {
    const paths = nodes.map((node): RetainerPath => {
      const [root, ...holders] = wayTo(node);
      return {
        root: root!.root!,
        holders: holders.map(({ node: holder, pointer }) => ({ place: holder.place, ...pointer })),
        blocks: node.blocks,
        bytes: node.bytes,
        falls: fallsOf(node),
        fallsWithRoot: fallsOf(root!.node),
      };
    });
    return {
      place,
      blocks: sum(nodes, (node) => node.blocks),
      bytes: sum(nodes, (node) => node.bytes),
      falls: sum(
        nodes.filter((node) => !isBelowSame(node)),
        fallsOf,
      ),
      paths: paths.sort((a, b) => b.bytes - a.bytes),
    };
  });
  return {
    blocks: sum(order, (node) => node.blocks),
    bytes: sum(order, (node) => node.bytes),
    places: places
      .filter(({ blocks }) => blocks > 0)
      .sort((a, b) => b.bytes - a.bytes || b.blocks - a.blocks),
  };
}

/** Returns the holders of a node from its root on, each with its pointer to the next. */
function wayTo(node: Node): { node: Node; root: NamedRoot | undefined; pointer: Node["pointer"] }[] {
  const way = [];
  for (let at = node; at.parent !== undefined; at = at.parent)
    way.push({ node: at.parent, root: at.parent.root, pointer: at.pointer });
  return way.reverse();
}
