import { describe, expect, it } from 'vitest';
import { readNpy, readNpz } from './npz';
import { SHARD } from '../testing/shard_files';

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer;

describe("a worker's shard, as numpy packs it", () => {
  it('gives its arrays with their shapes', async () => {
    const arrays = await readNpz(bytesOf(SHARD));
    expect([...arrays.keys()]).toEqual(['head', 'tiles', 'scores', 'quality']);
    expect(arrays.get('tiles')).toEqual({ shape: [3], values: new Int32Array([2, 0, 1]) });
    expect(arrays.get('scores')).toEqual({ shape: [3, 2], values: new Float32Array([0.25, 0.75, 0.5, 0.125, 1, 0]) });
    const head = JSON.parse(new TextDecoder().decode(arrays.get('head')?.values)) as { unreadable: unknown };
    expect(head.unreadable).toEqual({ '3': 'tile 7 is damaged' });
  });

  it('is refused when it is none, or cut off', async () => {
    await expect(readNpz(new ArrayBuffer(100))).rejects.toThrow('not an archive');
    await expect(readNpz(bytesOf(SHARD).slice(0, 200))).rejects.toThrow('not an archive');
  });
});

describe('an array of numpy', () => {
  const npy = (head: string, values: ArrayBuffer) => {
    const text = new TextEncoder().encode(head.padEnd(117) + '\n');
    const bytes = new Uint8Array(10 + text.length + values.byteLength);
    bytes.set([0x93, 78, 85, 77, 80, 89, 1, 0, text.length, 0]);
    bytes.set(text, 10);
    bytes.set(new Uint8Array(values), 10 + text.length);
    return bytes.buffer;
  };

  it('that lies column by column is turned', () => {
    const found = readNpy(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", new Int32Array([1, 4, 2, 5, 3, 6]).buffer));
    expect(found).toEqual({ shape: [2, 3], values: new Int32Array([1, 2, 3, 4, 5, 6]) });
  });

  it('of a kind that shards lack is refused by name', () => {
    expect(() => readNpy(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", new ArrayBuffer(8)))).toThrow('<f8');
  });
});
