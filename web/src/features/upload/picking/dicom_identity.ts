/** Reads the series of a DICOM file from its first bytes, like wsi/slide/dicom/identity.py. Source: PS3.5, PS3.10. */

export const DICOM_HEAD = 65_536; // bytes; the UIDs are in the first 2 KB, behind private elements in 64 KB

export interface DicomIdentity {
  sopClass: string;
  instance: string; // SOPInstanceUID
  series: string; // SeriesInstanceUID; empty if the file does not state it
  kind: string; // VOLUME, LABEL, OVERVIEW, THUMBNAIL or what a vendor wrote
}

interface Element {
  tag: number;
  start: number;
  length: number; // UNDEFINED for an element that ends with a delimiter
}

export const SLIDE_CLASS = '1.2.840.10008.5.1.4.1.1.77.1.6';
const IMPLICIT = '1.2.840.10008.1.2';
const BIG_ENDIAN = '1.2.840.10008.1.2.2';
const DEFLATED = '1.2.840.10008.1.2.1.99';
const LONG_LENGTHS = new Set(['OB', 'OD', 'OF', 'OL', 'OV', 'OW', 'SQ', 'SV', 'UC', 'UN', 'UR', 'UT', 'UV']);
const UNDEFINED = 0xffff_ffff;
const SERIES = 0x0020_000e;

export function isDicom(head: Uint8Array): boolean {
  return readText(head, 128, 4) === 'DICM';
}

/** Return null if the header is damaged or the series is beyond `head`; the server reports what is wrong with the file. */
export function readIdentity(head: Uint8Array): DicomIdentity | null {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const found = new Map<number, string>();
  let syntax = '';
  let at = 132;
  try {
    while (at < head.length && readGroup(view, at) === 2) {
      const element = readElement(view, at, false);
      found.set(element.tag, readValue(head, element));
      at = element.start + element.length;
    }
    syntax = found.get(0x0002_0010) ?? '';
    if (syntax === BIG_ENDIAN || syntax === DEFLATED) return null;
    while (at < head.length) {
      const element = readElement(view, at, syntax === IMPLICIT);
      if (element.tag > SERIES) break;
      if (element.length !== UNDEFINED && element.length <= 1024) found.set(element.tag, readValue(head, element));
      at = element.length === UNDEFINED ? skipSequence(view, element.start, syntax === IMPLICIT) : element.start + element.length;
    }
  } catch {
    return null; // the header ends early
  }
  const kinds = (found.get(0x0008_0008) ?? '').split('\\');
  return {
    sopClass: found.get(0x0002_0002) ?? '',
    instance: found.get(0x0008_0018) ?? found.get(0x0002_0003) ?? '',
    series: found.get(SERIES) ?? '',
    kind: kinds[2]?.trim().toUpperCase() ?? '',
  };
}

const readGroup = (view: DataView, at: number) => view.getUint16(at, true);

function readElement(view: DataView, at: number, implicit: boolean): Element {
  const tag = readGroup(view, at) * 0x1_0000 + view.getUint16(at + 2, true);
  const isItem = readGroup(view, at) === 0xfffe; // items and delimiters have no value representation
  if (implicit || isItem) return { tag, start: at + 8, length: view.getUint32(at + 4, true) };
  const representation = String.fromCharCode(view.getUint8(at + 4), view.getUint8(at + 5));
  if (LONG_LENGTHS.has(representation)) return { tag, start: at + 12, length: view.getUint32(at + 8, true) };
  return { tag, start: at + 8, length: view.getUint16(at + 6, true) };
}

/** Return the position after a sequence or an item of undefined length. */
function skipSequence(view: DataView, start: number, implicit: boolean): number {
  let at = start;
  for (;;) {
    const element = readElement(view, at, implicit);
    if (element.tag === 0xfffe_e00d || element.tag === 0xfffe_e0dd) return element.start;
    at = element.length === UNDEFINED ? skipSequence(view, element.start, implicit) : element.start + element.length;
  }
}

function readValue(head: Uint8Array, { start, length }: Element): string {
  if (start + length > head.length) throw new RangeError('the value ends after the bytes that were read');
  return readText(head, start, length).replace(/[\0 ]+$/, '');
}

const readText = (head: Uint8Array, start: number, length: number) => String.fromCharCode(...head.subarray(start, start + length));
