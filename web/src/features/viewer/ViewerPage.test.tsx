import { act, fireEvent, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiProblem } from '../../api/problem';
import { expectAccessible } from '../../testing/axe';
import { FakeApi, type Reply } from '../../testing/fakes';
import { renderPage } from '../../testing/render';
import type { Pyramid } from './engine/pyramid';
import { FoundObjects, packObjects } from './results/found_objects';
import type { Feature } from './results/geojson';
import type { Job } from './results/queries';
import { openedEngines } from './testing/fake_engine';
import { PLAN, SHARD } from './testing/shard_files';

vi.mock('./engine/openseadragon_engine', () => import('./testing/fake_engine'));

/** Addresses of the files of outlines that were loaded. There are no workers here. */
const loadedObjects: string[] = [];
vi.mock('./results/load_objects', () => ({
  loadObjects: async (url: string) => {
    loadedObjects.push(url);
    return new FoundObjects(await packObjects(makeNucleus()));
  },
}));

async function* makeNucleus(): AsyncGenerator<Feature> {
  const coordinates = [[[140, 50], [160, 50], [160, 70], [140, 70], [140, 50]]];
  const properties = { classification: { name: 'Nucleus' }, measurements: { 'Area µm^2': 58.32, Solidity: 0.9 } };
  yield await Promise.resolve({ type: 'Feature', geometry: { type: 'Polygon', coordinates }, properties });
}

const PYRAMID: Pyramid = {
  etag: 'e1',
  width: 400,
  height: 150,
  mpp_x: 0.5,
  mpp_y: 0.5,
  bounds: null,
  levels: [],
  tile_url: '/t',
  note: null,
  choice: null,
  warnings: ['Pen marks were found.'],
};

function job(id: string, changes: Partial<Job> = {}): Job {
  return {
    job_id: id,
    slide_id: 's1',
    model: 'tumour-finder',
    model_version: '2.0',
    status: 'COMPLETED',
    sentence: null,
    tiles_planned: 4,
    created_at: '2026-11-28T12:00:00Z',
    options: {},
    ...changes,
  } as Job;
}

const SUMMARY = {
  grid: { side: 100, side_y: 50, stride: 100, stride_y: 50, columns: 4, rows: 3 },
  model: { columns: [{ name: 'tumour', low: 0, high: 1 }, { name: 'stroma', low: 0, high: 1 }] },
  tiles: { inferred: 2 },
  unreadable: [{ minx: 200, miny: 0, reason: 'tile 7 is damaged' }],
  warnings: [],
};
const TABLE = 'minx,miny,width,height,tumour,stroma\n0,0,100,50,0.25,0.75\n100,50,100,50,0.9,0.1\n';
const BOXES = 'minx,miny,width,height\n0,0,100,50\n100,50,100,50\n';
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

const result = (name: string) => ({ name, size: 1200, sha256: '0', media_type: 'x', url: `http://store/${name}` });

function api(changes: Record<string, Reply | Reply[]> = {}): FakeApi {
  return new FakeApi({
    'GET /me': { body: { tenant: 't', subject: 'user:1', role: 'viewer' } },
    'GET /slides/s1': { body: { slide_id: 's1', name: 'prostate.svs', status: 'READY' } },
    'GET /slides/s1/pyramid': { body: PYRAMID },
    'GET /jobs?slide_id=s1&limit=100': { body: { items: [job('j1'), job('j2')], next_cursor: null } },
    'GET /jobs/j1': { body: job('j1') },
    'GET /jobs/j2': { body: job('j2') },
    'GET /jobs/j1/results': { body: { items: ['tiles.csv', 'summary.json', 'tissue.png'].map(result), next_cursor: null } },
    'GET /jobs/j2/results': { body: { items: ['tiles.csv', 'summary.json'].map(result), next_cursor: null } },
    ...changes,
  });
}

/** What the store of results holds, unless a test stores something else. */
const STORE: Record<string, () => Response> = {
  'http://store/tiles.csv': () => new Response(TABLE),
  'http://store/summary.json': () => new Response(JSON.stringify(SUMMARY)),
  'http://store/plan': () => new Response(bytesOf(PLAN)),
  'http://store/shard': () => new Response(bytesOf(SHARD)),
};

const changed = new Map<string, string>();
const store = (url: string, text: string) => changed.set(url, text);

beforeEach(() => {
  changed.clear();
  loadedObjects.length = 0;
  openedEngines.length = 0;
  history.replaceState(null, '', '/');
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  vi.spyOn(globalThis, 'fetch').mockImplementation((url) =>
    Promise.resolve(changed.has(url as string) ? new Response(changed.get(url as string)) : STORE[url as string]?.() ?? new Response(null, { status: 403 })),
  );
});

const stage = async () => {
  await waitFor(() => {
    expect(openedEngines).not.toHaveLength(0);
  });
  return openedEngines[0]!; // eslint-disable-line @typescript-eslint/no-non-null-assertion -- waited for
};

describe('the viewer', () => {
  it('shows the slide, its scale and its warnings, and offers the results that there are', async () => {
    renderPage('/view/s1', api());
    expect(await screen.findByRole('heading', { level: 1, name: 'prostate.svs' })).toBeVisible();
    expect(await screen.findByText('Pen marks were found.')).toBeVisible();
    expect(await screen.findByRole('img', { name: 'Scale bar: 500 µm' })).toBeVisible();
    expect(screen.getByText('2×')).toBeVisible();
    await waitFor(() => {
      expect(within(screen.getByLabelText('Result')).getAllByRole('option')).toHaveLength(3);
    });
    expect(screen.queryByLabelText('Heatmap')).toBeNull();
    await expectAccessible();
  });

  it('says what the slide lacks', async () => {
    renderPage('/view/s1', api({ 'GET /slides/s1/pyramid': { body: { ...PYRAMID, mpp_x: null, note: 'Only an overview.' } } }));
    expect(await screen.findByText('Only an overview.')).toBeVisible();
    expect(await screen.findByText('10 % of full resolution · scale unknown')).toBeVisible();
    const refused = { status: 409, body: { type: '/problems/conflict', detail: 'The slide is archived: restore it.' } };
    renderPage('/view/s1', api({ 'GET /slides/s1/pyramid': refused }));
    expect(await screen.findByText('The slide is archived: restore it.')).toBeVisible();
  });

  it('shows the scores of the tile that is pointed at, and which could not be read', async () => {
    renderPage('/view/s1?job=j1', api());
    expect(await screen.findByText('2 tiles with scores, 1 unreadable (hatched)')).toBeVisible();
    const engine = await stage();
    act(() => {
      engine.follow({ x: 400, y: 300, zoom: 1 });
    });
    const surface = screen.getByRole('button', { name: 'Zoom in' }).parentElement?.parentElement as HTMLElement;
    fireEvent.pointerMove(surface, { clientX: 150, clientY: 60 });
    const card = await screen.findByRole('table', { name: 'Scores of this tile' });
    expect(within(card).getByRole('row', { name: 'tumour 0.9' })).toBeVisible();
    fireEvent.pointerMove(surface, { clientX: 250, clientY: 10 });
    expect(await screen.findByText('tile 7 is damaged')).toBeVisible();
    await expectAccessible();
  });

  it('reads the scores of the tile in the middle aloud, while keys move the slide', async () => {
    renderPage('/view/s1?job=j1', api());
    expect(await screen.findByText('2 tiles with scores, 1 unreadable (hatched)')).toBeVisible();
    const engine = await stage();
    const spoken = (text: string) => screen.findByText(text, { selector: '[role=status]' });
    act(() => {
      engine.follow({ x: 150, y: 75, zoom: 1 });
      engine.opening.onKey('Enter');
    });
    expect(await spoken('tumour 0.9, x 100, y 50 px.')).toBeInTheDocument();
    expect(screen.getByRole('table', { name: 'Scores of this tile' })).toBeVisible();
    act(() => {
      engine.follow({ x: 250, y: 10, zoom: 1 });
    });
    expect(await spoken('Could not be read: x 200, y 0 px.')).toBeInTheDocument();
    act(() => {
      engine.follow({ x: 50, y: 140, zoom: 1 });
    });
    expect(await spoken('No tile was analysed here.')).toBeInTheDocument();
    act(() => {
      engine.opening.onKey('Escape');
      engine.follow({ x: 150, y: 75, zoom: 1 });
    });
    expect(screen.queryByText(/^tumour 0.9, /)).toBeNull();
    expect(screen.queryByRole('table', { name: 'Scores of this tile' })).toBeNull();
  });

  it('leads to the highest tiles without a pointer', async () => {
    renderPage('/view/s1?job=j1', api());
    await userEvent.click(await screen.findByText('Highest-scoring tiles'));
    await userEvent.click(screen.getByRole('button', { name: 'Go to tile 1, score 0.9' }));
    expect((await stage()).at).toMatchObject({ x: 150, y: 75 });
    expect(screen.getByRole('table', { name: 'Scores of this tile' })).toBeVisible();
    await userEvent.selectOptions(screen.getByLabelText('Class'), 'stroma');
    expect(screen.getByRole('button', { name: 'Go to tile 1, score 0.75' })).toBeVisible();
  });

  it('names what opens each file', async () => {
    renderPage('/view/s1?job=j1', api());
    await userEvent.click(await screen.findByText('Files of this job'));
    expect(screen.getByText(/^Place of each tile, and its scores if the model gives any. Opens in: Excel/)).toBeVisible();
    await expectAccessible();
  });

  it('fills in while the job runs, by the plan that says where tiles lie', async () => {
    const running = job('j1', { status: 'RUNNING' });
    const look: Reply = { body: { items: [{ shard: 0, tiles: 4, url: 'http://store/shard' }], after: 'AQ==', plan_url: 'http://store/plan', output: 'classification' } };
    const nothing: Reply = { body: { items: [], after: 'AQ==', plan_url: null, output: 'classification' } };
    const server = api({
      'GET /jobs/j1': { body: running },
      'GET /jobs/j1/partial?limit=20': look,
      'GET /jobs/j1/partial?after=AQ%3D%3D&limit=20': nothing,
    });
    renderPage('/view/s1?job=j1', server);
    expect(await screen.findByText('4 of 4')).toBeVisible();
    expect(screen.getByText('3 tiles with scores, 1 unreadable (hatched)')).toBeVisible();
    expect(screen.getByText('pen marks')).toBeVisible();
    expect(screen.queryByText('Files of this job')).toBeNull();
    await expectAccessible();
  });

  it('shows columns by their title, in their unit, and colours by the scores where the range means nothing', async () => {
    const columns = [{ name: 'til', low: 0, high: 1, title: 'Lymphocytes', unit: '%', meaning: 'Share of nuclei.', has_range: false }];
    store('http://store/summary.json', JSON.stringify({ ...SUMMARY, model: { columns, output: 'regression' } }));
    store('http://store/tiles.csv', 'minx,miny,width,height,til\n0,0,100,50,12\n100,50,100,50,30\n');
    renderPage('/view/s1?job=j1', api());
    expect(await screen.findByRole('img', { name: 'Legend: Lymphocytes from 12 % to 30 %' })).toBeVisible();
    expect(screen.getByRole('option', { name: 'Lymphocytes' })).toBeInTheDocument();
    expect(screen.getByText('Share of nuclei.')).toBeVisible();
    expect(screen.getByLabelText('Hide scores below')).toHaveAttribute('max', '30');
    await userEvent.click(screen.getByText('Highest-scoring tiles'));
    await userEvent.click(screen.getByRole('button', { name: 'Go to tile 1, score 30 %' }));
    expect(screen.getByRole('row', { name: 'Lymphocytes 30 %' })).toBeVisible();
    await expectAccessible();
  });

  it('draws the tiles of an embedding, which has no scores', async () => {
    store('http://store/summary.json', JSON.stringify({ ...SUMMARY, model: { columns: [], output: 'embedding', embedding: { dimensions: 1280 } } }));
    store('http://store/tiles.csv', BOXES);
    renderPage('/view/s1?job=j1', api());
    expect(await screen.findByText('2 tiles with a vector of 1,280 numbers each, 1 unreadable (hatched)')).toBeVisible();
    expect(screen.getByText(/^The vectors are in features.h5/)).toBeVisible();
    for (const label of ['Class', 'Heatmap', 'Opacity', 'Hide scores below']) expect(screen.queryByLabelText(label)).toBeNull();
    expect(screen.queryByText('Highest-scoring tiles')).toBeNull();
    expect(screen.getByLabelText('Analysed tiles')).toBeChecked();
    const engine = await stage();
    act(() => {
      engine.follow({ x: 150, y: 75, zoom: 1 });
      engine.opening.onKey('Enter');
    });
    expect(await screen.findByText('Analysed: x 100, y 50 px.', { selector: '[role=status]' })).toBeInTheDocument();
    expect(screen.getByText('Analysed', { exact: true })).toBeVisible();
    await expectAccessible();
  });

  it('counts the objects of a detection, and describes the one under the pointer', async () => {
    const model = { columns: [], output: 'detection', objects: { classes: ['Nucleus'] } };
    store('http://store/summary.json', JSON.stringify({ ...SUMMARY, model, objects: { found: 1204, classes: { Nucleus: 1204 } } }));
    store('http://store/tiles.csv', BOXES);
    const files = ['objects.geojson.gz', 'objects.full.geojson.gz', 'tiles.csv', 'summary.json'].map(result);
    renderPage('/view/s1?job=j1', api({ 'GET /jobs/j1/results': { body: { items: files, next_cursor: null } } }));
    expect(await screen.findByText('2 tiles searched for objects, 1 unreadable (hatched)')).toBeVisible();
    expect(screen.getByRole('row', { name: 'Nucleus 1,204' })).toBeVisible();
    expect(screen.getByLabelText('Object outlines')).toBeChecked();
    expect(screen.getByLabelText('Analysed tiles')).not.toBeChecked();
    await waitFor(() => {
      expect(loadedObjects).toEqual(['http://store/objects.full.geojson.gz']); // from the corner of level 0
    });
    const engine = await stage();
    act(() => {
      engine.follow({ x: 400, y: 300, zoom: 1 });
    });
    const surface = screen.getByRole('button', { name: 'Zoom in' }).parentElement?.parentElement as HTMLElement;
    await waitFor(() => {
      fireEvent.pointerMove(surface, { clientX: 150, clientY: 60 });
      expect(screen.getByRole('group', { name: 'Object under the pointer' })).toBeVisible();
    });
    expect(screen.getByRole('row', { name: 'Area 58.3 µm²' })).toBeVisible();
    act(() => {
      engine.opening.onPick({ x: 150, y: 60 });
    });
    fireEvent.pointerMove(surface, { clientX: 10, clientY: 140 });
    expect(screen.getByRole('group', { name: 'Chosen object' })).toBeVisible();
    await expectAccessible();
  });

  it.each([
    ['embedding', 'The vectors are a file once the job has ended.'],
    ['detection', 'Outlines are drawn once the job has ended.'],
  ])('counts the tiles of a running %s, and loads nothing of it', async (output, sentence) => {
    const running = job('j1', { status: 'RUNNING', tiles_inferred: 2, tiles_unreadable: 1 });
    const partial: Reply = { body: { items: [], after: '', plan_url: null, output } };
    const server = api({ 'GET /jobs/j1': { body: running }, 'GET /jobs/j1/partial?limit=20': partial });
    renderPage('/view/s1?job=j1', server);
    expect(await screen.findByText(sentence)).toBeVisible();
    expect(screen.getByText('3 of 4')).toBeVisible();
    expect(screen.queryByText('Loading the results')).toBeNull();
    expect(screen.queryByLabelText('Heatmap')).toBeNull();
    expect(globalThis.fetch).not.toHaveBeenCalled();
    await expectAccessible();
  });

  it('puts two results side by side that move together', async () => {
    renderPage('/view/s1?job=j1&job=j2', api());
    await waitFor(() => {
      expect(openedEngines).toHaveLength(2);
    });
    expect(await screen.findByRole('region', { name: 'Right result' })).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Zoom in' }));
    expect(openedEngines.map(({ at }) => at.zoom)).toEqual([0.2, 0.2]);
    await waitFor(() => {
      expect(window.location.hash).toBe('#x=1000&y=1000&z=0.2');
    });
    await userEvent.selectOptions(screen.getByLabelText('Compare with'), 'The slide alone');
    expect(screen.queryByRole('region', { name: 'Right result' })).toBeNull();
    await expectAccessible();
  });

  it('does not draw the result of another slide', async () => {
    renderPage('/view/s1?job=j1', api({ 'GET /jobs/j1': { body: job('j1', { slide_id: 's2' }) } }));
    expect(await screen.findByText('This job analysed another slide. Choose a job of this slide.')).toBeVisible();
    expect(screen.queryByLabelText('Class')).toBeNull();
  });

  it('does not draw a result over another image of the slide than the one that was analysed', async () => {
    const ofImage = (picture: number) => ({ optical_path: null, focal_plane: null, picture });
    const analysed = { body: job('j1', { options: { choice: ofImage(1) } }) };
    const { unmount } = renderPage('/view/s1?job=j1', api({ 'GET /jobs/j1': analysed, 'GET /slides/s1/pyramid': { body: { ...PYRAMID, choice: ofImage(2) } } }));
    expect(await screen.findByText(/analysed another image of the slide/)).toBeVisible();
    expect(screen.queryByLabelText('Class')).toBeNull();
    unmount();
    // A choice of before images were numbered names no number.
    const before = { body: job('j1', { options: { choice: { optical_path: '2', focal_plane: null } } }) };
    const choice = { optical_path: '2', focal_plane: null, picture: null };
    renderPage('/view/s1?job=j1', api({ 'GET /jobs/j1': before, 'GET /slides/s1/pyramid': { body: { ...PYRAMID, choice } } }));
    expect(await screen.findByLabelText('Class')).toBeVisible();
    expect(screen.queryByText(/another image/)).toBeNull();
  });

  it('tells of a tile that does not come', async () => {
    const server = api();
    renderPage('/view/s1', server);
    const engine = await stage();
    await expect(engine.opening.tile(0, 1, 2, new AbortController().signal)).rejects.toMatchObject({ status: 404 });
    expect(server.seen.at(-1)?.address).toBe('/slides/s1/tiles/0/1_2.jpeg?v=e1');
    expect(server.seen.at(-1)?.headers.get('Accept')).toBe('image/jpeg');
    act(() => {
      engine.opening.onProblem(new Error('The store does not answer.'));
    });
    expect(await screen.findByText('The store does not answer.')).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(screen.queryByText('The store does not answer.')).toBeNull();
  });

  it('loads the pyramid anew when a tile is of another version of the slide', async () => {
    const server = api();
    renderPage('/view/s1', server);
    const engine = await stage();
    act(() => {
      engine.opening.onProblem(new ApiProblem(409, 'source_changed', 'Load the pyramid again.'));
    });
    await waitFor(() => {
      expect(server.seen.filter(({ address }) => address === '/slides/s1/pyramid')).toHaveLength(2);
    });
  });

  it('goes on with a new token when the old one runs out', async () => {
    const tile = 'GET /slides/s1/tiles/0/1_2.jpeg?v=e1';
    const server = api({ [tile]: [{ status: 401, body: { type: '/problems/unauthenticated' } }, { body: 'bytes' }] });
    renderPage('/view/s1', server);
    await (await stage()).opening.tile(0, 1, 2, new AbortController().signal);
    expect(server.seen.at(-1)?.headers.get('Authorization')).toBe('Bearer token-2');
  });

  it('shows why results cannot be had', async () => {
    const server = api({ 'GET /jobs/j1/results': { status: 403, body: { type: '/problems/forbidden', detail: 'Ask an admin.' } } });
    renderPage('/view/s1?job=j1', server);
    expect(await screen.findByText('Ask an admin.')).toBeVisible();
    await expectAccessible();
  });
});
