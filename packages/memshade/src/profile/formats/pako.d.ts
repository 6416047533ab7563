declare module "pako" {
  export function deflate(data: Uint8Array, options: { level: number }): Uint8Array<ArrayBuffer>;
  export function gzip(data: Uint8Array): Uint8Array<ArrayBuffer>;
  /** @returns undefined if the data is cut off */
  export function inflate(data: Uint8Array): Uint8Array<ArrayBuffer> | undefined;
  export class Deflate {
    constructor(options: { raw: boolean; level: number });
    onData: (chunk: Uint8Array) => void;
    push(data: Uint8Array, isLast: boolean): boolean;
  }
  export class Inflate {
    constructor(options: { raw: boolean; chunkSize: number });
    readonly err: number;
    onData: (chunk: Uint8Array) => void;
    push(data: Uint8Array, isLast: boolean): boolean;
  }
}
