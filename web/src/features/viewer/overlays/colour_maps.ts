/**
 * Colour maps whose lightness grows evenly from low to high: equal steps look equally large, and people with a
 * colour-vision deficiency can read them. They are matplotlib's viridis, magma (both CC0) and cividis, at 33 points each.
 */
export const COLOUR_MAPS = ['viridis', 'cividis', 'magma'] as const;
export type ColourMap = (typeof COLOUR_MAPS)[number];

const PLACES: Record<ColourMap, string> = {
  viridis:
    '440154 470d60 48186a 482374 472d7b 453781 424086 3e4989 3b528b 375b8d 33638d 2f6b8e 2c728e 297a8e 26828e 23898e ' +
    '21918c 1f978b 1f9f88 21a685 27ad81 31b57b 3dbc74 4cc26c 5cc863 6ece58 81d34d 95d840 aadc32 c0df25 d5e21a eae51a fde725',
  cividis:
    '00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d 5a5f6e 61656f 686a71 6f7073 767676 ' +
    '7d7c78 838179 8b8778 928d78 9a9376 a29975 aaa073 b3a670 bbad6d c3b369 ccba64 d4c15f ddc858 e6d051 efd748 f8df3c fee838',
  magma:
    '000004 030312 0a0822 130d34 1d1147 29115a 36106b 440f76 51127c 5d177f 6a1c81 762181 832681 902a81 9c2e7f aa337d ' +
    'b73779 c23b75 cf4070 db476a e55064 ee5b5e f4695c f9785d fb8761 fd9668 fea571 feb47b fec287 fed194 fde0a1 fceeb0 fcfdbf',
};

export const STEPS = 256;

export type Rgb = readonly [red: number, green: number, blue: number]; // 0 to 255

const parseHex = (hex: string): Rgb => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;

/** `STEPS` colours, lowest first. */
export function makeColourTable(map: ColourMap): readonly Rgb[] {
  const places = PLACES[map].split(' ').map(parseHex);
  return Array.from({ length: STEPS }, (_, step) => {
    const at = (step / (STEPS - 1)) * (places.length - 1);
    const before = Math.min(Math.floor(at), places.length - 2);
    const [low, high] = [places[before], places[before + 1]] as [Rgb, Rgb];
    return low.map((value, channel) => Math.round(value + ((high[channel] ?? 0) - value) * (at - before))) as unknown as Rgb;
  });
}

/** A CSS gradient from low to high. */
export function makeCssGradient(map: ColourMap): string {
  return `linear-gradient(to right, ${PLACES[map].split(' ').map((hex) => `#${hex}`).join(', ')})`;
}
