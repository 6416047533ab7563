declare module "pako" {
  export function deflate(data: Uint8Array, options: { level: number }): Uint8Array<ArrayBuffer>;
  export function deflateRaw(data: Uint8Array, options: { level: number }): Uint8Array<ArrayBuffer>;
  export function inflate(data: Uint8Array): Uint8Array<ArrayBuffer>;
  export class Inflate {
    constructor(options: { raw: boolean; chunkSize: number });
    readonly err: number;
    onData: (chunk: Uint8Array) => void;
    push(data: Uint8Array, isLast: boolean): boolean;
  }
}
