import { describe, expect, it } from 'vitest';
import { groupSlides } from './grouping';

const DICOM = `${'\0'.repeat(128)}DICM…`;
const picked = (path: string, content = 'bytes') => ({ path, file: new File([content], path.split('/').at(-1) ?? '') });

async function grouped(...ones: ReturnType<typeof picked>[]) {
  const { slides, strays } = await groupSlides(ones);
  return {
    slides: slides.map(({ files }) => files.map(({ name }) => name)),
    strays: Object.fromEntries(strays.map(({ path, reason }) => [path, reason])),
  };
}

describe('files become slides', () => {
  it('one each, whatever the case of their suffix', async () => {
    expect((await grouped(picked('b.NDPI'), picked('a.svs'))).slides).toEqual([['a.svs'], ['b.NDPI']]);
  });

  it('with the folder of a MIRAX slide, the .mrxs first', async () => {
    const { slides, strays } = await grouped(
      picked('case/A/Index.dat'),
      picked('case/A/Slidedat.ini'),
      picked('case/A.mrxs'),
      picked('case/B.svs'),
    );
    expect(slides).toEqual([['A.mrxs', 'A/Index.dat', 'A/Slidedat.ini'], ['B.svs']]);
    expect(strays).toEqual({});
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
    const { slides, strays } = await grouped(
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
    expect(Object.keys(strays).sort()).toEqual(['.DS_Store and 1 more', 'D/', 'empty.svs', 'lone.mrxs', 'notes.txt', 'out/heatmap.ome.tif']);
    expect(strays['notes.txt']).toMatch(/^It is no slide: those end in \.svs/);
    expect(strays['lone.mrxs']).toMatch(/folder of the same name is missing/);
    expect(strays['D/']).toMatch(/\.mrxs file is missing/);
    expect(strays['.DS_Store and 1 more']).toBe('Hidden and system files hold no slide.');
  });

  it('without their empty files, which hold nothing to send', async () => {
    expect((await grouped(picked('A.mrxs'), picked('A/Slidedat.ini'), picked('A/Data0001.dat', ''))).slides).toEqual([
      ['A.mrxs', 'A/Slidedat.ini'],
    ]);
  });
});
