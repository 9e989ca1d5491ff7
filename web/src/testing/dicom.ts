/** Writes the first bytes of a DICOM file, in explicit little endian, as far as the page reads them. */

export interface Written {
  series?: string;
  instance?: string;
  kind?: string;
  sopClass?: string;
}

export function dicomHead({ series = '1.2.3', instance = '1.2.3.1', kind = 'VOLUME', sopClass = '1.2.840.10008.5.1.4.1.1.77.1.6' }: Written = {}): string {
  return [
    '\0'.repeat(128) + 'DICM',
    element(0x0002, 0x0002, 'UI', sopClass),
    element(0x0002, 0x0010, 'UI', '1.2.840.10008.1.2.1'),
    element(0x0008, 0x0008, 'CS', `ORIGINAL\\PRIMARY\\${kind}\\NONE`),
    element(0x0008, 0x0018, 'UI', instance),
    // A sequence of undefined length, with an item of undefined length, as pydicom and Bio-Formats write them.
    `${tag(0x0009, 0x1001)}SQ\0\0\xff\xff\xff\xff`,
    `${tag(0xfffe, 0xe000)}\xff\xff\xff\xff${element(0x0008, 0x0104, 'LO', 'inside')}${tag(0xfffe, 0xe00d)}\0\0\0\0`,
    `${tag(0xfffe, 0xe0dd)}\0\0\0\0`,
    element(0x0020, 0x000d, 'UI', `${series}.0`),
    element(0x0020, 0x000e, 'UI', series),
    element(0x0028, 0x0010, 'US', '\x40\0'),
  ].join('');
}

function element(group: number, number: number, representation: string, value: string): string {
  const padded = value.length % 2 ? `${value}\0` : value;
  return tag(group, number) + representation + short(padded.length) + padded;
}

const tag = (group: number, number: number) => short(group) + short(number);
const short = (value: number) => String.fromCharCode(value & 0xff, value >> 8);
