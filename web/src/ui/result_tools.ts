/** What each result file is, and what opens it: the first that fits. */
interface Tool {
  fits: RegExp;
  what: string;
  opens: string;
}

const QUPATH = 'QuPath: drag it onto the open slide.';
const IMAGES = 'QuPath, Fiji (Bio-Formats) or napari.';
const TABLES = 'Excel, R or Python (pandas).';

const TOOLS: readonly Tool[] = [
  { fits: /^objects\.geojson/, what: 'Outlines that were found', opens: QUPATH },
  { fits: /^tiles\.geojson/, what: 'Tiles with scores, as objects', opens: QUPATH },
  { fits: /^tiles\.full\.geojson/, what: 'The same, from the corner of level 0', opens: 'Python, and viewers that show all of level 0.' },
  { fits: /^mask\.ome\.tiff?$/, what: 'Segmentation mask', opens: IMAGES },
  { fits: /^heatmap\.ome\.tiff?$/, what: 'Heatmap, a channel for each class', opens: IMAGES },
  { fits: /\.dcm$/, what: 'DICOM object', opens: 'A PACS, or any DICOM viewer.' },
  { fits: /^tiles\.csv$/, what: 'Scores of each tile', opens: `${TABLES.slice(0, -1)}; the columns are WSInfer’s.` },
  { fits: /^features\.h5$/, what: 'Features of each tile', opens: 'Python (h5py); the layout is TRIDENT’s.' },
  { fits: /^tile_quality\.csv$/, what: 'Sharpness, glass and ink of each tile', opens: TABLES },
  { fits: /^tissue\.png$/, what: 'What was taken for tissue', opens: 'Any image viewer.' },
  { fits: /^summary\.json$/, what: 'Slide, model, counts and run', opens: 'A text editor, or Python.' },
  { fits: /\.csv$/, what: 'Table', opens: TABLES },
  { fits: /\.geojson(\.gz)?$/, what: 'Objects', opens: QUPATH },
  { fits: /\.tiff?$/, what: 'Image', opens: IMAGES },
];

export function toolFor(name: string): Omit<Tool, 'fits'> {
  return TOOLS.find(({ fits }) => fits.test(name)) ?? { what: 'File', opens: 'Ask who made the model.' };
}

const place = (name: string) => {
  const found = TOOLS.findIndex(({ fits }) => fits.test(name));
  return found < 0 ? TOOLS.length : found;
};

/** What is looked at first comes first. */
export const inOrder = <File extends { name: string }>(files: readonly File[]): File[] =>
  files.toSorted((one, other) => place(one.name) - place(other.name));
