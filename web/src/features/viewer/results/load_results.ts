/** Loads a job's results into the viewer: from its result files, or from its finished shards while it runs. */
import type { ApiClient } from '../../../api/client';
import type { Schema } from '../../../api/routes';
import type { OutputKind } from './output';
import { readTiles } from './tiles_csv';
import { decompress, readNpz } from './npz';
import { type Column, type Grid, TileScores } from './tile_scores';

export type ResultFile = Schema<'ResultAnswer'>;
type Shard = Schema<'PartialShard'>;

/** The objects of a slide, as its summary counts them. */
export interface ObjectTotals {
  found: number;
  classes: Readonly<Record<string, number>>;
}

export interface TileResults {
  output: OutputKind;
  dimensions: number | null; // numbers of a tile's vector
  objects: ObjectTotals | null;
  columns: readonly Column[];
  scores: TileScores;
  warnings: readonly string[];
  files: readonly ResultFile[]; // none while it runs
}

interface Summary {
  grid: Grid;
  model: { columns: Column[]; output?: OutputKind; embedding?: { dimensions: number } };
  objects?: ObjectTotals;
  tiles: { inferred: number };
  unreadable: { minx: number; miny: number; reason: string }[];
  warnings: string[];
}

interface PlanFile {
  grid: Grid;
  card: { columns: Column[]; output?: OutputKind };
  tiles: string; // x, y of each tile's box: little-endian int32, zlib, base64
  warnings: string[];
}

export interface Plan {
  results: TileResults;
  origins: Int32Array; // x, y by tile number, level-0 px
}

const DEFAULT_OUTPUT: OutputKind = 'regression'; // of results from before there were kinds

async function fetchOk(url: string, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`Loading the results failed with status ${answer.status}. Try again.`);
  return answer;
}

export async function listResultFiles(api: ApiClient, jobId: string, signal?: AbortSignal): Promise<readonly ResultFile[]> {
  const request = { path: { job_id: jobId }, ...(signal ? { signal } : {}) };
  return (await api.get('/jobs/{job_id}/results', request)).items;
}

/** Fetch a result file; null if the job has none of that name. */
export async function fetchResultFile(api: ApiClient, jobId: string, name: string, signal: AbortSignal): Promise<Response | null> {
  const file = (await listResultFiles(api, jobId, signal)).find((found) => found.name === name);
  return file ? fetchOk(file.url, signal) : null;
}

export async function loadFinalResults(api: ApiClient, jobId: string, signal: AbortSignal): Promise<TileResults> {
  const files = await listResultFiles(api, jobId, signal);
  const urlOf = (name: string) => {
    const file = files.find((found) => found.name === name);
    if (file === undefined) throw new Error(`The results of this job lack ${name}, so nothing can be drawn.`);
    return file.url;
  };
  const summary = (await (await fetchOk(urlOf('summary.json'), signal)).json()) as Summary;
  const { columns, output = DEFAULT_OUTPUT, embedding } = summary.model;
  const scores = new TileScores(summary.grid, columns.length, summary.tiles.inferred);
  const table = (await fetchOk(urlOf('tiles.csv'), signal)).body;
  if (table !== null) await readTiles(table, scores);
  for (const { minx, miny, reason } of summary.unreadable) scores.putUnreadable(minx, miny, reason);
  const { warnings, objects = null } = summary;
  return { output, dimensions: embedding?.dimensions ?? null, objects, columns, scores, warnings, files };
}

export async function readPlan(url: string, signal: AbortSignal): Promise<Plan> {
  const packed = new Uint8Array(await (await fetchOk(url, signal)).arrayBuffer());
  const file = JSON.parse(new TextDecoder().decode(await decompress(packed, 'gzip'))) as PlanFile;
  const tiles = Uint8Array.from(atob(file.tiles), (letter) => letter.charCodeAt(0));
  const { columns, output = DEFAULT_OUTPUT } = file.card;
  const origins = new Int32Array(await decompress(tiles, 'deflate'));
  const scores = new TileScores(file.grid, columns.length, origins.length / 2);
  const { warnings } = file;
  return { results: { output, dimensions: null, objects: null, columns, scores, warnings, files: [] }, origins };
}

/** Add a finished shard's tiles at the positions that the plan states. */
export async function addShard(shard: Shard, { results, origins }: Plan, signal: AbortSignal): Promise<void> {
  const arrays = await readNpz(await (await fetchOk(shard.url, signal)).arrayBuffer());
  const [head, tiles, values] = ['head', 'tiles', 'scores'].map((name) => arrays.get(name)?.values);
  if (!head || !tiles || !values) throw new Error('The scores of a part of this job cannot be read. Reload the page.');
  const { unreadable } = JSON.parse(new TextDecoder().decode(head)) as { unreadable: Record<string, string> };
  const origin = (tile: number) => [origins[2 * tile] ?? NaN, origins[2 * tile + 1] ?? NaN] as const;
  tiles.forEach((tile, row) => {
    results.scores.put(...origin(tile), values, row * results.scores.width);
  });
  for (const [tile, reason] of Object.entries(unreadable)) results.scores.putUnreadable(...origin(Number(tile)), reason);
}
