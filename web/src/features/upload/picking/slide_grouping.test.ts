import { describe, expect, it } from 'vitest';
import { dicomHead } from '../../../testing/dicom';
import { groupSlides } from './slide_grouping';

const DICOM = `${'\0'.repeat(128)}DICM…`; // damaged
const TIFF = 'II*\0';
const bytes = (content: string) => Uint8Array.from(content, (letter) => letter.charCodeAt(0));
const picked = (path: string, content = 'bytes') => ({ path, file: new File([bytes(content)], path.split('/').at(-1) ?? '') });
const instance = (path: string, series: string, n: number, kind = 'VOLUME') => picked(path, dicomHead({ series, instance: `${series}.${n}`, kind }));

async function grouped(...ones: ReturnType<typeof picked>[]) {
  const { slides, ignored } = await groupSlides(ones);
  return {
    slides: slides.map(({ files }) => files.map(({ name }) => name)),
    ignored: Object.fromEntries(ignored.map(({ path, reason }) => [path, reason])),
  };
}

describe('files become slides', () => {
  it('one each, whatever the case of their suffix', async () => {
    expect((await grouped(picked('b.NDPI'), picked('a.svs'))).slides).toEqual([['a.svs'], ['b.NDPI']]);
  });

  it('with the folder of a MIRAX slide, the .mrxs first', async () => {
    const { slides, ignored } = await grouped(
      picked('case/A/Index.dat'),
      picked('case/A/Slidedat.ini'),
      picked('case/A.mrxs'),
      picked('case/B.svs'),
    );
    expect(slides).toEqual([['A.mrxs', 'A/Index.dat', 'A/Slidedat.ini'], ['B.svs']]);
    expect(ignored).toEqual({});
  });

  it('with all of a DICOM series, one a folder, with or without a suffix, which names it', async () => {
    const { slides } = await groupSlides([
      ...[picked('case/x/2.dcm'), picked('case/x/1.dcm')],
      ...[picked('y/IM0001', DICOM), picked('y/IM0002', DICOM)],
      picked('z/single.dcm'),
    ]);
    expect(slides.map(({ name, files }) => [name, ...files.map((file) => file.name)])).toEqual([
      ['x', 'x/1.dcm', 'x/2.dcm'],
      ['y', 'y/IM0001', 'y/IM0002'],
      ['single.dcm', 'single.dcm'],
    ]);
  });

  it('with what lies beside a Hamamatsu VMS', async () => {
    const { slides } = await grouped(picked('v/c.vms'), picked('v/c(1,0).jpg'), picked('v/c_map2.jpg'), picked('v/other.svs'));
    expect(slides).toEqual([['c.vms', 'c(1,0).jpg', 'c_map2.jpg'], ['other.svs']]);
  });

  it('and what is no slide is named with a reason', async () => {
    const { slides, ignored } = await grouped(
      picked('notes.txt'),
      picked('empty.svs', ''),
      picked('lone.mrxs'),
      picked('D/Slidedat.ini'),
      picked('D/Data0000.dat'),
      picked('out/heatmap.ome.tif'),
      picked('.DS_Store'),
      picked('__MACOSX/._a.svs'),
    );
    expect(slides).toEqual([]);
    expect(Object.keys(ignored).sort()).toEqual(['.DS_Store and 1 more', 'D/', 'empty.svs', 'lone.mrxs', 'notes.txt', 'out/heatmap.ome.tif']);
    expect(ignored['notes.txt']).toBe('It is no whole-slide image.');
    expect(ignored['lone.mrxs']).toMatch(/folder of the same name is missing/);
    expect(ignored['D/']).toMatch(/\.mrxs file is missing/);
    expect(ignored['.DS_Store and 1 more']).toBe('Hidden and system files hold no slide.');
  });

  it('without their empty files, which hold nothing to send', async () => {
    expect((await grouped(picked('A.mrxs'), picked('A/Slidedat.ini'), picked('A/Data0001.dat', ''))).slides).toEqual([
      ['A.mrxs', 'A/Slidedat.ini'],
    ]);
  });

  it('by their first bytes, whatever their suffix', async () => {
    const { slides } = await grouped(picked('scan', TIFF), picked('b.gtif', TIFF), picked('c.isyntax', 'MM\0+'), picked('d.svs'));
    expect(slides).toEqual([['b.gtif'], ['c.isyntax'], ['d.svs'], ['scan']]);
  });

  it('and what looks like one and is none says what it is', async () => {
    const { slides, ignored } = await grouped(
      ...[picked('a.zip', 'PK\x03\x04'), picked('a.svs.gz', '\x1f\x8b\x08'), picked('cases.xlsx', 'PK\x03\x04')],
      ...[picked('a.vsi', TIFF), picked('photo.nef', TIFF), picked('label', '\xff\xd8\xff\xe0')],
      ...[picked('b.isyntax', '<DataObject ObjectType="DPUfsImport">'), picked('z.ome.zarr/0/0'), picked('z.ome.zarr/0/1')],
      ...[picked('c.svs.part', TIFF), picked('#recycle/d.svs', TIFF)],
    );
    expect(slides).toEqual([]);
    expect(ignored).toEqual({
      'a.zip': 'It is a ZIP archive. Unpack it first.',
      'a.svs.gz': 'It is compressed. Unpack it first.',
      'cases.xlsx': 'It is a document of an office program.',
      'a.vsi': expect.stringMatching(/ets files, which are not read/) as string,
      'photo.nef': 'It is a photograph as a camera stores it.',
      label: 'It is an image without the levels of a slide.',
      'b.isyntax': 'Its format is not read. Export the slide as SVS, OME-TIFF or DICOM.',
      'c.svs.part': 'Its name is that of a download or a copy that is not complete.',
      '#recycle/d.svs': 'Hidden and system files hold no slide.',
      'z.ome.zarr/': expect.stringMatching(/^OME-Zarr is not read/) as string,
    });
  });
});

describe('DICOM files become slides', () => {
  it('by their series: two in one folder, and one over two folders', async () => {
    const { slides } = await groupSlides([
      ...[instance('case/DCM_0', '1.1', 1), instance('case/DCM_1', '1.2', 1), instance('case/DCM_2.tif', '1.1', 2)],
      ...[instance('one/IM0/a', '1.3', 1), instance('one/IM1/b', '1.3', 2)],
    ]);
    expect(slides.map(({ name, files }) => [name, ...files.map((file) => file.name)])).toEqual([
      ['DCM_0', 'DCM_0', 'DCM_2.tif'],
      ['DCM_1', 'DCM_1'],
      ['one', 'one/a', 'one/b'],
    ]);
  });

  it('without copies, labels of their own series and objects of another kind', async () => {
    const { slides, ignored } = await grouped(
      ...[instance('x/0', '1.1', 1), instance('x/0 copy', '1.1', 1), instance('x/label', '1.1', 2, 'LABEL')],
      ...[instance('y/label', '1.2', 1, 'LABEL'), picked('x/z.dcm', dicomHead({ sopClass: '1.2.840.10008.5.1.4.1.1.91.1' }))],
    );
    expect(slides).toEqual([['x/0', 'x/label']]);
    expect(Object.keys(ignored).sort()).toEqual(['x/0 copy', 'x/z.dcm', 'y/label']);
    expect(ignored['x/z.dcm']).toBe('It is DICOM, but holds no whole-slide image.');
  });

  it('with a damaged file of their folder, so that the slide is not read without it', async () => {
    const { slides } = await grouped(instance('x/0', '1.1', 1), instance('x/1', '1.1', 2), picked('x/2.dcm'));
    expect(slides).toEqual([['x/0', 'x/1', 'x/2.dcm']]);
  });
});
