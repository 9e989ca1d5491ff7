/** The page's labels for fields of the API: the API's messages use the field's name (`mpp`), since other programs show them too. */
const LABELS: Record<string, string> = {
  mpp: 'Scale',
  optical_path: 'Optical path',
  focal_plane: 'Focal plane',
  picture: 'Image',
};

/** Replace field names by labels: "… with the slide (“Scale”, under “Correct” on the slide’s page)." */
export function withFieldLabels(sentence: string): string {
  return sentence.replace(/`(\w+)`/g, (whole, field: string) => {
    const label = LABELS[field];
    return label === undefined ? whole : `“${label}”, under “Correct” on the slide’s page`;
  });
}
