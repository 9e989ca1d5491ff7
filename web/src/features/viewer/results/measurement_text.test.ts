import { expect, it } from 'vitest';
import { describeMeasurement } from './measurement_text';

it('a measurement is shown with the unit that its name ends with', () => {
  expect(describeMeasurement('Area \u00b5m^2', 58.32)).toEqual(['Area', '58.3 \u00b5m²']);
  expect(describeMeasurement('Area µm²', 58_000.5)).toEqual(['Area', '58,000.5 µm²']);
  expect(describeMeasurement('Max diameter µm', 9)).toEqual(['Max diameter', '9 µm']);
  expect(describeMeasurement('Solidity', 0.91234)).toEqual(['Solidity', '0.912']);
  expect(describeMeasurement('Probability: Tumour', 1)).toEqual(['Probability: Tumour', '1']);
});
