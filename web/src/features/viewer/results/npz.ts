/** Reads numpy's .npz in a browser: a zip of .npy arrays, each deflated or stored. */

export type Values = Int32Array | Float32Array | Uint8Array;

export interface NpArray {
  shape: readonly number[];
  values: Values; // the last axis changes fastest
}

const END = 0x06054b50; // end of the central directory
const ENTRY = 0x02014b50;
const END_SIZE = 22; // bytes, without a comment
const ENTRY_SIZE = 46;
const LOCAL_SIZE = 30;
const STORED = 0;
const DEFLATED = 8;

/** Return the arrays by name, without ".npy". Throws for other files, and for types of numbers that shard results do not use. */
export async function readNpz(bytes: ArrayBuffer): Promise<Map<string, NpArray>> {
  const view = new DataView(bytes);
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  const arrays = new Map<string, NpArray>();
  let at = view.getUint32(end + 16, true);
  for (let number = 0; number < count; number += 1) {
    if (view.getUint32(at, true) !== ENTRY) throw new Error('The archive of scores is damaged. Reload the page.');
    const [nameSize, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true)) as [number, number, number];
    const name = new TextDecoder().decode(new Uint8Array(bytes, at + ENTRY_SIZE, nameSize));
    const local = view.getUint32(at + 42, true);
    const start = local + LOCAL_SIZE + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const packed = new Uint8Array(bytes, start, view.getUint32(at + 20, true));
    arrays.set(name.replace(/\.npy$/, ''), readNpy(await unpackEntry(packed, view.getUint16(at + 10, true))));
    at += ENTRY_SIZE + nameSize + extra + comment;
  }
  return arrays;
}

function findEnd(view: DataView): number {
  for (let at = view.byteLength - END_SIZE; at >= 0; at -= 1) {
    if (view.getUint32(at, true) === END) return at;
  }
  throw new Error('This is not an archive of scores.');
}

async function unpackEntry(bytes: Uint8Array<ArrayBuffer>, method: number): Promise<ArrayBuffer> {
  if (method === STORED) return bytes.slice().buffer;
  if (method !== DEFLATED) throw new Error(`The archive of scores uses an unsupported compression (${method}).`);
  return decompress(bytes, 'deflate-raw');
}

export function decompress(bytes: Uint8Array<ArrayBuffer>, format: CompressionFormat): Promise<ArrayBuffer> {
  const body = new Response(bytes).body;
  if (body === null) return Promise.resolve(new ArrayBuffer(0));
  return new Response(body.pipeThrough(new DecompressionStream(format))).arrayBuffer();
}

export function readNpy(bytes: ArrayBuffer): NpArray {
  const view = new DataView(bytes);
  const isFirst = view.getUint8(6) === 1; // version 1 has a shorter length field
  const start = isFirst ? 10 : 12;
  const size = isFirst ? view.getUint16(8, true) : view.getUint32(8, true);
  const head = new TextDecoder('latin1').decode(new Uint8Array(bytes, start, size));
  const kind = /'descr':\s*'([^']+)'/.exec(head)?.[1] ?? '';
  const shape = (/'shape':\s*\(([^)]*)\)/.exec(head)?.[1] ?? '').split(',').map((text) => text.trim());
  const lengths = shape.filter((text) => text !== '').map(Number);
  const values = toTypedArray(kind, bytes.slice(start + size));
  const isByColumn = /'fortran_order':\s*True/.test(head) && lengths.length === 2;
  return { shape: lengths, values: isByColumn ? toRowMajor(values, lengths as [number, number]) : values };
}

function toTypedArray(kind: string, bytes: ArrayBuffer): Values {
  switch (kind) {
    case '<i4':
      return new Int32Array(bytes);
    case '<f4':
      return new Float32Array(bytes);
    case '|u1':
      return new Uint8Array(bytes);
    default:
      throw new Error(`Numbers of type ${kind} are not supported.`);
  }
}

function toRowMajor(values: Values, [rows, columns]: [number, number]): Values {
  const turned = values.slice();
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) turned[row * columns + column] = values[column * rows + row] ?? 0;
  }
  return turned;
}
