import { Checkbox } from '../../../ui/fields/Checkbox';
import { Select } from '../../../ui/fields/Select';
import { COLOUR_MAPS, type ColourMap } from './colour_maps';
import type { OverlaySettings } from '../panes/pane_state';
import { Slider } from '../panes/Slider';

const NAMES: Record<ColourMap, string> = { viridis: 'Viridis', cividis: 'Cividis', magma: 'Magma' };

interface Props {
  settings: OverlaySettings;
  hasScores: boolean;
  tiles: boolean | null; // whether tiles without scores are drawn; null: there are none
  hasMask: boolean;
  hasObjects: boolean;
  onChange: (settings: OverlaySettings) => void;
}

/** How results are drawn over the slide, for all panes. */
export function OverlayPanel({ settings, hasScores, tiles, hasMask, hasObjects, onChange }: Props) {
  const { tissue, objects } = settings;
  return (
    <section aria-label="Overlay" className="flex flex-col gap-3 border-t border-line pt-3">
      {hasScores && <HeatmapControls {...{ settings, onChange }} />}
      {tiles !== null && (
        <Checkbox
          label="Analysed tiles"
          checked={tiles}
          onChange={(event) => {
            onChange({ ...settings, tiles: event.target.checked });
          }}
        />
      )}
      {hasMask && (
        <Checkbox
          label="Tissue outline"
          checked={tissue}
          onChange={(event) => {
            onChange({ ...settings, tissue: event.target.checked });
          }}
        />
      )}
      {hasObjects && (
        <Checkbox
          label="Object outlines"
          checked={objects}
          onChange={(event) => {
            onChange({ ...settings, objects: event.target.checked });
          }}
        />
      )}
    </section>
  );
}

function HeatmapControls({ settings, onChange }: Pick<Props, 'settings' | 'onChange'>) {
  const { heatmap, opacity, map } = settings;
  return (
    <>
      <Checkbox
        label="Heatmap"
        checked={heatmap}
        onChange={(event) => {
          onChange({ ...settings, heatmap: event.target.checked });
        }}
      />
      <Slider
        label="Opacity"
        value={opacity}
        min={0}
        max={1}
        step={0.05}
        shown={`${Math.round(opacity * 100)} %`}
        disabled={!heatmap}
        onChange={(value) => {
          onChange({ ...settings, opacity: value });
        }}
      />
      <Select
        label="Colours"
        value={map}
        options={COLOUR_MAPS.map((value) => ({ value, label: NAMES[value] }))}
        onChange={(event) => {
          onChange({ ...settings, map: event.target.value as ColourMap });
        }}
      />
    </>
  );
}
