/** Fields of the API as the page calls them: sentences of the API name the field (`mpp`), since others read them too. */
const FIELDS: Record<string, string> = {
  mpp: 'Scale',
  optical_path: 'Optical path',
  focal_plane: 'Focal plane',
  picture: 'Image',
};

/** "… with the slide (“Scale”, under “Correct” on the slide’s page)." */
export function inWordsOfThePage(sentence: string): string {
  return sentence.replace(/`(\w+)`/g, (whole, field: string) => {
    const label = FIELDS[field];
    return label === undefined ? whole : `“${label}”, under “Correct” on the slide’s page`;
  });
}
