/** What each result file contains, and which program opens it. The first kind that fits a name counts. */
interface ResultFileKind {
  fits: RegExp;
  what: string;
  opens: string;
}

const QUPATH = 'QuPath: drag it onto the open slide.';
const IMAGES = 'QuPath, Fiji (Bio-Formats) or napari.';
const WHOLE_SLIDE = 'Python, and viewers that show all of level 0.';
const PARQUET = 'Python (pandas), R (arrow) or DuckDB.';
const TABLES = 'Excel, R or Python (pandas).';

const KINDS: readonly ResultFileKind[] = [
  { fits: /^objects\.geojson/, what: 'Outlines of objects, with measurements', opens: QUPATH },
  { fits: /^objects\.full\.geojson/, what: 'Outlines of objects, from the corner of level 0', opens: WHOLE_SLIDE },
  { fits: /^objects\.parquet$/, what: 'Outlines of objects, with measurements, as a table', opens: 'Python (geopandas), R (arrow) or DuckDB.' },
  { fits: /^features\.h5$/, what: 'Vector of each tile', opens: 'Python (h5py); the layout is TRIDENT’s.' },
  { fits: /^tiles\.geojson/, what: 'Tiles with scores, as objects', opens: QUPATH },
  { fits: /^tiles\.full\.geojson/, what: 'Tiles with scores, from the corner of level 0', opens: WHOLE_SLIDE },
  { fits: /^mask\.ome\.tiff?$/, what: 'Segmentation mask', opens: IMAGES },
  { fits: /^heatmap\.ome\.tiff?$/, what: 'Heatmap, a channel for each class', opens: IMAGES },
  { fits: /\.dcm$/, what: 'DICOM object', opens: 'A PACS, or any DICOM viewer.' },
  { fits: /^tiles\.csv$/, what: 'Place of each tile, and its scores if the model gives any', opens: `${TABLES.slice(0, -1)}; the columns are WSInfer’s.` },
  { fits: /^tiles\.parquet$/, what: 'Place and quality of each tile', opens: PARQUET },
  { fits: /^tile_quality\.csv$/, what: 'Sharpness, glass and ink of each tile', opens: TABLES },
  { fits: /^tissue\.png$/, what: 'Detected tissue', opens: 'Any image viewer.' },
  { fits: /^summary\.json$/, what: 'Slide, model, counts and run', opens: 'A text editor, or Python.' },
  { fits: /\.csv$/, what: 'Table', opens: TABLES },
  { fits: /\.geojson(\.gz)?$/, what: 'Objects', opens: QUPATH },
  { fits: /\.tiff?$/, what: 'Image', opens: IMAGES },
];

export function describeResultFile(name: string): Omit<ResultFileKind, 'fits'> {
  return KINDS.find(({ fits }) => fits.test(name)) ?? { what: 'File', opens: 'Ask the author of the model.' };
}

const orderOf = (name: string) => {
  const found = KINDS.findIndex(({ fits }) => fits.test(name));
  return found < 0 ? KINDS.length : found;
};

/** Sort the files that users open most to the front. */
export const sortResultFiles = <File extends { name: string }>(files: readonly File[]): File[] =>
  files.toSorted((one, other) => orderOf(one.name) - orderOf(other.name));
